"""Reductions, prefix sums, softmax and losses beside TensorFlow's CPU kernels."""

import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import compare, values

raw = tf.raw_ops
FLOATS = ("float32", "float64", "float16", "bfloat16")
pytestmark = pytest.mark.usefixtures("hard_placement")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 2], [-1], [], [0, 1, 2]], ids=str)
def test_reductions(name, dtype, axes):
    for keeps in (False, True):
        x = values((3, 4, 5), dtype, low=0.5, high=1.5)
        compare(lambda x, keeps=keeps: getattr(raw, name)(input=x, axis=axes, keep_dims=keeps), x, scale=4)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "uint8"])
@pytest.mark.parametrize("name", ["Sum", "Max", "Min"])
def test_reductions_of_integers(name, dtype):
    compare(lambda x: getattr(raw, name)(input=x, axis=[1]), values((3, 4), dtype, low=0, high=9))


def test_truth_values():
    for name in ("All", "Any"):
        for axes in ([0], [1], [0, 1], []):
            compare(lambda x, name=name, axes=axes: getattr(raw, name)(input=x, axis=axes), values((3, 4), "bool"))


@pytest.mark.parametrize("name", ["Sum", "Mean", "Max", "Min", "Prod"])
def test_reductions_of_no_values(name):
    compare(lambda x: getattr(raw, name)(input=x, axis=[0]), np.zeros((0, 3), "float32"))


@pytest.mark.parametrize("dtype", [*FLOATS, "int64"])
def test_places_of_the_best(dtype):
    for name in ("ArgMax", "ArgMin"):
        for target in (tf.int32, tf.int64):
            compare(
                lambda x, n=name, t=target: getattr(raw, n)(input=x, dimension=1, output_type=t),
                values((3, 4, 5), dtype),
            )


@pytest.mark.parametrize("dtype", [*FLOATS, "int64", "int32"])
@pytest.mark.parametrize("name", ["Cumsum", "Cumprod"])
def test_prefixes(name, dtype):
    for exclusive in (False, True):
        for reverse in (False, True):
            compare(
                lambda x, e=exclusive, r=reverse: getattr(raw, name)(x=x, axis=1, exclusive=e, reverse=r),
                values((3, 4, 5), dtype),
                scale=8,
            )


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_and_losses(dtype):
    x = values((6, 5), dtype)
    compare(tf.nn.softmax, x)
    compare(tf.nn.log_softmax, x)
    compare(
        lambda x, y: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=y),
        x,
        values((6, 5), dtype, 1, low=0, high=1),
        scale=4,
    )
    for index in ("int32", "int64"):
        labels = np.array([0, 4, 2, 3, 1, 1], index)
        compare(lambda x, y: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=y), x, labels, scale=2)


def test_labels_that_are_no_class_give_nan():
    with tf.device("RDNA:0"):
        loss, gradient = raw.SparseSoftmaxCrossEntropyWithLogits(features=tf.zeros((3, 4)), labels=[1, 4, -1])
    np.testing.assert_array_equal(np.isnan(loss.numpy()), [False, True, True])
    np.testing.assert_array_equal(np.isnan(gradient.numpy()).all(1), [False, True, True])


def test_wrong_axes_are_refused():
    with tf.device("RDNA:0"):
        x = tf.zeros((2, 3))
        with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid reduction dimension"):
            raw.Sum(input=x, axis=[2])
        with pytest.raises(tf.errors.InvalidArgumentError, match="duplicate"):
            raw.Sum(input=x, axis=[1, -1])
