"""New arrays from a shape, a range or another array.

What holds for all of them

- `dtype` is a NumPy dtype or its name; None means float64, or what the values ask for. `device` is an open device, an index in
  `list_devices()` or a name; None means the current device.
- Errors: InvalidTypeError (a shape or number of the wrong type), InvalidArgumentError (a negative extent), UnsupportedDtypeError,
  OutOfMemoryError.
- The functions and their arguments are those of the Python array API standard 2025.12, "Creation functions".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.array import DEFAULT_FLOAT, array, empty, from_dlpack, zeros
from amdgpu.errors import InvalidArgumentError, InvalidTypeError

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu._native import Array
    from amdgpu.device import AMDGPUDevice

    Device = AMDGPUDevice | int | str | None

__all__ = [
    "arange",
    "asarray",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros_like",
]


def asarray(
    source: Any,
    /,
    dtype: npt.DTypeLike | None = None,
    *,
    device: Device = None,
    copy: bool | None = None,
) -> Array:
    """An array with the values of anything array-like; an array that fits already is returned as it is.

    Args:
        source: A number, nested sequences, or an array of any library.
        dtype: What the values become; None keeps theirs.
        device: Where the result lies; None leaves an array of ours where it is.
        copy: True always copies, False never does and raises where it would have to, None copies where it has to.

    Raises:
        InvalidArgumentError: `copy=False` and a copy is needed.

    Example:
        >>> import amdgpu
        >>> amdgpu.asarray([1, 2, 3]).dtype.name
        'int64'
    """
    import numpy as np

    from amdgpu.device import default_device

    if isinstance(source, _native.Array):
        place = source.device if device is None else default_device(device).name
        wanted = source.dtype if dtype is None else _native.numpy_dtype(dtype)
        if place == source.device and wanted == source.dtype:
            return source.copy() if copy else source
        if copy is False:
            raise InvalidArgumentError(
                f"asarray: {source.dtype} on {source.device} becomes {wanted} on {place} by a copy, which copy=False forbids"
            )
        return source.astype(wanted, copy=False).to_device(place)
    if copy is False:
        raise InvalidArgumentError("asarray: the memory of other libraries is lent by from_dlpack; asarray copies it")
    if isinstance(source, np.ndarray | np.generic) or hasattr(source, "__dlpack__"):
        made = array(source, device=device)
        return made if dtype is None else made.astype(dtype, copy=False)
    return array(source, dtype, device=device)


def as_arrays(operation: str, values: Sequence[Any]) -> list[Array]:
    """Arrays of ours with these values: those without a device go where the others are."""
    from amdgpu.ops import placement

    device = placement.device_of(operation, values)
    return [one if isinstance(one, _native.Array) else asarray(one, device=device) for one in values]


def full(
    shape: int | Sequence[int],
    fill_value: complex | bool | Array,
    dtype: npt.DTypeLike | None = None,
    *,
    device: Device = None,
) -> Array:
    """An array with one value everywhere.

    Args:
        shape: Extent of each axis; an integer means one axis.
        fill_value: The value.
        dtype: None takes bool, int64, float64 or complex128, whichever has the fill value.
        device: Where the result lies.

    Example:
        >>> import amdgpu
        >>> amdgpu.full((2, 2), 7).tolist()
        [[7, 7], [7, 7]]
    """
    if isinstance(fill_value, _native.Array):
        fill_value = fill_value.item()
    if dtype is None:
        kinds = ((bool, "bool"), (int, "int64"), (float, DEFAULT_FLOAT), (complex, "complex128"))
        dtype = next((name for kind, name in kinds if isinstance(fill_value, kind)), None)
        if dtype is None:
            raise InvalidTypeError(f"full: fill_value is {fill_value!r}; a number is expected")
    made = empty(shape, dtype, device=device)
    made.fill(fill_value)
    return made


def ones(shape: int | Sequence[int], dtype: npt.DTypeLike = DEFAULT_FLOAT, *, device: Device = None) -> Array:
    """An array of ones.

    Example:
        >>> import amdgpu
        >>> amdgpu.ones(2).tolist()
        [1.0, 1.0]
    """
    return full(shape, 1, dtype=DEFAULT_FLOAT if dtype is None else dtype, device=device)


def _like(x: Array, dtype: npt.DTypeLike | None, device: Device) -> tuple[tuple[int, ...], Any, Any]:
    return x.shape, x.dtype if dtype is None else dtype, x.device if device is None else device


def empty_like(x: Array, /, dtype: npt.DTypeLike | None = None, *, device: Device = None) -> Array:
    """An array of the shape, dtype and device of x whose contents are undefined."""
    shape, dtype, device = _like(x, dtype, device)
    return empty(shape, dtype, device=device)


def zeros_like(x: Array, /, dtype: npt.DTypeLike | None = None, *, device: Device = None) -> Array:
    """An array of zeros of the shape, dtype and device of x."""
    shape, dtype, device = _like(x, dtype, device)
    return zeros(shape, dtype, device=device)


def ones_like(x: Array, /, dtype: npt.DTypeLike | None = None, *, device: Device = None) -> Array:
    """An array of ones of the shape, dtype and device of x."""
    return full_like(x, 1, dtype=dtype, device=device)


def full_like(
    x: Array, /, fill_value: complex | bool, dtype: npt.DTypeLike | None = None, *, device: Device = None
) -> Array:
    """An array with one value everywhere, of the shape, dtype and device of x."""
    shape, dtype, device = _like(x, dtype, device)
    return full(shape, fill_value, dtype=dtype, device=device)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    dtype: npt.DTypeLike | None = None,
    *,
    device: Device = None,
) -> Array:
    """Evenly spaced values in [start, stop), or in [0, start) where no stop is given. The values are computed on the host.

    Args:
        start: First value, or the end where it stands alone.
        stop: End, which is not part of the values.
        step: Distance of two values, not zero.
        dtype: None takes int64 where all numbers are integers.
        device: Where the result lies.

    Example:
        >>> import amdgpu
        >>> amdgpu.arange(1, 10, 4).tolist()
        [1, 5, 9]
    """
    import numpy as np

    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise InvalidArgumentError("arange: the step cannot be zero")
    if dtype is None:
        dtype = "int64" if all(isinstance(one, int) for one in (start, stop, step)) else DEFAULT_FLOAT
    return array(np.arange(start, stop, step, dtype=_native.numpy_dtype(dtype)), device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int = 50,
    *,
    dtype: npt.DTypeLike | None = None,
    device: Device = None,
    endpoint: bool = True,
) -> Array:
    """`num` evenly spaced values from start to stop, the last of which is `stop` with `endpoint`. They are computed on the host.

    Example:
        >>> import amdgpu
        >>> amdgpu.linspace(0, 1, 5).tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    import numpy as np

    count = arguments.count("linspace", "num", num)
    wanted = _native.numpy_dtype(DEFAULT_FLOAT if dtype is None else dtype)
    return array(np.linspace(start, stop, count, dtype=wanted, endpoint=endpoint), device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    k: int = 0,
    dtype: npt.DTypeLike = DEFAULT_FLOAT,
    *,
    device: Device = None,
) -> Array:
    """Ones on the k-th diagonal of a matrix and zeros elsewhere.

    Example:
        >>> import amdgpu
        >>> amdgpu.eye(2).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    rows = arguments.count("eye", "n_rows", n_rows)
    columns = rows if n_cols is None else arguments.count("eye", "n_cols", n_cols)
    made = zeros((rows, columns), DEFAULT_FLOAT if dtype is None else dtype, device=device)
    first = k if k >= 0 else -k * columns
    on_diagonal = min(rows + min(k, 0), columns - max(k, 0))
    if on_diagonal > 0:
        made.reshape(-1)[first : first + (on_diagonal - 1) * (columns + 1) + 1 : columns + 1] = 1
    return made


def meshgrid(*arrays: Array, indexing: str = "xy") -> tuple[Array, ...]:
    """Coordinates of a grid: array i of the result varies along axis i ("ij"), or with the first two axes swapped ("xy").

    Args:
        arrays: One-dimensional arrays of one dtype and device.
        indexing: "xy" for coordinates of a plane, "ij" for indices of a matrix.

    Raises:
        InvalidArgumentError: Another indexing, or an array with several axes.
    """
    from amdgpu.ops.manipulation import broadcast_arrays

    if indexing not in ("xy", "ij"):
        raise InvalidArgumentError(f"meshgrid: indexing is {indexing!r}; 'xy' and 'ij' are known")
    for one in arrays:
        if one.ndim > 1:
            raise InvalidArgumentError(f"meshgrid: an array has {one.ndim} axes; one is expected")
    rank = len(arrays)
    shaped = [
        one.reshape(tuple(-1 if axis == index else 1 for axis in range(rank))) for index, one in enumerate(arrays)
    ]
    grids = broadcast_arrays(*shaped)
    if indexing == "xy" and rank > 1:
        grids = tuple(grid.transpose((1, 0, *range(2, rank))) for grid in grids)
    return tuple(grid.copy() for grid in grids)


def tril(x: Array, /, k: int = 0) -> Array:
    """The lower triangle of matrices, with zeros above the k-th diagonal."""
    return _triangle(x, k, is_lower=True)


def triu(x: Array, /, k: int = 0) -> Array:
    """The upper triangle of matrices, with zeros below the k-th diagonal."""
    return _triangle(x, k, is_lower=False)


def _triangle(x: Array, k: int, *, is_lower: bool) -> Array:
    from amdgpu.ops import greater_equal, less_equal, where

    if x.ndim < 2:
        raise InvalidArgumentError(f"tril and triu need matrices; the array has {x.ndim} axes")
    rows = arange(x.shape[-2], device=x.device).reshape(-1, 1)
    columns = arange(x.shape[-1], device=x.device) - k
    kept = less_equal(columns, rows) if is_lower else greater_equal(columns, rows)
    result: Array = where(kept, x, zeros((), x.dtype, device=x.device))
    return result
