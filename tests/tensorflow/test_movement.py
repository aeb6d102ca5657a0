"""Elements that go somewhere else, and those that indices name, beside TensorFlow's CPU kernels."""

import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import compare, values

raw = tf.raw_ops
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "uint8")
NUMBERS = tuple(dtype for dtype in DTYPES if dtype != "bool")
pytestmark = pytest.mark.usefixtures("hard_placement")

SLICES = [
    np.s_[1:, ::2],
    np.s_[..., -1],
    np.s_[::-1, None, 1:3, 2],
    np.s_[0, ..., tf.newaxis],
    np.s_[2:0:-1, 3:0:-2],
    np.s_[5:2, :],
    np.s_[...],
]


@pytest.fixture(params=DTYPES)
def x(request):
    return values((3, 4, 5), request.param)


@pytest.fixture(params=NUMBERS)
def numbers(request):
    return values((3, 4, 5), request.param)


def test_transposed_and_cut(x):
    compare(lambda x: tf.transpose(x, [2, 0, 1]), x)
    compare(lambda x: tf.transpose(x[:1], [1, 0, 2]), x)
    compare(lambda x: tf.slice(x, [1, 0, 2], [2, -1, 3]), x)
    for part in SLICES:
        compare(lambda x, part=part: x[part], x)


def test_gradients_of_slices():
    def gradient(x, part):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x[part] ** 2)
        return tf.convert_to_tensor(tape.gradient(y, x))

    for part in SLICES[:5]:
        compare(lambda x, part=part: gradient(x, part), values((3, 4, 5), "float32"))


def test_joined_and_split(x):
    other = x[:, ::-1].copy()
    compare(lambda x: tf.concat(x, 1), [x, other[:, :2].copy(), other[:, :0].copy()])
    compare(lambda x: tf.stack(x, 1), [x, other])
    compare(lambda x: tf.unstack(x, axis=1), x)
    compare(lambda x: tf.split(x, 2, 1), x)
    compare(lambda x: tf.split(x, [1, -1, 2], 1), x)


def test_repeated_and_turned(x):
    compare(lambda x: tf.tile(x, [2, 1, 3]), x)
    compare(lambda x: tf.broadcast_to(x, [2, 3, 4, 5]), x)
    compare(lambda x: tf.reverse(x, [0, 2]), x)
    compare(lambda x: tf.roll(x, [1, -2], [0, 1]), x)
    compare(lambda x: tf.fill([2, 3], x[0, 0, 0]), x)


def test_padded(numbers):
    paddings = [[1, 0], [0, 2], [1, 1]]
    compare(lambda x: tf.pad(x, paddings), numbers)
    compare(lambda x: raw.PadV2(input=x, paddings=paddings, constant_values=tf.constant(1, x.dtype)), numbers)


def test_ranges_bits_bands_and_blocks():
    for dtype in (tf.int64, tf.float32, tf.float64):
        compare(lambda dtype=dtype: tf.range(tf.constant(2, dtype), tf.constant(11, dtype), tf.constant(3, dtype)))
    compare(lambda x: tf.bitcast(x, tf.int32), values((3, 4), "float32"))
    compare(lambda x: tf.bitcast(x, tf.uint8), values((3, 4), "float32"))
    compare(lambda x: tf.bitcast(x, tf.int64), values((3, 2), "float32"))
    for lower, upper in ((1, 0), (-1, 0), (0, -1), (2, 1)):
        compare(lambda x, low=lower, up=upper: tf.linalg.band_part(x, low, up), values((2, 4, 5), "float32"))
    compare(lambda x: tf.nn.space_to_depth(x, 2), values((2, 4, 6, 3), "float32"))
    compare(lambda x: tf.nn.depth_to_space(x, 2), values((2, 4, 6, 8), "float32"))


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gathered(x, index):
    places = np.array([[2, 0], [1, 1]], index)
    for axis in (0, 1, 2):
        compare(lambda x, i, axis=axis: tf.gather(x, i, axis=axis), x, places)
    compare(lambda x, i: tf.gather(x, i, axis=2, batch_dims=1), x, np.array([[2, 0], [1, 1], [3, 4]], index))
    compare(tf.gather_nd, x, np.array([[2, 0], [1, 1], [0, 3]], index))
    compare(tf.gather_nd, x, np.array([[[2, 0, 1]], [[1, 1, 1]]], index))


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_scattered(numbers, index):
    places, rows = np.array([[2, 0], [1, 1]], index), numbers[0, :2]
    for operation in (
        tf.tensor_scatter_nd_update,
        tf.tensor_scatter_nd_add,
        tf.tensor_scatter_nd_max,
        tf.tensor_scatter_nd_min,
    ):
        compare(operation, numbers, places, rows)
    if numbers.dtype != np.uint8:
        compare(tf.tensor_scatter_nd_sub, numbers, places, rows)
    compare(
        lambda i, u: tf.scatter_nd(i, u, tf.constant([4, 5], i.dtype)),
        np.array([[2], [1], [2]], index),
        numbers[0, :3],
        scale=4,
    )


@pytest.mark.parametrize("index", ["int32", "int64"])
def test_segments(numbers, index):
    compare(lambda x, i: tf.math.unsorted_segment_sum(x, i, 4), numbers, np.array([2, -1, 2], index), scale=4)
    places = np.array([[2, 1, 0, 0], [1, 1, 2, 2], [0, 0, -1, 1]], index)
    compare(lambda x, i: tf.math.unsorted_segment_sum(x, i, 3), numbers, places, scale=4)
    if numbers.dtype.kind == "f":
        for operation in (tf.math.unsorted_segment_max, tf.math.unsorted_segment_min, tf.math.unsorted_segment_prod):
            compare(lambda x, i, op=operation: op(x, i, 4), numbers, np.array([2, 0, 2], index), scale=4)


def test_one_hot_and_best(x):
    for axis in (-1, 0):
        for index in ("int32", "int64"):
            compare(
                lambda i, x, axis=axis: tf.one_hot(i, 4, on_value=x[0, 0, 0], off_value=x[1, 1, 1], axis=axis),
                np.array([[0, 3], [7, -1]], index),
                x,
            )
    if x.dtype != bool:
        compare(lambda x: tf.math.top_k(x, 2), np.arange(21)[::-1].reshape(3, 7).astype(x.dtype))


def test_places_of_what_is_not_zero(x):
    if x.dtype != np.float16:  # of which the CPU has no kernel
        compare(tf.where, x)
        compare(tf.where, np.zeros((0, 3), x.dtype))


def test_wrong_places_are_refused():
    with tf.device("RDNA:0"):
        x = tf.zeros((3, 4))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\] = 3 is not in \[0, 3\)"):
            tf.gather(x, tf.constant([0, 3], tf.int64)).numpy()
        with pytest.raises(tf.errors.InvalidArgumentError, match="is not in"):
            tf.gather_nd(x, tf.constant([[0, 4]], tf.int64)).numpy()
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.tensor_scatter_nd_add(x, tf.constant([[-1]], tf.int64), tf.ones((1, 4))).numpy()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Expected size"):
            raw.Slice(input=x, begin=[0, 2], size=[1, 3])
        with pytest.raises(tf.errors.InvalidArgumentError, match="evenly divide"):
            raw.Split(axis=1, value=x, num_split=3)
