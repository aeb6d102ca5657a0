"""ROCmDNN beside NumPy: every operation in three dtypes, arguments that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rocm_layer import ACTIVATIONS, FLOATS, TOLERANCE, Layer, double, size


def direct_convolution(
    x: np.ndarray, weight: np.ndarray, padding: Any, stride: Any, dilation: Any, groups: int
) -> np.ndarray:
    x, weight = x.astype(np.float64), weight.astype(np.float64)
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    out = [(x.shape[2 + i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    result = np.zeros((x.shape[0], weight.shape[0], *out))
    inputs, outputs = x.shape[1] // groups, weight.shape[0] // groups
    for o, i, r, s in np.ndindex(weight.shape):
        channel = o // outputs * inputs + i
        rows = slice(r * dilation[0], r * dilation[0] + (out[0] - 1) * stride[0] + 1, stride[0])
        cells = slice(s * dilation[1], s * dilation[1] + (out[1] - 1) * stride[1] + 1, stride[1])
        result[:, o] += weight[o, i, r, s] * x[:, channel, rows, cells]
    return result


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("params", "groups"), [([0, 0, 1, 1, 1, 1], 1), ([1, 2, 2, 1, 1, 2], 1), ([2, 1, 1, 2, 2, 1], 2), ([], 4)], ids=str
)
def test_conv2d_forward(layer: Layer, dtype: str, params: list[int], groups: int) -> None:
    rng = np.random.default_rng(4)
    x, weight = (rng.standard_normal(shape).astype(dtype) for shape in ((2, 4, 9, 8), (8, 4 // groups, 3, 2)))
    pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w = params or [0, 0, 1, 1, 1, 1]
    wanted = direct_convolution(x, weight, (pad_h, pad_w), (stride_h, stride_w), (dilation_h, dilation_w), groups)
    found = np.full(wanted.shape, np.nan, dtype)
    layer(
        "conv2d",
        layer.dtypes[dtype],
        x.shape,
        x,
        weight.shape,
        weight,
        found.shape,
        found,
        params,
        len(params),
        groups,
        None,
        size(0),
    )
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=16 * TOLERANCE[dtype])


BAD_CONVOLUTIONS = [
    ({"dtype": "int32"}, "dtype is int32; known are float32"),
    ({"x": (2, 4, -1, 8)}, "input_shape is .2, 4, -1, 8.; extents are not negative"),
    ({"x": (2, 3, 9, 8)}, "each group takes its share of the 3 channels"),
    ({"weight": (8, 4, 10, 2)}, "larger than the padded images"),
    ({"weight": (8, 4, 0, 2)}, "larger than the padded images"),
    ({"output": (2, 8, 7, 8)}, r"output_shape is .2, 8, 7, 8.; the other arguments give .2, 8, 7, 7."),
    ({"params": [-1, 0, 1, 1, 1, 1]}, "padding is -1"),
    ({"params": [0, 0, 0, 1, 1, 1]}, "stride is 0; it must be 1 or more"),
    ({"params": [0, 0, 1, 1, 1, 0]}, "dilation is 0; it must be 1 or more"),
    ({"params": [1]}, "padding has 1 numbers; it has two"),
    ({"groups": 0}, "groups is 0"),
    ({"groups": 3}, "groups is 3"),
    ({"workspace_size": 8}, "workspace is NULL and workspace_size is 8"),
    ({"input": None}, "input is NULL"),
    ({"weights": None}, "weight is NULL"),
    ({"result": None}, "output is NULL"),
    ({"x": (2**62, 4, 9, 8)}, "no memory is that large"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_CONVOLUTIONS, ids=[words for _, words in BAD_CONVOLUTIONS])
def test_conv2d_forward_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    memory = np.zeros(4096, np.float32)
    given: dict[str, Any] = {
        "dtype": "float32",
        "x": (2, 4, 9, 8),
        "input": memory,
        "weight": (8, 4, 3, 2),
        "weights": memory,
    }
    given |= {"output": (2, 8, 7, 7), "result": memory[2048:], "params": [], "groups": 1, "workspace_size": 0} | wrong
    shapes = given["x"], given["input"], given["weight"], given["weights"], given["output"], given["result"]
    with pytest.raises(ValueError, match=words):
        layer(
            "conv2d",
            layer.dtypes[given["dtype"]],
            *shapes,
            given["params"],
            len(given["params"]),
            given["groups"],
            None,
            size(given["workspace_size"]),
        )


def windows(x: np.ndarray, params: list[int], fill: float) -> np.ndarray:
    window_h, window_w, pad_h, pad_w, stride_h, stride_w = params
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad_h, pad_h), (pad_w, pad_w)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, (window_h, window_w), axis=(2, 3))
    return view[:, :, ::stride_h, ::stride_w]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("params", [[2, 2, 0, 0, 2, 2], [3, 2, 1, 1, 2, 1], [3, 3, 1, 0, 1, 3]], ids=str)
def test_pooling2d_forward(layer: Layer, dtype: str, params: list[int]) -> None:
    x = np.random.default_rng(5).standard_normal((2, 3, 7, 8)).astype(dtype)
    for name, wanted in (
        ("MAX_POOL2D", windows(x, params, -np.inf).max(axis=(4, 5))),
        ("AVG_POOL2D", np.nanmean(windows(x, params, np.nan), axis=(4, 5))),
    ):
        found = np.full(wanted.shape, np.nan, dtype)
        layer("pooling2d", layer.ops[name], layer.dtypes[dtype], x.shape, x, found.shape, found, params, 0)
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("params", [[2, 2, 0, 0, 2, 3], [3, 2, 1, 1, 2, 3], [2, 3, 1, 1, 3, 2]], ids=str)
def test_pooling2d_forward_with_ceil_mode(layer: Layer, params: list[int]) -> None:
    x = np.random.default_rng(15).standard_normal((2, 3, 7, 8)).astype(np.float32)
    window, padding, stride = params[:2], params[2:4], params[4:]
    out = []
    for i in range(2):
        count = -(-(x.shape[2 + i] + 2 * padding[i] - window[i]) // stride[i]) + 1
        # A window that would begin behind the image is none.
        out.append(count - ((count - 1) * stride[i] >= x.shape[2 + i] + padding[i]))
    wanted: dict[str, np.ndarray] = {name: np.zeros((2, 3, *out)) for name in ("MAX_POOL2D", "AVG_POOL2D")}
    for row, column in np.ndindex(*out):
        begin = [row * stride[0] - padding[0], column * stride[1] - padding[1]]
        rows, cells = (slice(max(first, 0), first + size) for first, size in zip(begin, window, strict=True))
        seen = x[:, :, rows, cells].astype(np.float64)
        wanted["MAX_POOL2D"][:, :, row, column] = seen.max(axis=(2, 3))
        wanted["AVG_POOL2D"][:, :, row, column] = seen.mean(axis=(2, 3))
    for name, values in wanted.items():
        found = np.full(values.shape, np.nan, np.float32)
        layer("pooling2d", layer.ops[name], layer.dtypes["float32"], x.shape, x, found.shape, found, params, 1)
        np.testing.assert_allclose(found, values, rtol=2e-6, atol=2e-6, err_msg=name)


BAD_POOLS = [
    ({"op": "CONV2D"}, "pool_type is CONV2D; known are MAX_POOL2D, AVG_POOL2D"),
    ({"dtype": "bool"}, "dtype is bool"),
    ({"x": (2, 3, 7, -8)}, "extents are not negative"),
    ({"params": [0, 2, 0, 0, 1, 1]}, "kernel_size is 0"),
    ({"params": [2, 2, -1, 0, 1, 1]}, "padding is -1"),
    ({"params": [2, 2, 2, 0, 1, 1]}, "at most half of the window"),
    ({"params": [2, 2, 0, 0, 0, 1]}, "stride is 0"),
    ({"params": [9, 2, 0, 0, 1, 1]}, "larger than the padded images"),
    ({"output": (2, 3, 4, 4)}, "the other arguments give"),
    ({"input": None}, "input is NULL"),
    ({"result": None}, "output is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_POOLS, ids=[words for _, words in BAD_POOLS])
def test_pooling2d_forward_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "op": "MAX_POOL2D",
        "dtype": "float32",
        "x": (2, 3, 7, 8),
        "input": np.zeros(1024, np.float32),
    }
    given |= {"output": (2, 3, 3, 4), "result": np.zeros(1024, np.float32), "params": [2, 2, 0, 0, 2, 2]} | wrong
    shapes = given["x"], given["input"], given["output"], given["result"]
    with pytest.raises(ValueError, match=words):
        layer("pooling2d", layer.ops[given["op"]], layer.dtypes[given["dtype"]], *shapes, given["params"], 0)


class Channels:
    """An array with channels, and one value for each of them."""

    def __init__(self, dtype: str, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(6)
        self.x = rng.standard_normal(shape).astype(dtype)
        of_channels = "float64" if dtype == "float64" else "float32"
        self.scale, self.bias, self.mean = (rng.standard_normal(shape[1]).astype(of_channels) for _ in range(3))
        self.variance = rng.uniform(0.5, 2, shape[1]).astype(of_channels)
        self.axes = tuple(axis for axis in range(len(shape)) if axis != 1)
        self.place = tuple(-1 if axis == 1 else 1 for axis in range(len(shape)))

    def normalized(self, mean: np.ndarray, variance: np.ndarray, epsilon: float) -> np.ndarray:
        mean, variance, scale, bias = (
            one.astype(np.float64).reshape(self.place) for one in (mean, variance, self.scale, self.bias)
        )
        return (self.x.astype(np.float64) - mean) / np.sqrt(variance + epsilon) * scale + bias


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(4, 3, 5, 6), (8, 5), (2, 2, 3)], ids=str)
def test_batchnorm_forward_training(layer: Layer, dtype: str, shape: tuple[int, ...]) -> None:
    given = Channels(dtype, shape)
    out = np.full(shape, np.nan, dtype)
    running_mean, running_var = given.mean.copy(), given.variance.copy()
    saved_mean, saved_inv_var = np.full_like(given.mean, np.nan), np.full_like(given.mean, np.nan)
    statistics = running_mean, running_var, saved_mean, saved_inv_var
    start = layer.dtypes[dtype], shape, len(shape), given.x, out, given.scale, given.bias
    layer("batchnorm_training", *start, *statistics, double(1e-3), double(0.25), 1)
    wide = given.x.astype(np.float64)
    mean, variance = wide.mean(axis=given.axes), wide.var(axis=given.axes)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": 4 * TOLERANCE[dtype]}
    np.testing.assert_allclose(out, given.normalized(mean, variance, 1e-3), **tolerance)
    np.testing.assert_allclose(saved_mean, mean, **tolerance)
    np.testing.assert_allclose(saved_inv_var, 1 / np.sqrt(variance + 1e-3), **tolerance)
    np.testing.assert_allclose(running_mean, 0.75 * given.mean + 0.25 * mean, **tolerance)
    np.testing.assert_allclose(
        running_var, 0.75 * given.variance + 0.25 * wide.var(axis=given.axes, ddof=1), **tolerance
    )
    # Without statistics the result is the same, and in place too.
    again = given.x.copy()
    layer(
        "batchnorm_training",
        *start[:3],
        again,
        again,
        *start[5:],
        None,
        None,
        None,
        None,
        double(1e-3),
        double(0.25),
        1,
    )
    np.testing.assert_array_equal(again, out)


@pytest.mark.parametrize("dtype", FLOATS)
def test_batchnorm_forward_inference(layer: Layer, dtype: str) -> None:
    given = Channels(dtype, (4, 3, 5, 6))
    out = np.full(given.x.shape, np.nan, dtype)
    start = layer.dtypes[dtype], given.x.shape, 4, given.x, out, given.scale, given.bias
    layer("batchnorm_inference", *start, given.mean, given.variance, double(1e-5))
    wanted = given.normalized(given.mean, given.variance, 1e-5)
    np.testing.assert_allclose(out, wanted, rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])
    # `training` false: the same, and the statistics stay.
    mean, variance, trained = given.mean.copy(), given.variance.copy(), np.full_like(out, np.nan)
    start = *start[:4], trained, *start[5:]
    layer("batchnorm_training", *start, mean, variance, None, None, double(1e-5), double(0.1), 0)
    np.testing.assert_array_equal(trained, out)
    np.testing.assert_array_equal([mean, variance], [given.mean, given.variance])


BAD_NORMS = [
    ({"dtype": "int8"}, "dtype is int8"),
    ({"shape": (4,)}, "it has a batch and channels at least"),
    ({"shape": (4, -3)}, "extents are not negative"),
    ({"x": None}, "input is NULL"),
    ({"out": None}, "output is NULL"),
    ({"scale": None}, "scale is NULL"),
    ({"bias": None}, "bias is NULL"),
    ({"running_mean": None}, "one of running_mean and running_var is NULL"),
    ({"running_var": None}, "one of running_mean and running_var is NULL"),
    ({"epsilon": double(-1)}, "epsilon is -1"),
    ({"epsilon": double(float("nan"))}, "epsilon is -?nan"),
    ({"momentum": double(1.5)}, "momentum is 1.5"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_NORMS, ids=[words for _, words in BAD_NORMS])
def test_batchnorm_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    names = ["x", "out", "scale", "bias", "running_mean", "running_var", "saved_mean", "saved_inv_var"]
    given: dict[str, Any] = {"dtype": "float32", "shape": (4, 3)} | {name: np.ones(12, np.float32) for name in names}
    given |= {"epsilon": double(1e-5), "momentum": double(0.1)} | wrong
    start = layer.dtypes[given["dtype"]], given["shape"], len(given["shape"])
    with pytest.raises(ValueError, match=words):
        layer("batchnorm_training", *start, *(given[name] for name in names), given["epsilon"], given["momentum"], 1)
    if "one of" not in words and "momentum" not in words:
        with pytest.raises(ValueError, match=words):
            layer("batchnorm_inference", *start, *(given[name] for name in names[:6]), given["epsilon"])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_forward(layer: Layer, dtype: str, name: str) -> None:
    x = (3 * np.random.default_rng(7).standard_normal((3, 5, 7))).astype(dtype)
    wanted, found = ACTIVATIONS[name](x.astype(np.float64)), np.full_like(x, np.nan)
    layer("activation", layer.ops[name], layer.dtypes[dtype], x.shape, 3, x, found, 0.25)
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    layer("activation", layer.ops[name], layer.dtypes[dtype], x.shape, 3, x, x, 0.25)
    np.testing.assert_array_equal(x, found)


def test_leaky_relu_without_a_slope_is_relu(layer: Layer) -> None:
    x, found = np.array([-2, 3], np.float32), np.full(2, np.nan, np.float32)
    layer("activation", layer.ops["LEAKY_RELU"], layer.dtypes["float32"], (2,), 1, x, found, 0.0)
    assert found.tolist() == [0, 3]


def test_activation_forward_refuses(layer: Layer) -> None:
    x, kind = np.ones(4, np.float32), layer.dtypes["float32"]
    for arguments, words in (
        ((layer.ops["ADD"], kind, (4,), 1, x, x, 0.0), "activation_type is ADD; known are RELU"),
        ((layer.ops["RELU"], layer.dtypes["uint8"], (4,), 1, x, x, 0.0), "dtype is uint8"),
        ((layer.ops["RELU"], kind, (-4,), 1, x, x, 0.0), "extents are not negative"),
        ((layer.ops["RELU"], kind, (1,) * 17, 17, x, x, 0.0), "at most 16"),
        ((layer.ops["RELU"], kind, (4,), 1, None, x, 0.0), "input is NULL"),
        ((layer.ops["RELU"], kind, (4,), 1, x, None, 0.0), "output is NULL"),
        ((layer.ops["RELU"], kind, (3,), 1, x, x[1:], 0.0), "may share memory"),
    ):
        with pytest.raises(ValueError, match=words):
            layer("activation", *arguments)
    layer("activation", layer.ops["RELU"], kind, (0, 4), 2, None, None, 0.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [-1, 0, 1, -3])
@pytest.mark.parametrize("is_log", [0, 1])
def test_softmax_forward(layer: Layer, dtype: str, axis: int, is_log: int) -> None:
    x = (4 * np.random.default_rng(8).standard_normal((3, 5, 7))).astype(dtype)
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    found = np.full_like(x, np.nan)
    layer("softmax", layer.dtypes[dtype], x.shape, 3, x, found, axis, is_log)
    np.testing.assert_allclose(
        found, logs if is_log else np.exp(logs), rtol=4 * TOLERANCE[dtype], atol=4 * TOLERANCE[dtype]
    )


def test_softmax_forward_refuses(layer: Layer) -> None:
    x, kind = np.ones(4, np.float32), layer.dtypes["float32"]
    for arguments, words in (
        ((layer.dtypes["int64"], (4,), 1, x, x, -1, 0), "dtype is int64"),
        ((kind, (4,), 1, x, x, 1, 0), "axis is 1; the shape .4,. has 1 axes"),
        ((kind, (4,), 1, x, x, -2, 0), "axis is -2"),
        ((kind, (), 0, x, x, -1, 0), "has 0 axes"),
        ((kind, (-4,), 1, x, x, -1, 0), "extents are not negative"),
        ((kind, (4,), 1, None, x, -1, 0), "input is NULL"),
        ((kind, (4,), 1, x, None, -1, 0), "output is NULL"),
    ):
        with pytest.raises(ValueError, match=words):
            layer("softmax", *arguments)


REDUCTIONS = {
    "REDUCE_SUM": np.sum,
    "REDUCE_MEAN": np.mean,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
    "REDUCE_PROD": np.prod,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dims", [[], [0], [-1], [2, 0], [0, 1, 2]], ids=str)
def test_reduce(layer: Layer, dtype: str, name: str, dims: list[int]) -> None:
    x = np.random.default_rng(9).uniform(0.5, 1.5, (3, 5, 4)).astype(dtype)
    for keeps in (False, True):
        wanted = np.asarray(REDUCTIONS[name](x.astype(np.float64), axis=tuple(dims) or None, keepdims=keeps))
        found = np.full(wanted.shape, np.nan, dtype)
        start = layer.ops[name], layer.dtypes[dtype], x.shape, 3, x
        layer("reduce", *start, wanted.shape, wanted.ndim, found, dims, len(dims), None, size(0))
        np.testing.assert_allclose(found, wanted, rtol=8 * TOLERANCE[dtype])


BAD_REDUCTIONS = [
    ({"op": "SOFTMAX"}, "reduce_type is SOFTMAX; known are REDUCE_SUM"),
    ({"dtype": "int32"}, "dtype is int32"),
    ({"shape": (3, -4)}, "extents are not negative"),
    ({"output": (4,)}, r"output_shape is .4,.; the other arguments give .3,."),
    ({"dims": [2]}, "an axis of reduce_dims is 2"),
    ({"dims": [1, -1]}, "reduce_dims names axis 1 twice"),
    ({"size": 4}, "workspace is NULL"),
    ({"x": None}, "input is NULL"),
    ({"out": None}, "output is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_REDUCTIONS, ids=[words for _, words in BAD_REDUCTIONS])
def test_reduce_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "op": "REDUCE_SUM",
        "dtype": "float32",
        "shape": (3, 4),
        "x": np.ones(12, np.float32),
        "output": (3,),
    }
    given |= {"out": np.ones(12, np.float32), "dims": [1], "size": 0} | wrong
    start = layer.ops[given["op"]], layer.dtypes[given["dtype"]], given["shape"], len(given["shape"]), given["x"]
    with pytest.raises(ValueError, match=words):
        layer(
            "reduce",
            *start,
            given["output"],
            len(given["output"]),
            given["out"],
            given["dims"],
            len(given["dims"]),
            None,
            size(given["size"]),
        )
