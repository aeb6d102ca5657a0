"""Transposes, elementwise operations, reductions and convolutions by archived kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.errors import InvalidArgumentError, NoImplementationError, ShapeMismatchError, UnsupportedDtypeError
from amdgpu.gpu_kernels.archive import ArchivedKernel, archive_for, archived_kernels
from amdgpu.gpu_kernels.choice import estimate
from amdgpu.gpu_kernels.loading import LaunchPlan, facts_of, launch, load
from amdgpu.gpu_kernels.problem import ITEM_BYTES, NUMBERS, Problem, epilogue_of

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "minimum")
# Enough blocks for every unit to have several; more only wait.
_BLOCKS_PER_UNIT = 16
_VECTOR_BYTES = 16
# Of convolutions.
_PRECISIONS = ("fp32", "tf32")
_FOLDS = {"sum": "sum", "maximum": "max", "minimum": "min"}


def _find(device: AMDGPUDevice, kind: str, what: str, **wanted: Any) -> ArchivedKernel:
    architecture = archive_for(facts_of(device)[0])
    for kernel in archived_kernels(architecture) if architecture else ():
        if kernel.kind == kind and all(getattr(kernel, name) == value for name, value in wanted.items()):
            return kernel
    raise NoImplementationError(f"the archived kernels for {facts_of(device)[0]} have no {what}")


def transpose(device: AMDGPUDevice, x: _native.Array, *, stream: _native.Stream | None = None) -> _native.Array:
    """The last two dimensions of an array swapped, written out.

    Raises:
        ShapeMismatchError: Fewer than two dimensions.
        NoImplementationError: The archive has no kernel for elements of this size.
    """
    if x.ndim < 2:
        raise ShapeMismatchError(f"x has the shape {x.shape}; two or more dimensions are transposed")
    result = device.native.empty((*x.shape[:-2], x.shape[-1], x.shape[-2]), str(x.dtype))
    if x.size:
        plan_transpose(device, x, result).launch(stream)
    return result


def plan_transpose(device: AMDGPUDevice, x: _native.Array, result: _native.Array) -> LaunchPlan:
    """The launch that writes the transpose of an array, which is not empty, to another."""
    rows, columns = x.shape[-2:]
    kernel = _find(device, "transpose", f"transpose of {x.dtype}", item_bytes=x.itemsize)
    tiles = -(-rows // kernel.tile[0]) * -(-columns // kernel.tile[0])
    grid = (tiles, x.size // (rows * columns), 1)
    return LaunchPlan(load(device, kernel), grid, (kernel.threads, 1, 1), [x, result, rows, columns])


def elementwise(
    device: AMDGPUDevice,
    operation: str,
    x: _native.Array,
    y: _native.Array | None = None,
    *,
    stream: _native.Stream | None = None,
) -> _native.Array:
    """An operation on every element.

    Args:
        device: The GPU.
        operation: add, subtract, multiply, divide, maximum, minimum of two arrays; negate, absolute, relu, exp, tanh, sigmoid, gelu,
            silu of one.
        x: The first array.
        y: The second, of the same shape and format.
        stream: Stream to launch in; None is the device's own, in whose order arrays are read.

    Raises:
        InvalidArgumentError: Too many or too few arrays for the operation.
        ShapeMismatchError: Arrays of two shapes or formats.
        NoImplementationError: The archive has no such kernel.
    """
    if (y is None) == (operation in _BINARY):
        raise InvalidArgumentError(f"{operation} takes {'two arrays' if operation in _BINARY else 'one array'}")
    if y is not None and (x.shape != y.shape or x.dtype != y.dtype):
        raise ShapeMismatchError(f"x is {x.dtype}{list(x.shape)} and y is {y.dtype}{list(y.shape)}")
    number = NUMBERS.get(str(x.dtype), "")
    kernel = _find(device, "elementwise", f"{operation} of {x.dtype}", operation=operation, number=number)
    result = device.native.empty(x.shape, str(x.dtype))
    if x.size:
        per_block = kernel.threads * (_VECTOR_BYTES // ITEM_BYTES[number])
        blocks = min(-(-x.size // per_block), facts_of(device)[1] * _BLOCKS_PER_UNIT)
        arguments = [x, x if y is None else y, result, x.size, blocks]
        launch(load(device, kernel), blocks, kernel.threads, arguments, stream=stream)
    return result


def reduce(
    device: AMDGPUDevice,
    operation: str,
    x: _native.Array,
    axis: int = -1,
    *,
    stream: _native.Stream | None = None,
) -> _native.Array:
    """The sum, maximum or minimum along the last axis, or along the first.

    Raises:
        InvalidArgumentError: Another axis; a maximum or minimum of nothing.
        NoImplementationError: The archive has no such kernel.
    """
    if x.ndim < 1 or axis not in (-1, 0, x.ndim - 1):
        raise InvalidArgumentError(
            f"axis is {axis}; arrays of the shape {x.shape} are reduced along the first or the last"
        )
    is_row = axis != 0 or x.ndim == 1
    shape = x.shape[:-1] if is_row else x.shape[1:]
    length = x.shape[-1] if is_row else x.shape[0]
    if not length and operation != "sum":
        raise InvalidArgumentError(f"the {operation} of nothing is not defined")
    count = 1
    for size in shape:
        count *= size
    number = NUMBERS.get(str(x.dtype), "")
    if not is_row and stream is None and number in ("f64", "f32", "f16", "bf16"):
        # A thread of the archived kernel walks a whole column; these cut columns into parts.
        columns: _native.Array = _native.reduce_on_device(_FOLDS[operation], x, (0,), device=device)
        return columns
    side = "row" if is_row else "column"
    kernel = _find(device, "reduction", f"{operation} of {x.dtype}", operation=operation, number=number, axis=side)
    result = device.native.empty(shape, str(x.dtype))
    if count:
        grid = count if is_row else -(-count // kernel.threads)
        sizes = (count, length) if is_row else (length, count)
        launch(load(device, kernel), grid, kernel.threads, [x, result, *sizes], stream=stream)
    return result


def _convolution(device: AMDGPUDevice, problem: Problem) -> ArchivedKernel:
    """The kernel of a convolution, given as the product that it is, whose tiles leave the least of the device idle."""
    architecture, units = facts_of(device)
    name = archive_for(architecture)
    found = [
        kernel
        for kernel in (archived_kernels(name) if name else ())
        if (kernel.kind, kernel.operand, kernel.epilogue) == ("convolution", problem.operand, problem.epilogue)
        and (problem.is_aligned or not kernel.is_aligned)
    ]
    if not found:
        raise NoImplementationError(f"the archived kernels for {architecture} have no convolution for {problem}")
    return min(found, key=lambda kernel: estimate(kernel, problem, units))


def takes_filters_first(device: AMDGPUDevice, dtype: Any, precision: str) -> bool:
    """Whether convolutions of a dtype and a precision are those by tf32, which read filters one after the other."""
    name = archive_for(facts_of(device)[0])
    if precision != "tf32" or str(dtype) != "float32" or name is None:
        return False
    return any((kernel.kind, kernel.operand) == ("convolution", "tf32") for kernel in archived_kernels(name))


def convolve(
    device: AMDGPUDevice,
    images: _native.Array,
    filters: _native.Array,
    *,
    bias: _native.Array | None = None,
    activation: str | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    precision: str = "fp32",
    kernel: ArchivedKernel | None = None,
    stream: _native.Stream | None = None,
) -> _native.Array:
    """A convolution of images.

    Args:
        device: The GPU.
        images: Shape (images, height, width, channels).
        filters: Shape (rows, columns, channels / groups, filters), or, where `takes_filters_first` says so, (filters, rows, columns,
            channels / groups).
        bias: Shape (filters,).
        activation: None or "relu"; needs a bias.
        stride: Pixels from one result to the next.
        padding: Zeros around each image.
        dilation: Pixels from one tap to the next.
        groups: Groups of channels that are convolved apart.
        precision: "fp32", or "tf32", which lets the matrix units cut float32 numbers to 11 significant bits, where there are such units.
        kernel: An archived kernel; None chooses.
        stream: Stream to launch in; None is the device's own, in whose order arrays are read.

    Returns:
        Shape (images, rows, columns, filters).

    Raises:
        ShapeMismatchError: Shapes that do not fit, or a result without pixels.
        UnsupportedDtypeError: Formats that differ.
        InvalidArgumentError: A stride, dilation or number of groups below 1, a padding below 0, an activation without a bias, an
            unknown precision.
        NoImplementationError: The archive has no such kernel.
    """
    if precision not in _PRECISIONS:
        raise InvalidArgumentError(f"precision is {precision!r}; known are {', '.join(_PRECISIONS)}")
    if min(stride, dilation, groups) < 1 or padding < 0:
        raise InvalidArgumentError(
            f"stride {stride}, dilation {dilation}, groups {groups} and padding {padding} are not possible"
        )
    if images.ndim != 4 or filters.ndim != 4:
        raise ShapeMismatchError(f"images have the shape {images.shape}, filters {filters.shape}; both have four axes")
    has_filters_first = (
        takes_filters_first(device, images.dtype, precision) if kernel is None else kernel.layout == "nt"
    )
    shape = (*filters.shape[1:], filters.shape[0]) if has_filters_first else filters.shape
    if images.shape[3] != shape[2] * groups or shape[3] % groups:
        raise ShapeMismatchError(f"images have the shape {images.shape}, filters {filters.shape}, in {groups} groups")
    if images.dtype != filters.dtype or (bias is not None and bias.dtype != images.dtype):
        raise UnsupportedDtypeError(f"images are {images.dtype} and filters {filters.dtype}")
    count, height, width, channels = images.shape
    kernel_height, kernel_width, own_channels, out_channels = shape
    if bias is not None and tuple(bias.shape) != (out_channels,):
        raise ShapeMismatchError(f"bias has the shape {bias.shape}; there are {out_channels} filters")
    out_height, out_width = (
        (size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1
        for size, taps in ((height, kernel_height), (width, kernel_width))
    )
    if min(out_height, out_width) < 1:
        raise ShapeMismatchError(
            f"images of {height} x {width} have no place for filters of {kernel_height} x {kernel_width}"
        )
    result = device.native.empty((count, out_height, out_width, out_channels), str(images.dtype))
    if not result.size:
        return result
    number = NUMBERS.get(str(images.dtype), "")
    vector = _VECTOR_BYTES // ITEM_BYTES.get(number, 1)
    is_aligned = own_channels % vector == 0 and out_channels // groups % vector == 0
    # Arrays of other libraries may begin anywhere.
    is_aligned = is_aligned and not any(x.kernel_address % _VECTOR_BYTES for x in (images, filters, result))
    pixels, own_filters = count * out_height * out_width, out_channels // groups
    if kernel is None:
        operand, layout = ("tf32", "nt") if has_filters_first else (number, "nn")
        depth = kernel_height * kernel_width * own_channels
        epilogue = epilogue_of(bias, activation)
        problem = Problem(pixels, own_filters, depth, groups, operand, number, layout, epilogue, is_aligned=is_aligned)
        kernel = _convolution(device, problem)
    grid = (-(-pixels // kernel.tile[0]) * -(-own_filters // kernel.tile[1]), groups, 1)
    arguments = [images, filters, result, result if bias is None else bias, count, height, width, channels]
    arguments += [out_height, out_width, out_channels, kernel_height, kernel_width, stride, padding, dilation, groups]
    made, shared_bytes = load(device, kernel), kernel.dynamic_shared_bytes
    launch(made, grid, kernel.threads, arguments, shared_bytes=shared_bytes, stream=stream)
    return result
