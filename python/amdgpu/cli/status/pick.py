"""`amdgpu pick`: the device that is free, as a line for the shell: `eval $(amdgpu pick)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from amdgpu.cli import machine, output
from amdgpu.cli.failure import UsageError
from amdgpu.errors import DeviceNotFoundError

if TYPE_CHECKING:
    import argparse

    from amdgpu.types import DeviceInfo

SCHEMA = "amdgpu.pick/1"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
# A choice: cards slow themselves down somewhere between 83 and 110 °C, each at its own sensor; at this another one is the better pick.
HOT_CELSIUS = 95.0
# A choice: what a desktop takes of an otherwise idle card stays below it.
BUSY_RATIO = 0.1


@dataclass(frozen=True)
class Candidate:
    """A device, and what speaks for and against it. None is not known."""

    device: str
    name: str
    free_memory_bytes: int | None
    total_memory_bytes: int
    busy_ratio: float | None
    temperature_celsius: float | None
    reasons: tuple[str, ...]

    @property
    def order(self) -> tuple[bool, bool, float, float]:
        """Smaller is better: cool before hot, idle before busy, then the share of memory in use (all if unknown), then how busy."""
        is_hot = self.temperature_celsius is not None and self.temperature_celsius >= HOT_CELSIUS
        is_busy = self.busy_ratio is not None and self.busy_ratio > BUSY_RATIO
        used = 1 - (self.free_memory_bytes or 0) / max(self.total_memory_bytes, 1)
        return is_hot, is_busy, used, self.busy_ratio or 0.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--memory", metavar="SIZE", help="only devices with so much free memory, for example 8G")
    parser.add_argument("--kind", choices=("hip", "cuda", "cpu"), help="only devices of this kind; default: GPUs first")
    parser.add_argument("--count", type=int, default=1, metavar="N", help="how many devices (default 1)")
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the proposal; exit code 1 when no device fits."""
    import amdgpu

    if options.count < 1:
        raise UsageError(f"--count must be at least 1, got {options.count}")
    wanted = bytes_of(options.memory) if options.memory else 0
    # Loads are differences between two looks; the first one is taken for the second to have something to compare with.
    machine.readings()
    devices = [d for d in amdgpu.list_devices() if options.kind in (None, d.kind)]
    ranked = rank(devices, machine.readings(), wanted)
    if len(ranked) < options.count:
        raise DeviceNotFoundError(_why_none(devices, wanted, options, len(ranked)))
    chosen = ranked[: options.count]
    setting = f"AMDGPU_DEVICES={','.join(candidate.device for candidate in chosen)}"
    if options.json:
        content = {
            "setting": setting,
            "chosen": [asdict(c) for c in chosen],
            "others": [asdict(c) for c in ranked[options.count :]],
        }
        output.print_json(SCHEMA, content)
    else:
        output.say(setting)
    return 0


def rank(devices: Sequence[DeviceInfo], readings: Sequence[machine.Reading], wanted_bytes: int) -> list[Candidate]:
    """The devices with enough free memory, the best first. GPUs come before the CPU, which is there when none of them fits."""
    known = [(device.kind == "cpu", candidate(device, readings)) for device in devices]
    fitting = [(is_cpu, found) for is_cpu, found in known if (found.free_memory_bytes or 0) >= wanted_bytes]
    # Sorting keeps the order of devices that are alike.
    return [found for _, found in sorted(fitting, key=lambda entry: (entry[0], entry[1].order))]


def candidate(device: DeviceInfo, readings: Sequence[machine.Reading]) -> Candidate:
    """What is known about a device."""
    used, total = machine.memory(readings, device.device, device.free_memory_bytes, device.total_memory_bytes)
    busy, no_busy = machine.find(readings, "amdgpu_busy_ratio", device.device)
    heat, no_heat = machine.hottest(readings, device.device)
    reasons = [f"busy: {no_busy}"] if busy is None else []
    reasons += [f"temperature: {no_heat}"] if heat is None else []
    reasons += ["free memory: no sensor tells it, and asking the driver would wake the device"] if used is None else []
    return Candidate(
        device=device.device,
        name=device.name,
        free_memory_bytes=None if used is None else max(total - used, 0),
        total_memory_bytes=total,
        busy_ratio=busy,
        temperature_celsius=heat,
        reasons=tuple(reasons),
    )


def bytes_of(text: str) -> int:
    """The number of bytes that a text such as 512M or 8G stands for."""
    number = text.strip().upper().removesuffix("B").removesuffix("I")
    unit = number[-1:] if number[-1:] in UNITS else ""
    try:
        count = float(number.removesuffix(unit))
    except ValueError:
        count = -1.0
    if not 0 <= count < 1e18:
        raise UsageError(f"--memory must be a number of bytes such as 512M or 8G, got {text!r}")
    return int(count * UNITS[unit])


def _why_none(devices: list[DeviceInfo], wanted: int, options: argparse.Namespace, found: int) -> str:
    kind = f" of kind {options.kind}" if options.kind else ""
    if not devices:
        return f"there is no device{kind} here"
    best = max(device.free_memory_bytes or 0 for device in devices)
    need = f" with {output.bytes_text(wanted)} of free memory" if wanted else ""
    most = f"the most free memory of one is {output.bytes_text(best)}"
    return f"{options.count} devices{kind}{need} are asked for and {found} are there; {most}"
