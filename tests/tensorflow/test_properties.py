"""Kernels beside TensorFlow's CPU kernels for shapes, dtypes and attributes that Hypothesis chooses."""

import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf
from beside_cpu import compare, values
from hypothesis import HealthCheck, given, settings

raw = tf.raw_ops
pytestmark = pytest.mark.usefixtures("hard_placement")
often = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

floats = st.sampled_from(["float32", "float64", "float16", "bfloat16"])
wide = st.sampled_from(["float32", "float64"])
numbers = st.sampled_from(["float32", "float64", "float16", "bfloat16", "int64", "int32", "uint8"])
extents = st.integers(0, 5)
seeds = st.integers(0, 99)


def shapes(low=0, high=4, extent=extents):
    return st.lists(extent, min_size=low, max_size=high).map(tuple)


@st.composite
def broadcast_pairs(draw):
    """Two shapes that broadcast: some extents of each are one, some of the first axes of one are left out."""
    whole = draw(shapes())
    first, second = ([1 if draw(st.booleans()) else extent for extent in whole] for _ in range(2))
    cut = draw(st.integers(0, len(whole)))
    return tuple(first), tuple(second[cut:])


@often
@given(
    broadcast_pairs(),
    numbers,
    seeds,
    st.sampled_from([tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, tf.equal, tf.less]),
)
def test_broadcasting(pair, dtype, seed, operation):
    low = 0 if dtype == "uint8" else -3
    x, y = (values(shape, dtype, seed + place, low=low) for place, shape in enumerate(pair))
    compare(operation, x, y)


@often
@given(
    shapes(1),
    floats,
    seeds,
    st.sampled_from(["Sum", "Mean", "Max", "Min", "Prod"]),
    st.booleans(),
    st.data(),
)
def test_reductions(shape, dtype, seed, name, keeps, data):
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    x = values(shape, dtype, seed, low=0.5, high=1.5)
    compare(lambda x: getattr(raw, name)(input=x, axis=tf.constant(axes, tf.int32), keep_dims=keeps), x, scale=4)


@often
@given(shapes(1), numbers, seeds, st.data())
def test_transpositions_reversals_and_tiles(shape, dtype, seed, data):
    x = values(shape, dtype, seed, low=0)
    order = data.draw(st.permutations(range(len(shape))))
    compare(lambda x: tf.transpose(x, order), x)
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True))
    compare(lambda x: tf.reverse(x, tf.constant(axes, tf.int32)), x)
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(shape), max_size=len(shape)))
    compare(lambda x: tf.tile(x, times), x)


parts = st.one_of(
    st.builds(
        slice, st.none() | st.integers(-6, 6), st.none() | st.integers(-6, 6), st.sampled_from([None, 1, 2, -1, -2])
    ),
    st.just(tf.newaxis),
)


@often
@given(shapes(1), numbers, seeds, st.data())
def test_slices(shape, dtype, seed, data):
    part = tuple(
        data.draw(st.lists(parts, max_size=4).filter(lambda some: sum(one is not None for one in some) <= len(shape)))
    )
    compare(lambda x: x[part], values(shape, dtype, seed, low=0))


@often
@given(shapes(1, 4, st.integers(1, 4)), numbers, seeds, st.data())
def test_parts_are_joined_split_and_padded(shape, dtype, seed, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    lengths = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=4))
    tensors = [
        values((*shape[:axis], length, *shape[axis + 1 :]), dtype, seed + place, low=0)
        for place, length in enumerate(lengths)
    ]
    compare(lambda x: tf.concat(x, axis), tensors)
    compare(lambda x: tf.split(tf.concat(x, axis), lengths, axis), tensors)
    compare(lambda x: tf.stack(x, axis), [tensors[0], tensors[0].copy()])
    paddings = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=len(shape), max_size=len(shape))
    )
    compare(lambda x: tf.pad(x, paddings), values(shape, dtype, seed, low=0))


@often
@given(
    shapes(1, 3, st.integers(1, 5)),
    shapes(0, 3, st.integers(0, 3)),
    numbers,
    st.sampled_from(["int32", "int64"]),
    seeds,
    st.data(),
)
def test_gathered_rows(shape, places, dtype, index, seed, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    indices = np.random.default_rng(seed).integers(0, shape[axis], size=places).astype(index)
    compare(lambda x, i: tf.gather(x, i, axis=axis), values(shape, dtype, seed, low=0), indices)


@often
@given(broadcast_pairs(), st.tuples(extents, extents, extents), floats, st.booleans(), st.booleans(), seeds)
def test_products(batches, sizes, dtype, transpose_a, transpose_b, seed):
    m, depth, n = sizes
    a = values((*batches[0], *((depth, m) if transpose_a else (m, depth))), dtype, seed)
    b = values((*batches[1], *((n, depth) if transpose_b else (depth, n))), dtype, seed + 1)
    compare(lambda a, b: raw.BatchMatMulV2(x=a, y=b, adj_x=transpose_a, adj_y=transpose_b), a, b, scale=4)


@st.composite
def convolutions(draw):
    window = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    stride = draw(st.integers(1, 3))
    dilation = draw(st.integers(1, 2)) if stride == 1 else 1
    extents_of_images = draw(st.tuples(st.integers(5, 9), st.integers(5, 9)))
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    groups, each, outputs = draw(st.integers(1, 2)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return extents_of_images, window, stride, dilation, padding, groups, each, outputs


@often
@given(convolutions(), wide, seeds)
def test_convolutions_and_their_gradients(case, dtype, seed):
    size, window, stride, dilation, padding, groups, each, outputs = case
    x = values((2, *size, groups * each), dtype, seed)
    filters = values((*window, each, groups * outputs), dtype, seed + 1)

    def gradients(x, filters):
        with tf.GradientTape() as tape:
            tape.watch([x, filters])
            y = tf.nn.conv2d(x, filters, stride, padding, dilations=dilation)
            loss = tf.reduce_sum(y * y)
        # TensorFlow's CPU has no gradients of convolutions in groups, nor by filters with gaps.
        return [y, *tape.gradient(loss, [x, filters])] if groups == 1 and dilation == 1 else [y]

    compare(gradients, x, filters, scale=16)


@often
@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from(["SAME", "VALID"]),
    st.tuples(st.integers(3, 9), st.integers(3, 9)),
    wide,
    seeds,
)
def test_pooling_and_its_gradients(window, stride, padding, size, dtype, seed):
    count = 2 * size[0] * size[1] * 3
    x = (np.random.default_rng(seed).permutation(count).reshape(2, *size, 3) / 64).astype(dtype)

    def gradients(x):
        results = []
        for pool in (tf.nn.max_pool2d, tf.nn.avg_pool2d):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = pool(x, window, stride, padding)
                loss = tf.reduce_sum(y * y)
            results += [y, tape.gradient(loss, x)]
        return results

    compare(gradients, x, scale=8)


@often
@given(shapes(1, 3, st.integers(1, 6)), floats, seeds)
def test_softmax_and_segments(shape, dtype, seed):
    x = values(shape, dtype, seed)
    compare(tf.nn.softmax, x)
    compare(tf.nn.log_softmax, x)
    ids = np.random.default_rng(seed).integers(-1, 3, size=shape[:1])
    compare(lambda x, i: tf.math.unsorted_segment_sum(x, i, 3), x, ids, scale=4)
