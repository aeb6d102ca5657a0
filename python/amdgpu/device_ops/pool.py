"""Pooling of images and its gradients on a device: a work-item for each result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.operand import lend, target
from amdgpu.device_ops.transpose import dense
from amdgpu.device_ops.windows import Sliding, image_of, shape_of
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_PARAMETERS = (
    "long long channels, long long image_rows, long long image_columns, long long result_rows, long long result_columns,"
    " long long window_rows, long long window_columns, long long stride_rows, long long stride_columns,"
    " long long padding_rows, long long padding_columns, long long dilation_rows, long long dilation_columns"
)

_HEAD = """
#define COUNT(begin, end) ((begin) < (end) ? (end) - (begin) : 0)
__device__ inline long long larger_of(long long a, long long b) { return a > b ? a : b; }
__device__ inline long long smaller_of(long long a, long long b) { return a < b ? a : b; }
"""


def pool(
    operation: str,
    x: Any,
    gradient: Any = None,
    out: Any = None,
    *,
    window: tuple[int, int],
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    layout: str,
    counts_padding: bool = True,
    device: AMDGPUDevice,
) -> Any:
    """What `amdgpu._native.pool` does, on a device.

    Raises:
        As the functions of `amdgpu.ops.pool`.
    """
    values = lend(operation, "x", x, device)
    sliding = Sliding(stride, padding, dilation)
    sliding.check(operation)
    image = image_of(operation, "x", values.shape, layout)
    if values.dtype not in dtypes.FLOATS:
        raise UnsupportedDtypeError(f"{operation}: x has dtype {values.dtype}; floats are pooled")
    if padding[0] > window[0] // 2 or padding[1] > window[1] // 2:
        raise InvalidArgumentError(
            f"{operation}: padding is {padding}; at most half of the window {window} keeps a value in every window"
        )
    rows, columns = sliding.result(operation, (image.rows, image.columns), window)
    shape = shape_of(layout, image.batch, image.channels, rows, columns)
    given = [values]
    if gradient is not None:
        lent = lend(operation, "gradient", gradient, device)
        if lent.shape != shape or lent.dtype != values.dtype:
            raise ShapeMismatchError(
                f"{operation}: gradient has shape {list(lent.shape)} and dtype {lent.dtype}, the result {list(shape)}"
                f" and {values.dtype}"
            )
        given.append(lent)
    made = target(
        operation, device, values.shape if gradient is not None else shape, values.dtype, out, inputs=tuple(given)
    )
    if made.operand.size:
        is_max, is_backward = operation == "max_pool2d", gradient is not None
        key = ("pool", values.dtype, is_max, is_backward, layout, counts_padding)
        kernel = source.kernel_for(
            device,
            key,
            lambda: pool_source(
                values.dtype,
                layout,
                is_max=is_max,
                is_backward=is_backward,
                counts_padding=counts_padding,
            ),
            "pool",
        )
        sizes = [image.channels, image.rows, image.columns, rows, columns, *window, *stride, *padding, *dilation]
        arguments = [*(dense(device, one) for one in given), made.array, made.operand.size, *sizes]
        kernel.queue(-(-made.operand.size // source.BLOCK), source.BLOCK, arguments)
    return made.deliver()


def pool_source(dtype: str, layout: str, *, is_max: bool, is_backward: bool, counts_padding: bool) -> str:
    """The kernel of an operation."""
    is_planar = layout == "NCHW"
    place = (
        "((n * channels + c) * {rows} + {y}) * {columns} + {x}"
        if is_planar
        else "((n * {rows} + {y}) * {columns} + {x}) * channels + c"
    )

    def at(kind: str, y: str, x: str) -> str:
        return place.format(rows=f"{kind}_rows", columns=f"{kind}_columns", y=y, x=x)

    own = "image" if is_backward else "result"
    taken = (
        f"const long long own_x = index % {own}_columns, own_y = index / {own}_columns % {own}_rows;\n"
        f"    const long long c = index / ({own}_columns * {own}_rows) % channels;\n"
        f"    const long long n = index / ({own}_columns * {own}_rows * channels);"
        if is_planar
        else f"const long long c = index % channels, own_x = index / channels % {own}_columns;\n"
        f"    const long long own_y = index / (channels * {own}_columns) % {own}_rows;\n"
        f"    const long long n = index / (channels * {own}_columns * {own}_rows);"
    )
    # What a window gives: the first of its largest values, or its sum and count.
    largest = f"""
    C best = -(C)INFINITY;
    long long best_y = -1, best_x = -1;
    for (long long v = 0; v < window_rows; v++) {{
        for (long long u = 0; u < window_columns; u++) {{
            const long long y = top + v * dilation_rows, x = left + u * dilation_columns;
            if (y < 0 || x < 0 || y >= image_rows || x >= image_columns) continue;
            const C value = (C)images[{at("image", "y", "x")}];
            if (best_y < 0 || (best == best && (value > best || value != value))) {{
                best = value;
                best_y = y;
                best_x = x;
            }}
        }}
    }}
"""
    # An average over the padding, too, ends where the padding does.
    border = "padding" if counts_padding else "0 * padding"
    divisor = f"""
    const long long low = {border}_rows, aside = {border}_columns;
    const C count = (C)(COUNT(larger_of(top, -low), smaller_of(top + window_rows, image_rows + low))
                        * COUNT(larger_of(left, -aside), smaller_of(left + window_columns, image_columns + aside)));
"""
    if not is_backward:
        start = "    const long long top = own_y * stride_rows - padding_rows, left = own_x * stride_columns - padding_columns;"
        if is_max:
            body = f"{start}{largest}    results[index] = (X)best;\n"
        else:
            body = f"""{start}{divisor}
    C sum = 0;
    for (long long y = larger_of(top, 0); y < smaller_of(top + window_rows, image_rows); y++)
        for (long long x = larger_of(left, 0); x < smaller_of(left + window_columns, image_columns); x++)
            sum += (C)images[{at("image", "y", "x")}];
    results[index] = (X)(sum / count);
"""
        parameters = "const X* images, X* results"
    else:
        # Windows that hold this pixel, in row-major order.
        share = (
            f"{largest}            if (best_y == own_y && best_x == own_x) sum += (C)gradients[{at('result', 'r', 's')}];"
            if is_max
            else f"{divisor}            sum += (C)gradients[{at('result', 'r', 's')}] / count;"
        )
        body = f"""
    C sum = 0;
    for (long long a = window_rows - 1; a >= 0; a--) {{
        const long long row = own_y + padding_rows - a * dilation_rows;
        if (row < 0 || row % stride_rows != 0 || row / stride_rows >= result_rows) continue;
        for (long long b = window_columns - 1; b >= 0; b--) {{
            const long long column = own_x + padding_columns - b * dilation_columns;
            if (column < 0 || column % stride_columns != 0 || column / stride_columns >= result_columns) continue;
            const long long r = row / stride_rows, s = column / stride_columns;
            const long long top = r * stride_rows - padding_rows, left = s * stride_columns - padding_columns;
{share}
        }}
    }}
    results[index] = (X)sum;
"""
        parameters = "const X* images, const X* gradients, X* results"
    return (
        source.types(X=dtype, C=dtypes.compute(dtype))
        + _HEAD
        + f"""
extern "C" __global__ void pool({parameters}, long long elements, {_PARAMETERS}) {{
    const long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= elements) return;
    {taken}
{body}}}
"""
    )
