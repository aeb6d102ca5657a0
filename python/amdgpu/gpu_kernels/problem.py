"""What is to be multiplied, as kernels see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdgpu.device_ops.dtypes import name_of
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError
from amdgpu.tuning.entries import OUTPUTS

if TYPE_CHECKING:
    from amdgpu import _native

NUMBERS = {"float64": "f64", "float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int32": "i32"}
ITEM_BYTES = {"f64": 8, "f32": 4, "tf32": 4, "f16": 2, "bf16": 2, "i8": 1, "i32": 4}
# NumPy's types; bfloat16 is `ml_dtypes`' and no part of NumPy.
DTYPES = {"f64": "float64", "f32": "float32", "tf32": "float32", "f16": "float16", "i8": "int8", "i32": "int32"}
# Error of a result, relative to the sum of absolute products: rounding of operands and results, and of sums over thousands of products.
ERROR_BOUNDS = {"f64": 1e-15, "f32": 1e-6, "tf32": 2e-3, "f16": 1e-3, "bf16": 8e-3, "i8": 0.0}
_VECTOR_BYTES = 16


@dataclass(frozen=True)
class Problem:
    """A product of matrices without gaps.

    Attributes:
        m: Rows of the result.
        n: Columns of the result.
        k: Inner dimension.
        batch: How many products.
        operand: Number format of the operands: f64, f32, tf32, f16, bf16, i8.
        output: Number format of the result; 16-bit operands have kernels that give float32, their sums, as well.
        layout: nn, nt, tn or tt; t says that an operand is stored transposed.
        epilogue: Empty, bias, relu, gelu or silu.
        is_aligned: Rows of all three begin at multiples of 16 bytes.
    """

    m: int
    n: int
    k: int
    batch: int
    operand: str
    output: str
    layout: str
    epilogue: str
    is_aligned: bool

    @property
    def fields(self) -> tuple[int, int, int, int, str, str, str, str, bool]:
        """As native functions take it."""
        return (
            self.m,
            self.n,
            self.k,
            self.batch,
            self.operand,
            self.output,
            self.layout,
            self.epilogue,
            self.is_aligned,
        )


def problem_of(
    a: _native.Array,
    b: _native.Array,
    transposes: tuple[bool, bool],
    precision: str | None,
    epilogue: str,
    *,
    is_wide: bool = False,
) -> Problem:
    """The problem of two arrays; a wide one has a float32 result of operands with 16 bits.

    Raises:
        ShapeMismatchError: Shapes that do not fit.
        UnsupportedDtypeError: Formats that no kernel takes.
        InvalidArgumentError: A precision that is not known.
    """
    operand = _operand(a, b, precision)
    output = "f32" if is_wide and operand in ("f16", "bf16") else OUTPUTS[operand]
    shapes = [tuple(a.shape), tuple(b.shape)]
    if len(shapes[0]) != len(shapes[1]) or len(shapes[0]) not in (2, 3):
        raise ShapeMismatchError(
            f"operands have the shapes {shapes[0]} and {shapes[1]}; two matrices or two batches of them are multiplied"
        )
    (rows_a, columns_a), (rows_b, columns_b) = shapes[0][-2:], shapes[1][-2:]
    m, k = (columns_a, rows_a) if transposes[0] else (rows_a, columns_a)
    inner, n = (columns_b, rows_b) if transposes[1] else (rows_b, columns_b)
    batch = shapes[0][0] if len(shapes[0]) == 3 else 1
    if k != inner or (len(shapes[0]) == 3 and shapes[1][0] != batch):
        raise ShapeMismatchError(f"operands have the shapes {shapes[0]} and {shapes[1]}, transposed: {transposes}")
    item, output_item = ITEM_BYTES[operand], ITEM_BYTES[output]
    sizes = (columns_a * item, columns_b * item, n * output_item, a.kernel_address, b.kernel_address)
    layout = "".join("t" if is_transposed else "n" for is_transposed in transposes)
    is_aligned = all(size % _VECTOR_BYTES == 0 for size in sizes)
    return Problem(m, n, k, batch, operand, output, layout, epilogue, is_aligned)


def _operand(a: _native.Array, b: _native.Array, precision: str | None) -> str:
    kind = a.dtype
    number = NUMBERS.get(name_of(kind))
    if number is None or number == "i32" or kind != b.dtype:
        raise UnsupportedDtypeError(f"operands are {a.dtype} and {b.dtype}; kernels take two of {', '.join(NUMBERS)}")
    if precision == "tf32" and number == "f32":
        return "tf32"
    if precision is not None:
        raise InvalidArgumentError(f"precision is {precision!r}; it may be 'tf32' for float32 operands")
    return number


def epilogue_of(bias: _native.Array | None, activation: str | None) -> str:
    """The word for what follows the product.

    Raises:
        InvalidArgumentError: An activation that is not known or has no bias.
    """
    if activation is None:
        return "bias" if bias is not None else ""
    if activation not in ("relu", "gelu", "silu"):
        raise InvalidArgumentError(f"activation is {activation!r}; known are relu, gelu, silu")
    if bias is None:
        raise InvalidArgumentError(f"activation={activation!r} needs a bias")
    return activation
