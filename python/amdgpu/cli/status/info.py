"""`amdgpu info`: devices, cores, memory, libraries."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.info/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print what this machine offers."""
    import amdgpu

    devices = amdgpu.list_devices()
    libraries = list_libraries()
    if options.json:
        content = {"version": amdgpu.__version__, "devices": [asdict(d) for d in devices], "libraries": libraries}
        output.print_json(SCHEMA, content)
        return 0
    print_devices(devices)
    output.print_table(
        "Libraries",
        [("language", "left"), ("library", "left"), ("version", "left"), ("state", "left")],
        [[lib["language"], lib["name"], lib["version"] or "-", lib["state"]] for lib in libraries],
    )
    return 0


def print_devices(devices: list[Any]) -> None:
    """Print the device table."""
    output.print_table(
        "Devices",
        [
            ("id", "right"),
            ("device", "left"),
            ("name", "left"),
            ("architecture", "left"),
            ("aura", "right"),
            ("matrix", "right"),
            ("neuromorphic", "right"),
            ("memory", "right"),
            ("free", "right"),
        ],
        [
            [
                str(device.id),
                device.device,
                device.name,
                device.architecture,
                *(str(device.core_counts[core]) for core in ("aura", "matrix", "neuromorphic")),
                output.bytes_text(device.total_memory_bytes),
                "not known" if device.free_memory_bytes is None else output.bytes_text(device.free_memory_bytes),
            ]
            for device in devices
        ],
    )


def list_libraries() -> list[dict[str, Any]]:
    """The native libraries and runtimes: language, name, version, state."""
    import amdgpu
    from amdgpu import _native

    rows: list[dict[str, Any]] = [
        {"language": "rust", "name": "amdgpu._native", "version": amdgpu.__version__, "is_ok": True, "state": "loaded"}
    ]
    for library in _native.libraries():
        rows.append(
            {
                "language": library["language"],
                "name": library["file"],
                "version": library["version"],
                "is_ok": library["is_ok"],
                "state": "loaded" if library["is_ok"] else library["reason"],
            }
        )
    julia = amdgpu.math.availability()
    rows.append(
        {
            "language": "julia",
            "name": "libjulia",
            "version": julia["version"],
            "is_ok": julia["found"],
            "state": "found" if julia["found"] else julia["reason"],
        }
    )
    return rows
