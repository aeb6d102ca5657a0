"""`torch.compile(backend="inductor")` for rdna: the C++ kernels that Inductor writes for CPUs.

On a CPU device they work on the memory of tensors. Memory of a GPU they cannot reach: there each kernel works on copies, which is
told once; `backend="aot_eager"` runs the kernels of rdna.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

from amdgpu.torch.loading import shim

# Lines that generated programs begin with.
_IMPORT = "from amdgpu.torch.inductor import run_on_host"


def run_on_host(kernel: Callable[..., Any], *arguments: Any) -> None:
    """Runs a C++ kernel that Inductor wrote: on tensors whose memory the host can use, or on copies of them.

    Args:
        kernel: Takes tensors and numbers, and writes to tensors.
        arguments: What it takes; tensors that share memory share it in the copies.
    """
    if _host_can_use_memory():
        torch.accelerator.current_stream().synchronize()
        kernel(*arguments)
        return
    _tell_of_copies()
    copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
    kernel(*(_copied(argument, copies) if isinstance(argument, torch.Tensor) else argument for argument in arguments))
    for original, copy in copies.values():
        original.copy_(copy)


def initialize() -> None:
    """Registers the device with Inductor, which calls this before it compiles for rdna for the first time."""
    from torch._inductor.codegen import common

    classes = backend_classes()
    common.register_backend_for_device(
        "rdna", classes["Scheduling"], classes["PythonWrapperCodegen"], classes["CppWrapperCodegen"]
    )


@functools.cache
def backend_classes() -> dict[str, Any]:
    """Inductor's classes for the device, under the names by which older versions of torch look for them."""
    from torch._dynamo.device_interface import register_interface_for_device
    from torch._inductor import config as inductor_config
    from torch._inductor.codegen.common import register_device_op_overrides
    from torch._inductor.codegen.cpp import CppScheduling
    from torch._inductor.codegen.cpp_wrapper_cpu import CppWrapperCpu
    from torch._inductor.codegen.wrapper_fxir import WrapperFxCodegen

    # Inductor takes every device but "cpu" for a GPU when it changes loops after fusion, and fails with loops of C++ kernels;
    # versions without the setting do not change them.
    if hasattr(inductor_config, "loop_reindexing_after_fusion"):
        inductor_config.loop_reindexing_after_fusion = False
    _name_the_backend()
    register_device_op_overrides("rdna", _operator_overrides())
    register_interface_for_device("rdna", _device_interface())
    return {
        "Scheduling": CppScheduling,
        "PythonWrapperCodegen": _wrapper(),
        "CppWrapperCodegen": CppWrapperCpu,
        "WrapperFxCodegen": WrapperFxCodegen,
    }


def _name_the_backend() -> None:
    """Lets Inductor take its generator of C++ for what writes kernels of rdna; of a device that it does not know it thinks Triton does."""
    from torch._inductor import config, utils
    from torch._inductor.codegen import common
    from torch._inductor.virtualized import V

    named = getattr(utils, "get_current_backend", None)
    if named is None:
        return

    @functools.wraps(named)
    def get_current_backend(device_type: str | None = None) -> str:
        device_type = device_type or V.graph.get_current_device_or_throw().type
        backend: str = config.cpu_backend if device_type == "rdna" else named(device_type)
        return backend

    for module in (utils, common):
        if hasattr(module, "get_current_backend"):
            module.get_current_backend = get_current_backend


def _operator_overrides() -> Any:
    from torch._inductor.codegen.cpu_device_op_overrides import CpuDeviceOpOverrides

    return CpuDeviceOpOverrides()


def _wrapper() -> type:
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen

    class RdnaWrapper(PythonWrapperCodegen):  # type: ignore[misc]
        """Calls kernels for CPUs with tensors of rdna."""

        @staticmethod
        def create(is_subgraph: bool, *arguments: Any, **options: Any) -> Any:
            if is_subgraph:
                return PythonWrapperCodegen.create(is_subgraph, *arguments, **options)
            return RdnaWrapper()

        def write_header(self) -> None:
            super().write_header()
            self.imports.writeline(_IMPORT)

        def wrap_kernel_call(self, name: str, call_args: list[str]) -> str:
            return f"run_on_host({', '.join([name, *call_args])}){self.ending}"

        def _generate_kernel_call_helper(self, *arguments: Any, **options: Any) -> None:
            # Inductor knows how C++ kernels are called for this type only.
            super()._generate_kernel_call_helper(*arguments, **{**options, "device": torch.device("cpu")})

    return RdnaWrapper


def _device_interface() -> Any:
    from torch._dynamo.device_interface import DeviceInterface

    from amdgpu.torch import devices, streams

    class RdnaInterface(DeviceInterface):  # type: ignore[misc]
        """What compiled programs ask of the device."""

        device = devices.device
        Event = torch.Event
        Stream = torch.Stream

        class Worker:
            """What processes that compile ask; they have no device."""

            set_device = staticmethod(devices.set_device)
            current_device = staticmethod(devices.current_device)
            get_device_properties = staticmethod(devices.get_device_properties)

        current_device = staticmethod(devices.current_device)
        set_device = staticmethod(devices.set_device)
        device_count = staticmethod(devices.device_count)
        is_available = staticmethod(devices.is_available)
        stream = staticmethod(streams.stream)
        current_stream = staticmethod(streams.current_stream)
        set_stream = staticmethod(streams.set_stream)
        synchronize = staticmethod(devices.synchronize)
        get_device_properties = staticmethod(devices.get_device_properties)

        @staticmethod
        def get_raw_stream(device_idx: int) -> int:
            del device_idx
            return 0

        @staticmethod
        def exchange_device(device: int) -> int:
            before = devices.current_device()
            devices.set_device(device)
            return before

        @staticmethod
        def maybe_exchange_device(device: int) -> int:
            return RdnaInterface.exchange_device(device)

        @staticmethod
        def get_compute_capability(device: Any = None) -> str:
            return str(devices.get_device_properties(device).architecture)

        @staticmethod
        def is_bf16_supported(including_emulation: bool = False) -> bool:
            return devices.is_bf16_supported(including_emulation)

        @staticmethod
        def is_dtype_supported(dtype: torch.dtype, including_emulation: bool = False) -> bool:
            del dtype, including_emulation
            return True

        @staticmethod
        def is_triton_capable(device: Any = None) -> bool:
            del device
            return False

        @staticmethod
        def raise_if_triton_unavailable(device: Any = None) -> None:
            del device
            raise RuntimeError("Triton has no backend for rdna")

    return RdnaInterface


@functools.cache
def _host_can_use_memory() -> bool:
    from amdgpu.torch import devices

    indices = range(devices.device_count())
    return not shim().is_poisoned() and all(devices.get_device_properties(index).kind == "cpu" for index in indices)


@functools.cache
def _tell_of_copies() -> None:
    warnings.warn(
        "kernels that Inductor writes for rdna run on the CPU, on copies of the tensors; torch.compile with "
        'backend="aot_eager" runs the kernels of rdna. This is told once',
        stacklevel=3,
    )


def _copied(tensor: torch.Tensor, copies: dict[int, tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    if tensor.device.type != "rdna":
        return tensor
    storage = tensor.untyped_storage()
    key = storage.data_ptr()
    if key not in copies:
        original = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
        copies[key] = original, original.cpu()
    copy = torch.empty(0, dtype=tensor.dtype)
    return copy.set_(copies[key][1].untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
