"""amdgpu.ops: convolution and pooling against their definitions in float64."""

import numpy as np
import pytest
from amdgpu import _native, errors, ops
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ops_oracle import BFLOAT16, FLOATS, arrange, layouts

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def windows_of(x, window, stride, padding, dilation, fill):
    """x[n, c, i, j, rows, columns]: tap (i, j) of every window."""
    rows, columns = (
        (x.shape[2 + k] + 2 * padding[k] - dilation[k] * (window[k] - 1) - 1) // stride[k] + 1 for k in range(2)
    )
    padded = np.full((*x.shape[:2], x.shape[2] + 2 * padding[0], x.shape[3] + 2 * padding[1]), fill)
    padded[:, :, padding[0] : padding[0] + x.shape[2], padding[1] : padding[1] + x.shape[3]] = x
    result = np.empty((*x.shape[:2], *window, rows, columns))
    for i in range(window[0]):
        for j in range(window[1]):
            top, left = i * dilation[0], j * dilation[1]
            result[:, :, i, j] = padded[
                :,
                :,
                top : top + (rows - 1) * stride[0] + 1 : stride[0],
                left : left + (columns - 1) * stride[1] + 1 : stride[1],
            ]
    return result


def fold_back(taps, shape, stride, padding, dilation):
    """The transpose of `windows_of`: the sum of all taps at their places."""
    window, rows, columns = taps.shape[2:4], taps.shape[4], taps.shape[5]
    padded = np.zeros((*shape[:2], shape[2] + 2 * padding[0], shape[3] + 2 * padding[1]))
    for i in range(window[0]):
        for j in range(window[1]):
            top, left = i * dilation[0], j * dilation[1]
            padded[
                :,
                :,
                top : top + (rows - 1) * stride[0] + 1 : stride[0],
                left : left + (columns - 1) * stride[1] + 1 : stride[1],
            ] += taps[:, :, i, j]
    return padded[:, :, padding[0] : padding[0] + shape[2], padding[1] : padding[1] + shape[3]]


def grouped(array, groups, axis):
    return np.split(array, groups, axis)


def conv2d(x, weight, bias, stride, padding, dilation, groups):
    taps = windows_of(x, weight.shape[2:], stride, padding, dilation, 0.0)
    parts = [
        np.einsum("ncijpq,ocij->nopq", part, kernel)
        for part, kernel in zip(grouped(taps, groups, 1), grouped(weight, groups, 0), strict=True)
    ]
    return np.concatenate(parts, 1) + bias[None, :, None, None]


def conv2d_gradients(x, weight, gradient, stride, padding, dilation, groups):
    taps = windows_of(x, weight.shape[2:], stride, padding, dilation, 0.0)
    by_weight, by_taps = [], []
    for part, kernel, back in zip(
        grouped(taps, groups, 1), grouped(weight, groups, 0), grouped(gradient, groups, 1), strict=True
    ):
        by_weight.append(np.einsum("ncijpq,nopq->ocij", part, back))
        by_taps.append(np.einsum("nopq,ocij->ncijpq", back, kernel))
    return fold_back(np.concatenate(by_taps, 1), x.shape, stride, padding, dilation), np.concatenate(by_weight, 0)


def to_nhwc(array):
    return np.moveaxis(array, 1, 3)


def to_nchw(array):
    return np.moveaxis(array, 3, 1)


small = st.integers(1, 3)
pairs = st.tuples(small, small)


@settings(max_examples=150, deadline=None)
@given(
    st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    st.integers(1, 4),
    st.integers(1, 3),
    pairs,
    pairs,
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    pairs,
    st.sampled_from(FLOATS),
    layouts,
    st.booleans(),
    st.booleans(),
)
def test_convolutions_and_their_gradients(
    extents, outputs, groups, window, stride, padding, dilation, dtype, layout, is_nhwc, has_bias
):
    batch, inputs, rows, columns = extents
    for k, extent in enumerate((rows, columns)):
        assume(extent + 2 * padding[k] > dilation[k] * (window[k] - 1))
    rng = np.random.default_rng(rows * 10 + columns)
    x = rng.standard_normal((batch, inputs * groups, rows, columns)).astype(dtype)
    weight = arrange(rng.standard_normal((outputs * groups, inputs, *window)).astype(dtype), layout)
    bias = rng.standard_normal(outputs * groups).astype(dtype)
    options = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "layout": "NHWC" if is_nhwc else "NCHW",
    }
    turn, back = (to_nhwc, to_nchw) if is_nhwc else (np.array, np.array)
    wide = [array.astype(np.float64) for array in (x, weight, bias)]
    zero = np.zeros_like(wide[2])
    expected = conv2d(wide[0], wide[1], wide[2] if has_bias else zero, stride, padding, dilation, groups)
    size = conv2d(abs(wide[0]), abs(wide[1]), abs(wide[2]), stride, padding, dilation, groups)
    x_given = arrange(turn(x), layout)
    result = ops.conv2d(x_given, weight, bias if has_bias else None, **options)
    assert result.dtype == dtype
    terms = 4 + min(inputs * window[0] * window[1], 40)
    unit = EPS["float32" if dtype.itemsize == 2 else dtype.name]
    assert (
        abs(back(result).astype(np.float64) - expected) <= terms * unit * size + EPS[dtype.name] * abs(expected) + 1e-7
    ).all()

    gradient = rng.standard_normal(expected.shape).astype(dtype)
    by_image, by_weight = conv2d_gradients(
        wide[0], wide[1], gradient.astype(np.float64), stride, padding, dilation, groups
    )
    image_size, weight_size = conv2d_gradients(
        abs(wide[0]), abs(wide[1]), abs(gradient.astype(np.float64)), stride, padding, dilation, groups
    )
    lent = arrange(turn(gradient), layout)
    image_result = back(ops.conv2d_input_gradient(lent, weight, x_given.shape, **options)).astype(np.float64)
    assert (abs(image_result - by_image) <= 80 * unit * image_size + EPS[dtype.name] * abs(by_image) + 1e-7).all()
    weight_result = ops.conv2d_weight_gradient(x_given, lent, weight.shape, **options).astype(np.float64)
    assert (abs(weight_result - by_weight) <= 200 * unit * weight_size + EPS[dtype.name] * abs(by_weight) + 1e-7).all()


# (channels, outputs, extent, window, stride, padding, groups): layers of ResNet-50 and MobileNet, smaller, and odd ones.
LAYERS = [
    (3, 64, 56, 7, 2, 3, 1),
    (64, 64, 28, 1, 1, 0, 1),
    (64, 64, 28, 3, 1, 1, 1),
    (128, 128, 14, 3, 2, 1, 1),
    (64, 256, 14, 1, 2, 0, 1),
    (32, 32, 30, 3, 1, 1, 32),
    (32, 64, 30, 3, 2, 1, 32),
    (48, 36, 17, 3, 1, 1, 4),
    (1, 1, 700, 3, 1, 1, 1),
]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_layers_are_within_the_error_bound_for_any_number_of_threads(layer, layout, rng):
    channels, outputs, extent, window, stride, padding, groups = layer
    x = rng.standard_normal((2, channels, extent, extent)).astype(np.float32)
    weight = rng.standard_normal((outputs, channels // groups, window, window)).astype(np.float32)
    pad, step = (padding, padding), (stride, stride)
    expected = conv2d(x.astype(float), weight.astype(float), np.zeros(outputs), step, pad, (1, 1), groups)
    size = conv2d(abs(x).astype(float), abs(weight).astype(float), np.zeros(outputs), step, pad, (1, 1), groups)
    given_x = np.ascontiguousarray(to_nhwc(x)) if layout == "NHWC" else x
    options = {"stride": step, "padding": pad, "dilation": (1, 1), "groups": groups, "layout": layout}
    result = _native.convolve("forward", (given_x, weight), **options, threads=1)
    turned = to_nchw(result) if layout == "NHWC" else result
    terms = channels // groups * window * window
    assert (abs(turned - expected) <= terms * 2.0**-24 * size).all()
    gradient = rng.standard_normal(result.shape).astype(np.float32)
    passes = [
        ("forward", (given_x, weight), {}),
        ("image_gradient", (gradient, weight), {"shape": given_x.shape}),
        ("weight_gradient", (given_x, gradient), {"shape": weight.shape}),
    ]
    for name, inputs, shape in passes:
        one = _native.convolve(name, inputs, **options, **shape, threads=1)
        for threads in (2, 3):
            assert _native.convolve(name, inputs, **options, **shape, threads=threads).tobytes() == one.tobytes(), name


def test_the_precision_of_a_convolution_is_known_and_the_cpu_keeps_all_digits(rng):
    x, weight = (
        rng.standard_normal((1, 3, 8, 8)).astype(np.float32),
        rng.standard_normal((4, 3, 3, 3)).astype(np.float32),
    )
    exact = ops.conv2d(x, weight)
    assert ops.conv2d(x, weight, precision="tf32").tobytes() == exact.tobytes()
    with pytest.raises(errors.InvalidArgumentError, match="precision"):
        ops.conv2d(x, weight, precision="bf16")


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(st.integers(1, 3), st.integers(8, 40), st.integers(1, 12), st.integers(1, 12)),
    st.integers(1, 2),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    pairs,
    st.tuples(st.integers(0, 3), st.integers(0, 3)),
    pairs,
    st.sampled_from(FLOATS),
    layouts,
    st.booleans(),
)
def test_gradients_of_convolutions_of_each_channel_alone(
    shape, outputs, window, stride, padding, dilation, dtype, layout, is_nhwc
):
    for k in range(2):
        assume(shape[2 + k] + 2 * padding[k] > dilation[k] * (window[k] - 1))
    rng = np.random.default_rng(sum(shape))
    groups = shape[1]
    x = rng.standard_normal(shape).astype(dtype)
    weight = arrange(rng.standard_normal((outputs * groups, 1, *window)).astype(dtype), layout)
    turn, back = (to_nhwc, to_nchw) if is_nhwc else (np.array, np.array)
    taps = windows_of(x.astype(np.float64), window, stride, padding, dilation, 0.0)
    gradient = rng.standard_normal((shape[0], outputs * groups, *taps.shape[4:])).astype(dtype)
    wide = [array.astype(np.float64) for array in (x, weight, gradient)]
    expected = conv2d_gradients(*wide, stride, padding, dilation, groups)
    sizes = conv2d_gradients(*map(abs, wide), stride, padding, dilation, groups)
    options = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "layout": "NHWC" if is_nhwc else "NCHW",
    }
    given_x, lent = arrange(turn(x), layout), arrange(turn(gradient), layout)
    by_image = back(ops.conv2d_input_gradient(lent, weight, given_x.shape, **options))
    by_weight = ops.conv2d_weight_gradient(given_x, lent, weight.shape, **options)
    unit = EPS["float32" if dtype.itemsize == 2 else dtype.name]
    for result, value, size in zip((by_image, by_weight), expected, sizes, strict=True):
        assert result.dtype == dtype
        error = abs(result.astype(np.float64) - value)
        assert (error <= 100 * unit * size + EPS[dtype.name] * abs(value) + 1e-7).all()


def test_bad_convolutions_are_refused():
    x, weight = np.zeros((1, 4, 5, 5), np.float32), np.zeros((2, 4, 3, 3), np.float32)
    with pytest.raises(errors.ShapeMismatchError, match=r"3 channels of x of shape \[1, 3, 5, 5\]"):
        ops.conv2d(x[:, :3], weight)
    with pytest.raises(errors.ShapeMismatchError, match="do not make 2 groups"):
        ops.conv2d(x, weight, groups=2)
    with pytest.raises(errors.ShapeMismatchError, match="does not fit an image"):
        ops.conv2d(x, weight, dilation=3)
    with pytest.raises(errors.ShapeMismatchError, match="four axes"):
        ops.conv2d(x[0], weight)
    with pytest.raises(errors.ShapeMismatchError, match=r"bias has shape \[3\]"):
        ops.conv2d(x, weight, np.zeros(3, np.float32))
    with pytest.raises(errors.UnsupportedDtypeError, match="both must be the same float"):
        ops.conv2d(x, weight.astype(np.float64))
    with pytest.raises(errors.InvalidArgumentError, match=r"stride is \(0, 1\)"):
        ops.conv2d(x, weight, stride=(0, 1))
    with pytest.raises(errors.InvalidArgumentError, match="padding"):
        ops.conv2d(x, weight, padding=-1)
    with pytest.raises(errors.InvalidArgumentError, match="groups is 0"):
        ops.conv2d(x, weight, groups=0)
    with pytest.raises(errors.InvalidArgumentError, match="known are NCHW and NHWC"):
        ops.conv2d(x, weight, layout="CHWN")
    with pytest.raises(errors.InvalidTypeError, match="stride is 'x'"):
        ops.conv2d(x, weight, stride="x")
    with pytest.raises(errors.ShapeMismatchError, match="give"):
        ops.conv2d_input_gradient(np.zeros((1, 2, 4, 3), np.float32), weight, x.shape)
    with pytest.raises(errors.ShapeMismatchError):
        ops.conv2d_weight_gradient(x, np.zeros((1, 2, 3, 3), np.float32), (2, 4, 3))
    with pytest.raises(errors.InvalidArgumentError, match="share memory"):
        ops.conv2d(x[:, :2], weight[:, :2], padding=1, out=x[:, :2])
    gradient = np.zeros((1, 2, 3, 3), np.float32)
    with pytest.raises(errors.ShapeMismatchError, match=r"x has shape \[1, 4, -5, 5\]; extents are not negative"):
        ops.conv2d_input_gradient(gradient, weight, (1, 4, -5, 5))
    with pytest.raises(errors.ShapeMismatchError, match=r"window of \(3, 3\) .* image of \(4611686018427387904, 5\)"):
        ops.conv2d_input_gradient(gradient, weight, (1, 4, 2**62, 5))
    with pytest.raises(
        errors.ShapeMismatchError, match=r"\[1, 4, 5, 5\] and weight .*\[2, 4, 3, 3\] give .*, not \[1, 2, 4, 4\]"
    ):
        ops.conv2d_weight_gradient(x, np.zeros((1, 2, 4, 4), np.float32), weight.shape)


def test_convolutions_of_nothing_are_zeros_and_the_bias():
    bias = np.ones(40, np.float32)
    assert ops.conv2d(np.zeros((0, 4, 5, 5), np.float32), np.zeros((2, 4, 3, 3), np.float32)).shape == (0, 2, 3, 3)
    for x, weight in (((1, 0, 5, 5), (40, 0, 3, 3)), ((1, 4, 0, 5), (40, 4, 1, 1))):
        given = np.zeros(x, np.float32), np.ones(weight, np.float32)
        result = ops.conv2d(*given, bias, padding=1)
        assert result.size
        assert (result == 1).all()
        by_weight = ops.conv2d_weight_gradient(given[0], result, weight, padding=1)
        assert by_weight.shape == weight
        assert not by_weight.any()
        assert ops.conv2d_input_gradient(result, given[1], x, padding=1).shape == x
    empty = np.zeros((1, 0, 3, 3), np.float32)
    assert not ops.conv2d_input_gradient(empty, np.zeros((0, 40, 3, 3), np.float32), (1, 40, 5, 5)).any()


def test_far_padding_and_long_strides_take_little_memory():
    weight = np.ones((40, 4, 3, 3), np.float32)
    x = np.ones((1, 4, 5, 5), np.float32)
    # Only the tap in the middle lies in the image.
    result = ops.conv2d(x, weight, padding=2**30, dilation=2**30, stride=3)
    assert result.shape == (1, 40, 2, 2)
    assert (result == 4).all()
    assert not ops.conv2d(x, weight, padding=2**30, stride=2**30 + 10)[:, :, 0].any()
    by_image = ops.conv2d_input_gradient(np.ones((1, 40, 1, 1), np.float32), weight, x.shape, stride=2**30)
    np.testing.assert_array_equal(by_image[0, 0], np.pad(np.full((3, 3), 40.0), ((0, 2), (0, 2))))


def test_what_does_not_fit_in_memory_is_a_memory_error():
    # More than an address space holds, so that no system promises it.
    one = np.broadcast_to(np.float32(1), (1, 1 << 30, 1000, 1000))
    with pytest.raises(MemoryError, match="images of 1 x 1073741824 x 1000 x 1000 with weights of 64 x"):
        ops.conv2d(one, np.broadcast_to(np.float32(1), (64, 1 << 30, 3, 3)), stride=500)
    with pytest.raises(MemoryError, match="no memory for a result of shape"):
        ops.conv2d(np.zeros((1, 4, 5, 5), np.float32), np.zeros((2, 4, 3, 3), np.float32), padding=2**30)


@settings(max_examples=120, deadline=None)
@given(
    st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
    pairs,
    pairs,
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    pairs,
    st.sampled_from(FLOATS),
    layouts,
    st.booleans(),
    st.booleans(),
)
def test_pooling_and_its_gradients(shape, window, stride, padding, dilation, dtype, layout, is_nhwc, counts_padding):
    padding = tuple(min(pad, extent // 2) for pad, extent in zip(padding, window, strict=True))
    for k in range(2):
        assume(shape[2 + k] + 2 * padding[k] > dilation[k] * (window[k] - 1))
    rng = np.random.default_rng(sum(shape))
    # Few different values: most windows have ties.
    x = rng.integers(-3, 4, shape).astype(dtype)
    turn, back = (to_nhwc, to_nchw) if is_nhwc else (np.array, np.array)
    name = "NHWC" if is_nhwc else "NCHW"
    given_x = arrange(turn(x), layout)
    taps = windows_of(x.astype(np.float64), window, stride, padding, dilation, -np.inf)
    expected = taps.max((2, 3))
    result = ops.max_pool2d(given_x, window, stride=stride, padding=padding, dilation=dilation, layout=name)
    assert result.dtype == dtype
    np.testing.assert_array_equal(back(result).astype(np.float64), expected)

    gradient = rng.integers(-4, 5, expected.shape).astype(dtype)
    flat = taps.reshape(*taps.shape[:2], window[0] * window[1], *taps.shape[4:])
    first = np.arange(flat.shape[2])[None, None, :, None, None] == flat.argmax(2)[:, :, None]
    shares = (first * gradient.astype(np.float64)[:, :, None]).reshape(taps.shape)
    by_image = fold_back(shares, shape, stride, padding, dilation)
    lent = arrange(turn(gradient), layout)
    back_result = ops.max_pool2d_gradient(
        given_x, lent, window, stride=stride, padding=padding, dilation=dilation, layout=name
    )
    np.testing.assert_array_equal(back(back_result).astype(np.float64), by_image)

    assume(all(shape[2 + k] + 2 * padding[k] >= window[k] for k in range(2)))
    options = {"stride": stride, "padding": padding, "count_include_pad": counts_padding, "layout": name}
    ones = windows_of(np.ones(shape), window, stride, padding, (1, 1), 1.0 if counts_padding else 0.0).sum((2, 3))
    expected = windows_of(x.astype(np.float64), window, stride, padding, (1, 1), 0.0).sum((2, 3)) / ones
    result = back(ops.avg_pool2d(given_x, window, **options)).astype(np.float64)
    assert (abs(result - expected) <= 4 * EPS[dtype.name] * (abs(expected) + 1)).all()
    gradient = rng.standard_normal(expected.shape).astype(dtype)
    shares = np.broadcast_to(
        (gradient.astype(np.float64) / ones)[:, :, None, None], (*expected.shape[:2], *window, *expected.shape[2:])
    )
    by_image = fold_back(shares, shape, stride, padding, (1, 1))
    result = back(ops.avg_pool2d_gradient(given_x, arrange(turn(gradient), layout), window, **options)).astype(
        np.float64
    )
    assert (abs(result - by_image) <= 30 * EPS[dtype.name] * (abs(by_image) + 1)).all()


def test_the_first_nan_of_a_window_is_its_largest():
    x = np.float32([[[[1, np.nan, 2, 3], [4, 5, np.nan, 9], [np.inf, 0, -np.inf, 1], [0, 0, 0, 0]]]])
    result = ops.max_pool2d(x, 2)
    np.testing.assert_array_equal(result, np.float32([[[[np.nan, np.nan], [np.inf, 1]]]]))
    gradient = ops.max_pool2d_gradient(x, np.float32([[[[1, 2], [3, 4]]]]), 2)
    assert gradient[0, 0, 0, 1] == 1
    assert gradient[0, 0, 1, 2] == 2
    assert gradient.sum() == 10


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_windows_that_overlap_give_to_the_first_of_their_largest(dtype, layout, stride, rng):
    # Zeros of both signs are equal, infinities are values like others, and the first NaN of a window is its largest.
    values = np.array([-np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan])
    x = rng.choice(values, (2, 5, 23, 37), p=[0.3, 0.2, 0.15, 0.15, 0.1, 0.05, 0.05]).astype(dtype)
    rank = np.where(np.isnan(x), 3, np.clip(x.astype(np.float64), -2, 2))
    taps = windows_of(rank, (3, 4), (stride, stride), (1, 2), (1, 1), -9.0)
    flat = taps.reshape(2, 5, 12, *taps.shape[4:])
    gradient = rng.integers(1, 9, (2, 5, *taps.shape[4:])).astype(dtype)
    first = np.arange(12)[None, None, :, None, None] == flat.argmax(2)[:, :, None]
    shares = (first * gradient.astype(np.float64)[:, :, None]).reshape(taps.shape)
    expected = fold_back(shares, x.shape, (stride, stride), (1, 2), (1, 1))
    turn, back = (to_nhwc, to_nchw) if layout == "NHWC" else (np.array, np.array)
    options = {"stride": stride, "padding": (1, 2), "layout": layout}
    result = ops.max_pool2d_gradient(turn(x), turn(gradient), (3, 4), **options)
    np.testing.assert_array_equal(back(result).astype(np.float64), expected)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_large_pools_do_not_depend_on_threads(layout, rng):
    x = rng.standard_normal((3, 17, 61, 59)).astype(np.float32)
    options = {"window": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1), "layout": layout}
    expected = windows_of(x.astype(float), (3, 3), (2, 2), (1, 1), (1, 1), -np.inf).max((2, 3))
    np.testing.assert_array_equal(ops.max_pool2d(x, 3, stride=2, padding=1), expected)
    x = np.ascontiguousarray(to_nhwc(x)) if layout == "NHWC" else x
    for name in ("max_pool2d", "avg_pool2d"):
        one = _native.pool(name, x, **options, threads=1)
        gradient = rng.standard_normal(one.shape).astype(np.float32)
        back = _native.pool(name, x, gradient, **options, threads=1)
        for threads in (2, 5):
            assert _native.pool(name, x, **options, threads=threads).tobytes() == one.tobytes()
            assert _native.pool(name, x, gradient, **options, threads=threads).tobytes() == back.tobytes()


def test_bad_pools_are_refused():
    x = np.zeros((1, 2, 5, 5), np.float32)
    with pytest.raises(errors.ShapeMismatchError, match="does not fit an image"):
        ops.max_pool2d(x, 6)
    with pytest.raises(errors.InvalidArgumentError, match="at most half of the window"):
        ops.max_pool2d(x, 3, padding=2)
    with pytest.raises(errors.ShapeMismatchError, match="four axes"):
        ops.avg_pool2d(x[0], 2)
    with pytest.raises(errors.UnsupportedDtypeError, match="floats are pooled"):
        ops.avg_pool2d(x.astype(np.int32), 2)
    with pytest.raises(errors.ShapeMismatchError, match="gradient has shape"):
        ops.max_pool2d_gradient(x, x, 2)
    with pytest.raises(errors.InvalidTypeError, match="window"):
        ops.max_pool2d(x, (1, 2, 3))
    assert ops.max_pool2d(x.astype(BFLOAT16), 5).dtype == BFLOAT16
