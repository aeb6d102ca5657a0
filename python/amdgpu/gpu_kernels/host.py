"""`matrix_multiply` on a GPU: operands go there, the product is computed by archived kernels, or by one that our compiler makes.

Archived kernels take matrices and stacks of them without gaps. What they have no epilogue for, or a slow one, runs as their product,
whose sums are kept unrounded, and one elementwise kernel. Everything else (no archive, operands of two steps, results with gaps) is a
generated tiled kernel that reads operands where and as they are. Results are arrays of the device where an operand or `out` is one, NumPy
arrays otherwise.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.device_ops import elementwise
from amdgpu.device_ops import matmul as generated
from amdgpu.device_ops.dtypes import name_of
from amdgpu.device_ops.operand import Operand, of_array
from amdgpu.device_ops.product import Product, precision_of, product_of
from amdgpu.device_ops.transpose import dense
from amdgpu.errors import (
    CodeGenerationError,
    CompileError,
    LibraryMissingError,
    NoImplementationError,
    UnsupportedFeatureError,
)
from amdgpu.gpu_kernels.archive import archive_for
from amdgpu.gpu_kernels.loading import facts_of
from amdgpu.gpu_kernels.matmul import matmul
from amdgpu.gpu_kernels.matmul import multiply as multiply_problem
from amdgpu.gpu_kernels.problem import Problem, epilogue_of, problem_of
from amdgpu.gpu_kernels.vendor import libraries_of

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# What archived kernels compute after the sums, beside a bias.
_FUSED = ("identity", "relu", "gelu", "silu")
_DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "tf32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "int8": "int8",
}
# Activations of so many steps that they cost more than a large product: every sum in a register has a copy of their code, so that a kernel
# by wgmma has 477 KB with gelu and 39 without. No cache of instructions holds them, and the driver compiles them for many seconds. On the
# H200 float32 products of 4096 x 4096 took 3402 us with bias and gelu fused, 3290 us with bias, residual and tanh apart, 2953 us without.
# For smaller results the second launch counts.
_SLOW_ACTIVATIONS = ("gelu", "silu")
_SLOW_FROM_RESULTS = 1 << 20
_DIRECT_OPTIONS = {"precision", "bias", "activation", "transpose_a", "transpose_b", "alpha"}
# Below so many products the launch is what takes time, and the generated kernel needs one only.
_SMALL_PRODUCTS = 64**3


def multiply(a: Any, b: Any, out: Any = None, *, device: AMDGPUDevice, **options: Any) -> Any:
    """As `amdgpu.matrix_multiply`, on one GPU.

    Raises:
        As `amdgpu.matrix_multiply`.
    """
    direct = _direct(a, b, out, device, options)
    if direct is not None:
        return direct
    product = product_of(a, b, out, device=device, **options)
    if product.result.size:
        try:
            _compute(device, product)
        except (NoImplementationError, CompileError, CodeGenerationError, UnsupportedFeatureError) as error:
            return _on_host((a, b, out), f"the CPU computes what {device.name} does not: {error}", options)
    given = (a, b, options.get("bias"), options.get("residual"))
    is_ours = out is None and any(_is_on(device, x) for x in given)
    result = product.made.deliver()
    return result if out is not None or is_ours else result.numpy()


def _direct(a: Any, b: Any, out: Any, device: AMDGPUDevice, options: dict[str, Any]) -> _native.Array | None:
    """The product of two matrices that lie on the device as the kernels take them; None for everything else."""
    if out is not None or not options.keys() <= _DIRECT_OPTIONS:
        return None
    bias, activation, alpha = options.get("bias"), options.get("activation"), options.get("alpha", 1.0)
    name, arrays = device.name, (a, b) if bias is None else (a, b, bias)
    for x in arrays:
        if type(x) is not _native.Array or x.device != name:
            return None
    if activation is not None and activation not in _FUSED:
        return None
    precision = options.get("precision") or precision_of(name_of(a.dtype), name_of(b.dtype))
    transposes = bool(options.get("transpose_a")), bool(options.get("transpose_b"))
    problem = _direct_problem(a, b, bias, activation, precision, transposes=transposes)
    if problem is None or (alpha != 1 and problem.operand == "i8"):
        return None
    try:
        return multiply_problem(device, problem, a, b, bias=bias, alpha=alpha)
    except (NoImplementationError, LibraryMissingError):
        return None


def _direct_problem(
    a: _native.Array,
    b: _native.Array,
    bias: _native.Array | None,
    activation: str | None,
    precision: str,
    *,
    transposes: tuple[bool, bool],
) -> Problem | None:
    """What one kernel computes of two matrices; None where it takes a closer look."""
    # An archived kernel has an activation only together with a bias, and neither for int8.
    is_fused = activation is None or (bias is not None and activation in _FUSED[1:] and precision != "fp64")
    dtype = _DTYPES[precision]
    if not is_fused or (precision == "int8" and bias is not None) or not all(_is_matrix(x, dtype) for x in (a, b)):
        return None
    shapes = (x.shape[::-1] if is_turned else x.shape for x, is_turned in zip((a, b), transposes, strict=True))
    (rows, depth), (inner, columns) = shapes
    if depth != inner or rows * columns * depth < _SMALL_PRODUCTS:
        return None
    if activation in _SLOW_ACTIVATIONS and rows * columns >= _SLOW_FROM_RESULTS:
        return None
    if bias is not None and not _is_row(bias, dtype, columns):
        return None
    return problem_of(a, b, transposes, "tf32" if precision == "tf32" else None, epilogue_of(bias, activation))


def _is_matrix(x: _native.Array, dtype: str) -> bool:
    """Whether this is a matrix without gaps."""
    return x.ndim == 2 and name_of(x.dtype) == dtype and x.strides == (x.shape[1] * x.itemsize, x.itemsize)


def _is_row(x: _native.Array, dtype: str, columns: int) -> bool:
    """Whether this is one row of the result without gaps."""
    return x.shape == (columns,) and name_of(x.dtype) == dtype and x.strides == (x.itemsize,)


def _is_on(device: AMDGPUDevice, x: Any) -> bool:
    """Whether an argument lies on the GPU already, as an array of ours or of another library."""
    return x.device == device.name if isinstance(x, _native.Array) else hasattr(x, "__cuda_array_interface__")


def _on_host(arguments: tuple[Any, Any, Any], reason: str, options: dict[str, Any]) -> Any:
    _native.record_fallback("matrix_multiply", reason)
    out = arguments[2]
    left, right, held = (_near(argument) for argument in arguments)
    result = _native.matmul(left, right, held, **{name: _near(value) for name, value in options.items()})
    if out is not None and held is not out:
        out.copy_from(result)
        return out
    return result


def _near(x: Any) -> Any:
    return x.numpy() if isinstance(x, _native.Array) and not x.is_on_host else x


def _compute(device: AMDGPUDevice, product: Product) -> None:
    if product.result.is_dense and math.prod(product.extents) >= _SMALL_PRODUCTS:
        architecture = facts_of(device)[0]
        reason = f"{product.sums} sums of {product.a.dtype} and {product.b.dtype} are in no archive for {architecture}"
        if archive_for(architecture) is None and not libraries_of(device):
            reason = f"there is no archive for {architecture}: ./x kernels, or a wheel made with kernels=all, has it"
        else:
            try:
                return _by_archive(device, product)
            except NoImplementationError:
                # Named below without the shape, so that it is said once.
                pass
            except LibraryMissingError as error:
                reason = str(error)
        _native.record_fallback("matrix_multiply", f"a kernel made by our compiler computes on {device.name}: {reason}")
    return generated.multiply(device, product)


def _by_archive(device: AMDGPUDevice, product: Product) -> None:
    """The product by the first of its ways that the archive, or the vendor's library, has."""
    ways = _ways(product)
    for operand, is_fused in ways[:-1]:
        try:
            return _go(device, product, operand, is_fused=is_fused)
        except NoImplementationError:
            continue
    operand, is_fused = ways[-1]
    return _go(device, product, operand, is_fused=is_fused)


def _ways(product: Product) -> list[tuple[str, bool]]:
    """What operands are converted to, and whether one kernel computes all of it, the fastest way first."""
    narrow = product.rounding or (product.a.dtype if product.a.dtype == product.b.dtype else "")
    operands = [narrow] if narrow in ("float16", "bfloat16") and product.sums == "float32" else []
    # Numbers of 16 bits fit into float32, and kernels of float32 into every archive.
    operands.append("int8" if product.sums == "int32" else product.sums)
    is_slow = product.activation in _SLOW_ACTIVATIONS and product.result.size >= _SLOW_FROM_RESULTS
    found: list[tuple[str, bool]] = []
    for operand in operands:
        # One kernel gives the dtype of the operands or that of the sums.
        is_fused = _is_fused(product) and product.result.dtype in (operand, product.sums)
        both = [(operand, True), (operand, False)] if is_fused else [(operand, False)]
        found += reversed(both) if is_slow else both
    return found


def _go(device: AMDGPUDevice, product: Product, operand: str, *, is_fused: bool) -> None:
    """The product with what follows it fused, or as one more kernel over unrounded sums."""
    left, right, transposes, stack = _matrices(device, product, operand)
    # Narrow numbers fit into tf32, so nothing is lost there.
    are_narrow = all(one.dtype in ("float16", "bfloat16") for one in (product.a, product.b))
    is_narrow = bool(product.rounding) or are_narrow
    is_tf32 = operand == "float32" and (product.may_be_tf32 or is_narrow)
    run = functools.partial(
        matmul,
        device,
        left,
        right,
        transpose_a=transposes[0],
        transpose_b=transposes[1],
        precision="tf32" if is_tf32 else None,
    )
    columns = product.extents[1]
    shape = (*stack, math.prod(product.result.shape) // (math.prod(stack) * columns), columns)
    if not is_fused:
        sums = device.native.empty(shape, product.sums)
        run(out=sums)
        generated.follow(device, product, of_array(sums.reshape(*product.result.shape)))
        return
    result = product.made.array.reshape(*shape)
    if product.held is not None and not product.made.is_direct:
        # The kernels read what the result held where they write it.
        elementwise.compute(device, "identity", (product.held,), product.result, product.sums)
    bias = None if product.bias is None else elementwise.convert(device, product.bias, product.result.dtype)
    activation = None if product.activation == "identity" else product.activation
    run(out=result, bias=bias, activation=activation, alpha=product.alpha, beta=product.beta)


def _is_fused(product: Product) -> bool:
    """Whether one archived kernel computes all of it."""
    if product.sums == "int32":
        return product.is_plain and product.alpha == 1 and not product.beta
    if product.residual is not None or product.activation not in _FUSED:
        return False
    if product.rounding:
        # Results are float32; archived kernels for them have the epilogues of float32.
        return product.bias is None and product.activation == "identity"
    if product.activation != "identity" and (product.bias is None or product.sums == "float64"):
        return False
    # A bias that is wider than the result would be rounded.
    return product.bias is None or product.bias.dtype == product.result.dtype


def _matrices(
    device: AMDGPUDevice, product: Product, dtype: str
) -> tuple[_native.Array, _native.Array, tuple[bool, bool], tuple[int, ...]]:
    """Both operands without gaps, whether they are stored transposed, and the axes of the stack: none or one."""
    count = math.prod(product.stack)
    a, b = product.a, product.b
    if count > 1 and not any(b.strides[:-2]) and not _is_turned(a):
        # One matrix for all: rows of the stack are rows of one matrix.
        b = replace(b, shape=b.shape[-2:], strides=b.strides[-2:])
        left = _matrix(device, a, product, dtype)
        right, is_turned = _stored(device, b, product, dtype)
        return left.reshape(count * a.shape[-2], a.shape[-1]), right, (False, is_turned), ()
    stack = (count,) if count > 1 else ()
    left, is_left_turned = _stored(device, a, product, dtype)
    right, is_right_turned = _stored(device, b, product, dtype)
    shapes = [
        (*stack, *(one.shape[:-3:-1] if is_turned else one.shape[-2:]))
        for one, is_turned in ((a, is_left_turned), (b, is_right_turned))
    ]
    return left.reshape(*shapes[0]), right.reshape(*shapes[1]), (is_left_turned, is_right_turned), stack


def _is_turned(x: Operand) -> bool:
    """Whether the memory is that of the transposed matrices without gaps."""
    return x.is_contiguous and not x.is_dense and _swapped(x).is_dense


def _swapped(x: Operand) -> Operand:
    rank = len(x.shape)
    return x.permuted((*range(rank - 2), rank - 1, rank - 2))


def _stored(device: AMDGPUDevice, x: Operand, product: Product, dtype: str) -> tuple[_native.Array, bool]:
    """The matrices without gaps as they are stored, and whether that is transposed."""
    is_turned = _is_turned(x)
    return _matrix(device, _swapped(x) if is_turned else x, product, dtype), is_turned


def _matrix(device: AMDGPUDevice, x: Operand, product: Product, dtype: str) -> _native.Array:
    """The matrices without gaps, in a dtype, rounded where the precision says so."""
    if product.rounding and x.dtype != product.rounding:
        x = of_array(elementwise.convert(device, x, product.rounding))
    return dense(device, x) if x.dtype == dtype else elementwise.convert(device, x, dtype)
