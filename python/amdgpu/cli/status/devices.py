"""`amdgpu devices`: the devices, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.cli import machine, output

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.devices/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the devices."""
    import amdgpu

    devices = amdgpu.list_devices()
    if options.json:
        output.print_json(SCHEMA, {"devices": machine.device_rows(devices)})
        return 0
    from amdgpu.cli.status.info import print_devices

    print_devices(devices)
    return 0
