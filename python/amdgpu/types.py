"""Plain values that the API returns: picklable, comparable, without behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CoreType = Literal["aura", "matrix", "neuromorphic"]
OptimizationLevel = Literal["none", "low", "high", "max"]
TelemetryLevel = Literal["off", "standard", "detailed"]
TELEMETRY_LEVELS: tuple[TelemetryLevel, ...] = get_args(TelemetryLevel)

CORE_TYPES: tuple[CoreType, ...] = ("aura", "matrix", "neuromorphic")


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What a device is.

    Attributes:
        id: Position in `list_devices()`.
        name: What the vendor calls it.
        compute_units: Physical cores of a CPU, compute units of an AMD GPU, SMs of an NVIDIA GPU.
        memory_gb: Memory in units of 10^9 bytes, rounded.
        core_types: Core types that the device offers.
        device: Name to address it by, for example `cpu:0`.
        kind: hip, cuda, cpu, sim or null.
        architecture: Instruction set and core, for example `x86_64 znver4` or `gfx1100`.
        total_memory_bytes: Bytes that this process may use.
        free_memory_bytes: Bytes that were free when asked. Of a GPU that was only listed: what the sensors say (NVML, sysfs), other
            processes counted; None where they say nothing, because opening the GPU to ask would wake it.
        warp_size: Threads of a warp.
        core_counts: How many cores of each type the device has: its compute units, its matrix units (without any: its compute units), and
            the parts that step a network side by side.
        details: Everything else that is known; absent facts are missing.
    """

    id: int
    name: str
    compute_units: int
    memory_gb: int
    core_types: list[str]
    device: str = ""
    kind: str = ""
    architecture: str = ""
    total_memory_bytes: int = 0
    free_memory_bytes: int | None = None
    warp_size: int = 0
    core_counts: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_native(cls, index: int, native: Mapping[str, Any]) -> DeviceInfo:
        """Build from the dict of the native module."""
        known = dict(native)
        total = int(known.pop("total_memory_bytes"))
        compute_units = int(known.pop("compute_units", None) or known.get("physical_cores") or 1)
        logical = int(known.get("logical_cores") or compute_units)
        return cls(
            id=index,
            name=known.pop("product_name"),
            compute_units=compute_units,
            memory_gb=round(total / 1e9),
            core_types=list(CORE_TYPES),
            device=known.pop("name"),
            kind=known.pop("kind"),
            architecture=known.pop("architecture"),
            total_memory_bytes=total,
            free_memory_bytes=known.pop("free_memory_bytes", None),
            warp_size=int(known.pop("warp_size")),
            core_counts={
                "aura": compute_units,
                "matrix": known.get("matrix_units") or compute_units,
                "neuromorphic": logical,
            },
            details={key: value for key, value in known.items() if value is not None},
        )


@dataclass(frozen=True, slots=True)
class KernelResult:
    """What `AMDGPUDevice.execute` returns.

    Attributes:
        output: The array the kernel writes (its parameter without `const`); a tuple when it writes several; None when it writes none.
        execution_time: Seconds from start to end of the kernel on the device.
        memory_usage: Bytes of all array arguments.
        performance_metrics: `duration_ns`, `grid`, `block`, `work_items`, `bytes_per_second` and, when asked for, more.
    """

    output: npt.NDArray[np.generic] | Any
    execution_time: float
    memory_usage: int
    performance_metrics: dict[str, Any]
