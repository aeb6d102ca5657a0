"""Models that are trained on several devices of one host."""

import functools

import keras
import numpy as np
import own_process
import pytest
import tensorflow as tf
import tf_rdna

DEVICES = ["RDNA:0", "RDNA:1"]
# "usual" are the collective operations of TensorFlow's own, whose kernels for any device copy and add with those of RDNA.
COLLECTIVES = {
    "ours": tf_rdna.AllReduce,
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


def test_training_is_by_our_collectives_alone_and_the_same_each_time():
    tf_rdna.reset_collective_report()
    first, model = trained(tf_rdna.MirroredStrategy())
    again, other = trained(tf_rdna.MirroredStrategy())
    assert first == again
    for one, two in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    (done,) = (one for one in tf_rdna.collective_report() if one.engine != "host")
    # A pack for each of 12 steps, with two kernels and two biases of float32.
    assert (done.collectives, done.tensors) == (24, 96)
    assert done.bytes == 24 * 4 * (8 * 16 + 16 + 16 * 4 + 4)


def test_replicas_of_python_reduce_eagerly_and_differentiate():
    strategy = mirrored("ours")

    def replica():
        context = tf.distribute.get_replica_context()
        x = tf.constant([1.0, 2.0]) * float(context.replica_id_in_sync_group + 1)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(context.all_reduce(tf.distribute.ReduceOp.SUM, x * x))
        return y, tape.gradient(y, x)

    for run in (replica, tf.function(replica)):
        y, gradient = strategy.run(run)
        assert [float(one) for one in y.values] == [25.0, 25.0]
        for rank, one in enumerate(gradient.values, 1):
            np.testing.assert_array_equal(one.numpy(), np.array([4.0, 8.0]) * rank)


def test_variables_begin_with_the_values_of_the_first_replica():
    with tf_rdna.MirroredStrategy().scope():
        variable = tf.Variable(tf.random.normal((100,)))
    first, second = variable.values
    assert second.device[-6:] == "RDNA:1"
    np.testing.assert_array_equal(first.numpy(), second.numpy())
    told = tf_rdna.AllReduce().broadcast(tf.constant([1.0, 2.0]), variable)
    assert [one.numpy().tolist() for one in told.values] == [[1.0, 2.0]] * 2


def test_rows_of_different_number_are_gathered():
    strategy = mirrored("ours")

    def replica():
        rank = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.fill((rank + 1, 2), tf.cast(rank, tf.float32))

    values = strategy.run(replica)
    np.testing.assert_array_equal(strategy.gather(values, axis=0).numpy()[:, 0], [0, 1, 1])


def test_embeddings_are_trained_by_sparse_gradients():
    def losses(strategy):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            table = tf.Variable(tf.random.stateless_normal((10, 4), (1, 2)))

        @tf.function
        def step(words):
            def replica(words):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.gather(table, words) ** 2)
                context = tf.distribute.get_replica_context()
                summed = context.all_reduce(tf.distribute.ReduceOp.SUM, tape.gradient(loss, table))
                table.assign_sub(0.05 * tf.convert_to_tensor(summed))
                return loss

            return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(replica, args=(words,)), axis=None)

        data = tf.data.Dataset.from_tensor_slices(np.array([1, 1, 2, 9, 0, 1, 3, 2])).batch(4)
        return [float(step(words)) for _ in range(2) for words in strategy.experimental_distribute_dataset(data)]

    np.testing.assert_allclose(losses(mirrored("ours")), losses(tf.distribute.OneDeviceStrategy("RDNA:0")), rtol=1e-5)


THREE = """
    import keras, numpy as np, tensorflow as tf, tf_rdna

    def trained(strategy):
        keras.utils.set_random_seed(1)
        with strategy.scope():
            model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.Dense(4)])
            model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        x = np.random.default_rng(0).normal(size=(96, 8)).astype(np.float32)
        return model.fit(x, x[:, :4].argmax(1), epochs=3, batch_size=24, verbose=0, shuffle=False).history["loss"], model

    alone, _ = trained(tf.distribute.OneDeviceStrategy("RDNA:0"))
    together, model = trained(tf_rdna.MirroredStrategy())
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    first, *others = (copy.numpy() for copy in model.trainable_variables[0].value.values)
    assert len(others) == 2 and all(np.array_equal(first, one) for one in others)
    print(tf_rdna.collective_report(), tf_rdna.fallback_report())
"""


def test_three_devices_train_as_one_does():
    done = own_process.run(THREE, AMDGPU_TENSORFLOW_DEVICE="cpu,cpu,cpu")
    assert "engine='direct', collectives=12" in done.stdout, done.stderr


def test_strategies_of_several_machines_take_the_cpu():
    """They look for devices of the type GPU, and take the CPU where there is none."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert [device[-5:] for device in strategy.extended.worker_devices] == ["CPU:0"]


SERVERS = """
    import socket
    import tensorflow as tf, tf_rdna

    def address():
        with socket.socket() as free:
            free.bind(("localhost", 0))
            return f"localhost:{free.getsockname()[1]}"

    cluster = tf.train.ClusterSpec({"worker": [address()], "ps": [address()]})
    servers = [tf.distribute.Server(cluster, job_name=job, task_index=0, protocol="grpc") for job in ("worker", "ps")]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster, rpc_layer="grpc")
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0])
    total = coordinator.schedule(tf.function(lambda: strategy.run(lambda: tf.reduce_sum(variable * 3.0))))
    coordinator.join()
    print(variable.device[-12:], float(total.fetch()), tf_rdna.native_report())
"""


def test_parameter_servers_and_their_workers_take_the_cpu():
    done = own_process.run(SERVERS)
    assert "device:CPU:0 9.0 {}" in done.stdout, done.stderr
