"""The matrix product of arrays without gaps by an archived kernel, chosen or named: for tests, benchmarks and the tuner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu import _native
from amdgpu.device_ops.dtypes import name_of
from amdgpu.errors import InvalidArgumentError
from amdgpu.gpu_kernels.archive import ArchivedKernel
from amdgpu.gpu_kernels.problem import epilogue_of, problem_of

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice


def matmul(
    device: AMDGPUDevice,
    a: _native.Array,
    b: _native.Array,
    *,
    out: _native.Array | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    precision: str | None = None,
    bias: _native.Array | None = None,
    activation: str | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: ArchivedKernel | None = None,
    way: str | None = None,
) -> _native.Array:
    """`activation(alpha * a @ b + beta * out + bias)` of arrays that lie on a GPU, in the order of its default stream.

    Args:
        device: The GPU.
        a: Shape (m, k), or (batch, m, k); with `transpose_a` the last two are swapped.
        b: Shape (k, n), or (batch, k, n); with `transpose_b` the last two are swapped.
        out: Where the result goes; a new array otherwise. A float32 one takes the sums of 16-bit operands as they are.
        transpose_a: `a` is stored transposed.
        transpose_b: `b` is stored transposed.
        precision: "tf32" lets float32 operands be rounded to 19 bits for the matrix units; None computes in their own format.
        bias: Shape (n,), added to each row.
        activation: None, "relu", "gelu" or "silu"; needs a bias.
        alpha: Factor of the product.
        beta: Factor of what `out` holds; 0 does not read it.
        kernel: One of `candidates`; None chooses among them and the vendor's library.
        way: Name of one of `ways`, instead of a kernel.

    Returns:
        The result. int8 gives int32, everything else the format of the operands where `out` has no other.

    Raises:
        ShapeMismatchError: Shapes that do not fit.
        UnsupportedDtypeError: Formats that no kernel takes.
        InvalidArgumentError: An activation without a bias, a `beta` without `out`.
        NoImplementationError: No kernel in the archive computes this.
    """
    is_wide = out is not None and name_of(out.dtype) == "float32"
    problem = problem_of(a, b, (transpose_a, transpose_b), precision, epilogue_of(bias, activation), is_wide=is_wide)
    if out is None and beta:
        raise InvalidArgumentError(f"beta is {beta}, which needs `out`")
    if out is None:
        shape = (problem.m, problem.n) if a.ndim == 2 else (problem.batch, problem.m, problem.n)
        out = device.native.empty(shape, "int32" if problem.output == "i32" else name_of(a.dtype))
    symbol = None if kernel is None else kernel.name
    _native.MatmulCall(device, problem.fields, a, b, out, bias=bias, alpha=alpha, beta=beta, way=way, kernel=symbol)()
    return out
