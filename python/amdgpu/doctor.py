"""What is installed and what is missing."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

REPORT_SCHEMA = "amdgpu.doctor/1"
# Packages that bring a command or a function of their own, and the extra that installs each.
EXTRAS = (
    ("textual", "top"),
    ("starlette", "server"),
    ("matplotlib", "plot"),
    ("onnx", "interchange"),
    ("nir", "interchange"),
)
# Files that a GPU's driver makes, which the user must be allowed to open, and what allows it.
DEVICE_FILES = (
    ("AMD GPU access", "/dev/kfd", "add yourself to its group (sudo usermod -aG render,video $USER) and log in again"),
    (
        "NVIDIA GPU access",
        "/dev/nvidiactl",
        "ask for read and write permission of /dev/nvidia*; containers need --gpus all",
    ),
)
# Less than this on the cache's disk, and compiled kernels will soon not be kept: a kernel takes some KiB, a large project some MiB.
LOW_DISK_BYTES = 64 << 20
# The names that are opened (`amdgpu-hal/src/hip.rs`); a bare `libamdhip64.so` is a link for compilers, or nothing that could be opened.
HIP_LIBRARIES = ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")
ELF_MAGIC = b"\x7fELF"
LIBRARY_FOLDERS = (
    "/opt/rocm/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/local/lib",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what was looked for, whether it is fine, what was found, what to do."""

    name: str
    is_ok: bool
    is_required: bool
    found: str
    fix: str = ""


def doctor() -> list[Finding]:
    """Check the installation without opening a GPU.

    Returns:
        One finding per part; those with `is_required` and not `is_ok` stop the package from working.

    Example:
        >>> import amdgpu
        >>> all(finding.is_ok for finding in amdgpu.doctor() if finding.is_required)
        True
    """
    import platform

    from amdgpu import _native, math

    findings = [
        Finding("python", sys.version_info >= (3, 10), True, platform.python_version(), "install Python 3.10 or newer"),
        _package("numpy", "pip install numpy", is_required=True),
        _package("llvmlite", "pip install 'llvmlite>=0.50'", is_required=True),
    ]
    for library in _native.libraries():
        findings.append(
            Finding(
                library["file"],
                library["is_ok"],
                True,
                library["path"] or library["reason"],
                "" if library["is_ok"] else "reinstall amdgpu-framework, or ./x build in a checkout",
            )
        )
    julia = math.availability()
    findings.append(
        Finding(
            "julia",
            bool(julia["found"]),
            False,
            f"{julia['version'] or 'version unknown'} ({julia['path']})" if julia["found"] else str(julia["reason"]),
            "" if julia["found"] else "install Julia 1.5 or newer and put it on PATH, or set AMDGPU_JULIA",
        )
    )
    findings.append(
        driver(
            "AMD GPU driver",
            HIP_LIBRARIES,
            "/dev/kfd",
            "install the HIP runtime (package amdgpu-lib or hip-runtime-amd)",
            "load the kernel driver (sudo modprobe amdgpu); a container needs --device=/dev/kfd --device=/dev/dri",
        )
    )
    findings.append(
        driver(
            "NVIDIA GPU driver",
            ("libcuda.so.1",),
            "/dev/nvidiactl",
            "install the NVIDIA driver",
            "load the kernel driver (sudo modprobe nvidia); a container needs --gpus all",
        )
    )
    findings += [*_device_files(), _kernel_cache(), _environment()]
    findings += [
        _package(name, f"pip install 'amdgpu-framework[{extra}]'", is_required=False) for name, extra in EXTRAS
    ]
    for device in _native.list_devices():
        findings.append(Finding(device["name"], True, False, device["product_name"]))
    return findings


def report() -> dict[str, Any]:
    """The findings as a dict with a versioned schema."""
    return {"schema": REPORT_SCHEMA, "findings": [asdict(finding) for finding in doctor()]}


def _package(name: str, fix: str, *, is_required: bool) -> Finding:
    from importlib.util import find_spec

    if find_spec(name) is None:
        return Finding(name, False, is_required, "not installed", fix)
    from importlib.metadata import version

    return Finding(name, True, is_required, version(name))


def _device_files() -> list[Finding]:
    """Whether this user may open the devices that drivers have made; none for drivers that are not there."""
    import os
    from pathlib import Path

    findings = []
    for name, file, fix in DEVICE_FILES:
        if Path(file).exists():
            may_open = os.access(file, os.R_OK | os.W_OK)
            findings.append(
                Finding(
                    name, may_open, False, f"{file} {'opens' if may_open else 'is refused'}", "" if may_open else fix
                )
            )
    return findings


def _kernel_cache() -> Finding:
    """Whether compiled kernels can be kept on disk."""
    import os
    import shutil
    from pathlib import Path

    name, chosen = "kernel cache", os.environ.get("AMDGPU_CACHE_DIR")
    if chosen == "off":
        return Finding(
            name, False, False, "switched off by AMDGPU_CACHE_DIR", "unset AMDGPU_CACHE_DIR to keep compiled kernels"
        )
    folder = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "amdgpu"
    there = next((path for path in (folder, *folder.parents) if path.exists()), Path("/"))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding(
            name, False, False, f"{folder} cannot be written", "let AMDGPU_CACHE_DIR name a folder that can be written"
        )
    free = shutil.disk_usage(there).free
    if free < LOW_DISK_BYTES:
        return Finding(
            name,
            False,
            False,
            f"{folder}: {free >> 20} MiB of disk left",
            "make room, or let AMDGPU_CACHE_DIR name another disk",
        )
    return Finding(name, True, False, str(folder))


def _environment() -> Finding:
    """Variables that nothing reads are misspelt."""
    import difflib
    import os

    from amdgpu._generated.environment import VARIABLES

    unknown = sorted(name for name in os.environ if name.startswith("AMDGPU_") and name not in VARIABLES)
    if not unknown:
        count = sum(name in os.environ for name in VARIABLES)
        return Finding("environment", True, False, f"{count} variables of amdgpu set")
    near = {name: difflib.get_close_matches(name, VARIABLES, 1) for name in unknown}
    fixes = [f"{name}: did you mean {close[0]}?" if close else f"{name}: remove it" for name, close in near.items()]
    return Finding(
        "environment", False, False, f"nothing reads {', '.join(unknown)}", "; ".join(fixes) + " (docs/environment.md)"
    )


def driver(name: str, files: tuple[str, ...], device_file: str, install: str, load: str) -> Finding:
    """A driver is its library, which is looked up by name and not opened, and the file that its kernel part makes."""
    from pathlib import Path

    library = _library(files)
    if library is None:
        return Finding(name, False, False, "not found; the CPU device is used", install)
    if not Path(device_file).exists():
        return Finding(name, False, False, f"{library}, but no {device_file}; the CPU device is used", load)
    return Finding(name, True, False, library)


def _library(files: tuple[str, ...]) -> str | None:
    """The first of these shared libraries that is there, in the usual folders or by the dynamic linker's cache."""
    from ctypes.util import find_library
    from pathlib import Path

    rocm = sorted(Path("/opt/rocm").glob("core-*/lib"), reverse=True) if Path("/opt/rocm").is_dir() else []
    for folder in (*rocm, *map(Path, LIBRARY_FOLDERS)):
        for file in files:
            if _is_library(folder / file):
                return str(folder / file)
    found = find_library(files[0].removeprefix("lib").split(".so")[0])
    return found if found in files else None


def _is_library(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(ELF_MAGIC)) == ELF_MAGIC
    except OSError:
        return False
