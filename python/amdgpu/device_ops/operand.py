"""Arguments and results of the operations on a device."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.array import array
from amdgpu.device_ops import dtypes
from amdgpu.errors import (
    InvalidArgumentError,
    InvalidTypeError,
    ReadOnlyError,
    ShapeMismatchError,
    UnsupportedDtypeError,
    WrongDeviceError,
)

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice


# Strides in elements, and whether there are no gaps, by dtype, shape and strides in bytes.
_LAYOUTS: dict[tuple[str, tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], bool]] = {}
_LAYOUTS_LIMIT = 4096


@dataclass(frozen=True)
class Operand:
    """Values on a device, or one number that a launch carries.

    Attributes:
        dtype: NumPy's name.
        shape: Extents.
        strides: Elements from one index to the next.
        array: The memory; None for a number.
        value: The number.
        is_contiguous: The array itself is in row-major order, so that launches take it; else they take its address.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    array: _native.Array | None = None
    value: float | int = 0
    is_contiguous: bool = True

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_dense(self) -> bool:
        """Whether elements lie in row-major order without gaps."""
        return self.array is not None and self.is_contiguous and self.strides == dense_strides(self.shape)

    def permuted(self, axes: tuple[int, ...]) -> Operand:
        """The same memory with axes in another order."""
        shape = tuple(self.shape[axis] for axis in axes)
        return replace(self, shape=shape, strides=tuple(self.strides[axis] for axis in axes))

    def broadcast_to(self, shape: tuple[int, ...]) -> Operand:
        """The same memory, stretched to a shape that it broadcasts to."""
        missing = len(shape) - len(self.shape)
        stretched = tuple(0 if extent == 1 else stride for extent, stride in zip(self.shape, self.strides, strict=True))
        return replace(self, shape=shape, strides=(0,) * missing + stretched)


@functools.lru_cache(maxsize=_LAYOUTS_LIMIT)
def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of the row-major order, in elements; axes of one element, whose stride does not matter, included."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * max(shape[axis + 1], 1)
    return tuple(strides)


def of_array(lent: _native.Array) -> Operand:
    """An array that lies on the device."""
    shape, steps = lent.shape, lent.strides
    dtype = dtypes.name_of(lent.dtype)
    kept = _LAYOUTS.get((dtype, shape, steps))
    if kept is None:
        if len(_LAYOUTS) >= _LAYOUTS_LIMIT:
            _LAYOUTS.clear()
        dense = dense_strides(shape)
        # The stride of an axis of one element is never walked.
        strides = tuple(
            right if extent == 1 else step // lent.itemsize
            for extent, step, right in zip(shape, steps, dense, strict=True)
        )
        kept = _LAYOUTS[dtype, shape, steps] = (strides, strides == dense)
    return Operand(dtype, shape, kept[0], lent, 0, kept[1])


def lend(operation: str, name: str, x: Any, device: AMDGPUDevice) -> Operand:
    """An argument as values on the device; host memory that is no device's is copied there.

    Raises:
        WrongDeviceError: An array of another device.
        InvalidTypeError: No array of numbers.
        UnsupportedDtypeError: A dtype that is not computed.
    """
    import numpy as np

    if not isinstance(x, (np.ndarray, np.generic)) and (
        isinstance(x, _native.Array) or hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__")
    ):
        lent = x if isinstance(x, _native.Array) else _native.from_dlpack(x)
        dtypes.check(operation, name, dtypes.name_of(lent.dtype))
        if lent.device == device.name:
            return of_array(lent)
        _check_device(operation, name, x, lent, device)
        return of_array(array(lent, device=device.name))
    try:
        values = np.asarray(x)
    except (ValueError, TypeError) as error:
        raise InvalidTypeError(f"{operation}: {name} is no array of numbers: {error}") from None
    if values.dtype.kind in "OUSMm":
        raise InvalidTypeError(f"{operation}: {name} is no array of numbers: it becomes {values.dtype}")
    dtypes.check(operation, name, dtypes.name_of(values.dtype))
    if values.ndim == 0:
        return number(values)
    return of_array(array(values, device=device.name))


def _check_device(operation: str, name: str, given: Any, lent: _native.Array, device: AMDGPUDevice) -> None:
    """Refuse an array of another device; host memory of other libraries is no device's."""
    if lent is given or not lent.is_on_host:
        raise WrongDeviceError(
            f"{operation}: {name} is on {lent.device} and the operation runs on {device.name}; copy it with"
            f" amdgpu.array(x, device={device.name!r})"
        )


def number(value: Any) -> Operand:
    """A NumPy value without axes, which launches carry."""
    dtype = dtypes.name_of(value.dtype)
    return Operand(dtype, (), (), None, float(value) if dtype in dtypes.FLOATS else int(value))


def broadcast(operation: str, operands: dict[str, Operand]) -> tuple[int, ...]:
    """The shape that all stretch to.

    Raises:
        ShapeMismatchError: There is none.
    """
    rank = max((len(operand.shape) for operand in operands.values()), default=0)
    result = [1] * rank
    for operand in operands.values():
        for axis, extent in enumerate(operand.shape, rank - len(operand.shape)):
            if extent != 1 and result[axis] not in (1, extent):
                shapes = ", ".join(f"{name} {list(one.shape)}" for name, one in operands.items())
                raise ShapeMismatchError(f"{operation}: shapes do not broadcast: {shapes}")
            result[axis] = extent if extent != 1 else result[axis]
    return tuple(result)


@dataclass(frozen=True)
class Target:
    """Where a result goes: the operand that kernels write, and what the caller gets.

    Attributes:
        operand: The memory that kernels write.
        out: What the caller gave; None for a new array.
        is_direct: `operand` is the memory of `out`.
    """

    operand: Operand
    out: Any = None
    is_direct: bool = True

    @property
    def array(self) -> _native.Array:
        """The memory that kernels write."""
        assert self.operand.array is not None
        return self.operand.array

    def deliver(self) -> Any:
        """The caller's result, once the kernels are done."""
        if self.out is None:
            return self.array
        if not self.is_direct:
            if isinstance(self.out, _native.Array):
                self.out.copy_from(self.array.numpy() if self.out.is_on_host else self.array)
            else:
                self.out[...] = self.array.numpy()
        return self.out


def target(
    operation: str,
    device: AMDGPUDevice,
    shape: tuple[int, ...],
    dtype: str,
    out: Any,
    *,
    inputs: tuple[Operand, ...] = (),
    may_alias: bool = False,
    is_dense: bool = True,
) -> Target:
    """The memory for a result.

    Args:
        operation: For messages.
        device: Where it is computed.
        shape: Of the result.
        dtype: Of the result.
        out: What the caller gave; None for a new array.
        inputs: What kernels read meanwhile.
        may_alias: `out` may be an input itself.
        is_dense: The kernels write row-major memory only.

    Raises:
        ShapeMismatchError: `out` has another shape.
        UnsupportedDtypeError: `out` has another dtype.
        InvalidArgumentError: `out` overlaps an input, or has gaps that the kernels do not step over.
        ReadOnlyError: `out` cannot be written to.
        WrongDeviceError: `out` is an array of another device.
    """
    if out is None:
        return Target(of_array(device.native.empty(shape, dtype)))
    lent = _writable(operation, out, shape, dtype)
    if lent is not None and lent.device != device.name:
        _check_device(operation, "out", out, lent, device)
    if lent is None or lent.device != device.name:
        return Target(of_array(device.native.empty(shape, dtype)), out, is_direct=False)
    operand = of_array(lent)
    for one in inputs:
        if _overlaps(operand, one) and not (may_alias and _is_same(operand, one)):
            raise InvalidArgumentError(f"{operation}: out overlaps an input")
    if is_dense and not operand.is_dense:
        raise InvalidArgumentError(f"{operation}: out on a GPU must be row-major without gaps")
    return Target(operand, out)


def _writable(operation: str, out: Any, shape: tuple[int, ...], dtype: str) -> _native.Array | None:
    """`out` as an array of a device; None where it is one of the host. Whatever is wrong with it is refused."""
    if not hasattr(out, "shape") or not hasattr(out, "dtype"):
        raise InvalidTypeError(f"{operation}: out must be an array to write to")
    if dtypes.name_of(out.dtype) != dtype:
        raise UnsupportedDtypeError(f"{operation}: out has dtype {out.dtype}; the result has {dtype}")
    if tuple(out.shape) != shape:
        raise ShapeMismatchError(f"{operation}: out has shape {list(out.shape)}; the result has {list(shape)}")
    is_foreign = not isinstance(out, _native.Array) and hasattr(out, "__cuda_array_interface__")
    lent = _native.from_dlpack(out) if is_foreign else out
    on_device = lent if isinstance(lent, _native.Array) else None
    is_fixed = hasattr(out, "flags") and not out.flags.writeable if on_device is None else on_device.is_read_only
    if is_fixed:
        raise ReadOnlyError(f"{operation}: out is read-only")
    return on_device


def _is_same(a: Operand, b: Operand) -> bool:
    assert a.array is not None
    assert b.array is not None
    return a.array.kernel_address == b.array.kernel_address and (a.shape, a.strides, a.dtype) == (
        b.shape,
        b.strides,
        b.dtype,
    )


def _overlaps(a: Operand, b: Operand) -> bool:
    if a.array is None or b.array is None or not a.size or not b.size:
        return False
    (first_a, last_a), (first_b, last_b) = _bytes(a), _bytes(b)
    return first_a < last_b and first_b < last_a


def _bytes(operand: Operand) -> tuple[int, int]:
    """The first byte of the elements and the one behind their last."""
    assert operand.array is not None
    steps = [(extent - 1) * stride for extent, stride in zip(operand.shape, operand.strides, strict=True)]
    item = dtypes.ITEM_BYTES[operand.dtype]
    low, high = sum(step for step in steps if step < 0), sum(step for step in steps if step > 0)
    return operand.array.kernel_address + low * item, operand.array.kernel_address + (high + 1) * item
