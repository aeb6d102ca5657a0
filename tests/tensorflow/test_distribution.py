"""Models that are trained on two devices of one host."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

DEVICES = ["RDNA:0", "RDNA:1"]
# "usual" are the collective operations of TensorFlow's own, whose kernels for any device copy and add with those of RDNA.
COLLECTIVES = {
    "usual": lambda: None,
    "to one device": tf.distribute.ReductionToOneDevice,
    "hierarchical copies": lambda: tf.distribute.HierarchicalCopyAllReduce(num_packs=2),
}


@functools.cache
def mirrored(collectives):
    """A strategy for all tests: those of one process use the same numbers for their collective operations, which must not meet."""
    return tf.distribute.MirroredStrategy(DEVICES, cross_device_ops=COLLECTIVES[collectives]())


def trained(strategy):
    keras.utils.set_random_seed(1)
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(4)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(1e-2), loss)
    x = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)
    history = model.fit(x, x[:, :4].argmax(1), epochs=3, batch_size=16, verbose=0, shuffle=False)
    return history.history["loss"], model


@pytest.mark.parametrize("collectives", COLLECTIVES)
def test_two_devices_train_as_one_does(collectives):
    alone, _ = trained(tf.distribute.OneDeviceStrategy("RDNA:0"))
    together, model = trained(mirrored(collectives))
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    (kernel, *_) = model.trainable_variables
    copies = kernel.value.values
    assert [copy.device[-6:] for copy in copies] == DEVICES
    np.testing.assert_array_equal(copies[0].numpy(), copies[1].numpy())


@pytest.mark.parametrize("collectives", COLLECTIVES)
def test_values_of_both_devices_are_reduced(collectives):
    def replica():
        context = tf.distribute.get_replica_context()
        own = tf.fill((3, 2), float(context.replica_id_in_sync_group + 1))
        total = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
        mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, own * 2.0)
        return total, mean, context.all_gather(own, axis=0)

    total, mean, gathered = mirrored(collectives).run(tf.function(replica))
    for place in range(2):
        np.testing.assert_array_equal(total.values[place].numpy(), np.full((3, 2), 3.0, np.float32))
        np.testing.assert_array_equal(mean.values[place].numpy(), np.full((3, 2), 3.0, np.float32))
        rows = np.repeat(np.array([1.0, 2.0], np.float32), 3)
        np.testing.assert_array_equal(gathered.values[place].numpy(), np.stack([rows, rows], 1))


def test_strategies_of_several_machines_take_the_cpu():
    """They look for devices of the type GPU, and take the CPU where there is none."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert [device[-5:] for device in strategy.extended.worker_devices] == ["CPU:0"]
