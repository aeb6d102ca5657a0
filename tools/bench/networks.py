"""Spiking networks on the CPU device beside Brian2's C++ programs: seconds of wall time for a second of model time.

`--only NAME,…` takes some of cuba, coba, cobahh, cuba_stdp; `--threads 1,2` other numbers of threads; `--without-peers` runs ours alone.
Brian2's time is that of its loop over the steps, as its program measures it, with -O3 and -march=native; ours the least of three rounds.
The last rows are the time from an edited network text to its first step.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from frame import ROOT, Report
from suite.environments import Absent, environment_python

PEER = "Brian2, C++ standalone (OpenMP for more than one thread)"
NETWORKS = ROOT / "tests" / "neuro_validation" / "networks"
PEERS = ROOT / "tests" / "neuro_validation" / "peers" / "brian2_networks.py"
WORKER = Path(__file__).resolve().parent / "suite" / "network_worker.py"
NAMES = ("cuba", "coba", "cobahh", "cuba_stdp")
# What text or program an edit changes: another number in an equation, so that no cache knows it.
EDIT = ("20.ms", "20.01.ms")


def run(report: Report, arguments: list[str]) -> None:
    """Each network with each number of threads; ours, then the peer."""
    parser = argparse.ArgumentParser(prog="./x bench networks --", description=__doc__)
    parser.add_argument("--only", default=",".join(NAMES), metavar="NAME,…")
    parser.add_argument("--threads", default="1,2", metavar="N,…")
    parser.add_argument("--without-peers", action="store_true")
    options = parser.parse_args(arguments)
    names = [name for name in options.only.split(",") if name]
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"no network called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    python = None
    if not options.without_peers:
        try:
            python = environment_python("brian2")
        except Absent as reason:
            print(f"without Brian2: {reason}")
    build: dict[str, float] = {}
    for name in names:
        hashes = set()
        for threads in (int(text) for text in options.threads.split(",")):
            ours = run_ours(NETWORKS / f"{name}.net", threads)
            hashes.add(ours["spike_hash"])
            peer = run_brian2(python, name, threads) if python else None
            build[name] = peer["build_seconds"] if peer else 0.0
            unit = "thread" if threads == 1 else "threads"
            report.add(
                f"{name}, {threads} {unit}",
                "s",
                ours["run_seconds"],
                peer["run_seconds"] if peer else None,
                note=f"{ours['rate_hz']:.2f} Hz",
            )
        if len(hashes) > 1:
            raise SystemExit(f"{name} has other spikes with another number of threads, so its speed means nothing")
    for name in names:
        report.add(f"{name}, edit to first step", "s", edit_to_first_step(name), build[name] or None)


def run_ours(path: Path, threads: int) -> dict[str, Any]:
    """One process of ours."""
    environment = os.environ | {"AMDGPU_CPU_THREADS": str(threads)}
    command = [sys.executable, str(WORKER), str(path), "--threads", str(threads)]
    return last_line(subprocess.run(command, capture_output=True, text=True, check=False, env=environment))


def run_brian2(python: Path, name: str, threads: int) -> dict[str, Any]:
    """One process of Brian2."""
    command = [str(python), str(PEERS), name, "--threads", str(threads)]
    return last_line(subprocess.run(command, capture_output=True, text=True, check=False))


def edit_to_first_step(name: str) -> float:
    """Seconds from a changed text to its first step, with an empty kernel cache."""
    text = (NETWORKS / f"{name}.net").read_text()
    edited = text.replace(*EDIT) if EDIT[0] in text else text.replace("10.ms", "10.01.ms")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edited.net"
        path.write_text(edited)
        environment = os.environ | {"AMDGPU_CACHE_DIR": folder}
        command = [sys.executable, str(WORKER), str(path), "--seconds", "0.0001", "--rounds", "1"]
        begin = time.perf_counter()
        found = last_line(subprocess.run(command, capture_output=True, text=True, check=False, env=environment))
        print(f"{name}: {time.perf_counter() - begin:.2f} s with the start of Python")
        return float(found["build_seconds"])


def last_line(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The line of JSON that a run ends with."""
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, done.args[:3]))} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
