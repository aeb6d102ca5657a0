"""The matrix product by an archived kernel: choice, loading, launch."""

from __future__ import annotations

import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.device_ops.dtypes import name_of
from amdgpu.errors import InvalidArgumentError, NoImplementationError, ShapeMismatchError
from amdgpu.gpu_kernels import tensor_map
from amdgpu.gpu_kernels.archive import ArchivedKernel
from amdgpu.gpu_kernels.choice import Choice, choose, turned
from amdgpu.gpu_kernels.loading import LaunchPlan, facts_of, load
from amdgpu.gpu_kernels.operations import plan_transpose
from amdgpu.gpu_kernels.parts import SUMS, Following, cut, padded, plan_padding, plan_sum, plan_vector
from amdgpu.gpu_kernels.problem import DTYPES, ITEM_BYTES, NUMBERS, Problem, epilogue_of, problem_of
from amdgpu.gpu_kernels.scratch import Make, fresh, scratch_of
from amdgpu.gpu_kernels.vendor import session_of

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_PARAMETERS = (
    "const void* a, const void* b, void* c, const void* bias, unsigned m, unsigned n, unsigned k,"
    " unsigned lda, unsigned ldb, unsigned ldc, double alpha, double beta,"
    " unsigned long long stride_a, unsigned long long stride_b, unsigned long long stride_c"
)
_PERSISTENT_PARAMETERS = ", unsigned batch, const void* maps"
_VECTOR_BYTES = 16
# Rows of block memory that the copy engine swizzles.
_SWIZZLE_BYTES = 128
# Of a box of results.
_WGMMA_ROWS = 64
# Products whose descriptors, of 384 bytes, a device keeps.
_MAPS_LIMIT = 256


def _load(device: AMDGPUDevice, kernel: ArchivedKernel) -> _native.Kernel:
    return load(device, kernel, _PARAMETERS + (_PERSISTENT_PARAMETERS if kernel.unit == "wgmma" else ""))


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
    stream: _native.Stream | None = None,
) -> _native.Array:
    """`activation(alpha * a @ b + beta * out + bias)` of arrays that lie on a GPU.

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
        kernel: One of `candidates`; None chooses among them and the vendor's library (`amdgpu.gpu_kernels.choice`).
        stream: Stream to launch in; None is the device's own, in whose order arrays are read.

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
    return multiply(device, problem, a, b, out, bias=bias, alpha=alpha, beta=beta, kernel=kernel, stream=stream)


def multiply(
    device: AMDGPUDevice,
    problem: Problem,
    a: _native.Array,
    b: _native.Array,
    out: _native.Array | None = None,
    *,
    bias: _native.Array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: ArchivedKernel | None = None,
    stream: _native.Stream | None = None,
) -> _native.Array:
    """As `matmul`, of a problem that is that of the operands.

    Raises:
        ShapeMismatchError: `out` or `bias` do not fit.
        NoImplementationError: No kernel in the archive computes this.
    """
    if out is None:
        shape = (problem.m, problem.n) if a.ndim == 2 else (problem.batch, problem.m, problem.n)
        out = device.native.empty(shape, "int32" if problem.output == "i32" else name_of(a.dtype))
    choice = None
    if kernel is None and problem.m and problem.n and problem.batch:
        if out.kernel_address % _VECTOR_BYTES:
            problem = replace(problem, is_aligned=False)
        choice = choose(device, problem)
        if choice is not None and choice.library:
            _check_places(problem, a, out, bias)
            session = session_of(device, choice.library)
            if session.multiply(problem, a, b, out, bias=bias, alpha=alpha, beta=beta, stream=stream):
                return out
            choice = None
    plan = functools.partial(
        _plan, device, problem, (a, b), Following(out, bias, alpha, beta), kernel=kernel, choice=choice
    )
    if stream is None or _native.is_recording_graph():
        for one in plan(make=fresh(device)):
            one.launch(stream)
        return out
    scratch = scratch_of(device)
    with scratch.lock:
        for one in plan(make=scratch.of_stream(device, stream)):
            one.launch(stream)
    return out


def plan_matmul(
    device: AMDGPUDevice,
    problem: Problem,
    a: _native.Array,
    b: _native.Array,
    out: _native.Array,
    *,
    bias: _native.Array | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    kernel: ArchivedKernel | None = None,
    choice: Choice | None = None,
) -> list[LaunchPlan]:
    """The launches of archived kernels, in order and in one stream, that compute a problem; none where the result is empty.

    They have memory of their own for what one leaves to the next.

    Raises:
        ShapeMismatchError: `out` or `bias` do not fit.
        NoImplementationError: No kernel in the archive computes this.
    """
    following = Following(out, bias, alpha, beta)
    return _plan(device, problem, (a, b), following, kernel=kernel, choice=choice, make=fresh(device))


def _plan(
    device: AMDGPUDevice,
    problem: Problem,
    operands: tuple[_native.Array, _native.Array],
    following: Following,
    *,
    kernel: ArchivedKernel | None,
    choice: Choice | None,
    make: Make,
) -> list[LaunchPlan]:
    """As `plan_matmul`, with memory from `make`."""
    (a, b), out, bias = operands, following.out, following.bias
    _check_places(problem, a, out, bias)
    if 0 in out.shape:
        return []
    if out.kernel_address % _VECTOR_BYTES:
        problem = replace(problem, is_aligned=False)
    plans: list[LaunchPlan] = []
    if kernel is not None:
        return [_plan_tiles(device, kernel, problem, (a, b), following)]
    if choice is None:
        choice = choose(device, problem, is_ours=True)
    if choice is None or (choice.kernel is None and not choice.is_vector):
        raise NoImplementationError(f"the archived kernels for {facts_of(device)[0]} do not compute {problem}")
    sums_dtype = DTYPES[SUMS[problem.operand]]
    if choice.kernel is None:
        return plan_vector(device, problem, (a, b), following, lambda count: make(sums_dtype, 2, (count,)))
    if choice.is_padded or choice.parts > 1:
        given = problem
        if choice.is_padded:
            plans, a, b = plan_padding(device, problem, (a, b), functools.partial(make, name_of(a.dtype)))
            problem = padded(problem)
        else:
            problem = cut(problem, choice.parts)
        sums = make(sums_dtype, 2, (problem.batch * problem.m * problem.n,))
        plans.append(_plan_tiles(device, choice.kernel, problem, (a, b), Following(sums, None, 1.0, 0.0)))
        plans.append(plan_sum(device, given, sums, following, parts=choice.parts, lead=problem.n, rows=problem.m))
        return plans
    if choice.is_turned:
        a, b = (
            array if problem.layout[side] == "nt"[side] else _turn(device, array, side, plans, make)
            for side, array in enumerate((a, b))
        )
        problem = turned(problem)
    plans.append(_plan_tiles(device, choice.kernel, problem, (a, b), following))
    return plans


def _plan_tiles(
    device: AMDGPUDevice,
    kernel: ArchivedKernel,
    problem: Problem,
    operands: tuple[_native.Array, _native.Array],
    following: Following,
) -> LaunchPlan:
    """The launch of a kernel whose blocks compute tiles."""
    out = following.out
    arguments = [*operands, out, following.bias_or_any, problem.m, problem.n, problem.k]
    arguments += [*problem.leads, following.alpha, following.beta, *problem.strides]
    tiles = -(-problem.m // (kernel.tile[0] * kernel.cluster)) * -(-problem.n // kernel.tile[1])
    grid = (tiles, problem.batch, 1)
    if kernel.unit == "wgmma":
        # Blocks stay and compute tile after tile: as many as there are units.
        clusters = min(tiles * problem.batch, max(facts_of(device)[1] // kernel.cluster, 1))
        grid = (clusters * kernel.cluster, 1, 1)
        arguments += [problem.batch, _maps(device, kernel, problem)(*operands, out)]
    return LaunchPlan(_load(device, kernel), grid, (kernel.threads, 1, 1), arguments, kernel.dynamic_shared_bytes)


def _check_places(problem: Problem, a: _native.Array, out: _native.Array, bias: _native.Array | None) -> None:
    shape = (problem.m, problem.n) if a.ndim == 2 else (problem.batch, problem.m, problem.n)
    if tuple(out.shape) != shape or NUMBERS.get(name_of(out.dtype)) != problem.output:
        raise ShapeMismatchError(f"out is {out.dtype}{list(out.shape)}; the result is {problem.output}{list(shape)}")
    if bias is not None and (tuple(bias.shape) != (problem.n,) or bias.dtype != out.dtype):
        raise ShapeMismatchError(
            f"bias is {bias.dtype}{list(bias.shape)}; the result has {problem.n} columns of {out.dtype}"
        )


def _turn(device: AMDGPUDevice, array: _native.Array, side: int, plans: list[LaunchPlan], make: Make) -> _native.Array:
    """An operand the other way round; the launch that writes it is added to the plans."""
    shape = (*array.shape[:-2], array.shape[-1], array.shape[-2])
    written = make(name_of(array.dtype), side, shape)
    plans.append(plan_transpose(device, array, written))
    return written


class TensorMaps(dict["Any", "_native.Derivation"]):
    """Descriptors of operands on a device, by product and tile."""


def _maps(device: AMDGPUDevice, kernel: ArchivedKernel, problem: Problem) -> _native.Derivation:
    """What gives the descriptors of both operands and the result on the device; kept, since networks multiply the same arrays again."""
    kept = device.native.cache(TensorMaps)
    key = (problem, kernel.tile, kernel.cluster)
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MAPS_LIMIT:
            # Launches in streams may still read them.
            device.synchronize()
            kept.clear()
        describe = functools.partial(_describe, device.native, kernel, problem)
        found = kept[key] = _native.Derivation(describe)
    return found


def _describe(device: _native.Device, kernel: ArchivedKernel, problem: Problem, *addresses: int) -> _native.Array:
    """Descriptors of matrices that begin at these addresses."""
    import numpy as np

    tile_m, tile_n, tile_k = kernel.tile
    # Size along the outer dimension, whether k is contiguous, rows of a box where it is.
    sides = (
        (problem.m, kernel.layout[0] == "n", tile_m),
        (problem.n, kernel.layout[1] == "t", tile_n // kernel.cluster),
    )
    texts = b""
    for side, (outer, is_k_contiguous, box_rows) in enumerate(sides):
        shape = (problem.k, outer, problem.batch) if is_k_contiguous else (outer, problem.k, problem.batch)
        box = (_SWIZZLE_BYTES // ITEM_BYTES[problem.operand], box_rows if is_k_contiguous else tile_k)
        strides = (problem.leads[side], problem.strides[side])
        texts += tensor_map.describe(problem.operand, addresses[side], shape, strides, box)
    box = (_SWIZZLE_BYTES // ITEM_BYTES[problem.output], _WGMMA_ROWS)
    strides = (problem.leads[2], problem.strides[2])
    texts += tensor_map.describe(problem.output, addresses[2], (problem.n, problem.m, problem.batch), strides, box)

    def write() -> _native.Array:
        made = device.empty((len(texts),), "uint8")
        made.copy_from(np.frombuffer(texts, dtype=np.uint8))
        return made

    if not _native.is_recording_graph():
        return write()
    # Replays find them there: what another thread does is no part of the graph.
    with ThreadPoolExecutor(1) as other:
        return other.submit(write).result()
