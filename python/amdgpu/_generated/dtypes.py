"""Element types, number formats of matrix units, precisions. Generated from dtypes.toml by ./x generate. Do not edit."""

from __future__ import annotations

from typing import NamedTuple


class Dtype(NamedTuple):
    """An element type.

    Attributes:
        name: NumPy's name; bfloat16 is that of `ml_dtypes`.
        code: DLPack's type code.
        bits: Bits of an element.
        hip_c: Type in the text of kernels; None where operations do not compute the dtype.
        computed_in: Dtype of intermediate values.
        summed_in: Dtype of sums over axes.
        as_float: Dtype in which functions of real numbers take it.
    """

    name: str
    code: int
    bits: int
    hip_c: str | None = None
    computed_in: str = ""
    summed_in: str = ""
    as_float: str = ""

    @property
    def bytes(self) -> int:
        """Bytes of an element."""
        return self.bits // 8


class Format(NamedTuple):
    """How a matrix unit reads its operands: dtype in memory, formats of results and sums, error of a product."""

    name: str
    dtype: str
    output: str
    sums: str
    product_error: float | None

    @property
    def bytes(self) -> int:
        """Bytes of a number in memory."""
        return DTYPES[self.dtype].bytes


class Precision(NamedTuple):
    """What `matrix_multiply` takes: the format of operands, the error between two devices."""

    name: str
    format: str
    call_error: float


DTYPES: dict[str, Dtype] = {
    row.name: row
    for row in (
        Dtype("bool", 6, 8, "bool", "int32", "int64", "float64"),
        Dtype("uint8", 1, 8, "unsigned char", "int32", "uint64", "float64"),
        Dtype("uint16", 1, 16, "unsigned short", "int32", "uint64", "float64"),
        Dtype("uint32", 1, 32, "unsigned int", "int64", "uint64", "float64"),
        Dtype("uint64", 1, 64, "unsigned long long", "uint64", "uint64", "float64"),
        Dtype("int8", 0, 8, "signed char", "int32", "int64", "float64"),
        Dtype("int16", 0, 16, "short", "int32", "int64", "float64"),
        Dtype("int32", 0, 32, "int", "int32", "int64", "float64"),
        Dtype("int64", 0, 64, "long long", "int64", "int64", "float64"),
        Dtype("float16", 2, 16, "half", "float32", "float16", "float16"),
        Dtype("bfloat16", 4, 16, "__hip_bfloat16", "float32", "bfloat16", "bfloat16"),
        Dtype("float32", 2, 32, "float", "float32", "float32", "float32"),
        Dtype("float64", 2, 64, "double", "float64", "float64", "float64"),
        Dtype("complex64", 5, 64),
        Dtype("complex128", 5, 128),
    )
}
# Those that operations compute.
COMPUTED: tuple[str, ...] = (
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
FLOATS: tuple[str, ...] = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
# Computed in a wider type, and all that float32 holds.
NARROW_FLOATS: tuple[str, ...] = (
    "float16",
    "bfloat16",
)
FLOATS_OF_FLOAT32: tuple[str, ...] = (
    "float16",
    "bfloat16",
    "float32",
)
# The dtype in which two meet, as in NumPy.
PROMOTED: dict[tuple[str, str], str] = {
    ("bool", "bool"): "bool",
    ("bool", "uint8"): "uint8",
    ("bool", "uint16"): "uint16",
    ("bool", "uint32"): "uint32",
    ("bool", "uint64"): "uint64",
    ("bool", "int8"): "int8",
    ("bool", "int16"): "int16",
    ("bool", "int32"): "int32",
    ("bool", "int64"): "int64",
    ("bool", "float16"): "float16",
    ("bool", "bfloat16"): "bfloat16",
    ("bool", "float32"): "float32",
    ("bool", "float64"): "float64",
    ("uint8", "bool"): "uint8",
    ("uint8", "uint8"): "uint8",
    ("uint8", "uint16"): "uint16",
    ("uint8", "uint32"): "uint32",
    ("uint8", "uint64"): "uint64",
    ("uint8", "int8"): "int16",
    ("uint8", "int16"): "int16",
    ("uint8", "int32"): "int32",
    ("uint8", "int64"): "int64",
    ("uint8", "float16"): "float16",
    ("uint8", "bfloat16"): "bfloat16",
    ("uint8", "float32"): "float32",
    ("uint8", "float64"): "float64",
    ("uint16", "bool"): "uint16",
    ("uint16", "uint8"): "uint16",
    ("uint16", "uint16"): "uint16",
    ("uint16", "uint32"): "uint32",
    ("uint16", "uint64"): "uint64",
    ("uint16", "int8"): "int32",
    ("uint16", "int16"): "int32",
    ("uint16", "int32"): "int32",
    ("uint16", "int64"): "int64",
    ("uint16", "float16"): "float32",
    ("uint16", "bfloat16"): "float32",
    ("uint16", "float32"): "float32",
    ("uint16", "float64"): "float64",
    ("uint32", "bool"): "uint32",
    ("uint32", "uint8"): "uint32",
    ("uint32", "uint16"): "uint32",
    ("uint32", "uint32"): "uint32",
    ("uint32", "uint64"): "uint64",
    ("uint32", "int8"): "int64",
    ("uint32", "int16"): "int64",
    ("uint32", "int32"): "int64",
    ("uint32", "int64"): "int64",
    ("uint32", "float16"): "float64",
    ("uint32", "bfloat16"): "float64",
    ("uint32", "float32"): "float64",
    ("uint32", "float64"): "float64",
    ("uint64", "bool"): "uint64",
    ("uint64", "uint8"): "uint64",
    ("uint64", "uint16"): "uint64",
    ("uint64", "uint32"): "uint64",
    ("uint64", "uint64"): "uint64",
    ("uint64", "int8"): "float64",
    ("uint64", "int16"): "float64",
    ("uint64", "int32"): "float64",
    ("uint64", "int64"): "float64",
    ("uint64", "float16"): "float64",
    ("uint64", "bfloat16"): "float64",
    ("uint64", "float32"): "float64",
    ("uint64", "float64"): "float64",
    ("int8", "bool"): "int8",
    ("int8", "uint8"): "int16",
    ("int8", "uint16"): "int32",
    ("int8", "uint32"): "int64",
    ("int8", "uint64"): "float64",
    ("int8", "int8"): "int8",
    ("int8", "int16"): "int16",
    ("int8", "int32"): "int32",
    ("int8", "int64"): "int64",
    ("int8", "float16"): "float16",
    ("int8", "bfloat16"): "bfloat16",
    ("int8", "float32"): "float32",
    ("int8", "float64"): "float64",
    ("int16", "bool"): "int16",
    ("int16", "uint8"): "int16",
    ("int16", "uint16"): "int32",
    ("int16", "uint32"): "int64",
    ("int16", "uint64"): "float64",
    ("int16", "int8"): "int16",
    ("int16", "int16"): "int16",
    ("int16", "int32"): "int32",
    ("int16", "int64"): "int64",
    ("int16", "float16"): "float32",
    ("int16", "bfloat16"): "float32",
    ("int16", "float32"): "float32",
    ("int16", "float64"): "float64",
    ("int32", "bool"): "int32",
    ("int32", "uint8"): "int32",
    ("int32", "uint16"): "int32",
    ("int32", "uint32"): "int64",
    ("int32", "uint64"): "float64",
    ("int32", "int8"): "int32",
    ("int32", "int16"): "int32",
    ("int32", "int32"): "int32",
    ("int32", "int64"): "int64",
    ("int32", "float16"): "float64",
    ("int32", "bfloat16"): "float64",
    ("int32", "float32"): "float64",
    ("int32", "float64"): "float64",
    ("int64", "bool"): "int64",
    ("int64", "uint8"): "int64",
    ("int64", "uint16"): "int64",
    ("int64", "uint32"): "int64",
    ("int64", "uint64"): "float64",
    ("int64", "int8"): "int64",
    ("int64", "int16"): "int64",
    ("int64", "int32"): "int64",
    ("int64", "int64"): "int64",
    ("int64", "float16"): "float64",
    ("int64", "bfloat16"): "float64",
    ("int64", "float32"): "float64",
    ("int64", "float64"): "float64",
    ("float16", "bool"): "float16",
    ("float16", "uint8"): "float16",
    ("float16", "uint16"): "float32",
    ("float16", "uint32"): "float64",
    ("float16", "uint64"): "float64",
    ("float16", "int8"): "float16",
    ("float16", "int16"): "float32",
    ("float16", "int32"): "float64",
    ("float16", "int64"): "float64",
    ("float16", "float16"): "float16",
    ("float16", "bfloat16"): "float32",
    ("float16", "float32"): "float32",
    ("float16", "float64"): "float64",
    ("bfloat16", "bool"): "bfloat16",
    ("bfloat16", "uint8"): "bfloat16",
    ("bfloat16", "uint16"): "float32",
    ("bfloat16", "uint32"): "float64",
    ("bfloat16", "uint64"): "float64",
    ("bfloat16", "int8"): "bfloat16",
    ("bfloat16", "int16"): "float32",
    ("bfloat16", "int32"): "float64",
    ("bfloat16", "int64"): "float64",
    ("bfloat16", "float16"): "float32",
    ("bfloat16", "bfloat16"): "bfloat16",
    ("bfloat16", "float32"): "float32",
    ("bfloat16", "float64"): "float64",
    ("float32", "bool"): "float32",
    ("float32", "uint8"): "float32",
    ("float32", "uint16"): "float32",
    ("float32", "uint32"): "float64",
    ("float32", "uint64"): "float64",
    ("float32", "int8"): "float32",
    ("float32", "int16"): "float32",
    ("float32", "int32"): "float64",
    ("float32", "int64"): "float64",
    ("float32", "float16"): "float32",
    ("float32", "bfloat16"): "float32",
    ("float32", "float32"): "float32",
    ("float32", "float64"): "float64",
    ("float64", "bool"): "float64",
    ("float64", "uint8"): "float64",
    ("float64", "uint16"): "float64",
    ("float64", "uint32"): "float64",
    ("float64", "uint64"): "float64",
    ("float64", "int8"): "float64",
    ("float64", "int16"): "float64",
    ("float64", "int32"): "float64",
    ("float64", "int64"): "float64",
    ("float64", "float16"): "float64",
    ("float64", "bfloat16"): "float64",
    ("float64", "float32"): "float64",
    ("float64", "float64"): "float64",
}
FORMATS: dict[str, Format] = {
    row.name: row
    for row in (
        Format("f64", "float64", "f64", "f64", 1e-15),
        Format("f32", "float32", "f32", "f32", 1e-06),
        Format("tf32", "float32", "f32", "f32", 0.002),
        Format("f16", "float16", "f16", "f32", 0.001),
        Format("bf16", "bfloat16", "bf16", "f32", 0.008),
        Format("i8", "int8", "i32", "i32", 0.0),
        Format("i32", "int32", "i32", "i32", None),
    )
}
PRECISIONS: dict[str, Precision] = {
    row.name: row
    for row in (
        Precision("fp64", "f64", 1e-15),
        Precision("fp32", "f32", 2e-06),
        Precision("tf32", "tf32", 0.002),
        Precision("fp16", "f16", 0.001),
        Precision("bf16", "bf16", 0.008),
        Precision("int8", "i8", 0.0),
    )
}
