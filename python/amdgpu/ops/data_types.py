"""Data types: what values become together, what a type holds, what goes into what.

Types are NumPy's dtypes, `bfloat16` that of ml_dtypes. Functions and arguments are those of the Python array API standard 2025.12, "Data
type functions"; promotion is NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.errors import InvalidArgumentError, InvalidTypeError
from amdgpu.ops import placement

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu._native import Array

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}


def _kind(dtype: Any) -> str:
    # NumPy knows nothing of bfloat16, whose kind is that of raw memory.
    return "f" if dtype.name == "bfloat16" else str(dtype.kind)


def astype(x: Any, dtype: npt.DTypeLike, /, *, copy: bool = True, device: Any = None, out: Any = None) -> Any:
    """The values of x in another dtype, converted as a cast of C does: floats are cut towards zero, integers keep their low bits.

    Args:
        x: Values of any shape and strides.
        dtype: bool, an integer, a real or a complex dtype of NumPy's, or bfloat16.
        copy: False returns an array of ours itself where it has the dtype already.
        device: Where the result lies; None leaves it where x is.
        out: Receives the values, of this dtype and of a shape that x broadcasts to; may be x, and have any strides.

    Raises:
        UnsupportedDtypeError: A dtype that is not known, complex numbers to a real dtype, which would lose the imaginary part, or `out` has
            another one.
        ShapeMismatchError: x does not broadcast to `out`.

    Example:
        >>> import amdgpu
        >>> amdgpu.astype([1.9, -1.9, 0.0], "int8").tolist()
        [1, -1, 0]
    """
    wanted = _native.numpy_dtype(dtype)
    if not copy and out is None and isinstance(x, _native.Array) and x.dtype == wanted:
        made: Any = x
    else:
        made = placement.run(("cast", "astype"), (x, out), x, wanted.name, out)
    return made if device is None else made.to_device(device)


def isdtype(dtype: npt.DTypeLike, kind: str | npt.DTypeLike | tuple[Any, ...]) -> bool:
    """Whether a dtype is another one, or of a kind.

    Args:
        dtype: A dtype or its name.
        kind: A dtype, "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" or "numeric", or a
            tuple of those, of which one is enough.

    Raises:
        InvalidArgumentError: A kind that does not exist.

    Example:
        >>> import amdgpu
        >>> amdgpu.isdtype(amdgpu.float16, "real floating")
        True
    """
    known = _native.numpy_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(known, one) for one in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return _kind(known) in _KINDS[kind]
    try:
        return bool(known == _native.numpy_dtype(kind))
    except TypeError:
        raise InvalidArgumentError(f"isdtype: {kind!r} is no dtype and none of {', '.join(_KINDS)}") from None


def result_type(*arrays_and_dtypes: Array | npt.DTypeLike | complex) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and numbers of Python's have together.

    A number takes the dtype of the others unless it is of a higher kind: 1.5 beside int32 gives float64.

    Raises:
        InvalidTypeError: Nothing but numbers of Python's.

    Example:
        >>> import amdgpu
        >>> amdgpu.result_type("int32", "float32").name
        'float64'
    """
    numbers = [one for one in arrays_and_dtypes if isinstance(one, bool | int | float | complex)]
    found = None
    for one in arrays_and_dtypes:
        if isinstance(one, bool | int | float | complex):
            continue
        given: Any = one
        dtype = given.dtype if hasattr(one, "dtype") and hasattr(one, "shape") else one
        found = _native.numpy_dtype(dtype) if found is None else _native.promoted(found, dtype)
    if found is None:
        raise InvalidTypeError("result_type: at least one array or dtype is needed")
    for number in numbers:
        found = _with_number(found, number)
    return found


def _with_number(dtype: Any, number: Any) -> Any:
    kind = _kind(dtype)
    if isinstance(number, complex):
        # Beside integers it is complex128, beside floats it has parts as wide as theirs.
        return _native.promoted("complex64" if kind in "fc" else "complex128", dtype)
    if isinstance(number, bool) or kind in "fc":
        return dtype
    if isinstance(number, int):
        return _native.numpy_dtype("int64") if kind == "b" else dtype
    return _native.numpy_dtype("float64")


def can_cast(from_: Array | npt.DTypeLike, to: npt.DTypeLike, /) -> bool:
    """Whether all values of a dtype, or of that of an array, are values of another.

    Example:
        >>> import amdgpu
        >>> amdgpu.can_cast("int32", "float32"), amdgpu.can_cast("int16", "float32")
        (False, True)
    """
    own = _native.numpy_dtype(from_.dtype if isinstance(from_, _native.Array) else from_)
    wanted = _native.numpy_dtype(to)
    return bool(_native.promoted(own, wanted) == wanted)


class _FloatInfo:
    """What a type of floating-point numbers holds, as numbers of Python's."""

    def __init__(self, dtype: Any) -> None:
        if dtype.name == "bfloat16":
            import ml_dtypes

            facts: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        else:
            import numpy as np

            facts = np.finfo(dtype)
        # Of complex numbers that of a part.
        self.dtype = facts.dtype
        self.bits = int(facts.bits)
        self.eps = float(facts.eps)
        self.max = float(facts.max)
        self.min = float(facts.min)
        self.smallest_normal = float(facts.smallest_normal)

    def __repr__(self) -> str:
        return f"finfo({self.dtype.name}: bits={self.bits}, eps={self.eps}, max={self.max})"


def finfo(dtype: Array | npt.DTypeLike, /) -> _FloatInfo:
    """Limits of a type of floating-point numbers: `bits eps max min smallest_normal dtype`; of complex numbers those of a part.

    Raises:
        InvalidArgumentError: Another type.
    """
    known = _native.numpy_dtype(dtype.dtype if isinstance(dtype, _native.Array) else dtype)
    if _kind(known) not in "fc":
        raise InvalidArgumentError(f"finfo: {known} is no type of floating-point numbers; iinfo knows integers")
    return _FloatInfo(known)


def iinfo(dtype: Array | npt.DTypeLike, /) -> Any:
    """Limits of a type of integers: `bits max min dtype`.

    Raises:
        InvalidArgumentError: Another type.
    """
    import numpy as np

    known = _native.numpy_dtype(dtype.dtype if isinstance(dtype, _native.Array) else dtype)
    if _kind(known) not in "iu":
        raise InvalidArgumentError(f"iinfo: {known} is no type of integers; finfo knows floating-point numbers")
    return np.iinfo(known)
