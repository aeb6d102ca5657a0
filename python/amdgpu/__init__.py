"""GPU computing on AMD, NVIDIA and CPU devices: kernels, matrices, networks, telemetry, from one import.

`import amdgpu` opens no GPU library and starts no thread.
"""

from typing import TYPE_CHECKING

from amdgpu import dispatch, errors, math, telemetry
from amdgpu import shutdown as _shutdown
from amdgpu._generated.constants import PACKAGE_VERSION as __version__
from amdgpu._native import Array, Event, Graph, Kernel, Stream
from amdgpu.array import array, empty, from_dlpack, zeros
from amdgpu.benchmark import benchmark_operation
from amdgpu.device import (
    AMDGPUDevice,
    device_info,
    get_device,
    initialize_device,
    list_devices,
    set_device,
    synchronize,
)
from amdgpu.doctor import doctor
from amdgpu.errors import AmdgpuError
from amdgpu.kernel import PendingKernel, RawKernel
from amdgpu.layered_network import LayeredNetwork
from amdgpu.memory import allocate_memory
from amdgpu.network import Network, neural_network_forward
from amdgpu.ops import matrix_multiply
from amdgpu.spiking_network import SpikingNetwork
from amdgpu.telemetry import get_telemetry
from amdgpu.telemetry import report as _report
from amdgpu.types import DeviceInfo, KernelResult

if TYPE_CHECKING:
    from amdgpu import anneal, interchange, search

__all__ = [
    "AMDGPUDevice",
    "AmdgpuError",
    "Array",
    "DeviceInfo",
    "Event",
    "Graph",
    "Kernel",
    "KernelResult",
    "LayeredNetwork",
    "Network",
    "PendingKernel",
    "RawKernel",
    "SpikingNetwork",
    "Stream",
    "__version__",
    "allocate_memory",
    "anneal",
    "array",
    "benchmark_operation",
    "device_info",
    "dispatch",
    "doctor",
    "empty",
    "errors",
    "from_dlpack",
    "get_device",
    "get_telemetry",
    "initialize_device",
    "interchange",
    "list_devices",
    "math",
    "matrix_multiply",
    "neural_network_forward",
    "search",
    "set_device",
    "synchronize",
    "telemetry",
    "zeros",
]

# Half of the time of the import, and few programs use them: loaded when they are named.
_LATE = frozenset({"anneal", "interchange", "search"})


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


_shutdown.register()
_report.start_if_asked()
