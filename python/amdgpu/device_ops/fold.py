"""Reductions of axes by generated kernels, in one step or several.

A block has ROWS x LANES work-items: the lanes of a row fold results together, each every LANES-th value, and then in a tree. Where
neighbours in memory belong to one result, they are neighbouring lanes; else neighbouring rows, of which each has as many results as 16
bytes hold values. Long reductions are cut into chunks of a fixed length, folded side by side, and their results folded again: the order
follows from the shape and the dtype alone, so the bits are the same on every device. Sums of floats are carried in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, fold_source, source
from amdgpu.device_ops.operand import Operand

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

# Values of a row that a lane folds one after the other, which leaves work for every unit of a GPU, ...
_SERIAL = 64
# ... and more of long rows, until they make no more blocks than the largest GPUs hold at once: what they leave is folded again.
_ROW_BLOCKS = 2048
_SERIAL_LIMIT = 1024
# The same of columns, for values of four bytes and more: 4096 x 4096 of them make 512 blocks, which 132 units hold at once. Narrower ones
# have half as many, since a block has twice the columns.
_COLUMN_SERIAL = 32
_NARROW_BYTES = 2
# The same where states are closed and joined by divisions of float64, which cost as much as a dozen values.
_CLOSED_SERIAL = 64
# Columns of a work-item whose numbers are of float64 and more than one for each.
_WIDE_PARTS_LIMIT = 4
# Values of a lane, as long as rows have so many.
_LEAST_VALUES = 4
# Rows of a block of columns: with 16 bytes for each it reads 512 bytes side by side.
_COLUMN_ROWS = 32
_VECTOR_BYTES = 16
# Columns of a work-item; beyond, states take too many registers.
_WIDTH_LIMIT = 8
# Lanes that fold states of columns again: each has a few values, all asked for at once.
_AGAIN_LANES = 64
_AGAIN_VALUES = 4
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
        more: Fields of a state beside its value, of its type.
        absorbed: A state `a` with a value `x` that comes after all of its own; empty for `joined` with `mapped`. `shift` is the first
            value of the work-item, where `closed` is there.
        part: Dtype of what a lane carries, where it is closed; that of the state unless it is given.
        closed: What a lane carries, `a`, of `count` values made a state `b`.
    """

    name: str
    state: str
    start: str
    mapped: str
    joined: str
    finished: str = "a.value"
    has_places: bool = False
    has_shift: bool = False
    more: tuple[str, ...] = ()
    absorbed: str = ""
    part: str = ""
    closed: str = ""

    @property
    def state_bytes(self) -> int:
        """Bytes of a state in memory."""
        return 16 if self.has_places else _STATE_BYTES[self.state] * (1 + len(self.more))


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
class Step:
    """A launch but for its arrays.

    Attributes:
        kernel: The kernel.
        grids: One for each launch, with the last argument: its first chunk.
        block: Shape of a block.
        tail: Arguments behind the arrays.
    """

    kernel: _native.Kernel
    grids: list[tuple[tuple[int, int, int], int]]
    block: tuple[int, int, int]
    tail: list[Any]

    def run(self, arrays: list[Any], memory: list[_native.Array]) -> None:
        """Launch."""
        for grid, first in self.grids:
            self.kernel.queue(grid, self.block, [*arrays, *self.tail, first], memory=memory)


@dataclass(frozen=True)
class Plan:
    """A fold for any arrays of the same shapes, strides and dtypes.

    Attributes:
        steps: The first reads values, the others what those before them left of each chunk.
        spaces: Bytes of what each step but the last leaves.
    """

    steps: list[Step]
    spaces: list[int]

    def run(self, device: AMDGPUDevice, x: Operand, out: _native.Array, shift: _native.Array | None = None) -> None:
        """Fold x into `out`, which is dense and in the order of the kept axes."""
        targets = [*(device.native.empty((size,), "uint8") for size in self.spaces), out]
        for index, (step, target) in enumerate(zip(self.steps, targets, strict=True)):
            if index:
                step.run([targets[index - 1], target], [])
            else:
                step.run([source.pointer(x), target, *([] if shift is None else [shift])], source.hidden(x))


def plan(device: AMDGPUDevice, problem: Problem) -> Plan | None:
    """The kernels of a fold; None where there is no result."""
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
    group = _group(x, reduced_strides) if not is_column else 1
    most = _most_columns(x.dtype, problem.fold)
    lanes, serial = _column_lanes(problem, outputs, most) if is_column else _row_lanes(outputs, length, group)
    width = _width(x, most, kept, kept_strides, reduced_strides) if is_column else 1
    chunk = lanes * serial
    chunks = max(-(-length // chunk), 1)
    # Where a chunk is all, the first kernel gives the result.
    is_aligned = group > 1 and _is_aligned(x, group) and not any(stride % group for stride in kept_strides)
    form = fold_source.Form(lanes, width, is_column, chunks == 1, group, is_aligned)
    key = (
        *("fold", problem.fold.name, problem.fold.state, x.dtype, problem.computed, problem.result, form),
        *(len(kept), len(reduced), x.is_dense, source.index_type(length), source.index_type(outputs)),
    )
    kernel = source.kernel_for(
        device, key, lambda: fold_source.first(problem, form, (len(kept), len(reduced)), (outputs, length)), "fold"
    )
    across = -(-outputs // (form.rows * width))
    tail = [outputs, length, chunk, float(problem.divisor)]
    tail += source.walk_arguments(kept, (kept_strides,)) + source.walk_arguments(reduced, (reduced_strides,))
    grids = [
        ((across, min(chunks - begin, source.GRID_LIMIT), 1), begin) for begin in range(0, chunks, source.GRID_LIMIT)
    ]
    made = Plan([Step(kernel, grids, form.block, tail)], [])
    while chunks > 1:
        made.spaces.append(chunks * outputs * problem.fold.state_bytes)
        step, chunks = _again(device, problem, outputs, chunks)
        made.steps.append(step)
    return made


def _group(x: Operand, reduced_strides: tuple[int, ...]) -> int:
    """Neighbouring values of a row that a lane folds: of 16 bytes, where there are no gaps, wherever the array begins."""
    return _neighbours(x.dtype) if len(reduced_strides) == 1 and reduced_strides[0] == 1 else 1


def _is_aligned(x: Operand, count: int) -> bool:
    """Whether the array begins where so many values are read at once."""
    assert x.array is not None
    return x.array.kernel_address % (count * dtypes.ITEM_BYTES[x.dtype]) == 0


def _row_lanes(outputs: int, length: int, group: int) -> tuple[int, int]:
    """Lanes, and values of each."""
    lanes, serial = _lanes(length, max(group, _LEAST_VALUES)), _SERIAL
    while serial < _SERIAL_LIMIT and outputs * length > _ROW_BLOCKS * lanes * serial and length > lanes * serial:
        serial *= 2
    return lanes, serial


def _lanes(length: int, least: int = _LEAST_VALUES) -> int:
    lanes = 1
    while lanes < source.BLOCK and lanes * least < length:
        lanes *= 2
    return lanes


def _column_lanes(problem: Problem, outputs: int, most: int) -> tuple[int, int]:
    """Lanes, and values of each: of shape and dtype alone, wherever the array begins."""
    rows, wide = 1, -(-outputs // most)
    while rows < _COLUMN_ROWS and rows < wide:
        rows *= 2
    serial = _COLUMN_SERIAL // 2 if dtypes.ITEM_BYTES[problem.x.dtype] <= _NARROW_BYTES else _COLUMN_SERIAL
    return source.BLOCK // rows, _CLOSED_SERIAL if problem.fold.closed else serial


def _most_columns(dtype: str, fold: Fold) -> int:
    is_wide = fold.closed and fold.part == "float64"
    return min(_neighbours(dtype), _WIDE_PARTS_LIMIT) if is_wide else _neighbours(dtype)


def _neighbours(dtype: str) -> int:
    return min(_VECTOR_BYTES // dtypes.ITEM_BYTES[dtype], _WIDTH_LIMIT)


def _width(
    x: Operand, width: int, kept: tuple[int, ...], kept_strides: tuple[int, ...], reduced_strides: tuple[int, ...]
) -> int:
    """Neighbouring columns that a work-item reads at once: all that fit, or one."""
    are_whole = not any(stride % width for stride in (*kept_strides[:-1], *reduced_strides))
    return width if _is_aligned(x, width) and are_whole and kept_strides[-1] == 1 and kept[-1] % width == 0 else 1


def _again(device: AMDGPUDevice, problem: Problem, outputs: int, count: int) -> tuple[Step, int]:
    """The step that folds the states of chunks, which lie chunk after chunk, and how many it leaves for each result."""
    is_column = outputs > 1
    lanes = 1 if is_column else _lanes(count)
    while is_column and lanes < _AGAIN_LANES and lanes * _AGAIN_VALUES < count:
        lanes *= 2
    chunk = lanes * _SERIAL
    chunks = -(-count // chunk)
    form = fold_source.Form(lanes, 1, is_column=is_column, is_last=chunks == 1)
    key = ("fold again", problem.fold.name, problem.fold.state, problem.computed, problem.result, form)
    kernel = source.kernel_for(device, key, lambda: fold_source.again(problem, form), "fold")
    grid = (-(-outputs // form.rows), chunks, 1)
    return Step(kernel, [(grid, 0)], form.block, [outputs, count, chunk, float(problem.divisor)]), chunks
