"""Convolution of images and its gradients on a device, as tiled products of patches that are never written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, elementwise, source, tiled
from amdgpu.device_ops.operand import Operand, lend, of_array, target
from amdgpu.device_ops.reduce import reduce
from amdgpu.device_ops.transpose import dense
from amdgpu.device_ops.windows import Image, Sliding, image_of, shape_of
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_NAME = "conv2d"
# Pixels that a part of a weight gradient sums; its results are few, its sums long.
_PART_PIXELS = 4096

_WINDOW = (
    ", Index channels, Index image_rows, Index image_columns, Index outputs, Index result_rows, Index result_columns"
    ", Index window_rows, Index window_columns, long long stride_rows, long long stride_columns, long long padding_rows"
    ", long long padding_columns, long long dilation_rows, long long dilation_columns"
    ", Index image_batch, Index image_channel, Index image_row, Index image_column"
    ", Index result_batch, Index result_channel, Index result_row, Index result_column"
)
# `channels` and `outputs` are those of a group; the group is `batch` of the product.
_FUNCTIONS = """
// The element of an image, zero outside.
__device__ inline S pixel(const X* image, long long y, long long x, unsigned long long rows, unsigned long long columns,
                          unsigned long long row_stride, unsigned long long column_stride) {
    if (y < 0 || x < 0 || y >= (long long)rows || x >= (long long)columns) return (S)0;
    return (S)image[(unsigned long long)y * row_stride + (unsigned long long)x * column_stride];
}
"""


@dataclass(frozen=True)
class _Problem:
    """A convolution with everything resolved."""

    image: Image
    result: Image
    outputs: int
    window: tuple[int, int]
    sliding: Sliding
    groups: int
    dtype: str

    @property
    def channels(self) -> int:
        """Channels of a group."""
        return self.image.channels // self.groups

    @property
    def taps(self) -> int:
        """Elements of a window."""
        return self.window[0] * self.window[1]

    def arguments(self) -> list[Any]:
        """The arguments of `_WINDOW`."""
        sizes = [self.channels, self.image.rows, self.image.columns, self.outputs // self.groups]
        sizes += [self.result.rows, self.result.columns, *self.window]
        steps = [*self.sliding.stride, *self.sliding.padding, *self.sliding.dilation]
        return [*sizes, *steps, *self.image.strides, *self.result.strides]


def convolve(
    direction: str,
    inputs: tuple[Any, ...],
    out: Any = None,
    *,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
    layout: str,
    shape: Sequence[int] | None = None,
    device: AMDGPUDevice,
) -> Any:
    """What `amdgpu._native.convolve` does, on a device.

    Raises:
        As the functions of `amdgpu.ops.convolve`.
    """
    names = {"forward": ("x", "weight", "bias"), "image_gradient": ("gradient", "weight")}
    operands = [
        lend(_NAME, name, one, device)
        for name, one in zip(names.get(direction, ("x", "gradient")), inputs, strict=False)
    ]
    sliding = Sliding(stride, padding, dilation)
    given = tuple(shape or ())
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]
    if direction == "forward":
        shapes = operands[0].shape, operands[1].shape, None
    elif direction == "image_gradient":
        shapes = given, operands[1].shape, operands[0].shape
    else:
        shapes = operands[0].shape, given, operands[1].shape
    problem = _problem(shapes, operands, sliding, groups=groups, layout=layout)
    made_shape = {"image_gradient": given, "weight_gradient": given}.get(
        direction,
        shape_of(layout, problem.image.batch, problem.outputs, problem.result.rows, problem.result.columns),
    )
    if direction == "forward" and len(operands) > 2:
        bias = operands[2]
        if bias.shape != (problem.outputs,) or bias.dtype != problem.dtype:
            raise ShapeMismatchError(
                f"{_NAME}: bias has shape {list(bias.shape)} and dtype {bias.dtype}; [{problem.outputs}] and"
                f" {problem.dtype} are expected"
            )
    made = target(_NAME, device, made_shape, problem.dtype, out, inputs=tuple(operands))
    if made.operand.size:
        launch = {"forward": _forward, "image_gradient": _image_gradient}.get(direction, _weight_gradient)
        launch(device, problem, [dense(device, one) for one in operands], made.array)
    return made.deliver()


def _problem(
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None],
    operands: list[Operand],
    sliding: Sliding,
    *,
    groups: int,
    layout: str,
) -> _Problem:
    """The convolution of images, weight and, where it is given, result of these shapes."""
    x, weight, result = shapes
    sliding.check(_NAME)
    image = image_of(_NAME, "x", x, layout)
    if len(weight) != 4:
        raise ShapeMismatchError(f"{_NAME}: weight has shape {list(weight)}; four axes are expected")
    if groups < 1:
        raise InvalidArgumentError(f"{_NAME}: groups is {groups}; it must be at least 1")
    outputs, channels, window_rows, window_columns = weight
    if outputs % groups or channels * groups != image.channels:
        raise ShapeMismatchError(
            f"{_NAME}: {image.channels} channels of x of shape {list(x)} and weight of shape {list(weight)} do not make"
            f" {groups} groups"
        )
    window = (window_rows, window_columns)
    rows, columns = sliding.result(_NAME, (image.rows, image.columns), window)
    first, second = operands[0].dtype, operands[1].dtype
    if first not in dtypes.FLOATS or first != second:
        raise UnsupportedDtypeError(f"{_NAME}: x has dtype {first} and weight {second}; both must be the same float")
    expected = shape_of(layout, image.batch, outputs, rows, columns)
    if result is not None and result != expected:
        raise ShapeMismatchError(
            f"{_NAME}: x of shape {list(x)} and weight of shape {list(weight)} give {list(expected)} of {first},"
            f" not {list(result)} of {first}"
        )
    made = image_of(_NAME, "result", expected, layout)
    return _Problem(image, made, outputs, window, sliding, groups, first)


def _head(problem: _Problem) -> str:
    return source.types(X=problem.dtype, S=dtypes.compute(problem.dtype)) + _FUNCTIONS


def _forward(device: AMDGPUDevice, problem: _Problem, arrays: list[Any], out: Any) -> None:
    """Rows are pixels of the result, columns outputs of a group, the inner dimension taps of all channels."""
    has_bias = len(arrays) > 2
    is_channels_last = problem.image.strides[1] == 1
    text = tiled.Tiled(
        head=_head(problem),
        parameters=", const X* x, const X* weight, X* out, const X* bias" + _WINDOW,
        setup="    const Index taps = window_rows * window_columns;\n",
        left="""pixel(x + row / (result_rows * result_columns) * image_batch + (batch * channels + inner / taps) * image_channel,
                (long long)(row / result_columns % result_rows) * stride_rows - padding_rows
                    + (long long)(inner / window_columns % window_rows) * dilation_rows,
                (long long)(row % result_columns) * stride_columns - padding_columns
                    + (long long)(inner % window_columns) * dilation_columns,
                image_rows, image_columns, image_row, image_column)""",
        right="weight[(batch * outputs + column) * depth + inner]",
        store=f"""const Index output = batch * outputs + column;
                out[row / (result_rows * result_columns) * result_batch + output * result_channel
                    + row / result_columns % result_rows * result_row + row % result_columns * result_column] =
                    (X)(value{" + (S)bias[output]" if has_bias else ""});""",
        is_left_inner=False,
        is_right_inner=True,
    )
    pixels = problem.image.batch * problem.result.rows * problem.result.columns
    extents = (pixels, problem.outputs // problem.groups, problem.channels * problem.taps)
    arguments = [arrays[0], arrays[1], out, arrays[2] if has_bias else arrays[0], *problem.arguments()]
    key = ("forward", problem.dtype, has_bias, is_channels_last)
    tiled.launch(device, key, text, extents, arguments, batch=problem.groups)


def _image_gradient(device: AMDGPUDevice, problem: _Problem, arrays: list[Any], out: Any) -> None:
    """Rows are pixels of the images, columns channels of a group, the inner dimension taps of all outputs."""
    text = tiled.Tiled(
        head=_head(problem)
        + """
// The gradient of the result whose window has the pixel at `place` at a tap, if there is one.
__device__ inline long long window_at(long long place, long long tap, long long stride, unsigned long long count) {
    const long long first = place - tap;
    if (first < 0 || first % stride != 0 || first / stride >= (long long)count) return -1;
    return first / stride;
}
""",
        parameters=", const X* gradient, const X* weight, X* out" + _WINDOW,
        setup="    const Index taps = window_rows * window_columns;\n",
        left="""pixel(gradient + row / (image_rows * image_columns) * result_batch
                    + (batch * outputs + inner / taps) * result_channel,
                window_at((long long)(row / image_columns % image_rows) + padding_rows,
                          (long long)(inner / window_columns % window_rows) * dilation_rows, stride_rows, result_rows),
                window_at((long long)(row % image_columns) + padding_columns,
                          (long long)(inner % window_columns) * dilation_columns, stride_columns, result_columns),
                result_rows, result_columns, result_row, result_column)""",
        right="weight[((batch * outputs + inner / taps) * channels + column) * taps + inner % taps]",
        store="""out[row / (image_rows * image_columns) * image_batch + (batch * channels + column) * image_channel
                    + row / image_columns % image_rows * image_row + row % image_columns * image_column] = (X)value;""",
        is_left_inner=False,
        is_right_inner=True,
    )
    pixels = problem.image.batch * problem.image.rows * problem.image.columns
    extents = (pixels, problem.channels, problem.outputs // problem.groups * problem.taps)
    arguments = [arrays[0], arrays[1], out, *problem.arguments()]
    tiled.launch(device, ("image_gradient", problem.dtype), text, extents, arguments, batch=problem.groups)


def _weight_gradient(device: AMDGPUDevice, problem: _Problem, arrays: list[Any], out: Any) -> None:
    """Rows are outputs of a group, columns taps of all channels, the inner dimension pixels of the result, summed in parts."""
    text = tiled.Tiled(
        head=_head(problem),
        parameters=", const X* x, const X* gradient, S* sums_of_parts" + _WINDOW,
        setup="    const Index taps = window_rows * window_columns;\n    const Index groups = gridDim.y;\n",
        left="""gradient[inner / (result_rows * result_columns) * result_batch + (batch * outputs + row) * result_channel
                    + inner / result_columns % result_rows * result_row + inner % result_columns * result_column]""",
        right="""pixel(x + inner / (result_rows * result_columns) * image_batch
                    + (batch * channels + column / taps) * image_channel,
                (long long)(inner / result_columns % result_rows) * stride_rows - padding_rows
                    + (long long)(column / window_columns % window_rows) * dilation_rows,
                (long long)(inner % result_columns) * stride_columns - padding_columns
                    + (long long)(column % window_columns) * dilation_columns,
                image_rows, image_columns, image_row, image_column)""",
        store="sums_of_parts[(((Index)blockIdx.z * groups + batch) * rows + row) * columns + column] = value;",
        is_left_inner=True,
        is_right_inner=True,
    )
    pixels = problem.image.batch * problem.result.rows * problem.result.columns
    extents = (problem.outputs // problem.groups, problem.channels * problem.taps, pixels)
    parts = min(max(-(-pixels // _PART_PIXELS), 1), source.GRID_LIMIT)
    count = problem.outputs * problem.channels * problem.taps
    computed = dtypes.compute(problem.dtype)
    sums = device.native.empty((parts, count), computed)
    arguments = [arrays[0], arrays[1], sums, *problem.arguments()]
    if problem.groups > source.GRID_LIMIT:
        raise InvalidArgumentError(f"{_NAME}: {problem.groups} groups are more than {source.GRID_LIMIT}")
    tiled.launch(
        device, ("weight_gradient", problem.dtype), text, extents, arguments, batch=problem.groups, parts=parts
    )
    if computed == problem.dtype:
        reduce("sum", sums, (0,), out.reshape(math.prod(out.shape)), device=device)
    else:
        total = reduce("sum", sums, (0,), device=device)
        elementwise.compute(device, "identity", (of_array(total),), of_array(out.reshape(count)), computed)
