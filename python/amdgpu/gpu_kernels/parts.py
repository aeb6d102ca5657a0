"""Products whose inner dimension is cut among blocks, products with vectors, and products of operands that are padded first.

What they leave are sums as they are; one more launch adds up the parts, in their order, and does what follows the product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from amdgpu.errors import NoImplementationError
from amdgpu.gpu_kernels.archive import ArchivedKernel, archive_for, archived_kernels
from amdgpu.gpu_kernels.loading import LaunchPlan, facts_of, load
from amdgpu.gpu_kernels.problem import ITEM_BYTES, Problem

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

_VECTOR = (
    "const void* matrix, const void* vector, void* c, const void* bias, void* sums, unsigned outer, unsigned k, unsigned lead,"
    " unsigned depth, unsigned parts, unsigned batches, unsigned bias_step, unsigned following, double alpha, double beta,"
    " unsigned long long stride_matrix, unsigned long long stride_vector"
)
_PARTS = (
    "const void* sums, void* c, const void* bias, unsigned parts, unsigned m, unsigned n, unsigned lead, unsigned following,"
    " unsigned count, unsigned long long stride_batch, unsigned long long stride_part, double alpha, double beta"
)
_PAD = (
    "const void* first, void* first_padded, const void* second, void* second_padded,"
    " unsigned first_rows, unsigned first_columns, unsigned first_padded_rows, unsigned first_padded_columns,"
    " unsigned second_rows, unsigned second_columns, unsigned second_padded_rows, unsigned second_padded_columns"
)
VECTOR_BYTES = 16
# Grids have so many blocks in their second and third dimension at most.
_GRID_LIMIT = 65535
# Of the inner dimension that a part has at least: below it the sums of the parts take longer to add than to compute.
_PART_DEPTH = 256
_MAX_PARTS = 32
# Blocks of 256 threads that a unit holds and that read from memory at its full speed.
_VECTOR_BLOCKS_PER_UNIT = 4
# How zig/src/kernels/gemv.zig shares out a block: threads for each result where the inner dimension is contiguous; where it is not,
# threads side by side, with a number each or, where rows are aligned, fewer with 16 bytes each.
_THREADS_ACROSS = 64
_THREADS_ACROSS_ALIGNED = 32
# What kernels count sums and vectors of 16 bytes in, less the threads of a block, which count on beyond the last of them.
_COUNT_LIMIT = (1 << 32) - 256
# Of operands that are padded and of their sums. A choice decides the bits of a result and must not change with what memory is free at the
# time, so that is not asked: what needs more is computed as it lies.
_PADDING_LIMIT_BYTES = 4 << 30
_ACTIVATIONS = {"": 0, "bias": 1, "relu": 3, "gelu": 5, "silu": 7}
# What float32 sums alone are put through.
_FLOAT32_EPILOGUES = ("gelu", "silu")
SUMS = {"f64": "f64", "f32": "f32", "tf32": "f32", "f16": "f32", "bf16": "f32", "i8": "i32"}


@dataclass(frozen=True)
class Parts(Problem):
    """The parts of a product along its inner dimension, as a stack of products.

    Attributes:
        whole: The inner dimension of all parts together.
    """

    whole: int

    @property
    def leads(self) -> tuple[int, int, int]:
        """As of the whole product."""
        return (
            self.m if self.layout[0] == "t" else self.whole,
            self.whole if self.layout[1] == "t" else self.n,
            self.n,
        )

    @property
    def strides(self) -> tuple[int, int, int]:
        """From part to part."""
        first = self.k * (self.m if self.layout[0] == "t" else 1)
        return (first, self.k * (1 if self.layout[1] == "t" else self.n), self.m * self.n)


def summed(problem: Problem) -> Problem:
    """The same product whose results are its sums."""
    return replace(problem, output=SUMS[problem.operand], epilogue="")


def cut(problem: Problem, parts: int) -> Parts:
    """A product in so many equal parts."""
    sums = summed(problem)
    fields = {name: getattr(sums, name) for name in Problem.__dataclass_fields__}
    return Parts(**{**fields, "k": problem.k // parts, "batch": parts}, whole=problem.k)


def parts_of(kernel: ArchivedKernel, problem: Problem, units: int) -> int:
    """Into how many parts a kernel's product is cut so that all units have something to do; 1 where it is not."""
    if problem.batch != 1 or problem.k < 2 * _PART_DEPTH or not is_counted(problem):
        return 1
    tiles = -(-problem.m // kernel.tile[0]) * -(-problem.n // kernel.tile[1])
    # Threads that units hold at once: one block of those that wgmma fills alone, else 512.
    together = 1 if kernel.unit == "wgmma" else max(512 // kernel.threads, 1)
    most = min(units * together // tiles, problem.k // _PART_DEPTH, _MAX_PARTS)
    # Parts are as long as each other and begin with whole vectors.
    step = VECTOR_BYTES // ITEM_BYTES[problem.operand] if problem.is_aligned else 1
    return next((parts for parts in range(most, 1, -1) if problem.k % (parts * step) == 0), 1)


def is_counted(problem: Problem) -> bool:
    """Whether kernels can count the numbers of operands and results."""
    m, n, k, batch = problem.m, problem.n, problem.k, problem.batch
    return max(m * k, k * n, m * n) * batch < _COUNT_LIMIT and batch <= _GRID_LIMIT


def is_vector(architecture: str, problem: Problem) -> bool:
    """Whether this is a matrix and a vector, and the archive of an architecture has kernels for them."""
    if min(problem.m, problem.n) != 1 or not problem.k or not is_counted(problem) or not can_sum(architecture, problem):
        return False
    wanted = {"number": _number(problem), "output": problem.output, "along": _along(problem)}
    return _first(architecture, "vector", wanted) is not None


def can_sum(architecture: str, problem: Problem) -> bool:
    """Whether the archive of an architecture has what adds up parts of a product and does what follows."""
    if SUMS[problem.operand] != "f32" and problem.epilogue in _FLOAT32_EPILOGUES:
        return False
    wanted = {"number": SUMS[problem.operand], "output": problem.output}
    return _first(architecture, "parts", wanted) is not None


def can_pad(architecture: str, problem: Problem) -> bool:
    """Whether operands can be padded: the archive of an architecture has what does it, and it takes no more memory than is allowed."""
    larger = padded(problem)
    return (
        is_counted(problem)
        and is_counted(larger)
        and _padding_bytes(problem, larger) <= _PADDING_LIMIT_BYTES
        and can_sum(architecture, problem)
        and _first(architecture, "pad", {"item_bytes": ITEM_BYTES[problem.operand]}) is not None
    )


def _padding_bytes(problem: Problem, larger: Problem) -> int:
    """What padded operands and their sums take."""
    extents = [_stored(larger, side) for side in (0, 1) if _stored(larger, side) != _stored(problem, side)]
    # Where no extent changes, addresses are no multiples of 16 bytes: those of both operands, as far as is known here.
    copied = sum(math.prod(one) for one in extents or [_stored(larger, 0), _stored(larger, 1)])
    sums = larger.m * larger.n * ITEM_BYTES[SUMS[problem.operand]]
    return problem.batch * (copied * ITEM_BYTES[problem.operand] + sums)


def _stored(problem: Problem, side: int) -> list[int]:
    """Rows and columns of an operand as it is stored."""
    outer = (problem.m, problem.n)[side]
    return [outer, problem.k] if problem.layout[side] == "nt"[side] else [problem.k, outer]


def _number(problem: Problem) -> str:
    """What vectors' kernels call the operands: they multiply without matrix units, so tf32 is float32."""
    return "f32" if problem.operand == "tf32" else problem.operand


def _along(problem: Problem) -> str:
    """Which dimension is contiguous in the matrix that a vector is multiplied with."""
    is_row = problem.m == 1
    return "k" if problem.layout[1 if is_row else 0] == ("t" if is_row else "n") else "outer"


def padded(problem: Problem) -> Problem:
    """The product of operands that are filled up with zeros, so that all rows start at multiples of 16 bytes."""
    step = VECTOR_BYTES // ITEM_BYTES[problem.operand]

    def up(extent: int) -> int:
        return -(-extent // step) * step

    return replace(
        summed(problem),
        m=up(problem.m) if problem.layout[0] == "t" else problem.m,
        n=up(problem.n),
        k=problem.k if problem.layout == "tn" else up(problem.k),
        is_aligned=True,
    )


def _first(architecture: str, kind: str, wanted: dict[str, Any]) -> ArchivedKernel | None:
    name = archive_for(architecture)
    for kernel in () if name is None else archived_kernels(name):
        if kernel.kind == kind and all(getattr(kernel, field) == value for field, value in wanted.items()):
            return kernel
    return None


def _find(device: AMDGPUDevice, kind: str, **wanted: Any) -> ArchivedKernel:
    architecture = facts_of(device)[0]
    found = _first(architecture, kind, wanted)
    if found is None:
        words = ", ".join(f"{name} {value}" for name, value in wanted.items())
        raise NoImplementationError(f"the archived kernels for {architecture} have no {kind} of {words}")
    return found


@dataclass(frozen=True)
class Following:
    """What follows the sums, and where results go."""

    out: _native.Array
    bias: _native.Array | None
    alpha: float
    beta: float

    @property
    def bias_or_any(self) -> _native.Array:
        """The bias; what is not read where there is none."""
        return self.out if self.bias is None else self.bias


def plan_sum(
    device: AMDGPUDevice,
    problem: Problem,
    sums: _native.Array,
    following: Following,
    *,
    parts: int,
    lead: int,
    rows: int,
) -> LaunchPlan:
    """The launch that adds up parts; in each a product of the stack has `rows` rows, `lead` apart."""
    kernel = _find(device, "parts", number=SUMS[problem.operand], output=problem.output)
    count = problem.batch * problem.m * problem.n
    arguments = [sums, following.out, following.bias_or_any, parts, problem.m, problem.n, lead]
    arguments += [_ACTIVATIONS[problem.epilogue], count, rows * lead, problem.batch * rows * lead]
    arguments += [following.alpha, following.beta]
    grid = (-(-count // kernel.threads), 1, 1)
    return LaunchPlan(load(device, kernel, _PARTS), grid, (kernel.threads, 1, 1), arguments)


def plan_vector(
    device: AMDGPUDevice,
    problem: Problem,
    operands: tuple[_native.Array, _native.Array],
    following: Following,
    make_sums: Callable[[int], _native.Array],
) -> list[LaunchPlan]:
    """The launches of a product with a vector; `make_sums(count)` gives memory."""
    is_row = problem.m == 1
    vector, matrix = operands if is_row else operands[::-1]
    outer = problem.n if is_row else problem.m
    along = _along(problem)
    # A vector lies without gaps in every layout.
    lead = problem.k if along == "k" else outer
    item = ITEM_BYTES[problem.operand]
    addresses = [matrix.kernel_address, vector.kernel_address]
    extents = [lead * item, outer * problem.k * item, problem.k * item if problem.batch > 1 else 0]
    is_aligned = not any(size % VECTOR_BYTES for size in (*addresses, *extents))
    kernel = _find(
        device,
        "vector",
        number=_number(problem),
        output=problem.output,
        along=along,
        alignment="aligned" if is_aligned else "any",
    )
    width = VECTOR_BYTES // item
    columns = min(_THREADS_ACROSS_ALIGNED, kernel.threads // width) * width if is_aligned else _THREADS_ACROSS
    results = kernel.threads // _THREADS_ACROSS if along == "k" else columns
    blocks = -(-outer // results)
    wanted = facts_of(device)[1] * _VECTOR_BLOCKS_PER_UNIT // (blocks * problem.batch)
    steps = -(-problem.k // _PART_DEPTH)
    depth = -(-steps // max(min(wanted, steps, _MAX_PARTS), 1)) * _PART_DEPTH
    parts = -(-problem.k // depth)
    strides = problem.strides[::-1][1:] if is_row else problem.strides[:2]
    sums = make_sums(parts * problem.batch * outer) if parts > 1 else following.out
    arguments = [matrix, vector, following.out, following.bias_or_any, sums, outer, problem.k, lead, depth, parts]
    arguments += [problem.batch, int(is_row), _ACTIVATIONS[problem.epilogue], following.alpha, following.beta, *strides]
    plans = [
        LaunchPlan(load(device, kernel, _VECTOR), (blocks, parts, problem.batch), (kernel.threads, 1, 1), arguments)
    ]
    if parts > 1:
        plans.append(plan_sum(device, problem, sums, following, parts=parts, lead=problem.n, rows=problem.m))
    return plans


def plan_padding(
    device: AMDGPUDevice,
    problem: Problem,
    operands: tuple[_native.Array, _native.Array],
    make: Callable[[int, tuple[int, ...]], _native.Array],
) -> tuple[list[LaunchPlan], _native.Array, _native.Array]:
    """The launch that copies what has to be, and the operands then; `make(side, shape)` gives memory."""
    larger = padded(problem)
    item = ITEM_BYTES[problem.operand]
    given: list[tuple[Any, Any, list[int], list[int]]] = []
    found = list(operands)
    for side, array in enumerate(operands):
        shapes = [_stored(one, side) for one in (problem, larger)]
        if shapes[0] == shapes[1] and array.kernel_address % VECTOR_BYTES == 0:
            continue
        found[side] = make(side, (problem.batch, *shapes[1]))
        given.append((array, found[side], shapes[0], shapes[1]))
    if not given:
        return [], found[0], found[1]
    kernel = _find(device, "pad", item_bytes=item)
    width = VECTOR_BYTES // item
    blocks = max(-(-after[0] * after[1] // (width * kernel.threads)) for _, _, _, after in given)
    both = [given[0], given[-1]]
    arguments: list[Any] = [array for before, after, _, _ in both for array in (before, after)]
    for _, _, before, after in both:
        arguments += [*before, *after]
    grid = (blocks, problem.batch, len(given))
    return [LaunchPlan(load(device, kernel, _PAD), grid, (kernel.threads, 1, 1), arguments)], found[0], found[1]
