"""Products, convolutions, pooling and normalisation with their gradients beside TensorFlow's CPU kernels."""

import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import compare, values

raw = tf.raw_ops
FLOATS = ("float32", "float64", "float16", "bfloat16")
WIDE = ("float32", "float64")
pytestmark = pytest.mark.usefixtures("hard_placement")

EINSUMS = [
    ("ab,bc->ac", [(3, 4), (4, 5)]),
    ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("abc,cde->abde", [(2, 3, 4), (4, 5, 6)]),
    ("aecd,abcd->acbe", [(2, 3, 4, 5), (2, 6, 4, 5)]),
    ("abc->cab", [(2, 3, 4)]),
    ("abc->b", [(2, 3, 4)]),
    ("...ij,jk->...ik", [(2, 7, 3, 4), (4, 5)]),
    ("ab,ab->", [(3, 4), (3, 4)]),
]


def with_gradients(function):
    """A function of tensors that gives its result and the gradients of the sum of its squares."""

    def gradients(*tensors):
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            y = function(*tensors)
            loss = tf.reduce_sum(y * y)
        return [y, *tape.gradient(loss, list(tensors))]

    return gradients


@pytest.mark.parametrize("dtype", FLOATS)
def test_products(dtype):
    compare(tf.matmul, values((3, 5), dtype), values((5, 4), dtype, 1), scale=4)
    compare(
        lambda x, y: tf.matmul(x, y, transpose_a=True, transpose_b=True),
        values((5, 3), dtype),
        values((4, 5), dtype, 1),
        scale=4,
    )
    compare(
        lambda x, y: tf.matmul(x, y, transpose_b=True),
        values((2, 1, 3, 5), dtype),
        values((6, 4, 5), dtype, 1),
        scale=4,
    )
    compare(tf.matmul, values((3, 0), dtype), values((0, 4), dtype, 1))
    compare(tf.nn.bias_add, values((2, 3, 5), dtype), values((5,), dtype, 1))
    compare(lambda x: raw.BiasAddGrad(out_backprop=x), values((2, 3, 5), dtype), scale=4)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("equation", "shapes"), EINSUMS)
def test_einsum(equation, shapes, dtype):
    tensors = [values(shape, dtype, seed) for seed, shape in enumerate(shapes)]
    compare(lambda x: raw.Einsum(inputs=x, equation=equation), tensors, scale=8)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "padding", ["SAME", "VALID", [[0, 0], [1, 2], [0, 1], [0, 0]], [[0, 0], [1, 1], [2, 2], [0, 0]]], ids=str
)
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2)])
def test_convolutions(dtype, padding, stride, dilation):
    for extents in ((7, 9), (8, 6)):
        for window in ((3, 3), (2, 3)) if isinstance(padding, list) else ((3, 3), (1, 1), (2, 3)):
            x, filters = values((2, *extents, 4), dtype), values((*window, 4, 6), dtype, 1)
            compare(lambda x, w: tf.nn.conv2d(x, w, stride, padding, dilations=dilation), x, filters, scale=8)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("padding", ["SAME", "VALID", [[0, 0], [1, 2], [0, 1], [0, 0]]], ids=str)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_gradients_of_convolutions(dtype, padding, stride):
    for extents in ((7, 9), (8, 6)):
        for window in ((3, 3), (2, 3)):
            x, filters = values((2, *extents, 4), dtype), values((*window, 4, 6), dtype, 1)
            compare(with_gradients(lambda x, w: tf.nn.conv2d(x, w, stride, padding)), x, filters, scale=16)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2])
def test_depthwise_and_deep_convolutions(dtype, padding, stride):
    x, filters = values((2, 7, 8, 4), dtype), values((3, 3, 4, 2), dtype, 1)
    compare(
        with_gradients(lambda x, w: tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], padding)), x, filters, scale=16
    )
    x, filters = values((2, 5, 7, 6, 3), dtype), values((2, 3, 3, 3, 4), dtype, 1)
    compare(with_gradients(lambda x, w: tf.nn.conv3d(x, w, [1, *[stride] * 3, 1], padding)), x, filters, scale=16)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_channels_first_is_the_same_as_channels_last(padding):
    """TensorFlow's CPU has no kernels for this order, so the other order of this device is the reference."""
    x, filters = values((2, 7, 8, 4), "float32"), values((3, 3, 4, 6), "float32", 1)
    with tf.device("RDNA:0"):
        last = tf.nn.conv2d(x, filters, 2, padding)
        first = tf.nn.conv2d(np.moveaxis(x, 3, 1).copy(), filters, 2, padding, data_format="NCHW")
        np.testing.assert_allclose(np.moveaxis(first.numpy(), 1, 3), last.numpy(), rtol=1e-5, atol=1e-5)
        pooled = tf.nn.max_pool2d(np.moveaxis(x, 3, 1).copy(), 3, 2, padding, data_format="NCHW")
        np.testing.assert_array_equal(np.moveaxis(pooled.numpy(), 1, 3), tf.nn.max_pool2d(x, 3, 2, padding).numpy())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("window", "stride"), [(2, 1), (2, 2), (3, 1), (3, 2), (3, 3), (1, 2), (2, 3)])
@pytest.mark.parametrize("pool", [tf.nn.max_pool2d, tf.nn.avg_pool2d])
def test_pooling(pool, window, stride, padding, dtype):
    for extents in ((7, 9), (8, 6)):
        count = 2 * extents[0] * extents[1] * 3
        x = (np.random.default_rng(3).permutation(count).reshape(2, *extents, 3) / 64).astype(
            tf.as_dtype(dtype).as_numpy_dtype
        )
        compare(lambda x: pool(x, window, stride, padding), x)
        if dtype in WIDE:
            compare(with_gradients(lambda x: pool(x, window, stride, padding)), x, scale=8)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("factor", [1.0, 0.3])
@pytest.mark.parametrize("is_training", [True, False])
def test_batch_normalisation(dtype, factor, is_training):
    statistics = [values((6,), "float32", seed, 0.5, 1.5) for seed in range(1, 5)]

    def outputs(x, scale, offset, mean, variance):
        found = raw.FusedBatchNormV3(
            x=x,
            scale=scale,
            offset=offset,
            mean=mean,
            variance=variance,
            epsilon=1e-3,
            exponential_avg_factor=factor,
            is_training=is_training,
        )
        return [found.y, found.batch_mean, found.batch_variance]

    compare(outputs, values((3, 4, 5, 6), dtype), *statistics, scale=4)


# TensorFlow's CPU kernel gives NaN for halves that are not trained.
@pytest.mark.parametrize(
    ("dtype", "is_training"), [("float32", True), ("float32", False), ("float16", True), ("bfloat16", True)]
)
def test_gradients_of_batch_normalisation(dtype, is_training):
    statistics = [values((6,), "float32", seed, 0.5, 1.5) for seed in range(1, 5)]

    def gradients(gradient, x, scale, offset, mean, variance):
        norm = raw.FusedBatchNormV3(
            x=x, scale=scale, offset=offset, mean=mean, variance=variance, epsilon=1e-3, is_training=is_training
        )
        reserve = {f"reserve_space_{place}": getattr(norm, f"reserve_space_{place}") for place in (1, 2, 3)}
        found = raw.FusedBatchNormGradV3(
            y_backprop=gradient, x=x, scale=scale, epsilon=1e-3, is_training=is_training, **reserve
        )
        return [found.x_backprop, found.scale_backprop, found.offset_backprop]

    compare(gradients, values((3, 4, 5, 6), dtype, 9), values((3, 4, 5, 6), dtype), *statistics, scale=16)


def test_wrong_shapes_are_refused():
    with tf.device("RDNA:0"):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[4,5\]"
        ):
            raw.MatMul(a=tf.zeros((2, 3)), b=tf.zeros((4, 5)))
        with pytest.raises(tf.errors.InvalidArgumentError, match="evenly divisible"):
            raw.Conv2D(input=tf.zeros((1, 5, 5, 3)), filter=tf.zeros((3, 3, 2, 4)), strides=[1] * 4, padding="VALID")
        with pytest.raises(tf.errors.InvalidArgumentError, match="negative"):
            raw.Conv2D(input=tf.zeros((1, 2, 2, 3)), filter=tf.zeros((3, 3, 3, 4)), strides=[1] * 4, padding="VALID")
        with pytest.raises(tf.errors.InvalidArgumentError, match="as many biases"):
            raw.BiasAdd(value=tf.zeros((2, 3)), bias=tf.zeros(4))


def test_attributes_without_a_kernel_are_refused():
    with tf.device("RDNA:0"):
        with pytest.raises(tf.errors.UnimplementedError, match="batch and depth"):
            raw.Conv2D(
                input=tf.zeros((1, 5, 5, 3)), filter=tf.zeros((3, 3, 3, 4)), strides=[2, 1, 1, 1], padding="VALID"
            )
        with pytest.raises(tf.errors.UnimplementedError, match="repeated labels"):
            raw.Einsum(inputs=[tf.zeros((3, 3))], equation="aa->a")
