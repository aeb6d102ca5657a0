"""The kernel compiler's own passes on and off, all and one by one: run time of the 12 kernels on the CPU device, and time to compile them.

LLVM runs at the same level on all sides, its vectoriser of loops over work-items included. The gain of a pass is how many times longer a
kernel takes with only this pass switched off, so that what others or LLVM do as well does not count for it. Figures are minima over
rounds in which all variants take turns; their results are compared before anything is timed. `--quick` takes smaller data.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import statistics
import tempfile
import time
from typing import Any

import amdgpu
from frame import Report, in_turns
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
    all_gains = []
    with tempfile.TemporaryDirectory() as folder:
        # Compiles are measured, so none may come from the user's cache.
        os.environ["AMDGPU_CACHE_DIR"] = folder
        with amdgpu.initialize_device("cpu:0", ["aura"]) as device:
            names = [entry["name"] for entry in device.compile_kernel("__global__ void k(int* p) { *p = 1; }").passes]
            own: dict[str, dict[str, float]] = {name: {} for name in names}
            for name in chosen:
                case = cases.build(name, "quick" if options.quick else "full")
                gain, gains = _measure(report, device, case, names)
                all_gains.append(gain)
                for disabled, value in gains.items():
                    own[disabled][case.name] = value
    for name, gains in own.items():
        # A pass that changes nothing in a kernel gains nothing there.
        mean = _mean([*gains.values(), *[1.0] * (len(chosen) - len(gains))])
        best = max(gains, key=lambda kernel: gains[kernel], default="")
        note = f"{len(gains)} kernels changed" + (f"; most: {best}, {gains[best]:.2f}" if best else "")
        report.add(f"gain of {name}", "x", mean, None, note=note)
    report.add(f"gain of all passes, mean of {len(chosen)}", "x", _mean(all_gains), None)


def _mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def _measure(report: Report, device: Any, case: cases.Case, names: list[str]) -> tuple[float, dict[str, float]]:
    """What all passes gain on a kernel, and each of those that change it."""
    changing = [entry["name"] for entry in _compile(device, case, []).passes if entry["transformations"]]
    variants = [[], names, *([name] for name in changing)]
    launches, outputs = [], []
    for disabled in variants:
        kernel = _compile(device, case, disabled)
        copies = case.copies()
        launch = kernel.prepare(case.grid, case.block, *copies, shared_bytes=case.shared_bytes)
        launch()
        launches.append(launch)
        outputs.append([copies[index].copy() for index in case.outputs])
        # Sums by float atomics depend on the order of the work-items; everything else has the same bits, which tests see to.
        if fault := case.disagreement(outputs[0], outputs[-1]):
            raise SystemExit(fault)
    ours, peer, *others = (min(samples) for samples in in_turns(launches))
    report.add(case.name, "s", ours, peer, note=case.work)
    compiles: tuple[list[float], list[float]] = ([], [])
    for _ in range(COMPILES):
        for samples, disabled in zip(compiles, ([], names), strict=True):
            start = time.perf_counter()
            _compile(device, case, disabled)
            samples.append(time.perf_counter() - start)
    report.add(f"{case.name}: compile", "s", min(compiles[0]), min(compiles[1]))
    return peer / ours, {name: other / ours for name, other in zip(changing, others, strict=True)}


def _compile(device: Any, case: cases.Case, disabled: list[str]) -> Any:
    """Compiles anew: a comment makes every source another one."""
    source = f"// {next(_numbers)}\n{case.path.read_text()}"
    return device.compile_kernel(source, name=case.kernel, disabled_passes=disabled)
