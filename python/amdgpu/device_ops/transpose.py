"""Copies without gaps on a device, through tiles of shared memory where rows become columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from amdgpu.device_ops import dtypes, elementwise, source
from amdgpu.device_ops.operand import Operand, target

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

_TILE = 32
_TILE_ROWS = 8
# Elements are moved, not computed with.
WORDS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "unsigned long long"}


def write(device: AMDGPUDevice, x: Operand, result: Operand) -> None:
    """Copy x, of any strides, to a dense result of its shape and dtype."""
    if not result.size:
        return
    extents, (strides, _) = source.coalesce(x.shape, [x.strides, result.strides])
    near = next((axis for axis, stride in enumerate(strides) if stride == 1 and extents[axis] > 1), None)
    rank = len(extents)
    if x.array is None or near is None or near == rank - 1 or min(extents[near], extents[-1]) < _TILE_ROWS:
        elementwise.compute(device, "identity", (x,), result, dtypes.compute(x.dtype))
        return
    # The other axes, of which a block has one place each.
    others = [axis for axis in range(rank - 1) if axis != near]
    out_strides = [math.prod(extents[axis + 1 :]) for axis in range(rank)]
    rest, walked = source.coalesce(
        [extents[axis] for axis in others],
        [[strides[axis] for axis in others], [out_strides[axis] for axis in others]],
    )
    item = dtypes.ITEM_BYTES[x.dtype]
    key = ("transpose", item, len(rest), x.is_dense)
    kernel = source.kernel_for(device, key, lambda: transpose_source(x, item, len(rest)), "transpose")
    wide, tall = -(-extents[near] // _TILE), -(-extents[-1] // _TILE)
    count = math.prod(rest)
    arguments = [source.pointer(x), result.array, extents[near], extents[-1], wide, tall, strides[-1]]
    kernel.queue(
        wide * tall * count,
        (_TILE, _TILE_ROWS, 1),
        [*arguments, out_strides[near], *source.walk_arguments(rest, walked)],
        memory=source.hidden(x),
    )


def transpose_source(x: Operand, item: int, rank: int) -> str:
    """The kernel: a tile is read along `near`, the axis whose neighbours are adjacent in x, and written along the last one."""
    parameter = "const void* x_memory" if x.is_dense else "unsigned long long x_address"
    return f"""
typedef {WORDS[item]} T;
extern "C" __global__ void transpose({parameter}, void* out_memory, unsigned long long near, unsigned long long last,
                                     unsigned long long wide, unsigned long long tall, long long last_stride,
                                     long long near_stride{source.walk_parameters("d", rank, 2)}) {{
    // One more column, so that columns lie in different banks.
    __shared__ T tile[{_TILE}][{_TILE} + 1];
    const T* x = (const T*){"x_memory" if x.is_dense else "x_address"};
    T* out = (T*)out_memory;
    const unsigned long long block = blockIdx.x;
    const unsigned long long column = block % wide * {_TILE}, row = block / wide % tall * {_TILE};
    const unsigned long long other = block / (wide * tall);
    long long from = 0, to = 0;
{source.walk("d", rank, ["from", "to"], "other", "unsigned long long")}\
    for (unsigned y = threadIdx.y; y < {_TILE}; y += {_TILE_ROWS})
        if (column + threadIdx.x < near && row + y < last)
            tile[y][threadIdx.x] = x[from + (long long)(row + y) * last_stride + (long long)(column + threadIdx.x)];
    __syncthreads();
    for (unsigned y = threadIdx.y; y < {_TILE}; y += {_TILE_ROWS})
        if (column + y < near && row + threadIdx.x < last)
            out[to + (long long)(column + y) * near_stride + (long long)(row + threadIdx.x)] = tile[threadIdx.x][y];
}}
"""


def dense(device: AMDGPUDevice, x: Operand) -> _native.Array:
    """The values in row-major order: the array itself, or a copy where it has gaps."""
    if x.is_dense and x.array is not None:
        return x.array
    made = target("copy", device, x.shape, x.dtype, None)
    write(device, x, made.operand)
    return made.array
