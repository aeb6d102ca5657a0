"""Rows of a table by index on a device."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.operand import lend, target
from amdgpu.device_ops.reduce import reduce
from amdgpu.device_ops.transpose import WORDS, dense
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice


def embedding(table: Any, indices: Any, out: Any = None, *, device: AMDGPUDevice) -> Any:
    """What `amdgpu._native.embedding` does, on a device. The indices are looked at before anything is written.

    Raises:
        As `amdgpu.ops.embedding`.
    """
    rows, places = lend("embedding", "table", table, device), lend("embedding", "indices", indices, device)
    if not rows.shape:
        raise ShapeMismatchError("embedding: table has no axes; rows are gathered along its first")
    if places.dtype not in ("int32", "int64"):
        raise UnsupportedDtypeError(f"embedding: indices have dtype {places.dtype}; they must be int32 or int64")
    shape = (*places.shape, *rows.shape[1:])
    made = target("embedding", device, shape, rows.dtype, out, inputs=(rows, places))
    index = dense(device, places)
    if index.size:
        low, high = (int(reduce(operation, index, device=device).numpy()) for operation in ("min", "max"))
        if low < 0 or high >= rows.shape[0]:
            flat = index.numpy().ravel()
            place = int(((flat < 0) | (flat >= rows.shape[0])).argmax())
            raise InvalidArgumentError(
                f"embedding: index {flat[place]} at place {place} is not a row of a table of {rows.shape[0]}"
            )
    if not made.operand.size:
        return made.deliver()
    row_bytes = math.prod(rows.shape[1:]) * dtypes.ITEM_BYTES[rows.dtype]
    word = next(size for size in (8, 4, 2, 1) if row_bytes % size == 0)
    kernel = source.kernel_for(
        device, ("embedding", word, places.dtype), lambda: embedding_source(word, places.dtype), "embedding"
    )
    width = row_bytes // word
    count = index.size * width
    kernel.queue(-(-count // source.BLOCK), source.BLOCK, [dense(device, rows), index, made.array, width, count])
    return made.deliver()


def embedding_source(word: int, index: str) -> str:
    """The kernel: a word of the result for each work-item."""
    return (
        source.types(I=index)
        + f"""
typedef {WORDS[word]} Word;
extern "C" __global__ void embedding(const void* table, const I* indices, void* out, unsigned long long width,
                                     unsigned long long count) {{
    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) ((Word*)out)[i] = ((const Word*)table)[(unsigned long long)indices[i / width] * width + i % width];
}}
"""
    )
