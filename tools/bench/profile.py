"""Profile-guided optimisation: every kernel of the corpus compiled with a profile of its launch, beside the same without one.

The two take turns, on copies of the same arrays; times are those that a launch reports, minima of the rounds, and results are compared bit
for bit before. `-- NAME ...` measures some kernels.
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

import amdgpu
import numpy as np
from frame import ROOT, Report

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from corpus import CORPUS  # noqa: E402

PEER = "the kernel compiled without a profile"
ROUNDS = 25


def run(report: Report, arguments: list[str]) -> None:
    """Kernels in the order of the corpus; the last row is the geometric mean."""
    ratios = []
    with amdgpu.initialize_device("cpu:0", ["aura"]) as device:
        for name in arguments or sorted(CORPUS):
            entry = CORPUS[name]
            launch = entry.launch(entry.sizes[0])
            if launch.variables or launch.order_dependent:
                continue
            source, kernel_name = entry.path.read_text(), launch.kernel or name
            plain = device.compile_kernel(source, name=kernel_name)
            profile = device.profile_kernel(
                plain, launch.arguments, grid=launch.grid, block=launch.block, shared_bytes=launch.shared_bytes
            )
            profiled = device.compile_kernel(source, name=kernel_name, profile=profile)
            check(name, launch, plain, profiled)
            ours, peer = times(launch, profiled), times(launch, plain)
            for _ in range(ROUNDS):
                ours = min(ours, times(launch, profiled))
                peer = min(peer, times(launch, plain))
            report.add(name, "us", ours / 1e3, peer / 1e3)
            ratios.append(peer / ours)
    if len(ratios) > 1:
        report.add(
            "all, geometric mean of the ratios", "x", statistics.geometric_mean(ratios), 1.0, higher_is_better=True
        )


def times(launch: Any, kernel: Any, results: list[Any] | None = None) -> int:
    """Nanoseconds of one launch on copies."""
    copies = [np.copy(value) if isinstance(value, np.ndarray) else value for value in launch.arguments]
    _, duration_ns = kernel.launch(launch.grid, launch.block, copies, shared_bytes=launch.shared_bytes)
    if results is not None:
        results += [value for place, value in enumerate(copies) if place not in launch.scratch]
    return duration_ns


def check(name: str, launch: Any, plain: Any, profiled: Any) -> None:
    """Ends the benchmark where the profile changed a bit."""
    one: list[Any] = []
    other: list[Any] = []
    times(launch, plain, one)
    times(launch, profiled, other)
    for place, (a, b) in enumerate(zip(one, other, strict=True)):
        if isinstance(a, np.ndarray) and a.tobytes() != b.tobytes():
            raise SystemExit(f"{name}: the profile changes argument {place}")
