"""Arrays in device memory."""

from __future__ import annotations

from collections.abc import Sequence
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu._native import Array
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, UnsupportedDtypeError

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu.device import AMDGPUDevice

# Names that the native module knows, which need no NumPy to be understood.
_NAMES = frozenset(_native.dtype_names())

# What numbers become where no dtype is named, as in NumPy.
DEFAULT_FLOAT = "float64"

__all__ = ["Array", "array", "empty", "from_dlpack", "zeros"]


def empty(
    shape: int | Sequence[int], dtype: npt.DTypeLike = DEFAULT_FLOAT, *, device: AMDGPUDevice | int | str | None = None
) -> Array:
    """An array in device memory whose contents are undefined.

    Args:
        shape: Extent of each axis; an integer means one axis.
        dtype: A NumPy dtype or its name; float64 where none is named.
        device: An open device, an index in `list_devices()`, or a name such as `cpu:0`; None means the current device.

    Returns:
        A row-major array on the device.

    Raises:
        InvalidTypeError: The shape is not made of integers.
        InvalidArgumentError: A negative extent.
        UnsupportedDtypeError: A dtype that devices do not know (object, string, datetime, structured).
        OutOfMemoryError: The device has no room.

    Example:
        >>> import amdgpu
        >>> amdgpu.empty((2, 3)).shape
        (2, 3)
    """
    return default_device(device).native.empty(_as_shape(shape), dtype_name(DEFAULT_FLOAT if dtype is None else dtype))


def zeros(
    shape: int | Sequence[int], dtype: npt.DTypeLike = DEFAULT_FLOAT, *, device: AMDGPUDevice | int | str | None = None
) -> Array:
    """An array of zeros in device memory; arguments and errors as for `empty`.

    Example:
        >>> import amdgpu
        >>> float(amdgpu.zeros(4).numpy().sum())
        0.0
    """
    result = empty(shape, dtype, device=device)
    result.fill_bytes(0)
    return result


def array(source: Any, dtype: npt.DTypeLike | None = None, *, device: AMDGPUDevice | int | str | None = None) -> Array:
    """Copy anything array-like into device memory.

    Args:
        source: A NumPy array, nested sequences, or an object with `__dlpack__` or `__cuda_array_interface__`, on any device.
        dtype: What the values become; None keeps the dtype of the source.
        device: An open device, an index in `list_devices()`, or a name; None means the current device.

    Returns:
        A row-major copy on the device.

    Example:
        >>> import amdgpu
        >>> amdgpu.array([[1, 2], [3, 4]], "float32").numpy().tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    import numpy as np

    if isinstance(source, Array) and _native.is_tracing() and device is None:
        return source.astype(source.dtype if dtype is None else _dtype(dtype))
    if not isinstance(source, np.ndarray) and (
        hasattr(source, "__dlpack__") or hasattr(source, "__cuda_array_interface__")
    ):
        lent = _native.from_dlpack(source)
        if not lent.is_on_host:
            result = empty(lent.shape, lent.dtype, device=device)
            result.copy_from(lent if lent.is_contiguous else lent.copy())
            return result if dtype is None else result.astype(dtype, copy=False)
        source = lent
    wanted = None if dtype is None else _dtype(dtype)
    try:
        host = np.ascontiguousarray(source, dtype=wanted).reshape(np.shape(source))
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(source, list | tuple) and _has_arrays(source):
            return array(_with_values(source), dtype, device=device)
        raise InvalidTypeError(f"array: the source is no array of numbers: {error}") from None
    result = empty(host.shape, host.dtype, device=device)
    result.copy_from(host)
    return result


def _has_arrays(source: Any) -> bool:
    if isinstance(source, list | tuple):
        return any(_has_arrays(one) for one in source)
    return isinstance(source, Array) and not source.is_on_host


def _with_values(source: Any) -> Any:
    """Sequences with the values of arrays that NumPy cannot read where they are."""
    if isinstance(source, list | tuple):
        return [_with_values(one) for one in source]
    return source.numpy() if isinstance(source, Array) else source


def from_dlpack(source: Any, /, *, device: AMDGPUDevice | int | str | None = None, copy: bool | None = None) -> Array:
    """Take over the memory of any object with `__dlpack__` or `__cuda_array_interface__`, without a copy.

    Args:
        source: An array of NumPy, PyTorch, JAX, CuPy or another library, in memory that an open device can reach.
        device: Where the array is wanted; on another device than the memory's that takes a copy.
        copy: True copies, False raises where a copy would be needed, None copies where it is.

    Returns:
        An array that shares the memory and keeps its owner alive.

    Raises:
        InvalidTypeError: The object has neither.
        WrongDeviceError: Its memory is on a device that amdgpu has no driver for.

    Example:
        >>> import amdgpu, numpy
        >>> a = numpy.arange(3.0)
        >>> amdgpu.from_dlpack(a).ptr == a.ctypes.data
        True
    """
    lent = _native.from_dlpack(source)
    place = None if device is None else default_device(device).name
    if place is not None and place != lent.device:
        if copy is False:
            raise InvalidArgumentError(f"from_dlpack: the memory is on {lent.device}; on {place} it would be a copy")
        return lent.to_device(place)
    return lent.copy() if copy else lent


def _as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return arguments.integers("empty", "shape", shape)


def dtype_name(dtype: npt.DTypeLike) -> str:
    """The name of a dtype, in whichever of NumPy's spellings it is given."""
    if isinstance(dtype, str) and dtype in _NAMES:
        return dtype
    name: str = _dtype(dtype).name
    return name


def _dtype(dtype: npt.DTypeLike) -> Any:
    import numpy as np

    try:
        known = np.dtype(dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnsupportedDtypeError(f"dtype {shortened(dtype)} is no dtype: {error}") from None
    if not known.isnative:
        raise UnsupportedDtypeError(
            f"{known.str} has the byte order of another machine, which devices do not know; pass {known.newbyteorder('=').str!r}"
        )
    return known
