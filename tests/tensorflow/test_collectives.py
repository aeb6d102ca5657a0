"""All-reduce between devices of one process: the operations of the plug-in, and what they refuse."""

import ctypes

import numpy as np
import pytest
import tensorflow as tf
import tf_rdna
from amdgpu.tensorflow import distribution
from amdgpu.tensorflow.loading import plug_in
from own_process import run

DEVICES = ("/device:RDNA:0", "/device:RDNA:1")
DTYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64")
SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN


def tensors(dtype, shapes, seed=0):
    """For each shape a tensor on every device."""
    rng = np.random.default_rng(seed)
    made = []
    for shape in shapes:
        replicas = []
        for device in DEVICES:
            values = rng.integers(-50, 50, shape)
            with tf.device(device):
                replicas.append(tf.identity(tf.constant(values, dtype)))
        made.append(replicas)
    return made


def reduced(given, *, is_mean=False):
    return distribution.all_reduce(given, DEVICES, is_mean=is_mean)


def per_replica(*replicas):
    from tensorflow.python.distribute import values

    return values.PerReplica(replicas)


@pytest.mark.parametrize("is_graph", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_means_of_every_dtype(dtype, is_graph):
    given = tensors(dtype, [(3, 5), (), (0, 4), (7,)])
    wanted = [sum(one.numpy().astype("float64") for one in replicas) for replicas in given]
    for is_mean in (False, True):
        call = (
            tf.function(lambda m=is_mean: reduced(given, is_mean=m))
            if is_graph
            else lambda m=is_mean: reduced(given, is_mean=m)
        )
        for replicas, total in zip(call(), wanted, strict=True):
            for device, result in zip(DEVICES, replicas, strict=True):
                # What a function gives is on the device of the caller.
                assert is_graph or result.device.endswith(device)
                assert result.dtype == (tf.float64 if is_mean and "int" in dtype else dtype)
                np.testing.assert_array_equal(result.numpy().astype("float64"), total / 2 if is_mean else total)


def test_bits_are_those_of_sums_in_the_order_of_ranks():
    given = [[tf.identity(x) for x in tf.unstack(tf.random.normal((2, 1000), seed=1))]]
    first, second = (one.numpy() for one in given[0])
    for _ in range(5):
        for result in reduced(given)[0]:
            np.testing.assert_array_equal(result.numpy(), first + second)


def test_collectives_are_counted_by_engine():
    tf_rdna.reset_collective_report()
    before = tf_rdna.native_report().get("RdnaAllReduceDone", 0)
    reduced(tensors("float32", [(3, 5), (7,)]))
    reduced(tensors("int32", [(2,)]))
    assert tf_rdna.collective_report() == [
        tf_rdna.Collective("direct", 1, 2, 4 * 22),
        tf_rdna.Collective("host", 1, 1, 8),
    ]
    assert tf_rdna.native_report()["RdnaAllReduceDone"] == before + 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_between_devices_give_the_same_sums(monkeypatch, dtype):
    given = tensors(dtype, [(3, 5), (0,), (1000,)])
    wanted = [[one.numpy() for one in replicas] for replicas in reduced(given)]
    monkeypatch.setenv("AMDGPU_TENSORFLOW_COLLECTIVES", "copies")
    tf_rdna.reset_collective_report()
    for replicas, ours in zip(reduced(given), wanted, strict=True):
        for one, own in zip(replicas, ours, strict=True):
            np.testing.assert_array_equal(one.numpy(), own)
    (done,) = tf_rdna.collective_report()
    assert done.engine == ("host" if dtype == "int32" else "copies")


def test_inputs_are_not_changed_by_those_who_update_them_behind_the_collective():
    """What is computed in place behind a collective must not reach the other replica's sum."""

    @tf.function
    def step():
        given = []
        for rank, device in enumerate(DEVICES):
            with tf.device(device):
                given.append(tf.fill((100_000,), float(rank + 1)) * 1.0)
        results = reduced([given])[0]
        with tf.device(DEVICES[0]):
            given[0] = tf.nn.relu(given[0] - 5.0)
        return [tf.reduce_max(tf.abs(one - 3.0)) for one in results], given[0]

    for _ in range(20):
        errors, _ = step()
        assert [float(one) for one in errors] == [0.0, 0.0]


def test_different_shapes_are_refused():
    (given,) = tensors("float32", [(3, 5)])
    with tf.device(DEVICES[1]):
        given[1] = tf.zeros((4, 5))
    with pytest.raises(
        ValueError, match=r"tensor 0 is float32\(3, 5\) on replica 0 and float32\(4, 5\) on replica 1; .*drop_remainder"
    ):
        reduced([given])

    @tf.function(input_signature=[tf.TensorSpec([None, 5])] * 2)
    def unknown(one, two):
        return reduced([[one, two]])

    assert unknown(given[0], given[0])[0][0].shape == (3, 5)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"tensor 0 has shape \[3,5\] on rank 0 and \[4,5\] on rank 1"
    ):
        unknown(*given)
    assert unknown(given[0], given[0])[0][0].shape == (3, 5)


def test_other_dtypes_are_refused():
    with pytest.raises(ValueError, match="the dtype is bool; known are float16"):
        reduced([[tf.constant(True), tf.constant(False)]])


def test_tokens_are_good_for_one_step_only():
    (given,) = tensors("float32", [(3,)])
    run = distribution.run_operation
    attributes = {"N": 1, "T": tf.float32.as_datatype_enum}
    with tf.device(DEVICES[0]):
        (token,) = run("RdnaAllReduceStart", ("tensors", [given[0]]), 1, attributes, {"collective": -1})
        copy = tf.constant(token.numpy().copy())
        del token
        more = {"reduction": "sum", "rank": 0, "ranks": 2}
        with pytest.raises(tf.errors.InvalidArgumentError, match="what rank 0 shared is gone"):
            run("RdnaAllReduceDone", ("tokens", [copy, copy]), 1, attributes, more)
        with pytest.raises(tf.errors.InvalidArgumentError, match="rank is 2, but there are ranks 0 to 1"):
            run("RdnaAllReduceDone", ("tokens", [copy, copy]), 1, attributes, {**more, "rank": 2})


def test_a_replica_that_fails_ends_the_step_and_gives_its_memory_back():
    @tf.function
    def step(divisor):
        given = []
        for rank, device in enumerate(DEVICES):
            with tf.device(device):
                own = tf.ones((1000, 1000))
                if rank == 1:
                    with tf.control_dependencies([tf.debugging.assert_positive(divisor, "this replica fails")]):
                        own = tf.identity(own)
                given.append(own)
        return reduced([given])[0]

    step(tf.constant(1.0))
    before = tf_rdna.config.get_memory_info("RDNA:0")["current"]
    for _ in range(5):
        with pytest.raises(tf.errors.InvalidArgumentError, match="this replica fails"):
            step(tf.constant(-1.0))
    # Less than one of the tensors that were shared.
    assert tf_rdna.config.get_memory_info("RDNA:0")["current"] < before + 4_000_000
    assert float(step(tf.constant(1.0))[0][0, 0]) == 2.0


def test_packs_have_one_dtype_each_and_the_size_that_was_asked_for():
    single, double = tf.zeros((100,)), tf.zeros((100,), tf.float64)
    dense = {0: [single], 2: [double], 3: [single], 4: [single]}
    packs = distribution.packs_of
    assert packs(dense, 0) == [[4, 3, 0], [2]]
    assert packs(dense, 800) == [[4, 3], [2], [0]]
    assert packs(dense, 1) == [[4], [3], [2], [0]]
    with pytest.raises(ValueError, match="bytes_per_pack is -1"):
        tf_rdna.AllReduce(bytes_per_pack=-1)


def test_values_that_are_elsewhere_are_left_to_tensorflow():
    with tf.device("CPU:0"):
        value = per_replica(tf.constant(1.0), tf.constant(2.0))
    tf_rdna.reset_collective_report()
    assert float(tf_rdna.AllReduce().reduce(SUM, value, "CPU:0")) == 3.0
    replicas = [one[0] for one in zip(*tensors("float32", [(3,)]), strict=True)]
    to_one = tf_rdna.AllReduce().reduce(MEAN, per_replica(*replicas), "RDNA:1")
    np.testing.assert_array_equal(to_one.numpy(), (replicas[0].numpy() + replicas[1].numpy()) / 2)
    assert tf_rdna.collective_report() == []


def test_rows_of_sparse_gradients_are_joined():
    slices = []
    for rank, device in enumerate(DEVICES):
        with tf.device(device):
            rows = tf.fill((rank + 1, 4), rank + 1.0)
            slices.append(tf.IndexedSlices(rows, tf.range(rank + 1, dtype=tf.int64), tf.constant([5, 4], tf.int64)))
    value = per_replica(*slices)
    for operation, share in ((SUM, 1.0), (MEAN, 0.5)):
        joined = tf_rdna.AllReduce().reduce(operation, value, value)
        for device, one in zip(DEVICES, joined.values, strict=True):
            assert one.values.device.endswith(device)
            np.testing.assert_array_equal(one.indices.numpy(), [0, 0, 1])
            np.testing.assert_array_equal(one.values.numpy()[:, 0], np.array([1, 2, 2]) * share)


def test_engines_say_why_they_are_not_nccl(monkeypatch):
    def engine():
        found = plug_in().agpu_tensorflow_collective_engine((ctypes.c_int32 * 2)(0, 1), ctypes.c_size_t(2))
        return found.decode() if found else plug_in().agpu_tensorflow_last_error().decode()

    names = {device.amdgpu_name for device in tf_rdna.config.list_devices()[:2]}
    if all(name.startswith("cpu") for name in names):
        why = "NCCL and RCCL work on GPUs, not on cpu"
    elif len(names) == 1:
        why = "two ranks are on one GPU, and NCCL needs one for each"
    else:
        pytest.skip("NCCL may work on these devices")
    monkeypatch.delenv("AMDGPU_TENSORFLOW_COLLECTIVES", raising=False)
    assert engine() == f"direct\t{why}"
    monkeypatch.setenv("AMDGPU_TENSORFLOW_COLLECTIVES", "nccl")
    assert engine() == f"AMDGPU_TENSORFLOW_COLLECTIVES is nccl: {why}"
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match="COLLECTIVES is nccl"):
        reduced(tensors("float32", [(3,)]))
    monkeypatch.setenv("AMDGPU_TENSORFLOW_COLLECTIVES", "copies")
    assert engine() == "copies\t"
    monkeypatch.setenv("AMDGPU_TENSORFLOW_COLLECTIVES", "best")
    assert engine() == 'AMDGPU_TENSORFLOW_COLLECTIVES is "best"; known are auto, nccl and copies'


PROGRAM = """
    import random
    import numpy as np, tensorflow as tf, tf_rdna
    from amdgpu.tensorflow import distribution
    tf.config.threading.set_inter_op_parallelism_threads(1)
    devices = [f"/device:RDNA:{rank}" for rank in range(3)]
    rng = np.random.default_rng(0)
    host = rng.normal(size=(40, 3, 17)).astype("float32")

    @tf.function
    def step(order, given):
        # Every device has the collectives in an order of its own: those that begin as many and end as many are tied by nothing else.
        results = {}
        for number in order:
            own = []
            for rank in random.Random(number).sample(range(3), 3):
                with tf.device(devices[rank]):
                    own.append((rank, tf.identity(given[number, rank]) * 1.0))
            own.sort(key=lambda one: one[0])
            results[number] = distribution.all_reduce([[value for _, value in own]], devices, is_mean=False)[0]
        return [results[number] for number in sorted(results)]

    wanted = (host[:, 0] + host[:, 1]) + host[:, 2]
    for seed in range(3):
        order = random.Random(seed).sample(range(40), 40)
        traced = tf.function(lambda given: step.python_function(order, given))
        for _ in range(5):
            for number, replicas in enumerate(traced(tf.constant(host))):
                for replica in replicas:
                    assert np.array_equal(replica.numpy(), wanted[number])
    means = distribution.all_reduce([[tf.constant(host[0, rank]) for rank in range(3)]], devices, is_mean=True)[0]
    assert all(np.array_equal(one.numpy(), wanted[0] / np.float32(3)) for one in means)
    print(tf_rdna.collective_report())
"""


def test_many_collectives_in_scrambled_orders_need_one_thread():
    done = run(PROGRAM, AMDGPU_TENSORFLOW_DEVICE="cpu,cpu,cpu")
    assert "engine='direct', collectives=601" in done.stdout, done.stderr


MANY = """
    import numpy as np, tensorflow as tf, tf_rdna
    from amdgpu.tensorflow import distribution
    devices = [f"/device:RDNA:{rank}" for rank in range(13)]
    for dtype in ("float32", "float16", "int64"):
        host = np.random.default_rng(0).integers(-9, 9, (13, 33)).astype(dtype)
        given = []
        for rank, device in enumerate(devices):
            with tf.device(device):
                given.append(tf.constant(host[rank]))
        for is_mean in (False, True):
            for result in distribution.all_reduce([given], devices, is_mean=is_mean)[0]:
                wanted = host.sum(0, dtype=dtype)
                assert np.array_equal(result.numpy(), (wanted / np.array(13, dtype)) if is_mean else wanted), (dtype, is_mean)
    print("thirteen devices agree")
"""


def test_more_devices_than_one_pass_has_inputs():
    done = run(MANY, AMDGPU_TENSORFLOW_DEVICE=",".join(["cpu"] * 13))
    assert "thirteen devices agree" in done.stdout, done.stderr
