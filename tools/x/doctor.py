"""`./x doctor`: wanted versus found for every toolchain and library, and the fix for each gap. Changes nothing."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass

from x import rust, system
from x.console import Console
from x.failure import Failure
from x.paths import EXTENSION, LIBRARIES, REQUIREMENTS, ROOT, VENV_PYTHON, shown
from x.process import capture
from x.virtual_environment import pinned_versions

SCHEMA = "amdgpu.doctor.tools/1"
# A build from nothing takes about this much: cargo's release and test trees, the virtual environment, Zig's cache.
WANTED_DISK_GIB = 6.0
NIM_MINIMUM = (1, 6)
JULIA_MINIMUM = (1, 5)
NODE_MINIMUM = (18,)


@dataclass(frozen=True)
class Finding:
    """One row. `optional` ones are gaps that cost a feature, not the build."""

    name: str
    wanted: str
    found: str
    good: bool
    fix: str = ""
    optional: bool = False

    def verdict(self) -> str:
        """`ok`, `optional` or `missing`."""
        return "ok" if self.good else "optional" if self.optional else "missing"


def _python() -> Finding:
    return Finding(
        "python", ">= 3.10", platform.python_version(), sys.version_info >= (3, 10), "apt-get install python3"
    )


def _cargo() -> Finding:
    cargo = rust.find_program("cargo")
    found = (capture([cargo, "--version"]) if cargo else None) or "not found"
    least = rust.minimum_version()
    good = rust.version_numbers(found) >= least
    return Finding("cargo", f">= {'.'.join(map(str, least))}", found, good, rust.RUSTUP_INSTALL)


def _rustc() -> Finding:
    channel = rust.wanted_channel()
    rustc = rust.find_program("rustc")
    found = (capture([rustc, "--version"]) if rustc else None) or "not found"
    good = rust.version_numbers(found) >= rust.minimum_version()
    return Finding("rust", channel, found, good, f"rustup toolchain install {channel} -c rustfmt -c clippy")


def _cc() -> Finding:
    compiler = shutil.which("cc") or shutil.which("gcc")
    found = (capture([compiler, "--version"]) or "does not start").splitlines()[0] if compiler else "not found"
    return Finding("C compiler", "cc or gcc", found, compiler is not None, system.by_hand(["gcc", "libc6-dev"]))


def _nim() -> Finding:
    found = (capture(["nim", "--version"]) or "not found").splitlines()[0]
    good = rust.version_numbers(found) >= NIM_MINIMUM
    return Finding("nim", ">= 1.6", found, good, system.by_hand(["nim"]))


def _julia() -> Finding:
    if system.julia_setting() == "off":
        return Finding(
            "julia", ">= 1.5", "switched off by AMDGPU_JULIA=off", False, "unset AMDGPU_JULIA", optional=True
        )
    executable = system.julia_executable()
    found = (capture([executable, "--version"]) if executable else None) or "not found"
    good = rust.version_numbers(found) >= JULIA_MINIMUM
    return Finding("julia", ">= 1.5", found, good, "./x setup, or install it from julialang.org", optional=True)


def _libjulia() -> Finding:
    executable = system.julia_executable()
    question = 'using Libdl; print(first(filter(path -> occursin("libjulia", basename(path)), Libdl.dllist())))'
    found = (capture([executable, "--startup-file=no", "-e", question]) if executable else None) or "not found"
    return Finding(
        "libjulia", "beside julia", found, found != "not found", "./x setup (package libjulia1)", optional=True
    )


def _node() -> Finding:
    found = capture(["node", "--version"]) or "not found"
    good = rust.version_numbers(found) >= NODE_MINIMUM
    return Finding("node", ">= 18, for js/", found, good, "install it from nodejs.org", optional=True)


def _virtual_environment() -> Finding:
    found = capture([str(VENV_PYTHON), "--version"]) or "not made"
    return Finding(shown(VENV_PYTHON), ">= 3.10", found, found != "not made", "./x setup")


def _packages() -> list[Finding]:
    question = (
        "import importlib.metadata as m, json, sys\n"
        "found = {}\n"
        "for name in sys.argv[1:]:\n"
        "    try: found[name] = m.version(name)\n"
        "    except m.PackageNotFoundError: pass\n"
        "print(json.dumps(found))"
    )
    pins = pinned_versions(REQUIREMENTS.read_text())
    answer = capture([str(VENV_PYTHON), "-c", question, *pins])
    found: dict[str, str] = json.loads(answer) if answer else {}
    return [
        Finding(name, version, found.get(name, "not installed"), found.get(name) == version, "./x setup")
        for name, version in sorted(pins.items())
    ]


def _llvm() -> Finding:
    question = "import llvmlite.binding as b; print('.'.join(map(str, b.llvm_version_info)))"
    found = capture([str(VENV_PYTHON), "-c", question]) or "not found"
    return Finding("LLVM (in llvmlite)", ">= 20", found, rust.version_numbers(found) >= (20,), "./x setup")


def _shared_library(title: str, names: tuple[str, ...], why: str, fix: str) -> Finding:
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return Finding(title, why, name, True, optional=True)
    return Finding(title, why, "not found", False, fix, optional=True)


def _built() -> list[Finding]:
    names = {
        "libagpu_matrix.so": "libagpu_matrix.so",
        "libagpu_neuro.so": "libagpu_neuro.so",
        "libamdgpu.so": "libamdgpu.so",
        "julia sources": "julia",
    }
    findings = [_built_file(title, (LIBRARIES / name).exists()) for title, name in names.items()]
    return [*findings, _built_file("amdgpu._native", EXTENSION.exists())]


def _built_file(name: str, exists: bool) -> Finding:
    return Finding(name, "built", "built" if exists else "not built yet", exists, "./x build", optional=True)


def _disk() -> Finding:
    free_gib = shutil.disk_usage(ROOT).free / 2**30
    return Finding(
        "free disk", f">= {WANTED_DISK_GIB:.0f} GiB", f"{free_gib:.1f} GiB", free_gib >= WANTED_DISK_GIB, "./x clean"
    )


def _rights() -> Finding:
    if shutil.which("apt-get") is None:
        return Finding(
            "apt rights", "root or sudo", "no apt-get here", False, "install packages by hand", optional=True
        )
    prefix = system.root_prefix()
    found = "neither root nor passwordless sudo" if prefix is None else "sudo" if prefix else "root"
    return Finding(
        "apt rights", "root or sudo", found, prefix is not None, system.by_hand(["nim", "gcc"]), optional=True
    )


def findings() -> list[Finding]:
    """Every row, toolchains first."""
    singles: list[Callable[[], Finding]] = [
        _python,
        _rustc,
        _cargo,
        _cc,
        _nim,
        _julia,
        _libjulia,
        _node,
        _virtual_environment,
        _llvm,
    ]
    rows = [_guarded(one) for one in singles]
    rows += _packages()
    rows += _built()
    hip = "nothing to do without an AMD GPU; with one, install ROCm's HIP runtime"
    cuda = "nothing to do without an NVIDIA GPU; with one, install its driver"
    rows.append(
        _shared_library(
            "libamdhip64", tuple(f"libamdhip64.so{end}" for end in ("", ".7", ".6", ".5")), "for hip:N", hip
        )
    )
    rows.append(_shared_library("libcuda", ("libcuda.so.1",), "for cuda:N", cuda))
    rows.append(_shared_library("libnvidia-ml", ("libnvidia-ml.so.1",), "NVIDIA telemetry", cuda))
    return [*rows, _disk(), _rights()]


def _guarded(one: Callable[[], Finding]) -> Finding:
    try:
        return one()
    except Failure as failure:
        return Finding(one.__name__.strip("_"), "", failure.sentence, False, failure.fix)


def run(console: Console, *, as_json: bool) -> int:
    """Prints the report; the exit code is 1 when something is missing that the build needs."""
    rows = findings()
    bad = [row for row in rows if not row.good and not row.optional]
    if as_json:
        document = {"schema": SCHEMA, "findings": [{**asdict(row), "verdict": row.verdict()} for row in rows]}
        console.line(json.dumps(document, indent=1))
        return 1 if bad else 0
    console.table(
        ("what", "wanted", "found", "verdict"), [(row.name, row.wanted, row.found[:60], row.verdict()) for row in rows]
    )
    gaps = [row for row in rows if not row.good]
    if gaps:
        console.line()
        console.line("gaps:", "bold")
        for row in gaps:
            console.line(f"  {row.name}: {row.fix}")
    console.line()
    environment = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith("AMDGPU_")]
    if environment:
        console.line("set here: " + ", ".join(environment))
    console.line(
        "everything that the build needs is here" if not bad else f"{len(bad)} things that the build needs are missing"
    )
    return 1 if bad else 0
