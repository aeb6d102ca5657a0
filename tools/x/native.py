"""How each native library is built. `./x build` and the PEP 517 backend both use this and nothing else.

A `Piece` reads source folders and writes one file or folder under `python/amdgpu/_lib`. Building goes to a draft beside
the result, which is then renamed over it, so that a process which has the old library open keeps it and no reader ever
sees half a file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Runner = Callable[[Sequence[str], Mapping[str, str]], None]


@dataclass(frozen=True)
class Piece:
    """One library or folder: what it reads, what it writes, the command that makes a draft; no command means a copy."""

    name: str
    root_source: Path
    inputs: tuple[Path, ...]
    output: Path
    command: Callable[[Path], list[str]] | None
    environment: Mapping[str, str] = field(default_factory=dict)
    # What is going on while the command is silent.
    doing: str = ""

    def recipe(self) -> str:
        """The command as text, for stamps and for people."""
        return " ".join(self.command(self.output)) if self.command else f"copy {self.root_source} to {self.output}"


def zig_environment(cache: Path) -> dict[str, str]:
    """Keeps Zig's caches inside the working tree."""
    return {"ZIG_LOCAL_CACHE_DIR": str(cache / "zig-local"), "ZIG_GLOBAL_CACHE_DIR": str(cache / "zig-global")}


def zig_command(root: Path, python: str, *arguments: str) -> list[str]:
    """Zig's own build script; `python` is an interpreter that has the `ziglang` package."""
    return [python, str(root / "zig" / "compile.py"), *arguments]


def zig_piece(root: Path, python: str, cache: Path) -> Piece:
    """libagpu_matrix.so; zig/compile.py knows the modules and their CPUs."""
    output = library_folder(root) / "libagpu_matrix.so"

    def command(draft: Path) -> list[str]:
        return zig_command(root, python, "library", str(draft))

    doing = "compiling zig/src, optimised for each instruction set (baseline, AVX2, AVX-512, AMX)"
    inputs = (root / "zig",)
    return Piece("zig library", root / "zig" / "compile.py", inputs, output, command, zig_environment(cache), doing)


def nim_piece(root: Path, cache: Path, nim: str = "nim") -> Piece:
    """libagpu_neuro.so; the flags stand in nim/src/agpu_neuro.nims."""
    source = root / "nim" / "src" / "agpu_neuro.nim"

    def command(draft: Path) -> list[str]:
        return [nim, "c", "--colors:off", f"--nimcache:{cache / 'nim-library'}", f"-o:{draft}", str(source)]

    output, doing = library_folder(root) / "libagpu_neuro.so", "compiling nim/src to C, and the C to a library"
    return Piece("nim library", source, (root / "nim" / "src",), output, command, doing=doing)


def julia_piece(root: Path) -> Piece:
    """The Julia sources, copied as they are."""
    source = root / "julia" / "src"
    return Piece("julia sources", source / "AgpuKernels.jl", (source,), library_folder(root) / "julia" / "src", None)


def interface_pieces(root: Path) -> list[Piece]:
    """Headers of the C interface, what pkg-config and CMake read, and what `python -m amdgpu.torch.build` compiles, copied as they are."""
    crate, library = root / "crates" / "amdgpu-capi", library_folder(root)
    headers, packages = crate / "include" / "amdgpu", crate / "packages"
    shim = root / "integrations" / "torch" / "shim"
    return [
        Piece("c headers", headers / "runtime.h", (headers,), library / "include" / "amdgpu", None),
        Piece("pkg-config file", packages / "pkgconfig" / "amdgpu.pc", (packages,), library / "pkgconfig", None),
        Piece("cmake package", packages / "cmake" / "amdgpu-config.cmake", (packages,), library / "cmake", None),
        Piece("torch shim sources", shim / "core.h", (shim,), library / "torch" / "shim", None),
    ]


def library_folder(root: Path) -> Path:
    """Where the Python package looks for its libraries."""
    return root / "python" / "amdgpu" / "_lib"


def pieces(root: Path, python: str, cache: Path) -> list[Piece]:
    """All of them, in the order in which they are built."""
    return [zig_piece(root, python, cache), nim_piece(root, cache), julia_piece(root), *interface_pieces(root)]


def build_piece(piece: Piece, runner: Runner) -> None:
    """Builds one piece; `runner` raises when its command fails."""
    piece.output.parent.mkdir(parents=True, exist_ok=True)
    draft = piece.output.with_name(f".{os.getpid()}.{piece.output.name}")
    try:
        if piece.command is None:
            shutil.copytree(piece.root_source.parent, draft, ignore=shutil.ignore_patterns("*.cov", ".*"))
            shutil.rmtree(piece.output, ignore_errors=True)
        else:
            runner(piece.command(draft), piece.environment)
            if piece.output.is_dir():
                # A folder is not replaced by a rename; nobody keeps one open as a process keeps a library.
                shutil.rmtree(piece.output)
        os.replace(draft, piece.output)
    finally:
        _discard(draft)


def _discard(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)
    # Zig leaves an object file beside a library that it links.
    draft.with_name(draft.name + ".o").unlink(missing_ok=True)
