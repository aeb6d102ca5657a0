"""The kernel compiler's own passes on and off: run time of the 12 kernels on the CPU device, and time to compile them.

`--quick` takes smaller data. LLVM runs at the same level on both sides. Results of both sides are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import tempfile
import time
from typing import Any

import amdgpu
from frame import Report, side_by_side
from suite import cases

PEER = "the same compiler with all passes switched off"
COMPILES = 5
_numbers = itertools.count()


def run(report: Report, arguments: list[str]) -> None:
    """Measures and writes the record."""
    parser = argparse.ArgumentParser(prog="./x bench passes")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="NAME,...")
    options = parser.parse_args(arguments)
    chosen = [name for name in options.only.split(",") if name] or cases.names()
    report.start(str(__doc__).splitlines()[0])
    gains = []
    with tempfile.TemporaryDirectory() as folder:
        # Compiles are measured, so none may come from the user's cache.
        os.environ["AMDGPU_CACHE_DIR"] = folder
        with amdgpu.initialize_device("cpu:0", ["aura"]) as device:
            off = [entry["name"] for entry in device.compile_kernel("__global__ void k(int* p) { *p = 1; }").passes]
            for name in chosen:
                case = cases.build(name, "quick" if options.quick else "full")
                gains.append(_measure(report, device, case, off))
    report.add("geometric mean of the 12 kernels", "x", math.exp(sum(map(math.log, gains)) / len(gains)), None)
    report.write()


def _measure(report: Report, device: Any, case: cases.Case, off: list[str]) -> float:
    launches, outputs = [], []
    for disabled in ([], off):
        kernel = _compile(device, case, disabled)
        copies = case.copies()
        launch = kernel.prepare(case.grid, case.block, *copies, shared_bytes=case.shared_bytes)
        launch()
        launches.append(launch)
        outputs.append([copies[index].copy() for index in case.outputs])
    # Sums by float atomics depend on the order of the work-items; everything else has the same bits, which tests see to.
    if fault := case.disagreement(*outputs):
        raise SystemExit(fault)
    ours, peer = side_by_side(*launches)
    report.add(case.name, "s", ours, peer, note=case.work)
    compiles: tuple[list[float], list[float]] = ([], [])
    for _ in range(COMPILES):
        for samples, disabled in zip(compiles, ([], off), strict=True):
            start = time.perf_counter()
            _compile(device, case, disabled)
            samples.append(time.perf_counter() - start)
    report.add(f"{case.name}: compile", "s", min(compiles[0]), min(compiles[1]))
    return peer / ours


def _compile(device: Any, case: cases.Case, disabled: list[str]) -> Any:
    """Compiles anew: a comment makes every source another one."""
    source = f"// {next(_numbers)}\n{case.path.read_text()}"
    return device.compile_kernel(source, name=case.kernel, disabled_passes=disabled)
