"""What the cores of a device consist of: facts of its architecture, its driver and our own cores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu._generated.dtypes import PRECISIONS

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice
    from amdgpu.types import DeviceInfo

# As many neurons as one network may have (`crates/amdgpu-neuro/src/plan/check.rs`).
_MAX_NEURONS = 1 << 30
# Large enough that what a network needs besides its neurons does not count.
_PROBE_NEURONS = 1 << 20
_PROBE = f"neuralNetwork Probe:\n  dt = 0.1.ms\n  population p(size: {_PROBE_NEURONS}, model: lif)\n"


def describe(device: AMDGPUDevice) -> dict[str, dict[str, Any]]:
    """The facts of each core type that the device was opened with; see `AMDGPUDevice.core_config`."""
    info = device.info()
    makers = {"aura": _aura, "matrix": _matrix, "neuromorphic": _neuromorphic}
    return {core_type: makers[core_type](device, info) for core_type in device.core_types}


def _aura(device: AMDGPUDevice, info: DeviceInfo) -> dict[str, Any]:
    return {
        "core_count": info.core_counts["aura"],
        "compute_units_per_core": info.details["compute_units_per_core"],
        "optimization_level": device.optimization_level,
        "telemetry_enabled": device.telemetry != "off",
    }


def _matrix(device: AMDGPUDevice, info: DeviceInfo) -> dict[str, Any]:
    return {
        "core_count": info.core_counts["matrix"],
        "simd_width": info.details["simd_lanes"],
        "tensor_units": info.details.get("matrix_units"),
        "precision_modes": list(PRECISIONS),
        "telemetry_enabled": device.telemetry != "off",
    }


def _neuromorphic(device: AMDGPUDevice, info: DeviceInfo) -> dict[str, Any]:
    return {
        "core_count": info.core_counts["neuromorphic"],
        "neuron_capacity": _neuron_capacity(device, info),
        "synapse_density": 1.0,
        "learning_modes": ["hebbian", "stdp", "reinforcement"],
        "telemetry_enabled": device.telemetry != "off",
    }


def _neuron_capacity(device: AMDGPUDevice, info: DeviceInfo) -> int:
    plan = _native.NetworkPlan.compile(_PROBE)
    estimate = json.loads(_native.network_memory(plan, device.native))
    bytes_per_neuron = estimate["total_bytes"] / _PROBE_NEURONS
    return min(int(info.total_memory_bytes / bytes_per_neuron), _MAX_NEURONS)
