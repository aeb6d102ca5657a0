"""Pragmas about unrolling change no result: on every level, and at every number of turns around that of one copy."""

from __future__ import annotations

import re

import numpy as np
import pytest
from kernel_harness import Kernels, emit

SOURCE = """
template <int K> __device__ float strided(const float* p, int n) {
    float sum = 0;
    #pragma unroll K
    for (int i = 0; i < n; ++i) sum = sum * 0.75f + p[(i * 3) & 255];
    return sum;
}

__global__ void k(float* out, const float* p, int start, int end, int step) {
    int t = threadIdx.x;
    float sum = strided<7>(p, end - start + t);
    #pragma unroll
    for (int i = 0; i < 40; ++i) sum = sum * 0.5f + p[i + t];
    #pragma unroll 4
    for (int i = 0; i < 13; ++i) sum = sum * 0.25f - p[3 * i + t];
    #pragma nounroll
    for (int i = 0; i < 4; ++i) sum += p[4 * i];
    #pragma unroll 4
    for (int i = start + t; i < end; i += 3) sum = sum * 0.5f + p[i & 255] * (float)i;
    #pragma unroll(3)
    for (int i = start; i < end + t; i += 128) { if (i & 1) sum += p[i & 255]; else sum -= 1.0f; }
    #pragma unroll 5
    for (unsigned i = start; i < (unsigned)end; i += 2 + t) sum = sum * 0.5f + p[i & 255];
    #pragma unroll 2
    for (int i = start; i < end; i += step) sum = sum * 0.5f + p[i & 255];
    _Pragma("unroll 3") for (int i = end; i > start; i -= 2) sum = sum * 0.5f - p[i & 255];
    int rest = end - start;
    #pragma unroll 2
    do sum = sum * 0.5f + p[rest & 255]; while (--rest > 0);
    #pragma unroll
    for (int i = start; i < end; ++i) { if (sum > 100.0f) break; sum += p[i & 255]; }
    out[t] = sum;
}
"""
# Numbers of turns around those of copies, and ends at which one copy more would leave the range of int, while the loops as they
# are written stay in it.
LAST = 2**31 - 1 - 128 - 5
FIRST = -(2**31) + 4
RANGES = [(0, length, 1) for length in (0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 100, 700)] + [
    (-5, 30, 7),
    (3, 2, 1),
    (LAST - 7, LAST, 3),
    (LAST - 13, LAST, 1),
    (LAST - 600, LAST, 128),
    (FIRST, FIRST + 11, 2),
    (-9, 9, 20),
]


def results(source: str, *flags: str) -> list[bytes]:
    kernels = Kernels(source, *flags)
    given = np.random.default_rng(3).random(512, dtype=np.float32)
    outputs = []
    for start, end, step in RANGES:
        out = np.zeros(5, np.float32)
        kernels("k", (1,), (5,), out, given, np.int32(start), np.int32(end), np.int32(step))
        outputs.append(out.tobytes())
    return outputs


@pytest.mark.parametrize(
    "flags", [(), ("--level", "max"), ("--level", "low"), ("--disable", "work-item-vectorization")]
)
def test_pragmas_change_no_result(flags: tuple[str, ...]) -> None:
    plain = re.sub(r'#pragma.*|_Pragma\("[^"]*"\)', "", SOURCE)
    assert results(SOURCE, *flags) == results(plain, "--level", "none")


def test_known_numbers_of_turns_are_unrolled_as_the_pragma_says() -> None:
    unit = emit(SOURCE)
    (entry,) = (entry for entry in unit["telemetry"]["passes"] if entry["name"] == "unrolling")
    lines = {finding["line"]: finding["text"] for finding in entry["findings"]}
    at = {text: number for number, text in enumerate(SOURCE.splitlines(), 1)}
    full = next(number for text, number in at.items() if "i < 40" in text)
    kept = [number for text, number in at.items() if "i < 13" in text or "i < 4;" in text]
    assert "loop of 40 iterations unrolled" in lines[full]
    assert not any(number in lines for number in kept)


def test_several_turns_at_a_time_where_the_pragma_says_so_or_an_nvidia_gpu_gains() -> None:
    source = """__global__ void k(float* out, const float* p, int n) {
        float sum = 0, product = 1;
        for (int i = threadIdx.x; i < n; i += 128) sum += p[i];
        #pragma unroll 3
        for (int i = threadIdx.x; i < n; i += 128) product *= p[i];
        out[threadIdx.x] = sum * product;
    }"""

    def found(*flags: str) -> tuple[list[str], str]:
        unit = emit(source, *flags)
        entries = [entry for entry in unit["telemetry"]["passes"] if entry["name"] == "partial-unrolling"]
        return [finding["text"] for entry in entries for finding in entry["findings"]], unit["llvm_ir"]

    three, eight = "loop does 3 iterations at a time", "loop does 8, then 4 iterations at a time"
    assert found("--target", "x86_64")[0] == [three]
    assert found("--target", "gfx1100")[0] == [three]
    texts, code = found("--target", "sm_90")
    assert sorted(texts) == [three, eight]
    assert code.count("load float") == 3 + (8 + 4) + 2
    texts, code = found("--target", "sm_90", "--disable", "partial-unrolling")
    assert not texts
    assert code.count("load float") == 2
