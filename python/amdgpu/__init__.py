"""GPU computing on AMD, NVIDIA and CPU devices: kernels, matrices, networks, telemetry, from one import.

`import amdgpu` opens no GPU library and starts no thread.
"""

from typing import TYPE_CHECKING

from amdgpu import array_methods as _array_methods
from amdgpu import dispatch, errors, math, namespace, ops, telemetry
from amdgpu import shutdown as _shutdown
from amdgpu._generated.constants import PACKAGE_VERSION as __version__
from amdgpu._native import Array, CapturedGraph, Event, Kernel, Stream
from amdgpu.array import array, empty, from_dlpack, zeros
from amdgpu.benchmark import benchmark_operation
from amdgpu.device import (
    AMDGPUDevice,
    current_stream,
    device_info,
    get_device,
    initialize_device,
    is_available,
    list_devices,
    set_device,
    synchronize,
)
from amdgpu.doctor import doctor
from amdgpu.errors import AmdgpuError
from amdgpu.kernel import PendingKernel, RawKernel
from amdgpu.memory import allocate_memory
from amdgpu.ops import matrix_multiply
from amdgpu.profile import Profile
from amdgpu.telemetry import get_telemetry
from amdgpu.telemetry import report as _report
from amdgpu.types import DeviceInfo, KernelResult

if TYPE_CHECKING:
    from amdgpu import anneal, fft, graph, interchange, linalg, random, rocm, search
    from amdgpu.files import load, save, savez, savez_compressed
    from amdgpu.layered_network import LayeredNetwork
    from amdgpu.network import Network, neural_network_forward
    from amdgpu.spiking_network import SpikingNetwork
    from amdgpu.traced_function import jit

__all__ = [
    "AMDGPUDevice",
    "AmdgpuError",
    "Array",
    "CapturedGraph",
    "DeviceInfo",
    "Event",
    "Kernel",
    "KernelResult",
    "LayeredNetwork",
    "Network",
    "PendingKernel",
    "Profile",
    "RawKernel",
    "SpikingNetwork",
    "Stream",
    "__version__",
    "allocate_memory",
    "anneal",
    "array",
    "benchmark_operation",
    "current_stream",
    "device_info",
    "dispatch",
    "doctor",
    "empty",
    "errors",
    "fft",
    "from_dlpack",
    "get_device",
    "get_telemetry",
    "graph",
    "initialize_device",
    "interchange",
    "is_available",
    "jit",
    "linalg",
    "list_devices",
    "load",
    "math",
    "matrix_multiply",
    "namespace",
    "neural_network_forward",
    "ops",
    "random",
    "rocm",
    "save",
    "savez",
    "savez_compressed",
    "search",
    "set_device",
    "synchronize",
    "telemetry",
    "zeros",
]

# What many programs do not use takes two thirds of the time of the import: it is loaded when it is named.
# Each name with its module, or "" for a module of that name.
_LATE = {
    "LayeredNetwork": "layered_network",
    "Network": "network",
    "SpikingNetwork": "spiking_network",
    "anneal": "",
    "fft": "",
    "graph": "",
    "interchange": "",
    "jit": "traced_function",
    "linalg": "",
    "load": "files",
    "neural_network_forward": "network",
    "random": "",
    "rocm": "",
    "save": "files",
    "savez": "files",
    "savez_compressed": "files",
    "search": "",
}


def __getattr__(name: str) -> object:
    if name in namespace.NAMES:
        try:
            found = namespace.find(name)
        except errors.UnsupportedDtypeError as error:
            # So that `hasattr` tells whether bfloat16 is there.
            raise AttributeError(f"amdgpu.{name}: {error}") from None
        globals()[name] = found
        return found
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"{__name__}.{_LATE[name] or name}")
    found = getattr(module, name) if _LATE[name] else module
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *namespace.NAMES})


def __array_namespace_info__() -> namespace.NamespaceInfo:  # noqa: N807 (a name of the array API standard)
    """What this namespace can do: capabilities, devices, dtypes, by the Python array API standard."""
    return namespace.NamespaceInfo()


__array_api_version__ = namespace.ARRAY_API_VERSION
_array_methods.install()


_shutdown.register()
_report.start_if_asked()
