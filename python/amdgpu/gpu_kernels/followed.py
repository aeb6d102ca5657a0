"""Products of 16-bit matrices with one elementwise kernel behind them, as calls that repeat.

To look at the arguments of `matrix_multiply` from all sides takes longer on the host than such a product of 4096 x 4096 takes on an H200.
Networks make the same call again and again, so what was found is kept by shapes, strides, dtypes and options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.device_ops import matmul as generated
from amdgpu.device_ops.dtypes import name_of
from amdgpu.device_ops.elementwise import Plan
from amdgpu.device_ops.operand import of_array
from amdgpu.errors import LibraryMissingError, NoImplementationError
from amdgpu.gpu_kernels.choice import choose
from amdgpu.gpu_kernels.matmul import multiply
from amdgpu.gpu_kernels.problem import Problem, problem_of

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice
    from amdgpu.device_ops.product import Product

_OPTIONS = {"precision", "bias", "residual", "activation", "transpose_a", "transpose_b", "alpha"}
_OPERANDS = ("float16", "bfloat16")
_VECTOR_BYTES = 16
# Calls that a device remembers; shapes of networks are few.
_LIMIT = 4096


@dataclass(frozen=True)
class Followed:
    """A product and the kernel behind it, for other arrays of the same shapes, strides and dtypes.

    Attributes:
        problem: The product, whose sums stay wide.
        plan: What makes the result of them.
        sums: Dtype of the sums.
        result: Dtype of the result.
    """

    problem: Problem
    plan: Plan
    sums: str
    result: str

    def run(self, device: AMDGPUDevice, a: _native.Array, b: _native.Array, options: dict[str, Any]) -> _native.Array:
        """Launch both."""
        shape = (self.problem.m, self.problem.n)
        sums, result = device.native.empty(shape, self.sums), device.native.empty(shape, self.result)
        multiply(device, self.problem, a, b, sums)
        behind = [one for one in (options.get("bias"), options.get("residual")) if one is not None]
        self.plan.launch([float(options.get("alpha", 1.0))], [result, sums, *behind])
        return result


def _key(a: Any, b: Any, out: Any, device: AMDGPUDevice, options: dict[str, Any]) -> tuple[Any, ...] | None:
    """What the way depends on; None for calls that are looked at closely each time."""
    if out is not None or not options.keys() <= _OPTIONS:
        return None
    name = device.name
    given = [a, b, options.get("bias"), options.get("residual")]
    parts: list[Any] = [options.get(one) for one in ("precision", "activation", "transpose_a", "transpose_b")]
    for x in given:
        if x is None:
            parts.append(None)
        elif type(x) is not _native.Array or x.device != name or x.kernel_address % _VECTOR_BYTES:
            return None
        else:
            parts.append((x.shape, x.strides, x.dtype))
    return tuple(parts)


def find(a: Any, b: Any, out: Any, device: AMDGPUDevice, options: dict[str, Any]) -> Followed | None:
    """What was kept of a call like this one."""
    kept: dict[Any, Followed] | None = device.__dict__.get("_followed_products")
    if not kept:
        return None
    key = _key(a, b, out, device, options)
    return None if key is None else kept.get(key)


def keep(
    given: tuple[Any, Any, Any], device: AMDGPUDevice, options: dict[str, Any], *, product: Product, operand: str
) -> None:
    """Remember a call with `a`, `b` and `out` that multiplies in a dtype before one more kernel follows.

    It is one only where both operands are matrices as kernels take them.
    """
    a, b, out = given
    key = _key(a, b, out, device, options)
    if key is None or operand not in _OPERANDS or product.rounding:
        return
    # Operands as kernels take them: nothing is converted or copied.
    if not all(len(x.shape) == 2 and of_array(x).is_dense and name_of(x.dtype) == operand for x in (a, b)):
        return
    transposes = bool(options.get("transpose_a")), bool(options.get("transpose_b"))
    problem = problem_of(a, b, transposes, None, "", is_wide=True)
    try:
        if choose(device, problem) is None:
            return
    except (NoImplementationError, LibraryMissingError):
        return
    sums = of_array(device.native.empty((problem.m, problem.n), product.sums))
    kept: dict[Any, Followed] = device.__dict__.setdefault("_followed_products", {})
    if len(kept) >= _LIMIT:
        kept.clear()
    plan = generated.following_plan(device, product, sums)
    kept[key] = Followed(problem, plan, product.sums, product.result.dtype)
