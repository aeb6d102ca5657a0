"""Convolutions as forward convolutions and products of matrices, by generated kernels on the CPU device, beside loops in float64."""

from __future__ import annotations

from itertools import product
from typing import Any

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import errors, ops
from amdgpu.tuning import Convolution

# Of the largest value: sums of a few hundred products, rounded once to the dtype.
TOLERANCES = {"f16": 2e-3, "bf16": 1e-2, "f32": 2e-6, "tf32": 2e-6, "f64": 1e-14}
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "tf32": np.float32, "f64": np.float64}
FORMATS = ("f16", "bf16", "f32", "f64")
LAYOUTS = ("NCHW", "NHWC")
# Channels, filters, groups, rows, columns, window, stride, padding, dilation.
CASES = (
    (8, 16, 1, 7, 6, (3, 3), 1, 1, 1),
    (8, 8, 1, 9, 7, (1, 1), 1, 0, 1),
    (16, 8, 1, 4, 8, (1, 1), 1, 0, 1),
    (8, 8, 1, 8, 9, (1, 1), 2, 0, 1),
    (3, 8, 1, 11, 12, (7, 7), 2, 3, 1),
    (8, 8, 1, 9, 8, (3, 3), 2, 1, 1),
    (8, 8, 1, 9, 8, (4, 4), 2, 1, 1),
    (8, 8, 1, 10, 9, (5, 3), 3, 2, 1),
    (16, 32, 2, 6, 7, (3, 2), 1, 1, 1),
    (16, 16, 2, 7, 8, (3, 3), 2, 0, 1),
    (8, 8, 1, 9, 9, (3, 3), 1, 2, 2),
    (8, 8, 1, 6, 6, (2, 2), 1, 3, 1),
)


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def forward(x: Any, weight: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """By the definition, in float64: (batch, channels, rows, columns) and (filters, channels of a group, rows, columns)."""
    padded = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    taps = [(i, j) for i in range(weight.shape[2]) for j in range(weight.shape[3])]
    rows, columns = ((padded.shape[axis] - dilation * (weight.shape[axis] - 1) - 1) // stride + 1 for axis in (2, 3))
    made = np.zeros((len(x), len(weight), rows, columns))
    channels, filters = weight.shape[1], len(weight) // groups
    for group, (i, j) in product(range(groups), taps):
        top, left = i * dilation, j * dilation
        part = padded[:, group * channels : (group + 1) * channels, top:, left:]
        part = part[:, :, : stride * (rows - 1) + 1 : stride, : stride * (columns - 1) + 1 : stride]
        own = slice(group * filters, (group + 1) * filters)
        made[:, own] += np.einsum("nchw,oc->nohw", part, weight[own, :, i, j])
    return made


def gradients(x: Any, weight: Any, gradient: Any, *steps: int) -> tuple[Any, Any]:
    """Of the linear maps that forward passes are: entry by entry the sum of the gradient and the result of a unit image or weight."""
    by_image = np.zeros_like(x)
    stride, padding, dilation, groups = steps
    channels, filters = weight.shape[1], len(weight) // groups
    by_weight = np.zeros_like(weight)
    rows, columns = x.shape[2:]
    for (row, column), i, j in product(np.ndindex(*gradient.shape[2:]), range(weight.shape[2]), range(weight.shape[3])):
        y, z = row * stride - padding + i * dilation, column * stride - padding + j * dilation
        if not (0 <= y < rows and 0 <= z < columns):
            continue
        for group in range(groups):
            of_x, of_y = (slice(group * size, (group + 1) * size) for size in (channels, filters))
            passed = gradient[:, of_y, row, column]
            by_image[:, of_x, y, z] += passed @ weight[of_y, :, i, j]
            by_weight[of_y, :, i, j] += passed.T @ x[:, of_x, y, z]
    return by_image, by_weight


def ordered(x: Any, layout: str) -> Any:
    return x if layout == "NCHW" else np.ascontiguousarray(np.moveaxis(x, 1, -1))


def check(made: Any, wanted: Any, layout: str, number: str) -> None:
    got = made.numpy()
    assert got.dtype == DTYPES[number]
    wanted = ordered(wanted, layout)
    assert got.shape == wanted.shape
    bound = TOLERANCES[number] * np.abs(wanted).max()
    assert np.abs(got.astype(float) - wanted).max() <= bound


def setup(case: tuple[Any, ...], number: str) -> tuple[Any, ...]:
    channels, filters, groups, rows, columns, window, stride, padding, dilation = case
    random = np.random.default_rng(channels + rows)
    dtype = DTYPES[number]
    x = random.standard_normal((3, channels, rows, columns)).astype(dtype)
    weight = random.standard_normal((filters, channels // groups, *window)).astype(dtype)
    steps = (stride, padding, dilation, groups)
    shape = forward(x.astype(float), weight.astype(float), *steps).shape
    return x, weight, random.standard_normal(shape).astype(dtype), steps


def lowered(cpu: Any, direction: str, arrays: tuple[Any, ...], steps: tuple[int, ...], number: str, layout: str) -> Any:
    """A pass of the convolution of x and weight, from x, weight and the gradient of the result, as arrays of the CPU device."""
    x, weight, gradient = arrays
    asked = Convolution(x.shape, weight.shape, number, layout, direction, *steps)
    images, passed = (put(ordered(one, layout)) for one in (x, gradient))
    inputs = {"forward": (images, weight), "image_gradient": (passed, weight), "weight_gradient": (images, passed)}
    moved = [put(one) if isinstance(one, np.ndarray) else one for one in inputs[direction]]
    return asked.compute(cpu, "lowered", *moved)


def put(x: Any) -> Any:
    return amdgpu.array(x, device="cpu:0")


@pytest.mark.parametrize("number", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_those_of_loops_in_float64(cpu: Any, case: tuple[Any, ...], layout: str, number: str) -> None:
    *arrays, steps = setup(case, number)
    by_image, by_weight = gradients(*(one.astype(float) for one in arrays), *steps)
    check(lowered(cpu, "image_gradient", arrays, steps, number, layout), by_image, layout, number)
    check(lowered(cpu, "weight_gradient", arrays, steps, number, layout), by_weight, "NCHW", number)


@pytest.mark.parametrize("number", [*FORMATS, "tf32"])
def test_windows_of_one_pixel_are_products(cpu: Any, number: str) -> None:
    x, weight, gradient, steps = setup((16, 8, 1, 8, 8, (1, 1), 1, 0, 1), number)
    wanted = forward(x.astype(float), weight.astype(float), *steps)
    check(lowered(cpu, "forward", (x, weight, gradient), steps, number, "NCHW"), wanted, "NCHW", number)


def test_weights_of_any_strides_are_taken(cpu: Any) -> None:
    x, weight, gradient, steps = setup(CASES[5], "f32")
    by_image, _ = gradients(*(one.astype(float) for one in (x, weight, gradient)), *steps)
    stored = put(np.ascontiguousarray(weight.transpose(2, 3, 1, 0))).transpose(3, 2, 0, 1)
    check(lowered(cpu, "image_gradient", (x, stored, gradient), steps, "f32", "NCHW"), by_image, "NCHW", "f32")


def test_runs_have_the_same_bits(cpu: Any) -> None:
    *arrays, steps = setup(CASES[0], "f32")
    once, again = (lowered(cpu, "weight_gradient", arrays, steps, "f32", "NCHW").numpy() for _ in range(2))
    assert once.tobytes() == again.tobytes()


@pytest.mark.parametrize(
    ("direction", "weight", "steps"),
    [
        ("forward", (8, 8, 3, 3), (1, 1, 1, 1)),
        ("image_gradient", (8, 8, 3, 3), (2, 2, 2, 1)),
        ("image_gradient", (8, 8, 5, 5), (5, 0, 1, 1)),
        ("weight_gradient", (8, 4, 3, 3), (1, 1, 1, 2)),
    ],
)
def test_what_has_no_lowering_is_refused(cpu: Any, direction: str, weight: Any, steps: Any) -> None:
    x, filters = np.ones((1, 8, 10, 10), np.float32), np.ones(weight, np.float32)
    result = np.ones(forward(x, filters, *steps).shape, np.float32)
    with pytest.raises(errors.NoImplementationError, match="lowered does not compute this conv2d"):
        lowered(cpu, direction, (x, filters, result), steps, "f32", "NCHW")


def test_the_loops_are_those_of_the_library() -> None:
    x, weight, gradient, steps = setup(CASES[8], "f64")
    stride, padding, dilation, groups = steps
    keywords: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    by_image, by_weight = gradients(x, weight, gradient, *steps)
    np.testing.assert_allclose(ops.conv2d(x, weight, **keywords), forward(x, weight, *steps), atol=1e-12)
    of_image = ops.conv2d_input_gradient(gradient, weight, x.shape, **keywords)
    np.testing.assert_allclose(of_image, by_image, atol=1e-12)
    of_weight = ops.conv2d_weight_gradient(x, gradient, weight.shape, **keywords)
    np.testing.assert_allclose(of_weight, by_weight, atol=1e-12)
