"""Tiled products whose operands are given as expressions: matrix products of anything, convolutions and their gradients.

A block of 16 x 16 work-items computes 64 x 64 results, 4 x 4 each, from tiles of both operands in shared memory. Products are added in the
order of the inner dimension with one rounding each, so the bits are the same on every kind of device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import source

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

_TILE = 64
_DEPTH = 16
_OWN = 4
_SIDE = _TILE // _OWN


@dataclass(frozen=True)
class Tiled:
    """The text of a kernel. Expressions see `row`, `column`, `inner`, `batch` and the parameters; they are never asked beyond the extents.

    Attributes:
        head: Types, S of the sums among them, and functions.
        parameters: Of the kernel, each with a comma before it.
        setup: Statements at the start.
        left: The value of the left operand at (row, inner).
        right: The value of the right operand at (inner, column).
        store: Statements that take `value`, the sum at (row, column).
        is_left_inner: Neighbours in memory of the left operand are neighbours along the inner dimension.
        is_right_inner: The same of the right operand.
    """

    head: str
    parameters: str
    setup: str
    left: str
    right: str
    store: str
    is_left_inner: bool
    is_right_inner: bool

    def source(self) -> str:
        """The kernel `tiled`."""
        return f"""{self.head}
typedef unsigned long long Index;
extern "C" __global__ void tiled(Index rows, Index columns, Index depth, Index part_depth, Index tiles_across,
                                 Index batch_offset{self.parameters}) {{
    // One more place a line, so that writing columns of a tile meets different banks.
    __shared__ S lefts[{_DEPTH}][{_TILE} + 1];
    __shared__ S rights[{_DEPTH}][{_TILE} + 1];
    const Index batch = batch_offset + blockIdx.y;
    const Index first_row = blockIdx.x / tiles_across * {_TILE}, first_column = blockIdx.x % tiles_across * {_TILE};
    const Index begin = (Index)blockIdx.z * part_depth;
    const Index end = begin + part_depth < depth ? begin + part_depth : depth;
    const unsigned me = threadIdx.x, across = me % {_SIDE}, down = me / {_SIDE};
{self.setup}    S sums[{_OWN}][{_OWN}];
    for (int i = 0; i < {_OWN}; i++)
        for (int j = 0; j < {_OWN}; j++) sums[i][j] = 0;
    for (Index base = begin; base < end; base += {_DEPTH}) {{
        for (unsigned i = me; i < {_TILE * _DEPTH}; i += {source.BLOCK}) {{
            const unsigned line = {self._line(is_inner=self.is_left_inner)}, place = {self._place(is_inner=self.is_left_inner)};
            const Index row = first_row + line, inner = base + place;
            lefts[place][line] = row < rows && inner < end ? (S)({self.left}) : (S)0;
        }}
        for (unsigned i = me; i < {_TILE * _DEPTH}; i += {source.BLOCK}) {{
            const unsigned line = {self._line(is_inner=self.is_right_inner)}, place = {self._place(is_inner=self.is_right_inner)};
            const Index column = first_column + line, inner = base + place;
            rights[place][line] = column < columns && inner < end ? (S)({self.right}) : (S)0;
        }}
        __syncthreads();
        for (int k = 0; k < {_DEPTH}; k++) {{
            S left[{_OWN}], right[{_OWN}];
            #pragma unroll
            for (int i = 0; i < {_OWN}; i++) left[i] = lefts[k][down + {_SIDE} * i];
            #pragma unroll
            for (int j = 0; j < {_OWN}; j++) right[j] = rights[k][across + {_SIDE} * j];
            #pragma unroll
            for (int i = 0; i < {_OWN}; i++)
                #pragma unroll
                for (int j = 0; j < {_OWN}; j++) sums[i][j] = left[i] * right[j] + sums[i][j];
        }}
        __syncthreads();
    }}
    for (int i = 0; i < {_OWN}; i++) {{
        for (int j = 0; j < {_OWN}; j++) {{
            const Index row = first_row + down + {_SIDE} * i, column = first_column + across + {_SIDE} * j;
            if (row < rows && column < columns) {{
                const S value = sums[i][j];
                {self.store}
            }}
        }}
    }}
}}
"""

    @staticmethod
    def _line(*, is_inner: bool) -> str:
        return f"i / {_DEPTH}" if is_inner else f"i % {_TILE}"

    @staticmethod
    def _place(*, is_inner: bool) -> str:
        return f"i % {_DEPTH}" if is_inner else f"i / {_TILE}"


def launch(
    device: AMDGPUDevice,
    key: Hashable,
    text: Tiled,
    extents: tuple[int, int, int],
    arguments: list[Any],
    *,
    batch: int = 1,
    parts: int = 1,
    memory: Sequence[_native.Array] = (),
) -> None:
    """Launch a kernel for rows, columns and inner dimension; `parts` of the inner dimension are summed apart (`blockIdx.z`).

    Arrays whose addresses are among the arguments are `memory`.
    """
    rows, columns, depth = extents
    kernel = source.kernel_for(device, ("tiled", key), text.source, "tiled")
    down, across = -(-rows // _TILE), -(-columns // _TILE)
    part_depth = max(-(-depth // parts), 1)
    for first in range(0, batch, source.GRID_LIMIT):
        grid = (down * across, min(batch - first, source.GRID_LIMIT), parts)
        kernel.queue(grid, source.BLOCK, [rows, columns, depth, part_depth, across, first, *arguments], memory=memory)
