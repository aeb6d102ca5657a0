"""Devices: how many there are, which is current, what they are."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch

from amdgpu.torch.loading import shim


@dataclass(frozen=True)
class DeviceProperties:
    """What a device is.

    Attributes:
        name: Of the product.
        total_memory: In bytes.
        architecture: "gfx1100", "sm_90", that of the CPU.
        gcnArchName: The architecture under the name that programs for AMD GPUs ask for.
        multi_processor_count: Compute units, or cores of a CPU.
        warp_size: Work-items that a wave has.
        max_threads_per_block: Work-items that a block has at most.
        shared_memory_per_block: In bytes.
        clock_rate: In kHz; 0 where nobody knows.
        kind: "hip", "cuda" or "cpu": what is beneath rdna.
        amdgpu_name: The name that amdgpu has for the device: "hip:0".
        is_host_simulated: Whether this is the CPU, which AMDGPU_TORCH_DEVICE has asked for.
    """

    name: str
    total_memory: int
    architecture: str
    gcnArchName: str  # noqa: N815 - torch's own name
    multi_processor_count: int
    warp_size: int
    max_threads_per_block: int
    shared_memory_per_block: int
    clock_rate: int
    kind: str
    amdgpu_name: str
    is_host_simulated: bool


def device_index(device: Any = None, *, optional: bool = False) -> int:
    """The number of a device that is given as a number, a name or a `torch.device`; None is the current one.

    Args:
        device: For example `1`, "rdna:1", `torch.device("rdna", 1)`.
        optional: Give -1 for None and for a negative number, which stand for no device.

    Raises:
        ValueError: It is a device of another type.
        TypeError: It is nothing that names a device.
    """
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "rdna":
            raise ValueError(f"a device of type rdna is expected, not {device}")
        device = device.index
    if device is None:
        return -1 if optional else current_device()
    if isinstance(device, bool) or not hasattr(device, "__index__"):
        raise TypeError(f"a device is a number, a name such as 'rdna:0' or a torch.device, not {device!r}")
    return int(device.__index__())


def is_available() -> bool:
    """Whether there is a device: an AMD or NVIDIA GPU, or what AMDGPU_TORCH_DEVICE has asked for."""
    return device_count() > 0


def device_count() -> int:
    """How many devices there are."""
    return int(shim().device_count())


def current_device() -> int:
    """The number of the current device of this thread.

    Raises:
        RuntimeError: There is no device.
    """
    return int(shim().current_device())


def set_device(device: Any) -> None:
    """Makes a device the current one of this thread; a negative number changes nothing.

    Raises:
        RuntimeError: There is no such device.
    """
    index = device_index(device)
    if index >= 0:
        torch.accelerator.set_device_index(index)


class device:  # noqa: N801 - the name of torch's modules
    """A context in which a device is the current one: `with torch.rdna.device(1): ...`."""

    def __init__(self, device: Any) -> None:
        self.idx = device_index(device, optional=True)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device() if self.idx >= 0 else -1
        set_device(self.idx)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_device(self.prev_idx)


class device_of(device):  # noqa: N801 - the name of torch's modules
    """A context in which the device of a tensor is the current one; nothing for tensors that are not on rdna."""

    def __init__(self, obj: torch.Tensor) -> None:
        super().__init__(obj.get_device() if obj.device.type == "rdna" else -1)


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a device is.

    Raises:
        RuntimeError: There is no such device.
    """
    facts = shim().properties(device_index(device))
    return DeviceProperties(
        gcnArchName=facts["architecture"] if facts["kind"] == "hip" else "",
        is_host_simulated=facts["kind"] not in ("hip", "cuda"),
        **facts,
    )


def get_device_name(device: Any = None) -> str:
    """The name of the product."""
    return get_device_properties(device).name


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """The architecture as two numbers: (11, 0) of gfx1100, (9, 0) of sm_90; (0, 0) of a CPU."""
    properties = get_device_properties(device)
    if properties.kind == "cpu":
        return 0, 0
    digits = properties.architecture.removeprefix("gfx").removeprefix("sm_").split(":")[0]
    if properties.kind == "hip":
        return int(digits[:-2]), int(digits[-2], 16)
    return int(digits[:-1]), int(digits[-1])


def synchronize(device: Any = None) -> None:
    """Waits for everything that a device was given.

    Raises:
        RuntimeError: There is no such device, or what it was given has failed.
    """
    shim().synchronize(device_index(device))


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """Whether kernels of a device may read memory of another: that of the same one only; copies between devices work."""
    return get_device_properties(device).amdgpu_name == get_device_properties(peer_device).amdgpu_name


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether tensors of bfloat16 have kernels, which is so on every device."""
    del including_emulation
    return is_available()


def is_initialized() -> bool:
    """Whether the process has used a device."""
    return any(shim().is_open(index) for index in range(device_count()))


def init() -> None:
    """Opens the current device, which its first use would do by itself.

    Raises:
        RuntimeError: There is none, or this process was forked from one that has used it.
    """
    shim().open_device(current_device())


def _is_in_bad_fork() -> bool:
    return bool(shim().is_forked())


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Dtypes that `torch.autocast("rdna", dtype=...)` takes."""
    return [torch.float16, torch.bfloat16]
