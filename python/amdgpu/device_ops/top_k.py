"""The best values of each line on a device: a block for each line takes the best that is left, k times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.lines import lines_of, resolve_axes
from amdgpu.device_ops.operand import lend, target
from amdgpu.device_ops.transpose import dense
from amdgpu.errors import InvalidArgumentError, NoImplementationError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Every value taken costs a round of the block; for more of them sorting is faster.
_TAKEN_LIMIT = 1024


def top_k(x: Any, k: int, axis: int, *, largest: bool = True, device: AMDGPUDevice) -> tuple[Any, Any]:
    """What `amdgpu._native.top_k` does, on a device.

    Raises:
        As `amdgpu.ops.top_k`.
        NoImplementationError: A k that the CPU is faster for.
    """
    values = lend("top_k", "x", x, device)
    (place,) = resolve_axes("top_k", values.shape, (axis,))
    extent = values.shape[place]
    if k < 0 or k > extent:
        raise InvalidArgumentError(f"top_k: k is {k}; axis {axis} of x has {extent} values")
    if k > _TAKEN_LIMIT:
        raise NoImplementationError(f"top_k of more than {_TAKEN_LIMIT} values")
    shape = (*values.shape[:place], k, *values.shape[place + 1 :])
    best = target("top_k", device, shape, values.dtype, None)
    places = target("top_k", device, shape, "int64", None)
    if best.operand.size:
        lines = lines_of(values.shape, place)
        key = ("top_k", values.dtype, largest)
        kernel = source.kernel_for(device, key, lambda: top_k_source(values.dtype, is_largest=largest), "top_k")
        arguments = [dense(device, values), best.array, places.array, lines.length, lines.inner, k]
        kernel.queue(lines.count, source.BLOCK, arguments)
    return best.array, places.array


def top_k_source(x: str, *, is_largest: bool) -> str:
    """The kernel for a dtype."""
    return (
        source.types(X=x, C=dtypes.compute(x))
        + f"""
struct Entry {{ C value; long long place; }};
// NaN is larger than any number, and of equal values the first is better; no place means nothing is left.
__device__ inline bool is_better(Entry a, Entry b) {{
    if (a.place < 0 || b.place < 0) return b.place < 0 && a.place >= 0;
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (a_is_nan != b_is_nan) return a_is_nan == {str(is_largest).lower()};
    if (a_is_nan || a.value == b.value) return a.place < b.place;
    return a.value {">" if is_largest else "<"} b.value;
}}

// The best of a work-item's values that is worse than what it gave last.
__device__ inline Entry next(const X* x, Entry taken, bool is_first, unsigned long long length,
                             unsigned long long inner) {{
    Entry best;
    best.value = 0;
    best.place = -1;
    for (unsigned long long i = threadIdx.x; i < length; i += {source.BLOCK}) {{
        Entry entry;
        entry.value = (C)x[i * inner];
        entry.place = (long long)i;
        if ((is_first || is_better(taken, entry)) && is_better(entry, best)) best = entry;
    }}
    return best;
}}

extern "C" __global__ void top_k(const X* x, X* values, long long* places, unsigned long long length,
                                 unsigned long long inner, unsigned long long k) {{
    __shared__ Entry entries[{source.BLOCK}];
    const unsigned long long outer = blockIdx.x / inner, offset = blockIdx.x % inner;
    const X* line = x + outer * length * inner + offset;
    Entry own;
    own.value = 0;
    own.place = -1;
    own = next(line, own, true, length, inner);
    for (unsigned long long i = 0; i < k; i++) {{
        entries[threadIdx.x] = own;
        __syncthreads();
        for (unsigned half = {source.BLOCK // 2}; half > 0; half /= 2) {{
            if (threadIdx.x < half && is_better(entries[threadIdx.x + half], entries[threadIdx.x]))
                entries[threadIdx.x] = entries[threadIdx.x + half];
            __syncthreads();
        }}
        const Entry best = entries[0];
        if (threadIdx.x == 0) {{
            const unsigned long long to = (outer * k + i) * inner + offset;
            values[to] = line[best.place * inner];
            places[to] = best.place;
        }}
        if (best.place == own.place) own = next(line, own, false, length, inner);
        __syncthreads();
    }}
}}
"""
    )
