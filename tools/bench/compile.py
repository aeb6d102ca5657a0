"""The compiler from source to LLVM text: megabytes a second and the share of each stage for a generated source and for the kernels of
the tests, bytes of LLVM text, milliseconds of whole programs.

The peer is clang, which reads the same generated source with the words of HIP defined away. Times are the least of five rounds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from frame import ROOT, Report
from suite import peers

PEER = "clang -fsyntax-only and -S -emit-llvm -O0 of the same text"
ROUNDS = 5
PRELUDE = """
struct index3 { unsigned x, y, z; };
extern index3 threadIdx, blockIdx, blockDim;
extern "C" float fminf(float, float);
#define __global__ extern "C"
"""
STAGES = (
    ("preprocess", "preprocessor"),
    ("parse", "parser"),
    ("check", "checker"),
    ("front end", "text to typed tree"),
    ("lower", "typed tree to IR"),
    ("passes", "passes over IR"),
    ("emit", "IR to LLVM text"),
    ("all", "text to LLVM text, passes included"),
)


def throughput(*arguments: str) -> Any:
    """What the `throughput` example of the compiler prints, as data."""
    command = [
        "cargo",
        "run",
        "--quiet",
        "--release",
        "-p",
        "amdgpu-compiler",
        "--example",
        "throughput",
        "--",
        *arguments,
    ]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(done.stdout) if done.stdout else None


def clang_seconds(source: Path, *flags: str) -> float | None:
    """The least time clang takes for a file, without starting up; `None` where there is no clang."""
    clang = next((name for name in peers.CLANGS if shutil.which(name)), None)
    if clang is None:
        return None

    def least(path: Path) -> float:
        times = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            subprocess.run([clang, "-x", "c++", "-w", "-std=c++17", *flags, "-o", "/dev/null", str(path)], check=True)
            times.append(time.perf_counter() - start)
        return min(times)

    empty = source.with_name("empty.cpp")
    empty.write_text(PRELUDE)
    return least(source) - least(empty)


def shares(report: Report, measured: Any, what: str) -> None:
    """Which part of the time each stage takes; the rest is work between them."""
    for stage, shown in STAGES:
        if stage not in {"front end", "all"}:
            report.add(f"{what}, share of: {shown}", "%", 100 * measured["ns"][stage] / measured["ns"]["all"], None)


def run(report: Report, arguments: list[str]) -> None:
    """Measures the generated source against clang, then the programs of `tests/programs`."""
    parser = argparse.ArgumentParser(prog="./x bench compile", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=4, help="size of the generated source")
    megabytes = str(parser.parse_args(arguments).megabytes)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "generated.cpp"
        throughput(megabytes, "--write", str(path))
        path.write_text(PRELUDE + path.read_text().replace("#include <hip/hip_runtime.h>\n", ""))
        syntax = clang_seconds(path, "-fsyntax-only")
        text = clang_seconds(path, "-S", "-emit-llvm", "-O0")
    measured = throughput(megabytes, "--json")
    size = measured["bytes"] / 1e6
    peer = {"front end": syntax, "all": text}
    for stage, shown in STAGES:
        other = peer.get(stage)
        rate = size / (measured["ns"][stage] / 1e9)
        report.add(shown, "MB/s", rate, size / other if other else None, higher_is_better=True)
    shares(report, measured, "generated source")
    kernels = throughput(str(ROOT / "tests" / "kernels"), "--json")
    every = f"each of {kernels['sources']} kernels"
    report.add(f"{every}, text to LLVM text", "ms", kernels["ns"]["all"] / 1e6 / kernels["sources"], None)
    report.add(f"{every}, LLVM text", "kB", kernels["llvm_bytes"] / 1e3 / kernels["sources"], None)
    shares(report, kernels, every)
    for program in sorted((ROOT / "tests" / "programs").iterdir()):
        measured = throughput(str(program), "--json") if program.name != "block_sums.cu" else None
        if measured:
            report.add(program.name, "ms", measured["ns"]["all"] / 1e6, None)
