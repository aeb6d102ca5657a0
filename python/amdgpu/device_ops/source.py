"""Pieces of HIP-C that the generators share, and the kernels made of them.

Kernels are compiled by amdgpu's own compiler when they are first used; its cache keeps them on disk, so that the next process loads them in
a fraction of a millisecond. Elementary functions are those of the compiler's device library: the same bits on every kind of device.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice
    from amdgpu.device_ops.operand import Operand

BLOCK = 256
# Grids have 2^31 - 1 blocks in x and 65,535 in y at most.
GRID_LIMIT = 65535
# Indices of larger arrays take 64 bits, whose division is slow.
_NARROW_INDEX_LIMIT = 1 << 31


class GeneratedKernels(dict["Hashable", "_native.Kernel"]):
    """Kernels that a device compiled, by what they compute."""


def kernel_for(device: AMDGPUDevice, key: Hashable, make_source: Callable[[], str], name: str) -> _native.Kernel:
    """A kernel on a device; compiled once. `key` says what `make_source` makes."""
    kept = device.native.cache(GeneratedKernels)
    found = kept.get(key)
    if found is None:
        found = kept[key] = device.native.compile(make_source(), name, core_type="matrix", file_name=f"{name}.hip")
    return found


def types(**names: str) -> str:
    """Definitions of types by dtype."""
    return "".join(f"typedef {dtypes.C_TYPES[dtype]} {name};\n" for name, dtype in names.items())


def functions(compute: str) -> str:
    """`F(name)` is the function of the compute type: `expf` of float, `exp` of double."""
    return "#define F(name) name##f\n" if compute == "float32" else "#define F(name) name\n"


def index_type(count: int) -> str:
    """The narrowest type for indices below a count."""
    return "unsigned" if count < _NARROW_INDEX_LIMIT else "unsigned long long"


def coalesce(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The same elements in the same order with as few axes as there can be.

    Args:
        shape: Extents.
        strides: For each tensor its strides.

    Returns:
        Extents, at least one, and for each tensor its strides.
    """
    extents: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        own = [tensor[axis] for tensor in strides]
        if extents and all(kept[-1] == stride * extent for kept, stride in zip(merged, own, strict=True)):
            extents[-1] *= extent
            for kept, stride in zip(merged, own, strict=True):
                kept[-1] = stride
        else:
            extents.append(extent)
            for kept, stride in zip(merged, own, strict=True):
                kept.append(stride)
    if not extents:
        return (1,), tuple((0,) for _ in strides)
    return tuple(extents), tuple(tuple(kept) for kept in merged)


def walk_parameters(prefix: str, rank: int, tensors: int) -> str:
    """Parameters of a walk: extents but the first, which no index passes, then the strides of each tensor."""
    extents = [f", unsigned long long {prefix}_extent{axis}" for axis in range(1, rank)]
    strides = [f", long long {prefix}_stride{tensor}_{axis}" for tensor in range(tensors) for axis in range(rank)]
    return "".join([*extents, *strides])


def walk_arguments(extents: Sequence[int], strides: Sequence[Sequence[int]]) -> list[Any]:
    """The arguments of `walk_parameters`."""
    return [*extents[1:], *(stride for tensor in strides for stride in tensor)]


def walk(prefix: str, rank: int, offsets: Sequence[str], index: str, width: str) -> str:
    """Statements that take an index in row-major order apart and add to the offset of each tensor what it makes there."""
    lines = [f"{width} {prefix}_rest = ({width}){index};"]
    for axis in range(rank - 1, -1, -1):
        place = f"{prefix}_rest"
        if axis:
            lines.append(f"const {width} {prefix}_place{axis} = {prefix}_rest % ({width}){prefix}_extent{axis};")
            lines.append(f"{prefix}_rest /= ({width}){prefix}_extent{axis};")
            place = f"{prefix}_place{axis}"
        lines += [
            f"{offset} += (long long){place} * {prefix}_stride{tensor}_{axis};" for tensor, offset in enumerate(offsets)
        ]
    return "\n".join("    " + line for line in lines) + "\n"


def pointer(operand: Operand) -> Any:
    """The argument for an operand's memory: its address where it has gaps, which arrays as arguments must not have."""
    assert operand.array is not None
    return operand.array if operand.is_dense else operand.array.kernel_address


def hidden(*operands: Operand) -> list[_native.Array]:
    """The memory that `pointer` gives by its address, which launches have to know of."""
    return [one.array for one in operands if one.array is not None and not one.is_dense]


def pointer_parameter(operand: Operand, ctype: str, name: str, *, is_written: bool = False) -> tuple[str, str]:
    """The parameter for `pointer`, and the statement that makes a pointer of it."""
    const = "" if is_written else "const "
    if operand.is_dense:
        return f"{const}{ctype}* {name}", ""
    return f"unsigned long long {name}_address", f"    {const}{ctype}* {name} = ({const}{ctype}*){name}_address;\n"
