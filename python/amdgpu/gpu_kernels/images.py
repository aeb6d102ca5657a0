"""`conv2d` by the archived convolutions, which take images with their channels last and filters with their outputs last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import convolve as generated
from amdgpu.device_ops.operand import Operand, lend, of_array
from amdgpu.device_ops.transpose import dense, write
from amdgpu.errors import LibraryMissingError, NoImplementationError
from amdgpu.gpu_kernels.archive import archive_for
from amdgpu.gpu_kernels.loading import facts_of
from amdgpu.gpu_kernels.operations import convolve as archived
from amdgpu.gpu_kernels.operations import takes_filters_first

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Fewer channels of 16 bits, or of a group, leave most of a tile of the matrix units empty. Without groups float32 gains all the same: three
# channels of 224 x 224 pixels, windows of 7 x 7, took the H200 504 us with an archived kernel and 1072 us without.
_CHANNELS = 8


def convolve(
    direction: str,
    inputs: tuple[Any, ...],
    out: Any = None,
    *,
    device: AMDGPUDevice,
    precision: str = "fp32",
    **options: Any,
) -> Any:
    """As `amdgpu.device_ops.convolve`: the convolution itself by an archived kernel where one fits."""
    if direction == "forward" and out is None:
        try:
            result = _forward(inputs, device, precision, options)
        except (NoImplementationError, LibraryMissingError):
            result = None
        if result is not None:
            return result
    return generated.convolve(direction, inputs, out, device=device, **options)


def _forward(inputs: tuple[Any, ...], device: AMDGPUDevice, precision: str, options: dict[str, Any]) -> Any:
    """The result, or None for what the generated kernels are to look at, mistakes included."""
    steps = [options[name] for name in ("stride", "padding", "dilation")]
    groups, layout = options["groups"], options["layout"]
    if archive_for(facts_of(device)[0]) is None or any(rows != columns for rows, columns in steps):
        return None
    operands = [lend("conv2d", name, x, device) for name, x in zip(("x", "weight", "bias"), inputs, strict=False)]
    x, weight = operands[:2]
    if not _is_known(operands, layout, groups):
        return None
    images = x if layout == "NHWC" else x.permuted((0, 2, 3, 1))
    if images.shape[3] != weight.shape[1] * groups or not _has_windows(images, weight, steps):
        return None
    is_first = takes_filters_first(device, x.dtype, precision)
    made = archived(
        device,
        dense(device, images),
        dense(device, weight.permuted((0, 2, 3, 1) if is_first else (2, 3, 1, 0))),
        bias=dense(device, operands[2]) if len(operands) > 2 else None,
        stride=steps[0][0],
        padding=steps[1][0],
        dilation=steps[2][0],
        groups=groups,
        precision=precision,
    )
    if layout == "NHWC":
        return made
    turned = of_array(made).permuted((0, 3, 1, 2))
    result = device.native.empty(turned.shape, x.dtype)
    write(device, turned, of_array(result))
    return result


def _is_known(operands: list[Operand], layout: str, groups: int) -> bool:
    """Whether dtypes, axes and groups are those of archived kernels."""
    x, weight = operands[:2]
    if x.dtype not in ("float32", "float16", "bfloat16") or any(one.dtype != x.dtype for one in operands):
        return False
    if len(x.shape) != 4 or len(weight.shape) != 4 or layout not in ("NCHW", "NHWC") or not x.size or not weight.size:
        return False
    outputs, channels = weight.shape[:2]
    is_fitting = groups >= 1 and outputs % max(groups, 1) == 0
    is_fitting = is_fitting and (channels >= _CHANNELS or (x.dtype == "float32" and groups == 1))
    return is_fitting and (len(operands) < 3 or operands[2].shape == (outputs,))


def _has_windows(images: Operand, weight: Operand, steps: list[tuple[int, int]]) -> bool:
    """Whether stride, padding and dilation make sense and a window fits."""
    (stride, _), (padding, _), (dilation, _) = steps
    if stride < 1 or padding < 0 or dilation < 1:
        return False
    spans = (dilation * (taps - 1) + 1 for taps in weight.shape[2:])
    return all(extent + 2 * padding >= span for extent, span in zip(images.shape[1:3], spans, strict=True))
