"""Builds and runs the C and C++ programs of tests/c_api against the libamdgpu.so of the working tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import amdgpu

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "tests" / "c_api"
LIBRARIES = Path(amdgpu.__file__).parent / "_lib"
LIBRARY = LIBRARIES / "libamdgpu.so"
HEADERS = ROOT / "crates" / "amdgpu-capi" / "include"
# Whatever a program does, it is over by then.
TIMEOUT_S = 240


def compiler_of(source: Path) -> list[str]:
    """The C or C++ compiler of the machine, else Zig's."""
    is_cpp = source.suffix == ".cpp"
    for name in ("g++", "c++") if is_cpp else ("gcc", "cc"):
        if shutil.which(name):
            return [name]
    return clang(source)


def clang(source: Path) -> list[str]:
    """Clang as it is in Zig."""
    return [sys.executable, "-m", "ziglang", "c++" if source.suffix == ".cpp" else "cc"]


def build(source: str, folder: Path, *flags: str, compiler: Sequence[str] | None = None) -> Path:
    """Compiles a file of tests/c_api into a program that finds the library by its path."""
    program = folder / Path(source).stem
    linked = [f"-L{LIBRARIES}", "-lamdgpu", f"-Wl,-rpath,{LIBRARIES}", "-ldl", "-lpthread", "-lm"]
    _compile(source, program, *flags, compiler=compiler, linked=linked)
    return program


def build_object(source: str, folder: Path, *flags: str, compiler: Sequence[str] | None = None) -> Path:
    """Compiles a file of tests/c_api without linking it: Zig would compile a C++ library of its own for that, which takes a minute."""
    made = folder / f"{Path(source).stem}.o"
    _compile(source, made, "-c", *flags, compiler=compiler)
    return made


def _compile(
    source: str, output: Path, *flags: str, compiler: Sequence[str] | None, linked: Sequence[str] = ()
) -> None:
    path = SOURCES / source
    standard = "-std=c++20" if path.suffix == ".cpp" else "-std=c11"
    warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
    command = [*(compiler or compiler_of(path)), standard, *warnings, "-g", f"-I{HEADERS}", *flags, str(path)]
    done = subprocess.run([*command, "-o", str(output), *linked], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """That of a user without the package's own settings, and with this interpreter for LLVM."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**own, "AMDGPU_PYTHON": sys.executable, **(more or {})}


def run(
    program: Path, arguments: Sequence[str] = (), *, more: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> str:
    """What a program prints; it must end with 0."""
    done = subprocess.run(
        [*prefix, str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment(more),
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, f"{program.name} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout
