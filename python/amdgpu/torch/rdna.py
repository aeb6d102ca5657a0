"""The module `torch.rdna`: the names that programs know from `torch.cuda`."""

from typing import Any

from amdgpu.torch.devices import (
    DeviceProperties,
    _is_in_bad_fork,
    can_device_access_peer,
    current_device,
    device,
    device_count,
    device_of,
    get_amp_supported_dtype,
    get_device_capability,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_bf16_supported,
    is_initialized,
    set_device,
    synchronize,
)
from amdgpu.torch.exchange import as_array, as_tensor
from amdgpu.torch.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from amdgpu.torch.random import (
    default_generator,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from amdgpu.torch.reports import (
    Fallback,
    fallback_report,
    get_fallback_mode,
    native_report,
    reset_fallback_report,
    set_fallback_mode,
)
from amdgpu.torch.streams import Event, Stream, current_stream, default_stream, set_stream, stream

__all__ = [
    "DeviceProperties",
    "Event",
    "Fallback",
    "Stream",
    "_is_in_bad_fork",
    "as_array",
    "as_tensor",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_generator",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "fallback_report",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_fallback_mode",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "memory_summary",
    "native_report",
    "reset_accumulated_memory_stats",
    "reset_fallback_report",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_fallback_mode",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


def _lazy_init() -> None:
    """Torch calls this before the first tensor of the device is made, and takes the device for unused as long as it did not."""


def _inductor_backend_init() -> None:
    from amdgpu.torch import inductor

    inductor.initialize()


def __getattr__(name: str) -> Any:
    # By these names versions of torch before 2.15 look for what the function above registers.
    if name in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"):
        from amdgpu.torch import inductor

        return inductor.backend_classes()[name]
    # By this checkpoints of activations decide whether there is a generator whose state they have to keep.
    if name == "_initialized":
        return is_initialized()
    raise AttributeError(f"module 'torch.rdna' has no attribute {name!r}")
