"""Spiking networks on the CPU device beside Brian2's C++ programs: seconds of wall time for a second of model time.

`--only NAME,…` takes some of cuba, coba, cobahh, cuba_stdp; `--threads 1,2` other numbers of threads; `--without-peers` runs ours alone.
Brian2's time is that of its loop over the steps, as its program measures it, with -O3 and -march=native; ours the least of three rounds.
The last rows are the time from an edited network text to its first step: with an empty cache of kernels and with a filled one, each in
a process that has just started, which imports NumPy and opens the device, and with a filled one where the network before the edit ran.

`--large` measures large networks instead, on `--device` (cpu:0): the cortical microcircuit of Potjans and Diesmann at full size with
constant currents, and 1,000,000 neurons with 1,000 synapses each. `--large density` is 1,000,000 neurons with 100,000 synapses each, for a
GPU. Memory is predicted before anything is built.
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
from suite import large_networks
from suite.environments import Absent, environment_python

PEER = "Brian2, C++ standalone (OpenMP for more than one thread)"
NETWORKS = ROOT / "tests" / "neuro_validation" / "networks"
PEERS = ROOT / "tests" / "neuro_validation" / "peers" / "brian2_networks.py"
WORKER = Path(__file__).resolve().parent / "suite" / "network_worker.py"
CIRCUIT = ROOT / "examples" / "potjans_diesmann" / "run.py"
# Synapses of a neuron of a million, and how they are kept: plain rows of the second kind would be made here before they go to a GPU.
MILLIONS = (("million", 1_000, "auto"), ("density", 100_000, "procedural"))
NAMES = ("cuba", "coba", "cobahh", "cuba_stdp")
# What text or program an edit changes: another number in an equation, so that no cache knows it.
EDIT = ("20.ms", "20.01.ms")


def run(report: Report, arguments: list[str]) -> None:
    """Each network with each number of threads; ours, then the peer."""
    parser = argparse.ArgumentParser(prog="./x bench networks --", description=__doc__)
    parser.add_argument("--only", default=",".join(NAMES), metavar="NAME,…")
    parser.add_argument("--threads", default="1,2", metavar="N,…")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--large", nargs="?", const="all", choices=("all", "circuit", "million", "density"))
    parser.add_argument("--device", default="cpu:0", help="for --large")
    parser.add_argument("--storage", help="for --large million and density")
    parser.add_argument("--neurons", type=int, default=1_000_000, help="for --large million and density")
    options = parser.parse_args(arguments)
    if options.large:
        run_large(report, options)
        return
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
        empty, filled, running = edit_to_first_step(name)
        report.add(f"{name}, edit to first step", "s", empty, build[name] or None)
        report.add(f"{name}, edit to first step, kernels cached, new process", "s", filled, None)
        report.add(f"{name}, edit to first step, kernels cached, running process", "s", running, None)


def run_large(report: Report, options: argparse.Namespace) -> None:
    """Large networks: seconds for a second of model time, and memory."""
    threads = [int(text) for text in options.threads.split(",")] if options.device.startswith("cpu") else [1]
    for count in threads:
        unit = "thread" if count == 1 else "threads"
        if options.large in ("all", "circuit"):
            found = run_circuit(options.device, count)
            report.add(
                f"Potjans-Diesmann, full size, {count} {unit}",
                "s",
                found["run_seconds"],
                None,
                note=large_note(found) + f", CPU time {found['cpu_seconds']:.2f} s",
            )
        for name, of_million, storage in MILLIONS:
            if options.large != name and not (options.large == "all" and name == "million"):
                continue
            neurons, synapses = options.neurons, max(1, of_million * options.neurons // 1_000_000)
            text = large_networks.text(neurons, synapses, options.storage or storage)
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "large.net"
                path.write_text(text)
                model = ["--seconds", "0.2", "--rounds", "1", "--warm-up", "0.1", "--device", options.device]
                found = run_ours(path, count, *model)
            seconds = found["run_seconds"] / found["model_seconds"]
            note = f"{found['steps'] / found['run_seconds']:.0f} steps a second, {found['rate_hz']:.2f} Hz, "
            kept = "/".join(found["storage"])
            report.add(
                f"{neurons} neurons x {synapses} synapses, {kept}, {count} {unit}",
                "s",
                seconds,
                None,
                note=note + large_note(found),
            )


def run_circuit(device: str, threads: int) -> dict[str, Any]:
    """The example of the cortical microcircuit."""
    environment = os.environ | {"AMDGPU_CPU_THREADS": str(threads)}
    command = [sys.executable, str(CIRCUIT), "--scale", "1", "--drive", "dc", "--threads", str(threads), "--json"]
    command += ["--device", device]
    return last_line(subprocess.run(command, capture_output=True, text=True, check=False, env=environment))


def large_note(found: dict[str, Any]) -> str:
    """What a run says of memory and building."""
    return (
        f"built in {found['build_seconds']:.1f} s, predicted {found['predicted_bytes'] / 2**30:.2f} GiB, "
        f"process at most {found['peak_bytes'] / 2**30:.2f} GiB"
    )


def run_ours(path: Path, threads: int, *options: str) -> dict[str, Any]:
    """One process of ours."""
    environment = os.environ | {"AMDGPU_CPU_THREADS": str(threads)}
    command = [sys.executable, str(WORKER), str(path), "--threads", str(threads), *options]
    return last_line(subprocess.run(command, capture_output=True, text=True, check=False, env=environment))


def run_brian2(python: Path, name: str, threads: int) -> dict[str, Any]:
    """One process of Brian2."""
    command = [str(python), str(PEERS), name, "--threads", str(threads)]
    return last_line(subprocess.run(command, capture_output=True, text=True, check=False))


def edit_to_first_step(name: str) -> tuple[float, float, float]:
    """Seconds from a changed text to its first step: with an empty kernel cache, with a filled one, and in a running process."""
    text = (NETWORKS / f"{name}.net").read_text()
    edited = text.replace(*EDIT) if EDIT[0] in text else text.replace("10.ms", "10.01.ms")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edited.net"
        path.write_text(edited)
        environment = os.environ | {"AMDGPU_CACHE_DIR": folder}
        command = [sys.executable, str(WORKER), str(path), "--seconds", "0.0001", "--rounds", "1"]
        times = []
        for more in ([], [], ["--before", str(NETWORKS / f"{name}.net")]):
            begin = time.perf_counter()
            done = subprocess.run([*command, *more], capture_output=True, text=True, check=False, env=environment)
            found = last_line(done)
            print(f"{name}: {time.perf_counter() - begin:.2f} s with the start of Python")
            times.append(float(found["build_seconds"]))
        return times[0], times[1], times[2]


def last_line(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The line of JSON that a run ends with."""
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, done.args[:3]))} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
