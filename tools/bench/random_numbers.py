"""Random numbers of `amdgpu.random` on one and on all threads, beside NumPy's generators: Philox and the default one, PCG64.

Both sides fill arrays that are there. NumPy's Philox is of the same family (4x64), PCG64 is its default; both use one thread. The record's
figures are million numbers a second of ours and of NumPy's Philox; a second row compares with PCG64.
`--quick` takes fewer rounds, `--threads 1` or `2` one of both; other words choose draws by parts of their names.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from frame import Report, in_turns

PEER = "numpy.random.Generator, one thread"
COUNT = 1 << 20
# Rounds and seconds of each.
FULL, QUICK = (9, 0.03), (4, 0.01)


def draws(ours: Any, peer: Any) -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Name, ours, NumPy's."""
    import numpy as np

    for dtype in ("float64", "float32"):
        out, theirs = np.empty(COUNT, dtype), np.empty(COUNT, dtype)
        for name in ("random", "standard_normal", "standard_exponential"):
            yield (
                f"{name} {dtype}",
                lambda name=name, out=out: getattr(ours, name)(out=out, dtype=out.dtype.name),
                lambda name=name, out=theirs: getattr(peer, name)(out=out, dtype=out.dtype.name),
            )
    for low, high, dtype in ((0, 1000, "int64"), (0, 1000, "int32"), (0, 3 << 61, "int64"), (0, 200, "uint8")):
        yield (
            f"integers below {high:g} {dtype}",
            lambda low=low, high=high, dtype=dtype: ours.integers(low, high, COUNT, dtype=dtype),
            lambda low=low, high=high, dtype=dtype: peer.integers(low, high, COUNT, dtype=dtype),
        )
    for name, parameters in (
        ("gamma", (0.5,)),
        ("gamma", (4.0,)),
        ("beta", (2.0, 3.0)),
        ("poisson", (4.0,)),
        ("poisson", (100.0,)),
        ("binomial", (20, 0.2)),
        ("binomial", (1000, 0.4)),
    ):
        yield (
            f"{name} {parameters}",
            lambda name=name, given=parameters: getattr(ours, name)(*given, size=COUNT),
            lambda name=name, given=parameters: getattr(peer, name)(*given, size=COUNT),
        )
    yield "permutation", lambda: ours.permutation(COUNT), lambda: peer.permutation(COUNT)


def measure(arguments: argparse.Namespace) -> None:
    """In a process of its own: a line of JSON for each draw."""
    import amdgpu
    import numpy as np

    rounds, seconds = QUICK if arguments.quick else FULL
    for words in (np.random.Philox, np.random.PCG64):
        ours, peer = amdgpu.random.default_rng(1, device="cpu:0"), np.random.Generator(words(1))
        for name, own, other in draws(ours, peer):
            if arguments.words and not any(word in name for word in arguments.words):
                continue
            samples = in_turns([own, other], rounds=rounds, round_seconds=seconds)
            best = [COUNT / min(one) / 1e6 for one in samples]
            print(json.dumps([f"{name} ({words.__name__})", *best]), flush=True)


def run(report: Report, arguments: list[str]) -> None:
    """A process for each number of threads."""
    parser = argparse.ArgumentParser(prog="./x bench random_numbers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    if options.measure:
        measure(options)
        return
    for threads in [options.threads] if options.threads else sorted({1, os.cpu_count() or 1}):
        command = [
            sys.executable,
            str(Path(__file__).resolve().parent),
            "random_numbers",
            "--measure",
            *arguments,
        ]
        environment = {**os.environ, "AMDGPU_CPU_THREADS": str(threads)}
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        for line in done.stdout.splitlines():
            if line.startswith("["):
                name, ours, peer = json.loads(line)
                report.add(f"{name}, {threads} threads", "M/s", ours, peer, higher_is_better=True)
