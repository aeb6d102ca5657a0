"""amdgpu.ops: convolutions of one to three axes, transposed ones and padding by name, against their definitions in float64."""

import functools

import numpy as np
import pytest
from amdgpu import errors, ops
from device_ops_cases import on_host
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from image_oracle import Convolution, channels_last, channels_second
from ops_oracle import BFLOAT16, FLOATS, arrange, layouts

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LAYOUTS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}


def check(result, expected, size, dtype, terms=200):
    """Whether a result is within the bound of a sum of so many products, whose absolute values sum to `size`."""
    assert result.dtype == dtype
    unit = EPS["float32" if dtype.itemsize == 2 else dtype.name]
    error = abs(np.asarray(result).astype(np.float64) - expected)
    assert (error <= terms * unit * size + EPS[dtype.name] * abs(expected) + 1e-7).all()


def call(name, axes):
    return getattr(ops, name.format(axes))


@st.composite
def problems(draw):
    """Axes, and for each: extent, window, stride, padding, dilation; then batch, channels and outputs of a group, groups."""
    axes = draw(st.sampled_from([1, 2, 3, 3]))
    along = [
        (
            draw(st.integers(1, 7)),
            draw(st.integers(1, 3)),
            draw(st.integers(1, 3)),
            draw(st.integers(0, 2)),
            draw(st.integers(1, 2)),
        )
        for _ in range(axes)
    ]
    assume(all(size + 2 * pad > dil * (taps - 1) for size, taps, _, pad, dil in along))
    numbers = [draw(st.integers(low, 3)) for low in (0, 1, 1, 1)]
    return axes, [tuple(values) for values in zip(*along, strict=True)], numbers


@settings(max_examples=150, deadline=None)
@given(problems(), st.sampled_from(FLOATS), layouts, st.booleans(), st.booleans())
def test_convolutions_of_all_axes_and_their_gradients(problem, dtype, layout, is_last, has_bias):
    axes, (extents, window, stride, padding, dilation), (batch, inputs, outputs, groups) = problem
    rng = np.random.default_rng(sum(extents))
    x = rng.standard_normal((batch, inputs * groups, *extents)).astype(dtype)
    weight = arrange(rng.standard_normal((outputs * groups, inputs, *window)).astype(dtype), layout)
    bias = rng.standard_normal(outputs * groups).astype(dtype)
    turn, back = (channels_last, channels_second) if is_last else (np.array, np.array)
    oracle = Convolution(extents, window, stride=stride, padding=padding, dilation=dilation)
    wide_x, wide_weight, wide_bias = (array.astype(np.float64) for array in (x, weight, bias))
    addend = wide_bias.reshape(-1, *(1,) * axes) * has_bias
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    options["layout"] = LAYOUTS[axes][is_last]
    given_x = arrange(turn(x), layout)
    result = back(call("conv{}d", axes)(given_x, weight, bias if has_bias else None, **options))
    size = oracle.forward(abs(wide_x), abs(wide_weight), groups) + abs(addend)
    expected = oracle.forward(wide_x, wide_weight, groups) + addend
    check(result, expected, size, dtype)

    gradient = rng.standard_normal(expected.shape).astype(dtype)
    wide = gradient.astype(np.float64)
    lent = arrange(turn(gradient), layout)
    by_x = back(call("conv{}d_input_gradient", axes)(lent, weight, given_x.shape, **options))
    size = oracle.by_image(abs(wide), abs(wide_weight), groups)
    check(by_x, oracle.by_image(wide, wide_weight, groups), size, dtype)
    by_weight = call("conv{}d_weight_gradient", axes)(given_x, lent, weight.shape, **options)
    size = oracle.by_weight(abs(wide_x), abs(wide), groups)
    check(by_weight, oracle.by_weight(wide_x, wide, groups), size, dtype)


@settings(max_examples=150, deadline=None)
@given(problems(), st.integers(0, 2), st.sampled_from(FLOATS), layouts, st.booleans(), st.booleans())
def test_transposed_convolutions_and_their_gradients(problem, more, dtype, layout, is_last, has_bias):
    axes, (extents, window, stride, padding, dilation), (batch, inputs, outputs, groups) = problem
    more = tuple(min(more, max(step, dil) - 1) for step, dil in zip(stride, dilation, strict=True))
    along = zip(extents, window, stride, padding, dilation, more, strict=True)
    made = [(size - 1) * step - 2 * pad + dil * (taps - 1) + 1 + rest for size, taps, step, pad, dil, rest in along]
    assume(min(made) >= 1)
    rng = np.random.default_rng(sum(made))
    x = rng.standard_normal((batch, inputs * groups, *extents)).astype(dtype)
    weight = arrange(rng.standard_normal((inputs * groups, outputs, *window)).astype(dtype), layout)
    bias = rng.standard_normal(outputs * groups).astype(dtype)
    turn, back = (channels_last, channels_second) if is_last else (np.array, np.array)
    # What windows leave behind the last is cut off, so that the convolution of the result has the extents of x.
    oracle = Convolution(made, window, stride=stride, padding=padding, dilation=dilation)
    oracle.result = list(extents)
    oracle.end = tuple(max(pad, 4) for pad in padding)
    wide_x, wide_weight, wide_bias = (array.astype(np.float64) for array in (x, weight, bias))
    addend = wide_bias.reshape(-1, *(1,) * axes) * has_bias
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "output_padding": more}
    options["layout"] = LAYOUTS[axes][is_last]
    given_x = arrange(turn(x), layout)
    result = back(call("conv_transpose{}d", axes)(given_x, weight, bias if has_bias else None, **options))
    size = oracle.by_image(abs(wide_x), abs(wide_weight), groups) + abs(addend)
    expected = oracle.by_image(wide_x, wide_weight, groups) + addend
    assert result.shape == (batch, outputs * groups, *made)
    check(result, expected, size, dtype)

    gradient = rng.standard_normal(expected.shape).astype(dtype)
    wide = gradient.astype(np.float64)
    lent = arrange(turn(gradient), layout)
    by_x = back(call("conv_transpose{}d_input_gradient", axes)(lent, weight, given_x.shape, **options))
    size = oracle.forward(abs(wide), abs(wide_weight), groups)
    check(by_x, oracle.forward(wide, wide_weight, groups), size, dtype)
    by_weight = call("conv_transpose{}d_weight_gradient", axes)(given_x, lent, weight.shape, **options)
    size = oracle.by_weight(abs(wide), abs(wide_x), groups)
    check(by_weight, oracle.by_weight(wide, wide_x, groups), size, dtype)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 3, 4])
@pytest.mark.parametrize("dilation", [1, 2])
def test_padding_by_name_keeps_the_extents_or_is_none(axes, window, dilation, rng):
    extents, taps, ones = (5, 9, 8)[:axes], (window,) * axes, (1,) * axes
    x, weight = rng.standard_normal((2, 4, *extents)), rng.standard_normal((6, 2, *taps))
    reach = dilation * (window - 1)
    begin, end = (reach // 2,) * axes, (reach - reach // 2,) * axes
    oracle = Convolution(extents, taps, stride=ones, padding=begin, end=end, dilation=(dilation,) * axes)
    options = {"dilation": dilation, "groups": 2, "padding": "same"}
    result = call("conv{}d", axes)(x, weight, **options)
    assert result.shape == (2, 6, *extents)
    np.testing.assert_allclose(result, oracle.forward(x, weight, 2), atol=1e-12)
    gradient = rng.standard_normal(result.shape)
    by_x = call("conv{}d_input_gradient", axes)(gradient, weight, x.shape, **options)
    np.testing.assert_allclose(by_x, oracle.by_image(gradient, weight, 2), atol=1e-12)
    by_weight = call("conv{}d_weight_gradient", axes)(x, gradient, weight.shape, **options)
    np.testing.assert_allclose(by_weight, oracle.by_weight(x, gradient, 2), atol=1e-11)
    if min(extents) > reach:
        valid = call("conv{}d", axes)(x, weight, **{**options, "padding": "valid"})
        assert valid.tolist() == call("conv{}d", axes)(x, weight, **{**options, "padding": 0}).tolist()


@pytest.mark.parametrize(
    "name", ["conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]
)
def test_gradients_are_differences(name, rng):
    axes = int(name[-2])
    x, weight = rng.standard_normal((1, 2, *(3, 4, 3)[:axes])), rng.standard_normal((2, 1, *(2, 3, 2)[:axes]))
    options = {"stride": (2, 1, 2)[:axes], "padding": (1, 1, 0)[:axes], "groups": 2}
    forward = functools.partial(getattr(ops, name), **options)
    gradient = rng.standard_normal(forward(x, weight).shape)
    by_x = getattr(ops, f"{name}_input_gradient")(gradient, weight, x.shape, **options)
    by_weight = getattr(ops, f"{name}_weight_gradient")(x, gradient, weight.shape, **options)
    for array, computed in ((x, by_x), (weight, by_weight)):
        for index in np.ndindex(array.shape):
            ends = []
            for step in (0.5, -0.5):
                moved = array.copy()
                moved[index] += step
                given = (moved, weight) if array is x else (x, moved)
                ends.append((forward(*given) * gradient).sum())
            assert abs(ends[0] - ends[1] - computed[index]) < 1e-10


@pytest.mark.parametrize("layout", ["NCDHW", "NDHWC"])
@pytest.mark.parametrize("groups", [1, 4])
def test_volumes_that_are_computed_in_parts_do_not_depend_on_threads(layout, groups, rng):
    # Some depths at a time: the copies of all of them would be too large.
    extents, window = (37, 60, 61), (3, 2, 2)
    x = rng.standard_normal((2, 24, *extents)).astype(np.float32)
    weight = rng.standard_normal((8, 24 // groups, *window)).astype(np.float32)
    oracle = Convolution(extents, window, stride=(2, 3, 3), padding=(1, 0, 1), dilation=(2, 1, 1))
    options = {"stride": (2, 3, 3), "padding": (1, 0, 1), "dilation": (2, 1, 1), "groups": groups, "layout": layout}
    turn, back = (channels_last, channels_second) if layout == "NDHWC" else (np.array, np.array)
    expected = oracle.forward(x.astype(float), weight.astype(float), groups)
    gradient = rng.standard_normal(expected.shape).astype(np.float32)
    given_x, lent = (np.ascontiguousarray(turn(array)) for array in (x, gradient))
    passes = [
        ("forward", (given_x, weight), {}, back, expected),
        (
            "image_gradient",
            (lent, weight),
            {"shape": given_x.shape},
            back,
            oracle.by_image(gradient.astype(float), weight.astype(float), groups),
        ),
        (
            "weight_gradient",
            (given_x, lent),
            {"shape": weight.shape},
            np.array,
            oracle.by_weight(x.astype(float), gradient.astype(float), groups),
        ),
    ]
    for direction, inputs, shape, turned, wanted in passes:
        run = functools.partial(on_host("convolve"), direction, inputs, operation="conv3d", **options, **shape)
        one = run(threads=1)
        np.testing.assert_allclose(turned(one), wanted, atol=1e-4 * abs(wanted).max())
        assert run(threads=3).tobytes() == one.tobytes(), direction


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT16], ids=str)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_transposed_convolutions_of_narrow_floats_are_rounded_once_behind_the_bias(dtype, layout, rng):
    x, weight = rng.standard_normal((2, 5, 6, 7)).astype(dtype), rng.standard_normal((5, 20, 3, 3)).astype(dtype)
    bias = (rng.standard_normal(20) * 30).astype(dtype)
    x = np.ascontiguousarray(channels_last(x)) if layout == "NHWC" else x
    options = {"stride": 2, "padding": 1, "layout": layout}
    wide = [array.astype(np.float32) for array in (x, weight, bias)]
    expected = ops.conv_transpose2d(*wide, **options).astype(dtype)
    assert ops.conv_transpose2d(x, weight, bias, **options).tobytes() == expected.tobytes()


def test_out_receives_convolutions_of_all_axes(rng):
    x, weight = rng.standard_normal((2, 3, 4, 5, 6)), rng.standard_normal((3, 3, 2, 2, 2))
    out = np.empty((2, 3, 3, 4, 5))
    assert ops.conv3d(x, weight, out=out) is out
    assert out.tolist() == ops.conv3d(x, weight).tolist()
    wide = np.empty((2, 3, 5, 6, 7))
    assert ops.conv_transpose3d(x, weight, np.ones(3), out=wide) is wide
    assert wide.tolist() == ops.conv_transpose3d(x, weight, np.ones(3)).tolist()


def test_bad_convolutions_of_all_axes_are_refused():
    line, window = np.zeros((1, 4, 5), np.float32), np.zeros((2, 4, 3), np.float32)
    cube, block = np.zeros((1, 4, 5, 5, 5), np.float32), np.zeros((2, 4, 3, 3, 3), np.float32)
    with pytest.raises(
        errors.ShapeMismatchError, match=r"conv1d: x has shape \[1, 4, 5, 5, 5\]; three axes are expected"
    ):
        ops.conv1d(cube, window)
    with pytest.raises(errors.ShapeMismatchError, match=r"conv3d: weight has shape .* five axes are expected"):
        ops.conv3d(cube, window)
    with pytest.raises(
        errors.ShapeMismatchError, match=r"conv1d: a window of 3 with dilation 3 does not fit an image of 5"
    ):
        ops.conv1d(line, window, dilation=3)
    with pytest.raises(errors.ShapeMismatchError, match=r"a window of \(3, 3, 3\) .* padding \(0, 0, 0\)"):
        ops.conv3d(cube[:, :, :2], block)
    with pytest.raises(errors.InvalidArgumentError, match=r"conv3d: stride is \(1, 0, 1\); 1 to 2\^31 are accepted"):
        ops.conv3d(cube, block, stride=(1, 0, 1))
    with pytest.raises(errors.InvalidArgumentError, match="conv1d: padding is -1"):
        ops.conv1d(line, window, padding=-1)
    with pytest.raises(errors.InvalidTypeError, match=r"conv3d: stride is \(1, 1\); an integer or three are expected"):
        ops.conv3d(cube, block, stride=(1, 1))
    with pytest.raises(
        errors.InvalidArgumentError, match="conv1d: padding is 'all'; an integer, 'same' or 'valid' is expected"
    ):
        ops.conv1d(line, window, padding="all")
    with pytest.raises(
        errors.InvalidArgumentError, match="padding 'same' keeps the extents of images where the stride is 1, not 2"
    ):
        ops.conv1d(line, window, padding="same", stride=2)
    with pytest.raises(errors.InvalidArgumentError, match="known are NCL and NLC"):
        ops.conv1d(line, window, layout="NCHW")
    with pytest.raises(errors.ShapeMismatchError, match=r"bias has shape \[3\]"):
        ops.conv1d(line, window, np.zeros(3, np.float32))


def test_bad_transposed_convolutions_are_refused():
    x, weight = np.zeros((1, 4, 5, 5), np.float32), np.zeros((4, 2, 3, 3), np.float32)
    with pytest.raises(
        errors.InvalidArgumentError, match=r"output_padding is \(0, 2\); it must be smaller than the stride \(2, 2\)"
    ):
        ops.conv_transpose2d(x, weight, stride=2, output_padding=(0, 2))
    with pytest.raises(errors.InvalidArgumentError, match=r"output_padding is \(-1, -1\)"):
        ops.conv_transpose2d(x, weight, stride=2, output_padding=-1)
    with pytest.raises(errors.ShapeMismatchError, match=r"padding .* leaves nothing of a result"):
        ops.conv_transpose2d(x[:, :, :1, :1], weight, padding=2)
    with pytest.raises(errors.ShapeMismatchError, match=r"4 channels of x .* do not make 3 groups"):
        ops.conv_transpose2d(x, weight, groups=3)
    with pytest.raises(errors.ShapeMismatchError, match="5 channels of x"):
        ops.conv_transpose2d(np.zeros((1, 5, 5, 5), np.float32), weight)
    with pytest.raises(errors.InvalidArgumentError, match="padding 'same' is of convolutions that are not transposed"):
        ops.conv_transpose2d(x, weight, padding="same")
    with pytest.raises(errors.ShapeMismatchError, match=r"bias has shape \[4\] .* \[2\] and float32 are expected"):
        ops.conv_transpose2d(x, weight, np.zeros(4, np.float32))
    with pytest.raises(errors.UnsupportedDtypeError, match="both must be the same float"):
        ops.conv_transpose2d(x, weight.astype(np.float64))
    with pytest.raises(errors.ShapeMismatchError, match=r"give \[1, 2, 7, 7\] of float32, not \[1, 2, 6, 7\]"):
        ops.conv_transpose2d_input_gradient(np.zeros((1, 2, 6, 7), np.float32), weight, x.shape)
    with pytest.raises(errors.ShapeMismatchError, match="give"):
        ops.conv_transpose2d_weight_gradient(x, np.zeros((1, 2, 6, 7), np.float32), weight.shape)
    with pytest.raises(errors.ShapeMismatchError, match="window of weight"):
        ops.conv_transpose2d(x, weight[:, :, :0])
