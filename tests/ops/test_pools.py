"""amdgpu.ops: pooling of one to three axes with all options, adaptive pooling and indices, against loops in float64."""

import functools

import numpy as np
import pytest
from amdgpu import errors, ops
from device_ops_cases import on_host
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from image_oracle import Pooling, adaptive_windows, at_indices, channels_last, channels_second, sliding_windows
from ops_oracle import FLOATS, arrange, layouts

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LAYOUTS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def call(name, axes):
    return getattr(ops, name.format(axes))


def close(result, expected, dtype, sums=1.0):
    assert result.dtype == dtype
    error = abs(np.asarray(result).astype(np.float64) - expected)
    assert (error <= 30 * EPS[dtype.name] * (abs(expected) + sums)).all()


def tied(rng, shape, dtype):
    """Few different values, so that most windows have ties."""
    return rng.integers(-3, 4, shape).astype(dtype)


@st.composite
def problems(draw):
    """Axes, batch and channels, extents, and the options of windows along each axis."""
    axes = draw(st.sampled_from([1, 2, 2, 3]))
    extents = tuple(draw(st.integers(1, 9)) for _ in range(axes))
    along = []
    for extent in extents:
        window = draw(st.integers(1, 4))
        padding = draw(st.integers(0, window // 2))
        assume(extent + 2 * padding >= window)
        along.append((window, draw(st.integers(1, 4)), padding))
    channels = draw(st.sampled_from([1, 2, 5, 17, 33]))
    return axes, (draw(st.integers(1, 2)), channels), extents, [tuple(one) for one in zip(*along, strict=True)]


@settings(max_examples=120, deadline=None)
@given(
    problems(),
    st.sampled_from(FLOATS),
    layouts,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, None, 3, -7]),
)
def test_averages_and_their_gradients(problem, dtype, layout, is_last, ceil_mode, counts_padding, divisor):
    axes, outer, extents, (window, stride, padding) = problem
    rng = np.random.default_rng(sum(extents))
    x = rng.standard_normal((*outer, *extents)).astype(dtype)
    turn, back = (channels_last, channels_second) if is_last else (np.array, np.array)
    windows = [sliding_windows(*one, ceil_mode=ceil_mode) for one in zip(extents, window, stride, padding, strict=True)]
    oracle = Pooling(windows, counts_padding=counts_padding, divisor=divisor)
    options = {"stride": stride, "padding": padding, "ceil_mode": ceil_mode, "count_include_pad": counts_padding}
    options |= {"divisor_override": divisor, "layout": LAYOUTS[axes][is_last]}
    given_x = arrange(turn(x), layout)
    result = back(call("avg_pool{}d", axes)(given_x, window, **options))
    expected = oracle.average(x.astype(np.float64))
    assert result.shape == expected.shape
    close(result, expected, dtype, 4.0)
    gradient = rng.standard_normal(expected.shape).astype(dtype)
    lent = arrange(turn(gradient), layout)
    result = back(call("avg_pool{}d_gradient", axes)(given_x, lent, window, **options))
    close(result, oracle.average_gradient(x.shape, gradient.astype(np.float64)), dtype, 4.0)


@settings(max_examples=120, deadline=None)
@given(problems(), st.integers(1, 3), st.sampled_from(FLOATS), layouts, st.booleans(), st.booleans())
def test_largest_values_their_indices_and_gradients(problem, dilation, dtype, layout, is_last, ceil_mode):
    axes, outer, extents, (window, stride, padding) = problem
    assume(
        all(size + 2 * pad > dilation * (taps - 1) for size, taps, pad in zip(extents, window, padding, strict=True))
    )
    rng = np.random.default_rng(sum(extents))
    x = tied(rng, (*outer, *extents), dtype)
    x.flat[rng.integers(x.size)] = np.nan
    turn, back = (channels_last, channels_second) if is_last else (np.array, np.array)
    along = zip(extents, window, stride, padding, strict=True)
    oracle = Pooling([sliding_windows(*one, dilation=dilation, ceil_mode=ceil_mode) for one in along])
    options = {"stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
    options["layout"] = LAYOUTS[axes][is_last]
    given_x = arrange(turn(x), layout)
    expected, places = oracle.largest(x.astype(np.float64))
    result = back(call("max_pool{}d", axes)(given_x, window, **options))
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.float64), expected)
    both = call("max_pool{}d_with_indices", axes)(given_x, window, **options)
    np.testing.assert_array_equal(back(both[0]).astype(np.float64), expected)
    assert both[1].dtype == np.int64
    np.testing.assert_array_equal(back(both[1]), places)

    gradient = rng.integers(-4, 5, expected.shape).astype(dtype)
    lent = arrange(turn(gradient), layout)
    by_x = at_indices(gradient.astype(np.float64), places, x.shape, adds=True)
    result = back(call("max_pool{}d_gradient", axes)(given_x, lent, window, **options))
    np.testing.assert_array_equal(result.astype(np.float64), by_x)
    indices = arrange(both[1], layout)
    from_indices = call("max_pool{}d_with_indices_gradient", axes)
    result = back(from_indices(lent, indices, given_x.shape, window, **options))
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.float64), by_x)


@settings(max_examples=80, deadline=None)
@given(problems(), st.integers(1, 11), st.sampled_from(FLOATS), layouts, st.booleans())
def test_adaptive_pools_and_their_gradients(problem, largest, dtype, layout, is_last):
    axes, outer, extents, _ = problem
    rng = np.random.default_rng(sum(extents) + largest)
    # One extent is kept; results may be larger than images.
    sizes = [int(rng.integers(1, largest + 1)) for _ in extents]
    asked = tuple(None if axis == axes - 1 else size for axis, size in enumerate(sizes))
    sizes[-1] = extents[-1]
    oracle = Pooling([adaptive_windows(extent, size) for extent, size in zip(extents, sizes, strict=True)])
    turn, back = (channels_last, channels_second) if is_last else (np.array, np.array)
    x = tied(rng, (*outer, *extents), dtype)
    given_x = arrange(turn(x), layout)
    options = {"layout": LAYOUTS[axes][is_last]}
    wide = x.astype(np.float64)
    result = back(call("adaptive_avg_pool{}d", axes)(given_x, asked, **options))
    close(result, oracle.average(wide), dtype, 4.0)
    gradient = rng.integers(-4, 5, result.shape).astype(dtype)
    lent = arrange(turn(gradient), layout)
    by_x = call("adaptive_avg_pool{}d_gradient", axes)(given_x, lent, asked, **options)
    close(back(by_x), oracle.average_gradient(x.shape, gradient.astype(np.float64)), dtype, 40.0)
    expected, places = oracle.largest(wide)
    values, indices = call("adaptive_max_pool{}d_with_indices", axes)(given_x, asked, **options)
    np.testing.assert_array_equal(back(values).astype(np.float64), expected)
    np.testing.assert_array_equal(back(indices), places)
    only = call("adaptive_max_pool{}d", axes)(given_x, asked, **options)
    assert only.tobytes() == values.tobytes()
    by_x = at_indices(gradient.astype(np.float64), places, x.shape, adds=True)
    for result in (
        call("adaptive_max_pool{}d_gradient", axes)(given_x, lent, asked, **options),
        call("adaptive_max_pool{}d_with_indices_gradient", axes)(lent, indices, given_x.shape, asked, **options),
    ):
        close(back(result), by_x, dtype, 40.0)


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(FLOATS), layouts, st.booleans())
def test_unpooling_puts_values_where_they_were_largest(problem, dtype, layout, is_last):
    axes, outer, extents, (window, stride, padding) = problem
    rng = np.random.default_rng(sum(extents))
    x = rng.standard_normal((*outer, *extents)).astype(dtype)
    turn, back = (channels_last, channels_second) if is_last else (np.array, np.array)
    name = LAYOUTS[axes][is_last]
    given_x = arrange(turn(x), layout)
    options = {"stride": stride, "padding": padding, "layout": name}
    values, indices = call("max_pool{}d_with_indices", axes)(given_x, window, **options)
    result = call("max_unpool{}d", axes)(values, arrange(indices, layout), window, output_size=extents, **options)
    expected = at_indices(back(values).astype(np.float64), back(indices), x.shape, adds=False)
    assert result.dtype == dtype
    np.testing.assert_array_equal(back(result).astype(np.float64), expected)


def test_extents_of_unpooled_images_follow_from_the_window():
    values, indices = ops.max_pool2d_with_indices(np.arange(48.0).reshape(1, 2, 4, 6), (2, 3))
    assert indices.tolist() == [[[[8, 11], [20, 23]], [[8, 11], [20, 23]]]]
    result = ops.max_unpool2d(values, indices, (2, 3))
    assert result.shape == (1, 2, 4, 6)
    assert np.flatnonzero(result).tolist() == [8, 11, 20, 23, 32, 35, 44, 47]
    # Of equal indices the last counts.
    assert ops.max_unpool1d(np.float32([[[1, 2]]]), [[[1, 1]]], 1, output_size=3).tolist() == [[[0, 2, 0]]]


def test_a_window_without_pixels_has_no_index():
    x = np.ones((1, 1, 1), np.float32)
    values, indices = ops.max_pool1d_with_indices(x, 2, stride=1, padding=1, dilation=2)
    assert (values.tolist(), indices.tolist()) == ([[[-np.inf]]], [[[-1]]])
    back = ops.max_pool1d_with_indices_gradient(
        np.full_like(values, 5), indices, x.shape, 2, stride=1, padding=1, dilation=2
    )
    assert back.tolist() == [[[0.0]]]
    with pytest.raises(errors.InvalidArgumentError, match="-1 is not in a plane of 1 pixels"):
        ops.max_unpool1d(values, indices, 1, output_size=1)


@pytest.mark.parametrize(
    "name", ["avg_pool1d", "avg_pool2d", "avg_pool3d", "max_pool2d", "max_pool3d", "adaptive_avg_pool2d"]
)
def test_gradients_are_differences(name, rng):
    axes = int(name[-2])
    # Distances between values are larger than the steps.
    x = rng.permutation(2 * 4**axes).reshape(1, 2, *(4,) * axes).astype(np.float64)
    options = {} if name.startswith("adaptive") else {"stride": 2, "padding": 1, "ceil_mode": True}
    forward = functools.partial(getattr(ops, name), **options)
    gradient = rng.standard_normal(forward(x, 3).shape)
    computed = getattr(ops, f"{name}_gradient")(x, gradient, 3, **options)
    for index in np.ndindex(x.shape):
        ends = []
        for step in (0.25, -0.25):
            moved = x.copy()
            moved[index] += step
            ends.append((forward(moved, 3) * gradient).sum())
        assert abs((ends[0] - ends[1]) / 0.5 - computed[index]) < 1e-9


@pytest.mark.parametrize("layout", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize("channels", [3, 21])
def test_pools_of_volumes_do_not_depend_on_threads(layout, channels, rng):
    x = rng.standard_normal((3, channels, 9, 14, 15)).astype(np.float32)
    windows = [sliding_windows(size, 3, 2, 1, ceil_mode=True) for size in (9, 14, 15)]
    expected, places = Pooling(windows).largest(x.astype(float))
    turn = channels_last if layout == "NDHWC" else np.array
    given_x = np.ascontiguousarray(turn(x))
    options = {"window": (3, 3, 3), "stride": (2, 2, 2), "padding": (1, 1, 1), "layout": layout, "ceil_mode": True}
    both = [on_host("pool")("max_pool3d", given_x, **options, direction="with_indices", threads=n) for n in (1, 3)]
    np.testing.assert_array_equal(both[0][0], turn(expected))
    np.testing.assert_array_equal(both[0][1], turn(places))
    gradient = rng.standard_normal(both[0][0].shape).astype(np.float32)
    for first, second in zip(*both, strict=True):
        assert first.tobytes() == second.tobytes()
    for name in ("max_pool3d", "avg_pool3d"):
        one, three = (on_host("pool")(name, given_x, gradient, **options, threads=n) for n in (1, 3))
        assert one.tobytes() == three.tobytes()


def test_large_images_are_copied_a_channel_at_a_time(rng):
    x = rng.standard_normal((1, 3, 2500, 2600)).astype(np.float32)
    values, indices = ops.max_pool2d_with_indices(x, 1300)
    for channel in range(3):
        plane = x[0, channel]
        blocks = plane[:1300, :1300], plane[:1300, 1300:2600]
        assert values[0, channel, 0].tolist() == [block.max() for block in blocks]
        assert plane.ravel()[indices[0, channel, 0]].tolist() == values[0, channel, 0].tolist()


def test_bad_options_of_pools_are_refused():
    x = np.zeros((1, 2, 5, 5), np.float32)
    with pytest.raises(
        errors.ShapeMismatchError, match=r"max_pool2d: a window of \(6, 6\) .* does not fit an image of \(5, 5\)"
    ):
        ops.max_pool2d(x, 6, ceil_mode=True)
    with pytest.raises(errors.InvalidArgumentError, match=r"avg_pool2d: padding is \(-1, -1\)"):
        ops.avg_pool2d(x, 2, padding=-1)
    with pytest.raises(errors.InvalidArgumentError, match="divisor_override is 0"):
        ops.avg_pool2d(x, 2, divisor_override=0)
    with pytest.raises(errors.InvalidTypeError, match=r"divisor_override is 0\.5"):
        ops.avg_pool2d(x, 2, divisor_override=0.5)
    with pytest.raises(errors.InvalidTypeError, match="ceil_mode is 1; True or False"):
        ops.max_pool2d(x, 2, ceil_mode=1)
    with pytest.raises(
        errors.ShapeMismatchError, match=r"max_pool1d: x has shape \[1, 2, 5, 5\]; three axes are expected"
    ):
        ops.max_pool1d(x, 2)
    with pytest.raises(errors.InvalidTypeError, match=r"window is \(2, 2\); an integer or three are expected"):
        ops.avg_pool3d(x[None], (2, 2))
    with pytest.raises(errors.InvalidArgumentError, match="known are NCL and NLC"):
        ops.avg_pool1d(x[0], 2, layout="NCHW")
    with pytest.raises(errors.UnsupportedDtypeError, match="avg_pool1d: x has dtype int32"):
        ops.avg_pool1d(x[0].astype(np.int32), 2)
    with pytest.raises(errors.ShapeMismatchError, match=r"gradient has shape \[1, 2, 5, 5\]"):
        ops.avg_pool2d_gradient(x, x, 2)


def test_bad_adaptive_pools_are_refused():
    x = np.zeros((1, 2, 5, 5), np.float32)
    with pytest.raises(errors.InvalidArgumentError, match=r"adaptive_avg_pool2d: output_size is \(0, 5\)"):
        ops.adaptive_avg_pool2d(x, (0, None))
    with pytest.raises(errors.InvalidTypeError, match=r"output_size is \(1, 2, 3\); an integer, None or a pair"):
        ops.adaptive_max_pool2d(x, (1, 2, 3))
    with pytest.raises(errors.InvalidTypeError, match="output_size is '7'"):
        ops.adaptive_max_pool1d(x[0], "7")
    with pytest.raises(errors.ShapeMismatchError, match="has no values for windows"):
        ops.adaptive_avg_pool2d(x[:, :, :0], 1)
    with pytest.raises(errors.ShapeMismatchError, match="five axes are expected"):
        ops.adaptive_avg_pool3d(x, 1)
    with pytest.raises(errors.ShapeMismatchError, match=r"gradient has shape \[1, 2, 5, 5\]"):
        ops.adaptive_max_pool2d_gradient(x, x, 3)


def test_bad_indices_are_refused():
    x, places = np.ones((1, 2, 2, 2), np.float32), np.zeros((1, 2, 2, 2), np.int64)
    far = places.copy()
    far[0, 1, 1, 1] = 16
    for index, message in ((far, "16 is not in a plane of 16 pixels"), (far - 17, "-17 is not in a plane")):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            ops.max_pool2d_with_indices_gradient(x, index, (1, 2, 4, 4), 2)
        with pytest.raises(errors.InvalidArgumentError, match=message):
            ops.max_unpool2d(x, index, 2)
    with pytest.raises(errors.UnsupportedDtypeError, match="indices int32; floats and int64 are expected"):
        ops.max_unpool2d(x, places.astype(np.int32), 2)
    with pytest.raises(
        errors.ShapeMismatchError,
        match=r"max_unpool2d: values of shape \[1, 2, 2, 2\] and indices of shape \[1, 2, 2, 1\]",
    ):
        ops.max_unpool2d(x, places[..., :1], 2)
    with pytest.raises(errors.ShapeMismatchError, match="batch and channels are those of the images"):
        ops.max_pool2d_with_indices_gradient(x, places, (1, 3, 4, 4), 2)
    with pytest.raises(errors.ShapeMismatchError, match=r"gradient has shape \[1, 2, 2, 2\]"):
        ops.max_pool2d_with_indices_gradient(x, places, (1, 2, 6, 4), 2)
    with pytest.raises(errors.ShapeMismatchError, match="four axes are expected"):
        ops.max_unpool2d(x[0], places[0], 2)
    with pytest.raises(errors.InvalidArgumentError, match="only largest values have indices"):
        on_host("pool")("avg_pool2d", x, window=(2, 2), layout="NCHW", direction="with_indices")
