"""The matrix product by an archived kernel: choice, loading, launch."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amdgpu.errors import InvalidArgumentError, NoImplementationError, ShapeMismatchError
from amdgpu.gpu_kernels import tensor_map
from amdgpu.gpu_kernels.archive import ArchivedKernel, archive_for, archived_kernels
from amdgpu.gpu_kernels.loading import LaunchPlan, facts_of, load
from amdgpu.gpu_kernels.operations import plan_transpose
from amdgpu.gpu_kernels.problem import ITEM_BYTES, NUMBERS, Problem, epilogue_of, problem_of

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

_PARAMETERS = (
    "const void* a, const void* b, void* c, const void* bias, unsigned m, unsigned n, unsigned k,"
    " unsigned lda, unsigned ldb, unsigned ldc, double alpha, double beta,"
    " unsigned long long stride_a, unsigned long long stride_b, unsigned long long stride_c"
)
_PERSISTENT_PARAMETERS = ", unsigned batch, const void* maps"
# What a unit reaches of its peak with tiles of that many results (docs/performance.md); larger tiles read less for each product.
_TILE_EFFICIENCY = ((32768, 1.0), (16384, 0.92), (8192, 0.75), (4096, 0.6), (0, 0.4))
# How much faster a kind of unit multiplies than plain lanes do.
_UNIT_SPEED = {"wgmma": 8.0, "wave": 8.0, "mma": 4.0, "simt": 1.0}
_VECTOR_BYTES = 16
# Rows of block memory that the copy engine swizzles.
_SWIZZLE_BYTES = 128
# Products of fewer numbers take less time than the launch of a transpose.
_TRANSPOSED_FROM = 512**3
# Transposed operands that a device keeps memory for.
_SCRATCH_LIMIT = 8
# Shapes whose kernel is remembered; looking through an archive takes longer than a launch.
_CHOICES_LIMIT = 4096
# Of a box of results.
_WGMMA_ROWS = 64
# Descriptors that a device keeps, of 384 bytes.
_MAPS_LIMIT = 4096


def candidates(architecture: str, problem: Problem) -> list[ArchivedKernel]:
    """The kernels of an architecture that compute a problem."""
    name = archive_for(architecture)
    if name is None:
        return []
    found = _fitting(name, problem)
    if not found and problem.operand == "tf32":
        # Units that have no tf32 take all of float32.
        found = _fitting(name, replace(problem, operand="f32"))
    return found


def _fitting(archive: str, problem: Problem) -> list[ArchivedKernel]:
    return [
        kernel
        for kernel in archived_kernels(archive)
        if (kernel.kind, kernel.operand, kernel.output, kernel.layout, kernel.epilogue)
        == ("matmul", problem.operand, problem.output, problem.layout, problem.epilogue)
        and (problem.is_aligned or not kernel.is_aligned)
        # The copy engine has no descriptor for an empty matrix.
        and (problem.k > 0 or kernel.unit != "wgmma")
    ]


def estimate(kernel: ArchivedKernel, problem: Problem, units: int) -> float:
    """Relative time: whole rounds of tiles over the device's units, by what tiles of that size reach."""
    tile_m, tile_n, _ = kernel.tile
    tiles = -(-problem.m // tile_m) * -(-problem.n // tile_n) * problem.batch
    rounds = -(-tiles // max(units, 1))
    efficiency = next(value for area, value in _TILE_EFFICIENCY if tile_m * tile_n >= area)
    return rounds * tile_m * tile_n / (efficiency * _UNIT_SPEED[kernel.unit] * (1.0 if kernel.is_aligned else 0.5))


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
        out: Where the result goes; a new array otherwise.
        transpose_a: `a` is stored transposed.
        transpose_b: `b` is stored transposed.
        precision: "tf32" lets float32 operands be rounded to 19 bits for the matrix units; None computes in their own format.
        bias: Shape (n,), added to each row.
        activation: None, "relu", "gelu" or "silu"; needs a bias.
        alpha: Factor of the product.
        beta: Factor of what `out` holds; 0 does not read it.
        kernel: One of `candidates`; None chooses.
        stream: Stream to launch in; None waits for the result.

    Returns:
        The result. int8 gives int32, everything else the format of the operands.

    Raises:
        ShapeMismatchError: Shapes that do not fit.
        UnsupportedDtypeError: Formats that no kernel takes.
        InvalidArgumentError: An activation without a bias, a `beta` without `out`.
        NoImplementationError: No kernel in the archive computes this.
    """
    problem = problem_of(a, b, (transpose_a, transpose_b), precision, epilogue_of(bias, activation))
    if out is None:
        if beta:
            raise InvalidArgumentError(f"beta is {beta}, which needs `out`")
        shape = (problem.m, problem.n) if a.ndim == 2 else (problem.batch, problem.m, problem.n)
        out = device.native.empty(shape, "int32" if problem.output == "i32" else str(a.dtype))
    for plan in plan_matmul(
        device, problem, a, b, out, bias=bias, alpha=alpha, beta=beta, kernel=kernel, stream=stream
    ):
        plan.launch(stream)
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
    stream: _native.Stream | None = None,
) -> list[LaunchPlan]:
    """The launches, in order and in one stream, that compute a problem; none where the result is empty.

    Raises:
        ShapeMismatchError: `out` or `bias` do not fit.
        NoImplementationError: No kernel in the archive computes this.
    """
    shape = (problem.m, problem.n) if a.ndim == 2 else (problem.batch, problem.m, problem.n)
    if tuple(out.shape) != shape or NUMBERS.get(str(out.dtype)) != problem.output:
        raise ShapeMismatchError(f"out is {out.dtype}{list(out.shape)}; the result is {problem.output}{list(shape)}")
    if bias is not None and (tuple(bias.shape) != (problem.n,) or bias.dtype != out.dtype):
        raise ShapeMismatchError(
            f"bias is {bias.dtype}{list(bias.shape)}; the result has {problem.n} columns of {out.dtype}"
        )
    if 0 in shape:
        return []
    if out.ptr % _VECTOR_BYTES:
        problem = replace(problem, is_aligned=False)
    plans: list[LaunchPlan] = []
    architecture, units = facts_of(device)
    if kernel is None and _is_better_transposed(architecture, problem):
        a, b = (
            array if problem.layout[side] == "nt"[side] else _turn(device, array, side, plans, stream)
            for side, array in enumerate((a, b))
        )
        problem = replace(problem, layout="nt", is_aligned=True)
    if kernel is None:
        kernel = _choose(architecture, problem, units)
    if kernel is None:
        raise NoImplementationError(f"the archived kernels for {architecture} do not compute {problem}")
    arguments = [a, b, out, out if bias is None else bias, problem.m, problem.n, problem.k]
    arguments += [*problem.leads, alpha, beta, *problem.strides]
    tiles = -(-problem.m // (kernel.tile[0] * kernel.cluster)) * -(-problem.n // kernel.tile[1])
    grid = (tiles, problem.batch, 1)
    if kernel.unit == "wgmma":
        # Blocks stay and compute tile after tile: as many as there are units.
        clusters = min(tiles * problem.batch, max(units // kernel.cluster, 1))
        grid = (clusters * kernel.cluster, 1, 1)
        arguments += [problem.batch, _maps(device, kernel, problem, (a.ptr, b.ptr, out.ptr))]
    plans.append(
        LaunchPlan(_load(device, kernel), grid, (kernel.threads, 1, 1), arguments, kernel.dynamic_shared_bytes)
    )
    return plans


@functools.lru_cache(maxsize=_CHOICES_LIMIT)
def _choose(architecture: str, problem: Problem, units: int) -> ArchivedKernel | None:
    found = candidates(architecture, problem)
    return min(found, key=lambda entry: estimate(entry, problem, units), default=None)


@functools.lru_cache(maxsize=_CHOICES_LIMIT)
def _is_better_transposed(architecture: str, problem: Problem) -> bool:
    """Whether operands are to be written out with rows of k first: wgmma takes numbers that are not 16 bits wide only so."""
    if (
        problem.operand not in ("tf32", "i8")
        or problem.layout == "nt"
        or problem.m * problem.n * problem.k < _TRANSPOSED_FROM
    ):
        return False
    if problem.k * ITEM_BYTES[problem.operand] % 16 or not problem.is_aligned:
        return False
    turned = replace(problem, layout="nt")
    return any(kernel.unit == "wgmma" for kernel in candidates(architecture, turned))


def _turn(
    device: AMDGPUDevice, array: _native.Array, side: int, plans: list[LaunchPlan], stream: _native.Stream | None
) -> _native.Array:
    """An operand the other way round; the launch that writes it is added to the plans."""
    turned = _scratch(device, array, side, stream)
    plans.append(plan_transpose(device, array, turned))
    return turned


def _scratch(device: AMDGPUDevice, array: _native.Array, side: int, stream: _native.Stream | None) -> _native.Array:
    """Memory for a transposed operand. Launches in a stream follow each other, so each stream has its own and uses it again."""
    kept: dict[Any, _native.Array] = device.__dict__.setdefault("_turned_operands", {})
    shape = (*array.shape[:-2], array.shape[-1], array.shape[-2])
    key = (stream and stream.id, side, shape, str(array.dtype))
    if key not in kept:
        if len(kept) >= _SCRATCH_LIMIT:
            # Launches in streams may still use them.
            device.synchronize()
            kept.clear()
        kept[key] = device.native.empty(shape, str(array.dtype))
    return kept[key]


def _maps(
    device: AMDGPUDevice, kernel: ArchivedKernel, problem: Problem, addresses: tuple[int, int, int]
) -> _native.Array:
    """Descriptors of both operands and the result on the device; kept, since networks multiply the same arrays again."""
    kept: dict[Any, _native.Array] = device.__dict__.setdefault("_tensor_maps", {})
    key = (addresses, problem, kernel.tile, kernel.cluster)
    found = kept.get(key)
    if found is None:
        if len(kept) >= _MAPS_LIMIT:
            # Launches in streams may still read them.
            device.synchronize()
            kept.clear()
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
        found = device.native.empty((len(texts),), "uint8")
        found.copy_from(np.frombuffer(texts, dtype=np.uint8))
        kept[key] = found
    return found
