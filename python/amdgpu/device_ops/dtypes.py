"""Element types of the operations on devices: what they are called in kernels, what they become together, what they are computed in.

The rules are those of `crates/amdgpu-matrix/src/element.rs`, so that a result has the same dtype wherever it is computed.
"""

from __future__ import annotations

from typing import Any

from amdgpu.errors import UnsupportedDtypeError

# By NumPy's names (bfloat16: `ml_dtypes`).
C_TYPES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "float16": "half",
    "bfloat16": "__hip_bfloat16",
    "float32": "float",
    "float64": "double",
}
ITEM_BYTES = {
    "bool": 1,
    "uint8": 1,
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
}
FLOATS = ("float16", "bfloat16", "float32", "float64")


_NAMES: dict[Any, str] = {}


def name_of(dtype: Any) -> str:
    """NumPy's name of a dtype, remembered: NumPy makes it anew each time, which takes longer than a launch."""
    found = _NAMES.get(dtype)
    if found is None:
        found = str(dtype)
        if found in C_TYPES:
            _NAMES[dtype] = found
    return found


def check(operation: str, argument: str, dtype: str) -> None:
    """Refuse what the operations do not compute.

    Raises:
        UnsupportedDtypeError: Another dtype than those of `C_TYPES`.
    """
    if dtype not in C_TYPES:
        raise UnsupportedDtypeError(f"{operation}: {argument} has dtype {dtype}; known are {', '.join(C_TYPES)}")


def promote(a: str, b: str) -> str:
    """The dtype that holds both."""
    if b in (a, "bool"):
        return a
    if a == "bool":
        return b
    is_float_a, is_float_b = a in FLOATS, b in FLOATS
    size_a, size_b = ITEM_BYTES[a], ITEM_BYTES[b]
    if is_float_a != is_float_b:
        return _with_integer(a, size_b) if is_float_a else _with_integer(b, size_a)
    if not is_float_a and is_unsigned(a) != is_unsigned(b):
        return _signed_for(a, b) if is_unsigned(a) else _signed_for(b, a)
    if size_a != size_b:
        return a if size_a > size_b else b
    return "float32"


def _signed_for(unsigned: str, signed: str) -> str:
    """The signed integers that hold those of both; no integers hold uint64 and negative numbers."""
    if ITEM_BYTES[unsigned] < ITEM_BYTES[signed]:
        return signed
    return {1: "int16", 2: "int32", 4: "int64", 8: "float64"}[ITEM_BYTES[unsigned]]


def is_unsigned(dtype: str) -> bool:
    """Whether values are integers without a sign."""
    return dtype.startswith("uint")


def _with_integer(number: str, integer_bytes: int) -> str:
    if integer_bytes == 2 and ITEM_BYTES[number] == 2:
        return "float32"
    return number if integer_bytes <= 2 else "float64"


def compute(dtype: str) -> str:
    """What values of a dtype are computed in."""
    if dtype in FLOATS:
        return "float64" if dtype == "float64" else "float32"
    if dtype in ("int64", "uint64"):
        return dtype
    # Values of uint32 do not fit 32 bits with a sign.
    return "int64" if dtype == "uint32" else "int32"


def summed(dtype: str) -> str:
    """What integers and truth values are summed to: 64 bits, with a sign unless they have none."""
    return "uint64" if is_unsigned(dtype) else "int64"


def as_float(dtype: str) -> str:
    """Floats stay; integers and truth values become float64."""
    return dtype if dtype in FLOATS else "float64"
