"""What is installed and what is missing."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Any

REPORT_SCHEMA = "amdgpu.doctor/1"
HIP_LIBRARIES = ("libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5")


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
        _driver("AMD GPU driver", HIP_LIBRARIES, "install the HIP runtime (package amdgpu-lib or hip-runtime-amd)")
    )
    findings.append(_driver("NVIDIA GPU driver", ("libcuda.so.1",), "install the NVIDIA driver"))
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


def _driver(name: str, files: tuple[str, ...], fix: str) -> Finding:
    """Looks a driver up by file name; nothing is opened."""
    from ctypes.util import find_library
    from pathlib import Path

    folders = (
        "/opt/rocm/lib",
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib64",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/local/lib",
    )
    for file in files:
        for folder in folders:
            if (Path(folder) / file).exists():
                return Finding(name, True, False, str(Path(folder) / file))
    stem = files[0].removeprefix("lib").split(".so")[0]
    found = find_library(stem)
    if found:
        return Finding(name, True, False, found)
    return Finding(name, False, False, "not found; the CPU device is used", fix)
