"""The kernels that ROCm's interface launches, beside NumPy: elementwise, comparisons, where, clamp, losses, arguments that cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from rocm_layer import ACTIVATIONS, Layer, long

UNARY = {"NEG": np.negative, "ABS": np.abs, "SQRT": np.sqrt, "EXP": np.exp, "LOG": np.log, "SIN": np.sin, "COS": np.cos}
UNARY |= {name: ACTIVATIONS[name] for name in ("TANH", "SIGMOID", "RELU", "GELU", "SILU", "SOFTPLUS")}
BINARY = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "DIV": np.divide, "POW": np.power}
BINARY |= {"MAXIMUM": np.maximum, "MINIMUM": np.minimum}
COMPARISONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


@pytest.fixture
def values() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(10)
    x, y = (rng.uniform(0.25, 2, 1003).astype(np.float32) for _ in range(2))
    y[::7] = x[::7]
    return x, y, np.full(1003, np.nan, np.float32)


def test_elementwise_launches(layer: Layer, values: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, out = values
    near = {"rtol": 4e-6, "atol": 2e-6}
    for name, function in UNARY.items():
        layer("unary", layer.ops[name], out, x, long(x.size))
        np.testing.assert_allclose(out, function(x.astype(np.float64)), **near, err_msg=name)
    for name, function in BINARY.items():
        layer("binary", layer.ops[name], out, x, y, long(x.size))
        np.testing.assert_allclose(out, function(x.astype(np.float64), y.astype(np.float64)), **near, err_msg=name)
    for name, function in COMPARISONS.items():
        layer("comparison", layer.ops[name], out, x, y, long(x.size))
        np.testing.assert_array_equal(out, function(x, y).astype(np.float32), err_msg=name)
    for name, function in (("gelu", ACTIVATIONS["GELU"]), ("silu", ACTIVATIONS["SILU"])):
        layer(name, out, x - 1, long(x.size))
        np.testing.assert_allclose(out, function((x - 1).astype(np.float64)), **near, err_msg=name)


def test_comparisons_with_nan(layer: Layer) -> None:
    x, y, out = (
        np.array([np.nan, 1, np.inf], np.float32),
        np.array([np.nan, np.nan, np.inf], np.float32),
        np.zeros(3, np.float32),
    )
    for name, function in COMPARISONS.items():
        layer("comparison", layer.ops[name], out, x, y, long(3))
        np.testing.assert_array_equal(out, function(x, y).astype(np.float32), err_msg=name)


def test_where_and_clamp(layer: Layer, values: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, out = values
    condition = np.array([0, -0.0, 1, np.nan, -2, np.inf], np.float32)
    layer("where", out, condition, x, y, long(6))
    np.testing.assert_array_equal(out[:6], np.where(condition != 0, x[:6], y[:6]))
    x[3] = np.nan
    layer("clamp", out, x, 0.5, 1.25, long(x.size))
    np.testing.assert_array_equal(out, np.clip(x, np.float32(0.5), np.float32(1.25)))
    # In place.
    layer("clamp", x, x, 0.5, 1.25, long(x.size))
    np.testing.assert_array_equal(x, out)


def test_losses(layer: Layer, values: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, out = values
    layer("mse", out, x, y, long(x.size))
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_allclose(out[0], np.mean((wide_x - wide_y) ** 2), rtol=2e-6)
    chance, target = x / 2.5, y / 2.5
    chance[:2], target[:2] = (0, 1), (1, 0)
    layer("bce", out, chance, target, long(x.size))
    with np.errstate(divide="ignore"):
        logs = [np.maximum(np.log(one.astype(np.float64)), -100) for one in (chance, 1 - chance)]
    np.testing.assert_allclose(out[0], -np.mean(target * logs[0] + (1 - target) * logs[1]), rtol=2e-5)
    logits = (5 * np.random.default_rng(13).standard_normal((37, 11))).astype(np.float32)
    classes = np.random.default_rng(14).integers(0, 11, 37).astype(np.int32)
    layer("cross_entropy", out, logits, classes, long(37), long(11))
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    rows = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(37), classes]
    np.testing.assert_allclose(out[0], rows.mean(), rtol=4e-6)
    assert np.isnan(out[1:]).all()
    # Of nothing.
    for name, sizes in (("mse", [long(0)]), ("bce", [long(0)]), ("cross_entropy", [long(0), long(3)])):
        out[0] = 1
        layer(name, out, None, None, *sizes)
        assert np.isnan(out[0]), name


def test_losses_refuse(layer: Layer) -> None:
    x, classes = np.ones(8, np.float32), np.zeros(2, np.int32)
    for name, arguments, words in (
        ("mse", (x, x, x, long(-1)), "launch_mse_loss: numel is -1"),
        ("mse", (None, x, x, long(8)), "output is NULL"),
        ("mse", (x, None, x, long(8)), "predictions is NULL"),
        ("bce", (x, x, None, long(8)), "launch_bce_loss: targets is NULL"),
        ("bce", (x, x, x, long(-3)), "numel is -3"),
        ("cross_entropy", (x, x, classes, long(-2), long(4)), "N is -2"),
        ("cross_entropy", (x, x, classes, long(2), long(0)), "C is 0; it must be 1 or more"),
        ("cross_entropy", (x, None, classes, long(2), long(4)), "logits is NULL"),
        ("cross_entropy", (x, x, None, long(2), long(4)), "targets is NULL"),
        ("cross_entropy", (None, x, classes, long(2), long(4)), "output is NULL"),
        ("cross_entropy", (x, x, classes + 4, long(2), long(4)), "4"),
        ("cross_entropy", (x, x, classes - 1, long(2), long(4)), "-1"),
    ):
        with pytest.raises(ValueError, match=words):
            layer(name, *arguments)
    assert (x == 1).all()


def test_launches_refuse(layer: Layer) -> None:
    x = np.ones(8, np.float32)
    for name, arguments, words in (
        ("gelu", (x, x, long(-1)), "launch_gelu_forward: numel is -1"),
        ("gelu", (None, x, long(8)), "output is NULL"),
        ("silu", (x, None, long(8)), "launch_silu_forward: input is NULL"),
        ("unary", (layer.ops["ELU"], x, x, long(8)), "op is ELU; known are NEG"),
        ("unary", (999, x, x, long(8)), "op is unknown"),
        ("binary", (layer.ops["NEG"], x, x, x, long(8)), "op is NEG; known are ADD"),
        ("binary", (layer.ops["ADD"], x, None, x, long(8)), "a is NULL"),
        ("binary", (layer.ops["ADD"], x[1:], x, x, long(7)), "may share memory with a"),
        ("comparison", (layer.ops["ADD"], x, x, x, long(8)), "op is ADD; known are EQ"),
        ("comparison", (layer.ops["EQ"], x, x, None, long(8)), "b is NULL"),
        ("where", (x, None, x, x, long(8)), "condition is NULL"),
        ("clamp", (x, x, 2.0, 1.0, long(8)), "min_val is 2.000000 and max_val is 1.000000"),
        ("clamp", (x, x, float("nan"), 1.0, long(8)), "min_val is -?nan"),
        ("clamp", (x, x, 0.0, 1.0, long(2**61)), "reach beyond the address space"),
    ):
        with pytest.raises(ValueError, match=words):
            layer(name, *arguments)
    assert (x == 1).all()
    layer("gelu", None, None, long(0))
