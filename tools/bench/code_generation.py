"""A further kernel from source to machine code: LLVM in the child process that calls go to, beside LLVM in the calling process.

Every source is new, so no cache answers. The two take turns; figures are the medians of a hundred compiles each.
"""

from __future__ import annotations

import itertools
import statistics
import time

from amdgpu import _native
from amdgpu.codegen import llvm_process
from frame import Report

PEER = "the same with LLVM in the calling process"
WARM_UP, ROUNDS = 10, 100
SOURCES = {
    "vector add": """
extern "C" __global__ void add_%d(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
""",
}
TARGETS = ("x86_64", "gfx1100")


def run(report: Report, arguments: list[str]) -> None:
    """One kernel for the CPU and for an AMD GPU."""
    if arguments:
        raise SystemExit("./x bench code_generation takes no arguments")
    number = itertools.count()

    def compile_one(source: str, target: str) -> float:
        start = time.perf_counter()
        _native.compile_source(source.replace("%d", str(next(number))), target, emit="obj")
        return time.perf_counter() - start

    for name, source in SOURCES.items():
        for target in TARGETS:
            seconds: dict[bool, list[float]] = {False: [], True: []}
            for turn in range(2 * (WARM_UP + ROUNDS)):
                is_here = turn % 2 == 1
                llvm_process.run_here(is_here)
                seconds[is_here].append(compile_one(source, target))
            child, here = (statistics.median(seconds[key][WARM_UP:]) * 1e3 for key in (False, True))
            report.add(f"{name}, {target}", "ms", child, here)
