"""Compiles the C++ part of the device `rdna` for the PyTorch that is installed.

The result is kept in the user's cache folder under a name that holds the versions of torch, Python and the sources, so that it is
compiled once for each of them.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MODULE = "_amdgpu_torch_shim"
OLDEST = (2, 10)
_PACKAGE = Path(__file__).resolve().parent.parent
_SOURCES = _PACKAGE / "_lib" / "torch" / "shim"
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")


@dataclass(frozen=True)
class Torch:
    """The PyTorch that a shim is compiled for.

    Attributes:
        version: As `torch.__version__` says it: `2.15.0+cpu`.
        folder: Where the package lies, with `include` and `lib` in it.
    """

    version: str
    folder: Path

    def minor(self) -> tuple[int, int]:
        """The first two numbers of the version."""
        parts = self.version.split("+")[0].split(".")
        return int(parts[0]), int("".join(filter(str.isdigit, parts[1])) or 0)

    def includes(self) -> list[Path]:
        """Folders of its headers."""
        include = self.folder / "include"
        return [include, include / "torch" / "csrc" / "api" / "include", include / "kineto"]


def installed_torch() -> Torch:
    """The PyTorch of this interpreter.

    Raises:
        ImportError: There is none, or it is older than the oldest that the shim compiles for.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"the device rdna needs PyTorch {_text(OLDEST)} or newer, which cannot be imported ({error}): pip install torch"
        ) from None
    found = Torch(str(torch.__version__), Path(torch.__file__).resolve().parent)
    if found.minor() < OLDEST:
        raise ImportError(
            f"the device rdna needs PyTorch {_text(OLDEST)} or newer; this is {found.version} in {found.folder}: "
            "pip install --upgrade torch"
        )
    return found


def shim_path(torch: Torch) -> Path:
    """Where the shim for this torch, this Python and these sources is kept, whether it is there or not."""
    digest = hashlib.sha256()
    for path in [*_source_files(), *sorted((_PACKAGE / "_lib" / "include" / "amdgpu").glob("*.h"))]:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(" ".join(_FLAGS).encode())
    name = f"{torch.version}-{sys.implementation.cache_tag}-{sysconfig.get_platform()}-{digest.hexdigest()[:16]}"
    return _cache_folder() / name / f"{MODULE}.so"


def build(*, force: bool = False, verbose: bool = False) -> Path:
    """Compiles the shim for the installed torch, unless it is there already.

    Args:
        force: Compile it again where it is there.
        verbose: Print the commands.

    Returns:
        The file, which `import amdgpu.torch` loads.

    Raises:
        ImportError: torch, its headers, or a compiler that knows C++20 are missing, or the sources do not compile.
    """
    torch = installed_torch()
    path = shim_path(torch)
    if path.exists() and not force:
        return path
    compiler = _compiler()
    _check_headers(torch)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="amdgpu-torch-") as folder:
        draft = Path(folder) / path.name
        objects = _compile(compiler, torch, Path(folder), verbose)
        _run(_link_command(compiler, torch, objects, draft), verbose)
        # Beside the result first, so that nobody reads half a file.
        staged = path.with_name(f".{os.getpid()}.{path.name}")
        shutil.copyfile(draft, staged)
        staged.replace(path)
    return path


def _text(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def _cache_folder() -> Path:
    named = os.environ.get("AMDGPU_CACHE_DIR", "")
    if named and named != "off":
        return Path(named) / "torch"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "amdgpu" / "torch"


def _source_files() -> list[Path]:
    files = sorted([*_SOURCES.glob("*.cpp"), *_SOURCES.glob("*.h")])
    if not files:
        raise ImportError(f"the sources of the device rdna are not in {_SOURCES}; in a working tree run ./x build")
    return files


def _compiler() -> list[str]:
    named = shlex.split(os.environ.get("CXX", ""))
    command = named or [next((name for name in ("g++", "c++", "clang++") if shutil.which(name)), "")]
    if not command[0] or shutil.which(command[0]) is None:
        raise ImportError(
            f"the device rdna is compiled for your torch once, and no C++ compiler was found ({command[0] or 'g++, clang++'}): "
            "install g++ 12 or newer, or set CXX"
        )
    probe = "#if __cplusplus < 202002L\n#error\n#endif\n#include <ranges>\n#include <version>\n"
    done = subprocess.run(
        [*command, "-std=c++20", "-fsyntax-only", "-x", "c++", "-"],
        input=probe,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ImportError(
            f"the C++ compiler {' '.join(command)} does not know C++20, which the headers of torch need: "
            "install g++ 12 or clang 16, or newer, or set CXX"
        )
    return command


def _check_headers(torch: Torch) -> None:
    python = Path(sysconfig.get_paths()["include"]) / "Python.h"
    for header, hint in (
        (torch.folder / "include" / "torch" / "library.h", "install torch from a wheel, which brings its headers"),
        (python, "install the headers of Python (python3-dev)"),
    ):
        if not header.exists():
            raise ImportError(f"{header} is missing, which the device rdna is compiled with: {hint}")


def _compile_command(compiler: Sequence[str], torch: Torch, source: Path, result: Path) -> list[str]:
    includes = [flag for folder in torch.includes() for flag in ("-isystem", str(folder))]
    return [
        *compiler,
        *_FLAGS,
        f"-DAMDGPU_TORCH_MODULE={MODULE}",
        f'-DAMDGPU_TORCH_VERSION="{torch.version}"',
        *includes,
        "-isystem",
        sysconfig.get_paths()["include"],
        f"-I{_PACKAGE / '_lib' / 'include'}",
        "-c",
        str(source),
        "-o",
        str(result),
    ]


def _compile(compiler: Sequence[str], torch: Torch, folder: Path, verbose: bool) -> list[Path]:
    sources = [path for path in _source_files() if path.suffix == ".cpp"]
    objects = [folder / f"{path.stem}.o" for path in sources]
    # Each compilation takes up to 1 GB of memory.
    with concurrent.futures.ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:
        commands = [
            _compile_command(compiler, torch, source, result) for source, result in zip(sources, objects, strict=True)
        ]
        list(pool.map(lambda command: _run(command, verbose), commands))
    return objects


def _link_command(compiler: Sequence[str], torch: Torch, objects: Sequence[Path], result: Path) -> list[str]:
    return [
        *compiler,
        "-shared",
        "-o",
        str(result),
        *map(str, objects),
        f"-L{torch.folder / 'lib'}",
        "-ltorch_python",
        "-ltorch_cpu",
        "-ltorch",
        "-lc10",
        f"-L{_PACKAGE / '_lib'}",
        "-lamdgpu",
        *_loaded_standard_library(),
        "-Wl,-s",
    ]


def _loaded_standard_library() -> list[str]:
    """The C++ library that torch uses in this process.

    A compiler that has only a static one would link a second copy into the shim, whose streams crash on the locales of the first.
    """
    lines = Path("/proc/self/maps").read_text().splitlines()
    found = {line.split(maxsplit=5)[5] for line in lines if "/libstdc++.so" in line}
    return sorted(found)[:1]


def _run(command: Sequence[str], verbose: bool) -> None:
    if verbose:
        print(shlex.join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if verbose and done.stderr:
        print(done.stderr, file=sys.stderr, flush=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error" in line][:5]
        raise ImportError(
            f"the device rdna does not compile: {shlex.join(command)} ended with {done.returncode}:\n"
            + ("\n".join(errors) or done.stderr[-2000:])
        )
