"""Memory: what the allocator that all of amdgpu shares has given, and what it keeps."""

from __future__ import annotations

from typing import Any

import torch

from amdgpu.torch.devices import device_index


def memory_stats(device: Any = None) -> dict[str, int]:
    """Statistics of a device's allocator under the names of `torch.accelerator.memory_stats`."""
    return dict(torch.accelerator.memory_stats(device_index(device)))


def memory_allocated(device: Any = None) -> int:
    """Bytes that are in use: by tensors, and by arrays of amdgpu on the same device."""
    return int(torch.accelerator.memory_allocated(device_index(device)))


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that were in use since the start, or since `reset_peak_memory_stats`."""
    return int(torch.accelerator.max_memory_allocated(device_index(device)))


def memory_reserved(device: Any = None) -> int:
    """Bytes that were taken from the system: in use or kept."""
    return int(torch.accelerator.memory_reserved(device_index(device)))


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that were taken from the system since the start, or since `reset_peak_memory_stats`."""
    return int(torch.accelerator.max_memory_reserved(device_index(device)))


def reset_peak_memory_stats(device: Any = None) -> None:
    """Lets peaks begin again at what is there now."""
    torch.accelerator.reset_peak_memory_stats(device_index(device))


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Lets totals begin again at 0."""
    torch.accelerator.reset_accumulated_memory_stats(device_index(device))


def empty_cache() -> None:
    """Gives memory that is kept and not in use back to the system, on all devices."""
    torch.accelerator.empty_cache()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Free and total bytes of a device, other processes included."""
    free, total = torch.accelerator.get_memory_info(device_index(device))
    return int(free), int(total)


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """What is in use and what is kept, as lines of text."""
    index = device_index(device)
    stats = memory_stats(index)
    rows = [
        ("in use", "allocated_bytes.all.current", "allocated_bytes.all.peak"),
        ("asked for", "requested_bytes.all.current", "requested_bytes.all.peak"),
        ("reserved", "reserved_bytes.all.current", "reserved_bytes.all.peak"),
    ]
    lines = [f"memory of rdna:{index} in bytes", f"{'':12}{'now':>16}{'peak':>16}"]
    lines += [f"{name:12}{stats[now]:>16,}{stats[peak]:>16,}" for name, now, peak in rows]
    if not abbreviated:
        lines.append(f"{'blocks':12}{stats['allocation.all.current']:>16,}")
        lines.append(f"{'refused':12}{stats['num_ooms']:>16,}")
    return "\n".join(lines)
