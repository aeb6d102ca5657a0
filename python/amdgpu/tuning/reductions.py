"""Which reductions are tuned when somebody asks for it: shapes as text, and the usual ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from amdgpu import _native, arguments
from amdgpu._generated.dtypes import FORMATS
from amdgpu._generated.operations import REDUCTIONS
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Rows, columns, images, and one long line, as docs/performance.md measures them.
USUAL_REDUCTIONS = (
    "sum:4096x4096:1,sum:4096x4096:0,sum:100000000:0,max:4096x4096:1,mean:64x64x56x56:0+2+3,var:4096x4096:1,argmax:4096x1000:1,"
    "sum:128x768:1"
)
# tf32 is a way to multiply float32.
REDUCTION_FORMATS = tuple(name for name in FORMATS if name != "tf32")
_SHAPE = re.compile(r"([a-z_]{1,32}):(\d{1,10}(?:x\d{1,10}){0,7}):(\d(?:\+\d){0,7})")


class Reduction(NamedTuple):
    """A reduction of an array without gaps.

    Attributes:
        operation: Name of the reduction, for example sum.
        shape: Extents of the array.
        axes: Axes that are reduced.
        dtype: Of the array.
    """

    operation: str
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        axes = "+".join(map(str, self.axes))
        return f"{self.operation} {self.dtype} {'x'.join(map(str, self.shape))} over {axes}"

    def ways(self, device: AMDGPUDevice) -> tuple[str, list[str]]:
        """What the tuning database calls the reduction, and the forms of its kernel, which give the same bits.

        Args:
            device: A GPU; of a CPU device those of its generated kernels, which it takes in recorded graphs only.

        Returns:
            The subject, and forms such as "block 256 ahead 2", the usual one first.

        Raises:
            UnsupportedDtypeError: There is no such reduction of the dtype.
            ShapeMismatchError: The reduction has no value for an array without elements.
        """
        return _native.reduce_forms(device, self.operation, self.dtype, self.shape, self.axes)

    def compute(self, device: AMDGPUDevice, form: str, x: Any) -> Any:
        """The reduction by a kernel of one form.

        Args:
            device: Holds x.
            form: One of `ways`.
            x: An array of the shape and dtype.

        Returns:
            An array on the device.

        Raises:
            InvalidArgumentError: The kernel has no such form.
        """
        return _native.reduce_by(device, form, self.operation, x, self.axes)


def reductions_of(shapes: str, formats: Sequence[str]) -> list[Reduction]:
    """Every reduction in every number format.

    Args:
        shapes: `OPERATION:SHAPE:AXES`, separated by commas, for example `sum:4096x4096:1,mean:64x3x224x224:0+2+3`.
        formats: Of f64, f32, f16, bf16, i8, i32.

    Raises:
        InvalidArgumentError: What is not known, or a part that is no reduction.

    Example:
        >>> from amdgpu.tuning import reductions_of
        >>> print(*reductions_of("sum:64x100:1,max:64x100:0+1", ["f32"]), sep="; ")
        sum float32 64x100 over 1; max float32 64x100 over 0+1
    """
    for name in arguments.names("reductions_of", "formats", formats):
        if name not in REDUCTION_FORMATS:
            raise InvalidArgumentError(f"format {name!r} is not known; known are {', '.join(REDUCTION_FORMATS)}")
    arguments.text("reductions_of", "shapes", shapes, "a list of reductions such as sum:4096x4096:1")
    return [_parsed(part)._replace(dtype=FORMATS[name].dtype) for name in formats for part in shapes.split(",")]


def _parsed(part: str) -> Reduction:
    found = _SHAPE.fullmatch(part.strip())
    if found and found[1] in REDUCTIONS:
        shape, axes = (tuple(map(int, text)) for text in (found[2].split("x"), found[3].split("+")))
        if 0 not in shape and len(set(axes)) == len(axes) and max(axes) < len(shape):
            return Reduction(found[1], shape, axes, "float32")
    raise InvalidArgumentError(
        f"{part!r} is no reduction; write OPERATION:SHAPE:AXES, such as sum:4096x4096:1 or mean:64x3x224x224:0+2+3, with one of "
        + ", ".join(REDUCTIONS)
    )
