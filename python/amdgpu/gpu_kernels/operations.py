"""Operations by archived kernels alone, whose absence is an error: for tests, benchmarks and the tuner.

Arrays lie on the GPU without gaps. Everything runs in the order of the device's default stream.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu import _native
from amdgpu.errors import InvalidArgumentError
from amdgpu.tuning.entries import Product

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_ACTIVATIONS = ("relu", "gelu", "silu")


def problem_of(
    a: _native.Array,
    b: _native.Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    is_tf32: bool = False,
    epilogue: str = "",
    is_wide: bool = False,
) -> Product:
    """The product of two arrays.

    Args:
        a: Shape (m, k), or (batch, m, k); with `transpose_a` the last two are swapped.
        b: Shape (k, n), or (batch, k, n); with `transpose_b` the last two are swapped.
        transpose_a: `a` is stored transposed.
        transpose_b: `b` is stored transposed.
        is_tf32: float32 operands may be rounded to 19 bits.
        epilogue: Empty, bias, relu, gelu or silu.
        is_wide: The result is float32 though operands have 16 bits.

    Raises:
        ShapeMismatchError: Shapes that do not fit.
        UnsupportedDtypeError: Formats that no kernel takes.
        InvalidArgumentError: An epilogue that no kernel has; tf32 of another format than float32.
    """
    fields = _native.matmul_problem(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        is_tf32=is_tf32,
        epilogue=epilogue,
        is_wide=is_wide,
    )
    return Product(*fields)


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
    kernel: _native.ArchivedKernel | None = None,
    way: str | None = None,
) -> _native.Array:
    """`activation(alpha * a @ b + beta * out + bias)`.

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
        InvalidArgumentError: An activation without a bias, a `beta` without `out`, an unknown precision.
        NoImplementationError: No kernel in the archive computes this.
    """
    if precision not in (None, "tf32"):
        raise InvalidArgumentError(f"precision is {precision!r}; it may be 'tf32' for float32 operands")
    problem = problem_of(
        a,
        b,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        is_tf32=precision == "tf32",
        epilogue=_epilogue(bias, activation, _ACTIVATIONS),
        is_wide=out is not None and out.dtype == "float32",
    )
    if out is None:
        if beta:
            raise InvalidArgumentError(f"beta is {beta}, which needs `out`")
        shape = (*a.shape[:-2], problem.m, problem.n)
        out = device.native.empty(shape, "int32" if problem.output == "i32" else str(a.dtype))
    _native.MatmulCall(device, problem, a, b, out, bias=bias, alpha=alpha, beta=beta, way=way, kernel=kernel)()
    return out


def _epilogue(bias: _native.Array | None, activation: str | None, known: tuple[str, ...]) -> str:
    if activation is None:
        return "bias" if bias is not None else ""
    if activation not in known:
        raise InvalidArgumentError(f"activation is {activation!r}; known are {', '.join(known)}")
    if bias is None:
        raise InvalidArgumentError(f"activation={activation!r} needs a bias")
    return activation


def transpose(device: AMDGPUDevice, x: _native.Array) -> _native.Array:
    """The last two dimensions of an array swapped, written out.

    Raises:
        ShapeMismatchError: Fewer than two dimensions.
        NoImplementationError: The archive has no kernel for elements of this size.
    """
    return _native.archived_transpose(device, x)


def convolve(
    device: AMDGPUDevice,
    images: _native.Array,
    filters: _native.Array,
    *,
    bias: _native.Array | None = None,
    activation: str | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    precision: str = "fp32",
) -> _native.Array:
    """A convolution of images.

    Args:
        device: The GPU.
        images: Shape (images, height, width, channels).
        filters: Shape (rows, columns, channels / groups, filters), or, where kernels by tf32 convolve, (filters, rows, columns,
            channels / groups).
        bias: Shape (filters,).
        activation: None or "relu"; needs a bias.
        stride: Pixels from one result to the next.
        padding: Zeros around each image.
        dilation: Pixels from one tap to the next.
        groups: Groups of channels that are convolved apart.
        precision: "fp32", or "tf32", which lets the matrix units cut float32 numbers to 11 significant bits, where there are such units.

    Returns:
        Shape (images, rows, columns, filters).

    Raises:
        ShapeMismatchError: Shapes that do not fit, or a result without pixels.
        UnsupportedDtypeError: Formats that differ.
        InvalidArgumentError: A stride, dilation or number of groups below 1, a padding below 0, an activation without a bias, an
            unknown precision.
        NoImplementationError: The archive has no such kernel.
    """
    if precision not in ("fp32", "tf32"):
        raise InvalidArgumentError(f"precision is {precision!r}; known are fp32, tf32")
    clips = _epilogue(bias, activation, ("relu",)) == "relu"
    steps = (stride, padding, dilation)
    return _native.archived_convolve(
        device, images, filters, bias, steps, groups, clips=clips, is_tf32=precision == "tf32"
    )
