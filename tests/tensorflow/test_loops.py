"""Loops whose state and results are lists of tensors, which only TensorFlow can look into."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_rdna
from beside_cpu import CPU, RDNA, same, values


def moved():
    return {fusion.name: fusion.nodes for fusion in tf_rdna.fusion_report()}.get("lists on the CPU", 0)


def both(function, *arrays):
    results = []
    for device in (CPU, RDNA):
        with tf.device(device):
            made = tf.function(function)(*[tf.constant(array) for array in arrays])
        results.append([one.numpy() for one in tf.nest.flatten(made)])
    for wanted, found in zip(*results, strict=True):
        same(found, wanted, 16)


@pytest.mark.parametrize("enabled", [True, False])
def test_tensor_arrays_of_a_loop_and_their_gradients(enabled):
    def scan(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            given = tf.TensorArray(tf.float32, 6, element_shape=(2, 3)).unstack(x)
            found = tf.TensorArray(tf.float32, 6, element_shape=(2, 3))
            state = tf.zeros((2, 3))
            for step in tf.range(6):
                state = tf.tanh(given.read(step) + tf.matmul(state, w))
                found = found.write(step, state)
            states = found.stack()
            loss = tf.reduce_sum(states * states)
        return [states, *tape.gradient(loss, [x, w])]

    tf_rdna.set_fusion_enabled(enabled)
    tf_rdna.reset_fusion_report()
    try:
        both(scan, values((6, 2, 3), "float32", 0), values((3, 3), "float32", 1))
    finally:
        tf_rdna.set_fusion_enabled(True)
    assert moved() > 0


def test_lists_that_grow_are_gathered_and_joined():
    def rows(x):
        made = tf.TensorArray(tf.float32, 0, dynamic_size=True, infer_shape=False)
        for step in tf.range(4):
            made = made.write(step, x[: step + 1] * 2.0)
        return made.concat(), made.gather([2])

    both(rows, values((5, 2), "float32", 0))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
@pytest.mark.parametrize("returns_sequences", [False, True])
def test_recurrent_layers_train_and_predict(kind, returns_sequences):
    tf_rdna.set_fallback_mode("error")
    x, y = values((4, 6, 3), "float32", 0), values((4, 2), "float32", 1)
    results = []
    for device in (CPU, RDNA):
        with tf.device(device):
            keras.utils.set_random_seed(1)
            # The usual initializer of states is orthogonal, by a decomposition that has no kernel.
            cell = getattr(keras.layers, kind)(
                5, recurrent_initializer="glorot_uniform", return_sequences=returns_sequences
            )
            model = keras.Sequential(
                [
                    cell,
                    keras.layers.GlobalAveragePooling1D() if returns_sequences else keras.layers.Identity(),
                    keras.layers.Dense(2),
                ]
            )
            model.compile("sgd", "mse")
            losses = [float(model.train_on_batch(x, y)) for _ in range(3)]
            results.append([*losses, *model.predict(x, verbose=0).ravel()])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-5)
    assert moved() > 0
