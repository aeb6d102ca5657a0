"""The one place that knows how the Zig sources become a library: which objects there are and for which CPU each is compiled.

    python zig/compile.py library OUTPUT [--machine x86_64|aarch64]
    python zig/compile.py test [--fast|--safe] [arguments for zig test]

`python` is an interpreter that has the `ziglang` package. One library serves every CPU of an architecture: the routines of
each instruction set are an object file of their own, and the baseline code chooses among them by CPUID. Objects are compiled
side by side, a process for each processor, and kept in Zig's local cache under a hash of what they are made of: one whose
sources did not change is not compiled again.

Tests are compiled with safety checks, and so are the routines that run on every CPU; those of other instruction sets, which are the
same sources with wider vectors, are the library's own, so that the tests try what users get. What has checks is compiled without
optimisation, in a quarter of the time. `--safe` optimises it and compiles the routines of all instruction sets with checks, `--fast`
optimises everything and checks nothing.
A `build.zig` would say the same, but compiling Zig's build runner takes more than a minute in a fresh clone.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "src"
ZIG = (sys.executable, "-m", "ziglang")

# Object -> the source of its routines and its CPU, per architecture (x86-64 psABI micro-architecture levels), those that take longest
# first. Without `prefer_256_bit`, which x86_64_v4 sets, a store of 64 bytes is one instruction instead of three.
GEMM, TENSORS, AMX = "gemm/gemm_routines.zig", "tensor/tensor_routines.zig", "gemm/kernel_amx.zig"
RANDOM = "random/random_routines.zig"
SORTS = "reduce/sort_routines.zig"
COMPLEX = "complex/complex_routines.zig"
ATTENTION = "attention/attention_routines.zig"
ROUTINES = {
    "x86_64": {
        "tensor_avx512": (TENSORS, "x86_64_v4-prefer_256_bit"),
        "tensor_avx2": (TENSORS, "x86_64_v3"),
        "tensor_generic": (TENSORS, "x86_64"),
        "complex_avx512": (COMPLEX, "x86_64_v4-prefer_256_bit"),
        "complex_avx2": (COMPLEX, "x86_64_v3"),
        "complex_generic": (COMPLEX, "x86_64"),
        "gemm_avx512": (GEMM, "x86_64_v4"),
        "gemm_avx2": (GEMM, "x86_64_v3"),
        "gemm_generic": (GEMM, "x86_64"),
        "random_avx512": (RANDOM, "x86_64_v4-prefer_256_bit"),
        "random_avx2": (RANDOM, "x86_64_v3"),
        "random_generic": (RANDOM, "x86_64"),
        "gemm_avx512_dot": (GEMM, "x86_64_v4+avx512vnni+avx512bf16-prefer_256_bit"),
        "attention_avx512": (ATTENTION, "x86_64_v4-prefer_256_bit"),
        "attention_avx2": (ATTENTION, "x86_64_v3"),
        "attention_generic": (ATTENTION, "x86_64"),
        "sort_avx512": (SORTS, "x86_64_v4-prefer_256_bit"),
        "gemm_amx": (AMX, "x86_64_v4+avx512vnni+avx512bf16+amx_tile+amx_bf16+amx_int8-prefer_256_bit"),
    },
    "aarch64": {
        "tensor_generic": (TENSORS, "baseline"),
        "complex_generic": (COMPLEX, "baseline"),
        "gemm_generic": (GEMM, "baseline"),
        "random_generic": (RANDOM, "baseline"),
        "attention_generic": (ATTENTION, "baseline"),
    },
}
BASELINE = {"x86_64": "x86_64", "aarch64": "baseline"}
# The code that chooses among the routines, as an object of the library.
DRIVERS = "drivers"
# The program of all tests.
TESTS = "tests"
# Safety checks in tests and in what runs on every CPU alone.
MIXED = "mixed"
# Objects of this many builds are kept, so that going back and forth between two branches compiles nothing.
KEPT_BUILDS = 4

IMPORT = re.compile(r'@import\("([^"]+\.zig)"\)')
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Build:
    """What all objects of one library or test program have in common."""

    machine: str
    optimize: str

    def settings(self, cpu: str) -> list[str]:
        """Of one module; they count for the `-M` that follows them."""
        # Error traces are a parameter of functions that objects without them do not pass.
        more = {"fast": ["-fstrip"], "debug": ["-fno-error-tracing"]}.get(self.optimize, [])
        return ["-target", f"{self.machine}-linux", "-O", self.optimize, "-fPIC", *more, f"-mcpu={cpu}"]

    def of(self, name: str) -> Build:
        """How an object is compiled: in tests, safety checks are for what runs on every CPU."""
        is_wide = name != DRIVERS and ROUTINES[self.machine][name][1] != BASELINE[self.machine]
        return Build(self.machine, "fast") if self.optimize == MIXED and is_wide else Build(self.machine, self.mode)

    @property
    def mode(self) -> str:
        """Zig's name of what is compiled for every CPU."""
        return "debug" if self.optimize == MIXED else self.optimize

    @property
    def backend(self) -> list[str]:
        """LLVM makes all code: Zig's own backend calls functions in another way."""
        return ["-fllvm"] if self.mode == "debug" else []

    def modules(self, name: str) -> list[str]:
        """Arguments that define the root module of an object and those under it."""
        baseline = self.settings(BASELINE[self.machine])
        generic = [*baseline, f"-Mgeneric={SOURCES / 'generic.zig'}"]
        if name == DRIVERS:
            return ["--dep", "generic", *baseline, f"-Mroot={SOURCES / 'main.zig'}", *generic]
        source, cpu = ROUTINES[self.machine][name]
        root = ["--dep", "routines", *baseline, f"-Mroot={SOURCES / 'routines_object.zig'}"]
        return [*root, "--dep", "generic", *self.settings(cpu), f"-Mroutines={SOURCES / source}", *generic]

    def key(self, name: str) -> str:
        """A hash of all that the object is made of, without the text of comments."""
        modules = self.modules(name)
        facts = " ".join([importlib.metadata.version("ziglang"), *modules]).replace(str(SOURCES), "")
        state = hashlib.blake2b(facts.encode(), digest_size=16)
        roots = [Path(argument.partition("=")[2]) for argument in modules if argument.startswith("-M")]
        for path in imported(roots):
            # Line numbers stay right in debug information.
            text = COMMENT.sub("" if self.optimize == "fast" else "\n", path.read_text())
            state.update(f"\0{path.relative_to(SOURCES)}\0{text}".encode())
        return state.hexdigest()


def imported(roots: Sequence[Path]) -> list[Path]:
    """The sources under these roots: themselves and whatever they import by path."""
    found: set[Path] = set()
    waiting = list(roots)
    while waiting:
        path = waiting.pop().resolve()
        if path not in found:
            found.add(path)
            waiting += [path.parent / name for name in IMPORT.findall(path.read_text())]
    return sorted(found)


def cache_folder() -> Path:
    """Where objects are kept."""
    return Path(os.environ.get("ZIG_LOCAL_CACHE_DIR") or ".zig-cache") / "objects"


def compile_object(build: Build, name: str) -> Path:
    """The object file, compiled unless it is there."""
    path = cache_folder() / f"{name}-{build.key(name)}.o"
    if path.exists():
        os.utime(path)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{os.getpid()}-{path.name}")
    started = time.monotonic()
    command = [*ZIG, "build-obj", *build.backend, "--name", name, f"-femit-bin={draft}", *build.modules(name)]
    try:
        subprocess.run(command, check=True)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    print(f"compiled {name} in {time.monotonic() - started:.0f} s", flush=True)
    forget_old(path.parent, f"{name}-*.o")
    return path


def compile_objects(build: Build, names: Sequence[str]) -> list[Path]:
    """All of them, a process for each processor that this one may use."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(lambda name: compile_object(build.of(name), name), names))


def build_library(output: Path, machine: str) -> int:
    """libagpu_matrix.so, optimised and stripped, at `output`."""
    build = Build(machine, "fast")
    objects = compile_objects(build, [DRIVERS, *ROUTINES[machine]])
    command = [
        *(*ZIG, "build-lib", "-dynamic", "--name", "agpu_matrix", "-fsoname=libagpu_matrix.so", f"-femit-bin={output}"),
        *("-target", f"{machine}-linux", "-O", "fast", "-fstrip", f"-mcpu={BASELINE[machine]}", *map(str, objects)),
    ]
    return subprocess.run(command, check=False).returncode


def run_tests(passed_on: list[str], *, optimize: str) -> int:
    """Compiles and runs every test."""
    build = Build(platform.machine(), optimize)
    if passed_on:
        objects = compile_objects(build, list(ROUTINES[build.machine]))
        drivers = build.of(DRIVERS)
        command = [*ZIG, "test", *drivers.backend, *map(str, objects), *drivers.modules(DRIVERS), *passed_on]
        return subprocess.run(command, check=False).returncode
    return subprocess.run([test_program(build)], check=False).returncode


def test_program(build: Build) -> Path:
    """The program of all tests, linked unless it is there."""
    names = [DRIVERS, *ROUTINES[build.machine]]
    keys = [build.of(name).key(name) for name in names]
    key = hashlib.blake2b("".join(keys).encode(), digest_size=16).hexdigest()
    folder = cache_folder()
    path = folder / f"{TESTS}-{key}"
    if path.exists():
        os.utime(path)
        return path
    objects = compile_objects(build, names[1:])
    draft = folder / f"{os.getpid()}-{path.name}"
    drivers = build.of(DRIVERS)
    command = [*ZIG, "test", "--test-no-exec", *drivers.backend, f"-femit-bin={draft}", *map(str, objects)]
    command += drivers.modules(DRIVERS)
    subprocess.run(command, check=True)
    draft.replace(path)
    forget_old(folder, f"{TESTS}-*")
    return path


def forget_old(folder: Path, pattern: str) -> None:
    """Deletes what was made for builds of long ago."""
    for old in sorted(folder.glob(pattern), key=lambda other: other.stat().st_mtime)[:-KEPT_BUILDS]:
        old.unlink(missing_ok=True)


def main(arguments: list[str]) -> int:
    """The command line; returns the exit status."""
    try:
        match arguments:
            case ["library", output]:
                return build_library(Path(output), platform.machine())
            case ["library", output, "--machine", machine]:
                return build_library(Path(output), machine)
            case ["test", "--fast" | "--safe" as mode, *passed_on]:
                return run_tests(passed_on, optimize=mode.removeprefix("--"))
            case ["test", *passed_on]:
                return run_tests(passed_on, optimize=MIXED)
    except subprocess.CalledProcessError as error:
        # Zig has said what is wrong.
        return error.returncode
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
