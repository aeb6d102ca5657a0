"""Running sums and products along an axis on a device.

Adjacent values of a line are scanned by blocks: 1,024 at a time, long lines in chunks whose totals are scanned first. Lines that lie side
by side are each scanned by one work-item. Floats are carried in float64, so the order shows in the last bit at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.lines import Lines, lines_of, resolve_axes
from amdgpu.device_ops.operand import lend, target
from amdgpu.device_ops.transpose import dense

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

# Values of a work-item, one after the other.
_OWN = 4
_CHUNK = 32 * source.BLOCK * _OWN


def scan(operation: str, x: Any, axis: int, out: Any = None, *, device: AMDGPUDevice) -> Any:
    """What `amdgpu._native.scan` does, on a device.

    Raises:
        As `amdgpu.ops.cumsum`.
    """
    values = lend(operation, "x", x, device)
    (axis,) = resolve_axes(operation, values.shape, (axis,))
    dtype = values.dtype if values.dtype in dtypes.FLOATS else dtypes.summed(values.dtype)
    made = target(operation, device, values.shape, dtype, out, inputs=(values,), may_alias=True)
    if made.operand.size:
        lines = lines_of(values.shape, axis)
        _Scan(device, operation, "float64" if dtype in dtypes.FLOATS else "int64").run(
            dense(device, values), values.dtype, made.array, dtype, lines
        )
    return made.deliver()


class _Scan:
    """One scan on one device, carried in one dtype."""

    def __init__(self, device: AMDGPUDevice, operation: str, state: str) -> None:
        self.device = device
        self.operation = operation
        self.state = state

    def run(self, x: _native.Array, given: str, out: _native.Array, made: str, lines: Lines) -> None:
        if lines.inner > 1:
            kernel = self._kernel("columns", given, made)
            arguments = [x, out, lines.count, lines.length, lines.inner]
            kernel.queue(-(-lines.count // source.BLOCK), source.BLOCK, arguments)
            return
        chunks = -(-lines.length // _CHUNK)
        carries = out
        if chunks > 1:
            carries = self.device.native.empty((lines.count * chunks,), self.state)
            totals = self.device.native.empty((lines.count * chunks,), self.state)
            self._launch("totals", (x, totals, totals), (given, self.state), lines, chunks)
            self.run(totals, self.state, carries, self.state, Lines(lines.count, chunks, 1))
        self._launch("carried" if chunks > 1 else "rows", (x, out, carries), (given, made), lines, chunks)

    def _launch(
        self, kind: str, arrays: tuple[_native.Array, ...], dtype: tuple[str, str], lines: Lines, chunks: int
    ) -> None:
        self._kernel(kind, *dtype).queue(lines.count * chunks, source.BLOCK, [*arrays, lines.length, chunks])

    def _kernel(self, kind: str, given: str, made: str) -> _native.Kernel:
        key = ("scan", self.operation, kind, given, made, self.state)
        return source.kernel_for(
            self.device, key, lambda: scan_source(self.operation, kind, given, made, self.state), "scan"
        )


def scan_source(operation: str, kind: str, given: str, made: str, state: str) -> str:
    """The kernel of a kind: `columns`, `rows`, `carried` (rows that go on where the chunk before ended) or `totals` of chunks."""
    start, sign = ("0", "+") if operation == "cumsum" else ("1", "*")
    head = source.types(X=given, R=made, S=state) + f"#define JOIN(a, b) ((a) {sign} (b))\n#define START ((S){start})\n"
    if kind == "columns":
        return (
            head
            + """
extern "C" __global__ void scan(const X* x, R* out, unsigned long long lines, unsigned long long length,
                                unsigned long long inner) {
    const unsigned long long line = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (line >= lines) return;
    unsigned long long place = line / inner * length * inner + line % inner;
    S sum = START;
    for (unsigned long long i = 0; i < length; i++, place += inner) {
        sum = JOIN(sum, (S)x[place]);
        out[place] = (R)sum;
    }
}
"""
        )
    # The carries are the totals of all chunks up to each, so a chunk goes on from that of the one before.
    carry = "chunk ? ((const S*)carries)[blockIdx.x - 1] : START" if kind == "carried" else "START"
    write = "" if kind == "totals" else "out[line * length + i] = (R)own;"
    finish = "if (threadIdx.x == 0) out[blockIdx.x] = (R)carry;" if kind == "totals" else ""
    return (
        head
        + f"""
extern "C" __global__ void scan(const X* x, R* out, const void* carries, unsigned long long length,
                                unsigned long long chunks) {{
    __shared__ S sums[{source.BLOCK}];
    const unsigned long long line = blockIdx.x / chunks, chunk = blockIdx.x % chunks;
    const unsigned long long begin = chunk * {_CHUNK};
    const unsigned long long end = begin + {_CHUNK} < length ? begin + {_CHUNK} : length;
    S carry = {carry};
    for (unsigned long long base = begin; base < end; base += {source.BLOCK * _OWN}) {{
        const unsigned long long first = base + threadIdx.x * {_OWN};
        S total = START;
        for (unsigned long long i = first; i < first + {_OWN}; i++)
            if (i < end) total = JOIN(total, (S)x[line * length + i]);
        sums[threadIdx.x] = total;
        __syncthreads();
        // Each sum takes in the one 1, 2, 4, … places before it (Hillis and Steele 1986).
        for (unsigned distance = 1; distance < {source.BLOCK}; distance *= 2) {{
            const S before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : START;
            __syncthreads();
            sums[threadIdx.x] = JOIN(before, sums[threadIdx.x]);
            __syncthreads();
        }}
        S own = JOIN(carry, threadIdx.x ? sums[threadIdx.x - 1] : START);
        for (unsigned long long i = first; i < first + {_OWN}; i++) {{
            if (i < end) {{
                own = JOIN(own, (S)x[line * length + i]);
                {write}
            }}
        }}
        carry = JOIN(carry, sums[{source.BLOCK - 1}]);
        __syncthreads();
    }}
    {finish}
}}
"""
    )
