"""Variables in the memory of the device."""

import numpy as np
import pytest
import tensorflow as tf
from amdgpu.tensorflow.loading import plug_in

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32")


@pytest.mark.parametrize("dtype", DTYPES)
def test_variables_are_updated_where_they_are(dtype):
    with tf.device("RDNA:0"):
        variable = tf.Variable(tf.constant([1, 2, 3], dtype))
        # TensorFlow keeps int32 variables in memory of the host.
        assert ("RDNA:0" in variable.device) == (dtype != "int32")
        variable.assign_add(tf.constant([1, 1, 1], dtype))
        variable.assign_sub(tf.constant([0, 1, 2], dtype))
        np.testing.assert_array_equal(variable.numpy().astype(int), [2, 2, 2])
        variable.assign([7, 8, 9])
        np.testing.assert_array_equal(variable.numpy().astype(int), [7, 8, 9])


def test_rows_of_variables_are_read_and_changed():
    given = np.arange(12, dtype=np.float32).reshape(4, 3)
    changes = tf.IndexedSlices(tf.ones((2, 3)), tf.constant([2, 0], tf.int64))
    found = {}
    for name in ("CPU:0", "RDNA:0"):
        with tf.device(name):
            variable = tf.Variable(given)
            with tf.GradientTape() as tape:
                rows = tf.gather(variable, [3, 1, 3])
                loss = tf.reduce_sum(rows * rows) + tf.reduce_sum(tf.nn.embedding_lookup(variable, [0]))
            gradient = tf.convert_to_tensor(tape.gradient(loss, variable))
            results = [rows.numpy(), gradient.numpy(), tf.gather_nd(variable, [[1, 2]]).numpy()]
            for method in ("scatter_add", "scatter_sub", "scatter_max", "scatter_min", "scatter_update"):
                getattr(variable, method)(changes)
                results.append(variable.numpy())
            variable.scatter_nd_add([[1]], [[5.0, 5.0, 5.0]])
            found[name] = [*results, variable.numpy()]
    for one, other in zip(found["CPU:0"], found["RDNA:0"], strict=True):
        np.testing.assert_array_equal(one, other)
    with tf.device("RDNA:0"), pytest.raises(TypeError, match="IndexedSlices"):
        tf.Variable(given).scatter_add([1.0])


def test_updates_in_functions_and_outside_of_the_device():
    with tf.device("RDNA:0"):
        variable = tf.Variable([1.0, 2.0])

    @tf.function
    def doubled():
        variable.assign_add(variable)
        return variable.assign_sub([1.0, 1.0])

    np.testing.assert_array_equal(doubled().numpy(), [1.0, 3.0])
    variable.assign_add([1.0, 1.0], read_value=False)
    np.testing.assert_array_equal(variable.numpy(), [2.0, 4.0])
    with tf.device("CPU:0"):
        other = tf.Variable([1.0])
        other.assign_add([2.0])
    np.testing.assert_array_equal(other.numpy(), [3.0])


def test_wrong_shapes_are_refused():
    with tf.device("RDNA:0"):
        variable = tf.Variable([1.0, 2.0])
        with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
            variable.assign_add([1.0, 2.0, 3.0])


def test_raw_updates_do_not_touch_memory_of_the_device_on_the_host():
    with tf.device("RDNA:0"):
        variable = tf.Variable([1.0, 2.0])
        if plug_in().agpu_tensorflow_updates_variables():
            tf.raw_ops.AssignSubVariableOp(resource=variable.handle, value=tf.constant([1.0, 1.0]))
            np.testing.assert_array_equal(variable.numpy(), [0.0, 1.0])
            return
        with pytest.raises(tf.errors.UnimplementedError, match=r"use assign_add and assign_sub of tf.Variable"):
            tf.raw_ops.AssignSubVariableOp(resource=variable.handle, value=tf.constant([1.0, 1.0]))


def test_lists_of_tensors_that_would_be_read_on_the_host_are_refused():
    with (
        tf.device("RDNA:0"),
        pytest.raises(tf.errors.UnimplementedError, match="read memory of the device on the host"),
    ):
        tf.raw_ops.TensorListFromTensor(tensor=tf.zeros((2, 3)), element_shape=[3])


def test_variables_on_two_devices():
    variables = []
    for place in range(2):
        with tf.device(f"RDNA:{place}"):
            variables.append(tf.Variable(tf.fill((1000,), float(place))))
    assert [variable.device[-6:] for variable in variables] == ["RDNA:0", "RDNA:1"]
    with tf.device("RDNA:1"):
        total = variables[0] + variables[1]
    assert "RDNA:1" in total.device
    np.testing.assert_array_equal(total.numpy(), np.ones(1000, np.float32))
