"""Reductions of axes by generated kernels, in one launch or several.

A block has ROWS x LANES work-items: the lanes of a row fold one result together, each every LANES-th value, and then in a tree. Where
neighbours in memory belong to one result, they are neighbouring lanes; else neighbouring rows. Long reductions are cut into chunks of a
fixed length, folded side by side, and their results folded again: the order follows from the shape alone, so the bits are the same on
every device. Sums of floats are carried in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.operand import Operand

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

# Values that a lane folds one after the other; their error grows with this number, and it leaves work for every unit of a GPU.
_SERIAL = 256
# Results beside each other that a block folds where neighbours in memory belong to different results.
_COLUMN_ROWS = 32
# With as many results as this a block reads four times as many beside each other: 15 % less time for 8192 columns on an H200.
_WIDE_OUTPUTS = 4096
# Bytes that a lane has asked for before it folds the first value: memory answers late, and a block that waits for each value reaches half
# of its speed. 2,048 work-items of 16 bytes each on every unit of an H200 are what its bandwidth times its latency asks for.
_AHEAD_BYTES = 16
_STATE_BYTES = {"float32": 4, "float64": 8, "int32": 4, "int64": 8, "uint64": 8}


@dataclass(frozen=True)
class Fold:
    """How values are folded.

    Attributes:
        name: Part of the kernel's identity.
        state: Dtype of what is carried.
        start: A state that changes nothing.
        mapped: The state of a value `x`, of the type C; `shift` is what the launch gives for the result.
        joined: Two states `a` and `b` as one.
        finished: The result of a state `a` and the divisor `divisor`.
        has_places: A state has the place of its value, which is the result.
        has_shift: There is an array of float64 with one `shift` for each result.
    """

    name: str
    state: str
    start: str
    mapped: str
    joined: str
    finished: str = "a.value"
    has_places: bool = False
    has_shift: bool = False

    @property
    def state_bytes(self) -> int:
        """Bytes of a state in memory."""
        return 16 if self.has_places else _STATE_BYTES[self.state]


@dataclass(frozen=True)
class Problem:
    """What is folded.

    Attributes:
        fold: How.
        x: The values.
        computed: Dtype in which values are mapped.
        result: Dtype of the results.
        kept: Axes of x that stay, in the order of the result.
        reduced: Axes that are folded, in the order that counts places.
        divisor: For `Fold.finished`.
    """

    fold: Fold
    x: Operand
    computed: str
    result: str
    kept: tuple[int, ...]
    reduced: tuple[int, ...]
    divisor: float = 1.0


@dataclass(frozen=True)
class Launch:
    """A fold by one launch, for other arrays of the same shape, strides and dtypes."""

    kernel: _native.Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    tail: list[Any]

    def run(self, x: Operand, out: _native.Array) -> None:
        """Fold x into `out`."""
        self.kernel.launch(self.grid, self.block, [source.pointer(x), out, *self.tail])


def fold(
    device: AMDGPUDevice, problem: Problem, out: _native.Array, shift: _native.Array | None = None
) -> Launch | None:
    """Launch the kernels that fold x into `out`, which is dense and in the order of the kept axes.

    Returns:
        The launch where it was one, of two arrays.
    """
    x = problem.x
    kept, (kept_strides,) = source.coalesce(
        [x.shape[axis] for axis in problem.kept], [[x.strides[axis] for axis in problem.kept]]
    )
    reduced, (reduced_strides,) = source.coalesce(
        [x.shape[axis] for axis in problem.reduced], [[x.strides[axis] for axis in problem.reduced]]
    )
    outputs = math.prod(x.shape[axis] for axis in problem.kept)
    length = math.prod(x.shape[axis] for axis in problem.reduced)
    if not outputs:
        return None
    is_column = outputs > 1 and length > 1 and abs(kept_strides[-1]) < abs(reduced_strides[-1])
    lanes = _lanes(outputs, length, is_column=is_column)
    chunk = lanes * _SERIAL
    chunks = max(-(-length // chunk), 1)
    # Where a chunk is all, the first kernel gives the result.
    space = None if chunks == 1 else device.native.empty((chunks * outputs * problem.fold.state_bytes,), "uint8")
    key = (
        *("fold", problem.fold.name, problem.fold.state, x.dtype, problem.computed, problem.result, lanes, is_column),
        *(len(kept), len(reduced), x.is_dense, chunks == 1, source.index_type(length), source.index_type(outputs)),
    )
    kernel = source.kernel_for(
        device,
        key,
        lambda: first_source(problem, lanes, is_column=is_column, is_last=chunks == 1, ranks=(len(kept), len(reduced))),
        "fold",
    )
    rows = source.BLOCK // lanes
    block = (rows, lanes, 1) if is_column else (lanes, rows, 1)
    arguments = [source.pointer(x), out if space is None else space, *([shift] if problem.fold.has_shift else [])]
    arguments += [outputs, length, chunk, float(problem.divisor)]
    arguments += source.walk_arguments(kept, (kept_strides,)) + source.walk_arguments(reduced, (reduced_strides,))
    for first in range(0, chunks, source.GRID_LIMIT):
        grid = (-(-outputs // rows), min(chunks - first, source.GRID_LIMIT), 1)
        kernel.launch(grid, block, [*arguments, first])
    if space is not None:
        _fold_again(device, problem, (space, out), outputs, chunks)
        return None
    return None if problem.fold.has_shift else Launch(kernel, (-(-outputs // rows), 1, 1), block, [*arguments[2:], 0])


def _lanes(outputs: int, length: int, *, is_column: bool) -> int:
    if is_column:
        return source.BLOCK // (_COLUMN_ROWS * 4 if outputs >= _WIDE_OUTPUTS else _COLUMN_ROWS)
    lanes = 1
    while lanes < source.BLOCK and lanes * 4 < length:
        lanes *= 2
    return lanes


def _fold_again(
    device: AMDGPUDevice, problem: Problem, memory: tuple[_native.Array, _native.Array], outputs: int, count: int
) -> None:
    """Fold the states of chunks, which lie chunk after chunk, until one for each result is left."""
    space, out = memory
    is_column = outputs > 1
    lanes = _lanes(outputs, count, is_column=is_column)
    chunk = lanes * _SERIAL
    chunks = -(-count // chunk)
    after = None if chunks == 1 else device.native.empty((chunks * outputs * problem.fold.state_bytes,), "uint8")
    key = (
        *("fold again", problem.fold.name, problem.fold.state, problem.computed, problem.result, lanes),
        *(is_column, chunks == 1),
    )
    kernel = source.kernel_for(
        device, key, lambda: again_source(problem, lanes, is_column=is_column, is_last=chunks == 1), "fold"
    )
    rows = source.BLOCK // lanes
    block = (rows, lanes, 1) if is_column else (lanes, rows, 1)
    arguments = [space, out if after is None else after, outputs, count, chunk, float(problem.divisor), 0]
    kernel.launch((-(-outputs // rows), chunks, 1), block, arguments)
    if after is not None:
        _fold_again(device, problem, (after, out), outputs, chunks)


def _ahead(problem: Problem) -> int:
    # Beyond four, places cost registers and time to compile.
    return min(max(_AHEAD_BYTES // dtypes.ITEM_BYTES[problem.x.dtype], 2), 4 if problem.fold.has_places else 8)


def _head(problem: Problem, lanes: int, *, is_column: bool) -> str:
    """Types, and the functions of a fold."""
    how = problem.fold
    row, lane = ("x", "y") if is_column else ("y", "x")
    fields = "S value; long long place;" if how.has_places else "S value;"
    given = "C x, double shift, long long place" if how.has_shift else "C x, long long place"
    return (
        source.types(X=problem.x.dtype, C=problem.computed, R=problem.result, S=how.state)
        + source.functions(how.state)
        + f"""
#define LANES {lanes}
#define AHEAD {_ahead(problem)}
#define ROWS {source.BLOCK // lanes}
#define ROW threadIdx.{row}
#define LANE threadIdx.{lane}
struct State {{ {fields} }};
__device__ inline State nothing() {{ State a; {how.start} return a; }}
__device__ inline State mapped({given}) {{ State a; {how.mapped} return a; }}
__device__ inline State joined(State a, State b) {{ {how.joined} }}
__device__ inline R finished(State a, double divisor) {{ return (R)({how.finished}); }}
"""
    )


_TREE = """
    // The rows of shared memory are those of the block, so that neighbours write neighbouring banks.
    __shared__ State states[BLOCK];
    #define AT(lane) states[{place}]
    AT(LANE) = state;
    __syncthreads();
    for (int half = LANES / 2; half > 0; half /= 2) {{
        if (LANE < half) AT(LANE) = joined(AT(LANE), AT(LANE + half));
        __syncthreads();
    }}
    if (LANE == 0 && output < outputs) {{
        {store}
    }}
"""


def _tree(*, is_column: bool, is_last: bool) -> str:
    place = "(lane) * ROWS + ROW" if is_column else "ROW * LANES + (lane)"
    store = (
        "out[output] = finished(AT(0), divisor);"
        if is_last
        else "out[(unsigned long long)part * outputs + output] = AT(0);"
    )
    return _TREE.replace("BLOCK", str(source.BLOCK)).format(place=place, store=store)


def first_source(problem: Problem, lanes: int, *, is_column: bool, is_last: bool, ranks: tuple[int, int]) -> str:
    """The kernel that reads x."""
    how, x = problem.fold, problem.x
    parameter, statement = source.pointer_parameter(x, "X", "x")
    outputs = math.prod(x.shape[axis] for axis in problem.kept)
    length = math.prod(x.shape[axis] for axis in problem.reduced)
    out = "R" if is_last else "State"
    shift = ", const double* shifts" if how.has_shift else ""

    def mapped(value: str, place: str) -> str:
        return f"mapped({value}, {'shift, ' if how.has_shift else ''}{place})"

    return (
        _head(problem, lanes, is_column=is_column)
        + f"""
extern "C" __global__ void fold({parameter}, {out}* out{shift}, unsigned long long outputs,
                                unsigned long long length, unsigned long long chunk,
                                double divisor{source.walk_parameters("k", ranks[0], 1)}\
{source.walk_parameters("r", ranks[1], 1)},
                                unsigned first_part) {{
{statement}\
    const unsigned long long output = (unsigned long long)blockIdx.x * ROWS + ROW;
    const unsigned part = blockIdx.y + first_part;
    State state = nothing();
    if (output < outputs) {{
        long long row = 0;
{source.walk("k", ranks[0], ["row"], "output", source.index_type(outputs))}\
{"        const double shift = shifts[output];" if how.has_shift else ""}
        const unsigned long long begin = part * chunk;
        const unsigned long long end = begin + chunk < length ? begin + chunk : length;
        unsigned long long i = begin + LANE;
        for (; i + (AHEAD - 1) * LANES < end; i += AHEAD * LANES) {{
            C values[AHEAD];
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) {{
                const unsigned long long at = i + step * LANES;
                long long place = row;
{source.walk("r", ranks[1], ["place"], "at", source.index_type(length))}\
                values[step] = (C)x[place];
            }}
            #pragma unroll
            for (int step = 0; step < AHEAD; ++step) state = joined(state, {mapped("values[step]", "i + step * LANES")});
        }}
        for (; i < end; i += LANES) {{
            long long place = row;
{source.walk("r", ranks[1], ["place"], "i", source.index_type(length))}\
            state = joined(state, {mapped("(C)x[place]", "i")});
        }}
    }}
{_tree(is_column=is_column, is_last=is_last)}}}
"""
    )


def again_source(problem: Problem, lanes: int, *, is_column: bool, is_last: bool) -> str:
    """The kernel that reads states."""
    out = "R" if is_last else "State"
    return (
        _head(problem, lanes, is_column=is_column)
        + f"""
extern "C" __global__ void fold(const State* states_of_chunks, {out}* out, unsigned long long outputs,
                                unsigned long long length, unsigned long long chunk, double divisor,
                                unsigned first_part) {{
    const unsigned long long output = (unsigned long long)blockIdx.x * ROWS + ROW;
    const unsigned part = blockIdx.y + first_part;
    State state = nothing();
    if (output < outputs) {{
        const unsigned long long begin = part * chunk;
        const unsigned long long end = begin + chunk < length ? begin + chunk : length;
        for (unsigned long long i = begin + LANE; i < end; i += LANES)
            state = joined(state, states_of_chunks[i * outputs + output]);
    }}
{_tree(is_column=is_column, is_last=is_last)}}}
"""
    )
