"""Elementwise operations on a device: one generated kernel for each operation, combination of dtypes and rank.

Dense arrays of one shape are read and written 16 bytes at a time; everything else walks its strides. Values are computed in the type that
`amdgpu.ops.elementwise` names, and nothing is fused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.elementwise_source import (
    BITS,
    BOTH,
    FLOAT_PREDICATES,
    INTEGER,
    KNOWN,
    PREDICATES,
    ROUNDING,
    SIGNED,
    VECTOR_BYTES,
    Body,
    Walk,
    flat_source,
    pack_of,
    parts_of,
    strided_source,
)
from amdgpu.device_ops.operand import Operand, broadcast, lend, number, target
from amdgpu.errors import InvalidArgumentError, NoImplementationError, UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Axes that are left when those are joined that can be; every one costs a division.
_RANK_LIMIT = 12

_NAMES = {3: ("x", "low", "high"), 2: ("a", "b"), 1: ("x",)}
_WHERE_NAMES = ("condition", "a", "b")
_STANDARDIZE_NAMES = ("x", "mean", "scale", "shift")


def elementwise(
    operation: str, inputs: tuple[Any, ...], out: Any = None, *, alpha: float = 0.0, device: AMDGPUDevice
) -> Any:
    """`operation(*inputs)`, broadcast; what `amdgpu._native.elementwise` does, on a device.

    Raises:
        As the functions of `amdgpu.ops.elementwise`.
    """
    if operation not in KNOWN:
        raise NoImplementationError(f"there is no generated kernel for {operation}")
    names = _names(operation, len(inputs))
    operands = _lend_all(operation, names, inputs, device)
    common, result_dtype = result_dtypes(operation, names, operands)
    shape = broadcast(operation, dict(zip(names, operands, strict=True)))
    made = target(operation, device, shape, result_dtype, out, inputs=operands, may_alias=True, is_dense=False)
    done = "identity" if operation in ROUNDING and common not in dtypes.FLOATS else operation
    if operation == "invert" and common == "bool":
        # A truth value has one bit.
        done = "logical_not"
    if operation == "power" and common not in dtypes.FLOATS:
        raise NoImplementationError("powers of integers, whose exponents have to be looked at first")
    compute(device, done, operands, made.operand, dtypes.compute(common), alpha=alpha)
    return made.deliver()


def convert(device: AMDGPUDevice, x: Operand, dtype: str) -> _native.Array:
    """A dense copy on the device, converted as NumPy converts; the array itself where it is that already."""
    if x.array is not None and x.dtype == dtype and x.is_dense:
        return x.array
    made = target("convert", device, x.shape, dtype, None)
    # Numbers that are not whole pass through the wider of both types, whole ones through their own.
    wide = x.dtype if x.dtype not in dtypes.FLOATS else dtypes.promote(x.dtype, "float32")
    compute(device, "identity", (x,), made.operand, dtypes.compute(wide))
    return made.array


def _names(operation: str, count: int) -> tuple[str, ...]:
    if operation == "where":
        return _WHERE_NAMES
    if operation.endswith("_gradient"):
        return ("y" if operation in ("sigmoid_gradient", "tanh_gradient") else "x", "gradient")
    return _STANDARDIZE_NAMES if operation == "standardize" else _NAMES[count]


def _lend_all(
    operation: str, names: tuple[str, ...], inputs: tuple[Any, ...], device: AMDGPUDevice
) -> tuple[Operand, ...]:
    """Arguments on the device; a Python number takes the dtype of the arrays beside it (NumPy's rule, NEP 50)."""
    lent: list[Operand | None] = [
        None if isinstance(x, (float, int)) else lend(operation, name, x, device)
        for name, x in zip(names, inputs, strict=True)
    ]
    beside = [one for one, name in zip(lent, names, strict=True) if one is not None and name != "condition"]
    common = None
    for one in beside:
        common = one.dtype if common is None else dtypes.promote(common, one.dtype)
    return tuple(
        _number(operation, name, x, None if name == "condition" else common) if one is None else one
        for one, name, x in zip(lent, names, inputs, strict=True)
    )


def _number(operation: str, name: str, value: Any, common: str | None) -> Operand:
    """A Python number beside arrays of a dtype, or alone."""
    import numpy as np

    dtype = None if common is None else _number_dtype(value, common)
    if dtype == "bfloat16":
        import ml_dtypes

        return number(np.array(value, ml_dtypes.bfloat16))
    try:
        return number(np.array(value, dtype))
    except OverflowError:
        raise InvalidArgumentError(
            f"{operation}: {name} is {value}, which does not fit {dtype or 'any dtype'}"
        ) from None


def _number_dtype(value: Any, common: str) -> str:
    if common in dtypes.FLOATS:
        return common
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float64"
    return "int64" if common == "bool" else common


def result_dtypes(operation: str, names: tuple[str, ...], operands: tuple[Operand, ...]) -> tuple[str, str]:
    """The dtype in which operands meet, and that of the result.

    Raises:
        UnsupportedDtypeError: The operation does not take them.
    """
    common: str | None = None
    for name, operand in zip(names, operands, strict=True):
        if name == "condition":
            if dtypes.ITEM_BYTES[operand.dtype] != 1:
                raise UnsupportedDtypeError(
                    f"where: condition has dtype {operand.dtype}; it must be bool or 8-bit integers: compare first"
                )
        else:
            common = operand.dtype if common is None else dtypes.promote(common, operand.dtype)
    assert common is not None
    if operation in SIGNED and common == "bool":
        raise UnsupportedDtypeError(
            f"{operation}: truth values have no sign; convert them to numbers or use logical_not"
        )
    if operation in BITS and common in dtypes.FLOATS:
        raise UnsupportedDtypeError(
            f"{operation}: the bits of {common} are not combined; integers and truth values are"
        )
    is_general = operation in BOTH or operation in SIGNED or operation in INTEGER or operation in ROUNDING
    if not is_general or operation in FLOAT_PREDICATES:
        common = dtypes.as_float(common)
    if operation == "standardize":
        # Statistics are wider than images of half precision; what they make has the images' dtype.
        return common, dtypes.as_float(operands[0].dtype)
    return common, "bool" if operation in PREDICATES else common


def compute(
    device: AMDGPUDevice,
    operation: str | Body,
    operands: tuple[Operand, ...],
    result: Operand,
    computed: str,
    *,
    alpha: float = 0.0,
) -> None:
    """Launch the kernel that writes `operation(*operands)`, computed in a dtype, to a result of the shape they broadcast to."""
    if result.size:
        plan_of(device, operation, operands, result, computed).launch(
            [float(alpha), *(operand.value for operand in operands if operand.array is None)],
            [one.array for one in (result, *operands) if one.array is not None],
        )


@dataclass(frozen=True)
class Plan:
    """A kernel with what does not change while shapes, strides and dtypes stay.

    Attributes:
        kernel: The kernel.
        blocks: Of the grid.
        are_direct: For the result and each array, whether the launch takes the array; else its address.
        tail: Arguments behind the arrays.
    """

    kernel: _native.Kernel
    blocks: int
    are_direct: tuple[bool, ...]
    tail: list[Any]

    def launch(self, numbers: list[Any], arrays: list[_native.Array]) -> None:
        """Run the kernel; the result is the first of the arrays."""
        given = [x if is_direct else x.kernel_address for x, is_direct in zip(arrays, self.are_direct, strict=True)]
        self.kernel.queue(self.blocks, source.BLOCK, [*numbers, *given, *self.tail], memory=arrays)


def plan_of(
    device: AMDGPUDevice, operation: str | Body, operands: tuple[Operand, ...], result: Operand, computed: str
) -> Plan:
    """The kernel for operands and a result, which is not empty."""
    stretched = (operand.broadcast_to(result.shape) for operand in operands if operand.array is not None)
    wide = [result, *stretched]
    count = result.size
    are_aligned = all(one.array is not None and one.array.kernel_address % VECTOR_BYTES == 0 for one in wide)
    shapes = [operand.shape for operand in operands if operand.array is not None]
    is_flat = are_aligned and all(one.is_dense for one in wide) and all(shape == result.shape for shape in shapes)
    kinds = tuple((operand.dtype, operand.array is not None) for operand in operands)
    pack = pack_of(kinds, result.dtype)
    if is_flat:
        key = ("elementwise", operation, kinds, result.dtype, computed)
        kernel = source.kernel_for(
            device, key, lambda: flat_source(operation, kinds, result.dtype, computed), "elementwise"
        )
        blocks = -(-count // (pack * source.BLOCK * parts_of(operation)))
        return Plan(kernel, blocks, (True,) * len(wide), [count])
    extents, strides = source.coalesce(result.shape, [one.strides for one in wide])
    rank = len(extents)
    if rank > _RANK_LIMIT:
        name = operation.name if isinstance(operation, Body) else operation
        raise NoImplementationError(f"{name}: {rank} axes with strides of their own are more than {_RANK_LIMIT}")
    # Neighbours along the last axis are read together where each array has them side by side, or one value for all of them.
    is_packed = are_aligned and extents[-1] % pack == 0 and strides[0][-1] == 1
    is_packed = is_packed and all(
        own[-1] == 0 or (own[-1] == 1 and not any(stride % pack for stride in own[:-1])) for own in strides
    )
    repeats = tuple(own[-1] == 0 for own in strides) if is_packed else None
    are_dense = tuple(one.is_dense for one in wide)
    width = source.index_type(count)
    walk_key = ("elementwise", operation, kinds, result.dtype, computed, rank, are_dense, width, repeats)
    shape = Walk(wide, rank, width, pack if is_packed else 1, repeats or (False,) * len(wide))
    kernel = source.kernel_for(
        device, walk_key, lambda: strided_source(operation, kinds, computed, shape), "elementwise"
    )
    tail = [count, *source.walk_arguments(extents, strides)]
    parts = parts_of(operation) if is_packed else 1
    return Plan(kernel, -(-count // (shape.pack * source.BLOCK * parts)), are_dense, tail)
