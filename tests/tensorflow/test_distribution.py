"""Models that are trained on two devices of one host."""

import keras
import numpy as np
import tensorflow as tf


def trained(strategy):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(4)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-2), loss)
    x = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    history = model.fit(x, x[:, :4].argmax(1), epochs=3, batch_size=16, verbose=0, shuffle=False)
    return history.history["loss"], model


def test_two_devices_train_as_one_does():
    alone, _ = trained(tf.distribute.OneDeviceStrategy("RDNA:0"))
    together, model = trained(tf.distribute.MirroredStrategy(["RDNA:0", "RDNA:1"]))
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    (kernel, *_) = model.trainable_variables
    copies = kernel.value.values
    assert [copy.device[-6:] for copy in copies] == ["RDNA:0", "RDNA:1"]
    np.testing.assert_array_equal(copies[0].numpy(), copies[1].numpy())
