"""What the programs of this folder share: their options, and what they print about the device and the time."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import amdgpu.torch  # noqa: F401 - makes the device rdna
import torch


def options_of(
    description: str | None,
    arguments: Sequence[str] | None,
    *,
    flags: Mapping[str, str] = MappingProxyType({}),
    files: Mapping[str, str] = MappingProxyType({}),
    **numbers: int,
) -> argparse.Namespace:
    """The options of a program.

    Args:
        description: What the program does; its first paragraph is printed by `--help`.
        arguments: The command line, None for that of the process.
        flags: Options without a value, with their meaning.
        files: Options that name a file, with their meaning.
        **numbers: Options that are whole numbers, with their defaults.
    """
    parser = argparse.ArgumentParser(description=(description or "").split("\n\n")[0])
    parser.add_argument("--device", default="rdna" if torch.rdna.is_available() else "cpu", help="rdna, rdna:1, cpu")
    parser.add_argument("--small", action="store_true", help="a network that a processor trains in seconds")
    parser.add_argument("--seed", type=int, default=1)
    for name, meaning in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=meaning)
    for name, meaning in files.items():
        parser.add_argument(f"--{name}", metavar="FILE", help=meaning)
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=f"{default} unless given")
    return parser.parse_args(arguments)


def introduce(model: torch.nn.Module, device: torch.device) -> None:
    """Prints the size of a network and what computes it."""
    parameters = sum(one.numel() for one in model.parameters())
    name = torch.rdna.get_device_properties(device).name if device.type == "rdna" else str(device)
    print(f"{type(model).__name__}: {parameters:,} parameters on {device} ({name}), torch {torch.__version__}")


def conclude(device: torch.device, work: str, count: int, start_s: float) -> None:
    """Prints how much was done in a second, and on rdna the memory and which operators ran on the CPU."""
    if device.type == "rdna":
        torch.rdna.synchronize()
    seconds = time.perf_counter() - start_s
    print(f"{count / seconds:,.1f} {work} per second")
    if device.type != "rdna":
        return
    print(f"peak memory {torch.rdna.max_memory_allocated() / 2**20:,.1f} MiB")
    fallbacks = ", ".join(row.operator for row in torch.rdna.fallback_report())
    print(f"operators on the CPU: {fallbacks or 'none'}")
