"""Element types of the operations on devices: what they are called in kernels, what they become together, what they are computed in.

The rules are those of `crates/amdgpu-matrix/src/element.rs`, so that a result has the same dtype wherever it is computed.
"""

from __future__ import annotations

from amdgpu.errors import UnsupportedDtypeError

# By NumPy's names (bfloat16: `ml_dtypes`).
C_TYPES = {
    "bool": "bool",
    "uint8": "unsigned char",
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
    if is_float_a == is_float_b:
        if size_a != size_b:
            return a if size_a > size_b else b
        # float16 and bfloat16; uint8 and int8.
        return "float32" if is_float_a else "int16"
    number, integer_bytes = (a, size_b) if is_float_a else (b, size_a)
    if integer_bytes == 2 and ITEM_BYTES[number] == 2:
        return "float32"
    return number if integer_bytes <= 2 else "float64"


def compute(dtype: str) -> str:
    """What values of a dtype are computed in."""
    if dtype in FLOATS:
        return "float64" if dtype == "float64" else "float32"
    return "int64" if dtype == "int64" else "int32"


def as_float(dtype: str) -> str:
    """Floats stay; integers and truth values become float64."""
    return dtype if dtype in FLOATS else "float64"
