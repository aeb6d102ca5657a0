"""The 12-kernel suite on the CPU device, against PoCL and against clang's OpenMP loops.

`--quick` takes smaller data and fewer rounds, `--only NAME,…` some kernels, `--level max` another optimization level of ours,
`--plot` measures nothing and draws the newest records into docs/images. Each contender has a process of its own; they take turns in every
round, with the same inputs and number of threads, and their results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from frame import Report
from suite import cases, peers
from suite.contender import Contender
from suite.environments import Absent, draw, environment_python

PEER = "PoCL (the same kernels in OpenCL C); clang's OpenMP (equivalent loops in C)"
WORKER = Path(peers.__file__).with_name("worker.py")
THREADS = 2
ROUNDS = {"quick": 7, "full": 15}
ROUND_SECONDS = {"quick": 0.02, "full": 0.05}
# Threads of OpenMP go on spinning after a parallel loop, 20 ms as `Contender` sets it; the next contender waits until they sleep.
SETTLE_SECONDS = 0.03


def run(report: Report, arguments: list[str]) -> None:
    """Starts the contenders, compares, measures, prints."""
    parser = argparse.ArgumentParser(prog="./x bench kernels --", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer rounds")
    parser.add_argument("--only", default="", metavar="NAME,…", help=f"of {', '.join(cases.names())}")
    parser.add_argument("--level", default="high", help="optimization level of ours (default: high)")
    parser.add_argument("--plot", action="store_true", help="draw the newest records, measure nothing")
    options = parser.parse_args(arguments)
    if options.plot:
        draw(WORKER.with_name("plot.py"))
        return
    chosen = [name.strip() for name in options.only.split(",") if name.strip()] or cases.names()
    unknown = sorted(set(chosen) - set(cases.names()))
    if unknown:
        parser.error(f"no kernel called {', '.join(unknown)}; there are {', '.join(cases.names())}")
    size = "quick" if options.quick else "full"
    threads = min(THREADS, len(os.sched_getaffinity(0)))
    contenders = start_parties(options.level, threads)
    ratios: dict[str, list[float]] = {contender.title: [] for contender in contenders[1:]}
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in chosen:
                for title, ratio in measure(report, contenders, name, size, Path(folder)).items():
                    ratios[title].append(ratio)
    finally:
        for contender in contenders:
            contender.end()
    for title, values in ratios.items():
        mean = math.exp(statistics.fmean(math.log(value) for value in values))
        report.add(f"geometric mean / {title}", "ratio", mean, 1.0, higher_is_better=True)


def start_parties(level: str, threads: int) -> list[Contender]:
    """Ours, and every peer that can be had here; what cannot is said."""
    contenders = [Contender.start("ours", "ours", [sys.executable, str(WORKER), "ours", level], threads)]
    try:
        contenders.append(
            Contender.start("opencl", "PoCL", [str(environment_python("opencl")), str(WORKER), "opencl"], threads)
        )
    except Absent as reason:
        print(f"without PoCL: {reason}")
    try:
        library, about = peers.openmp_library()
        title = "clang" if "clang" in about else "gcc"
        command = [sys.executable, str(WORKER), "openmp", str(library), about]
        contenders.append(Contender.start("openmp", title, command, threads))
    except Absent as reason:
        print(f"without OpenMP: {reason}")
    for contender in contenders:
        print(f"{contender.name}: {contender.about}, {threads} threads")
    return contenders


def measure(report: Report, contenders: list[Contender], name: str, size: str, folder: Path) -> dict[str, float]:
    """One kernel: results compared, then timed in turns; a row for each peer. Returns the ratios by peer."""
    case = cases.build(name, size)
    results: list[list[Any]] = []
    for contender in contenders:
        path = folder / f"{contender.name}.npz"
        contender.ask(do="prepare", case=name, size=size, results=str(path))
        with np.load(path) as arrays:
            results.append([arrays[key] for key in arrays.files])
    for contender, theirs in zip(contenders[1:], results[1:], strict=True):
        problem = case.disagreement(results[0], theirs)
        if problem:
            raise SystemExit(
                f"ours and {contender.name} compute different things, so their speed means nothing: {problem}"
            )
    del results
    counts = [max(1, round(ROUND_SECONDS[size] / contender.seconds(1))) for contender in contenders]
    for contender in contenders:
        contender.samples.clear()
    for round_number in range(ROUNDS[size]):
        # Who begins changes, so that nobody always follows the same neighbour.
        turn = round_number % len(contenders)
        for contender, count in [*zip(contenders, counts, strict=True)][turn:] + [
            *zip(contenders, counts, strict=True)
        ][:turn]:
            time.sleep(SETTLE_SECONDS)
            contender.samples.append(contender.seconds(count))
    ours = contenders[0].samples
    ratios = {}
    for contender in contenders[1:]:
        # Minima are what the machine can do when nobody disturbs it.
        fastest = (min(ours) * 1e3, min(contender.samples) * 1e3)
        medians = f"{statistics.median(ours) * 1e3:.3g} and {statistics.median(contender.samples) * 1e3:.3g}"
        report.add(f"{case.name} / {contender.title}", "ms", *fastest, note=f"{case.work}; medians {medians}")
        ratios[contender.title] = fastest[1] / fastest[0]
    return ratios
