"""ROCm's device functions: AMD GPUs by id, and the current device of a thread by a text.

The current device is that of `amdgpu.set_device`, too. ROCm functions see the AMD GPUs of `amdgpu.list_devices()`;
`AMDGPU_ROCM_DEVICES=cpu` lets the CPU stand in for one.
"""

from __future__ import annotations

from typing import Any

from amdgpu import _native
from amdgpu.ops.linear_algebra import matmul

__all__ = [
    "device_info",
    "get_device",
    "matmul",
    "rocm_device_count",
    "rocm_get_device",
    "rocm_get_device_info",
    "rocm_is_available",
    "rocm_set_device",
    "rocm_synchronize",
    "set_device",
    "synchronize",
]


def rocm_is_available() -> bool:
    """Whether there is an AMD GPU that the package can use.

    Example:
        >>> import amdgpu.rocm
        >>> amdgpu.rocm.rocm_is_available() == (amdgpu.rocm.rocm_device_count() > 0)
        True
    """
    return _native.rocm_device_count() > 0


def rocm_device_count() -> int:
    """Number of AMD GPUs; 0 where there is none.

    Example:
        >>> import amdgpu.rocm
        >>> amdgpu.rocm.rocm_device_count() >= 0
        True
    """
    return _native.rocm_device_count()


def rocm_get_device_info(device_id: int = 0) -> dict[str, Any]:
    """Facts of an AMD GPU.

    Args:
        device_id: Number of the device, from 0.

    Returns:
        `device_id`, `name` ("AMD Instinct MI100"), `architecture` ("gfx908"), `total_memory` and `free_memory` in bytes, `compute_units`.

    Raises:
        DeviceNotFoundError: No device of that id; it is a `RuntimeError`.
        InvalidTypeError: `device_id` is no integer.

    Example:
        >>> import amdgpu.rocm
        >>> try:
        ...     amdgpu.rocm.rocm_get_device_info(1000)
        ... except RuntimeError as error:
        ...     print(error.name)
        device-not-found
    """
    return _native.rocm_get_device_info(device_id)


def rocm_set_device(device_id: int) -> None:
    """Make an AMD GPU the current device of the calling thread. It is not opened by this.

    Args:
        device_id: Number of the device, from 0.

    Raises:
        DeviceNotFoundError: No device of that id; it is a `RuntimeError`.
        InvalidTypeError: `device_id` is no integer.

    Example:
        >>> import amdgpu.rocm
        >>> if amdgpu.rocm.rocm_device_count() > 1:
        ...     amdgpu.rocm.rocm_set_device(1)
    """
    _native.rocm_set_device(device_id)


def rocm_get_device() -> int:
    """The id of the calling thread's current device: -1 where the thread chose no device, or one that is no AMD GPU.

    Example:
        >>> import amdgpu.rocm
        >>> amdgpu.rocm.set_device("cpu")
        >>> amdgpu.rocm.rocm_get_device()
        -1
    """
    return _native.rocm_get_device()


def rocm_synchronize() -> None:
    """Wait until everything is done that the AMD GPU was given which the calling thread chose; without such a choice, the first AMD GPU.

    Raises:
        DeviceNotFoundError: There is no AMD GPU; it is a `RuntimeError`.

    Example:
        >>> import amdgpu.rocm
        >>> if amdgpu.rocm.rocm_is_available():
        ...     amdgpu.rocm.rocm_synchronize()
    """
    _native.rocm_synchronize()


def set_device(device: str) -> None:
    """Make a device the current one of the calling thread.

    Args:
        device: "cpu"; "rocm" or "rocm:0" for the first AMD GPU, "rocm:1" for the second; "cuda:0"; "sim:gfx1100". "cerebras" and
            "cerebras:simulator" are known and not available.

    Raises:
        InvalidArgumentError: The text names no device; it is a `ValueError`.
        DeviceNotFoundError: The device is not available; it is a `RuntimeError`.
        InvalidTypeError: Not a text.

    Example:
        >>> import amdgpu.rocm
        >>> amdgpu.rocm.set_device("cpu")
        >>> amdgpu.rocm.get_device()
        'cpu'
    """
    _native.set_device_text(device)


def get_device() -> str:
    """The text of the calling thread's current device: "rocm:0", "cpu", "cuda:0". Without a choice it is the best one of this machine.

    Example:
        >>> import amdgpu
        >>> import amdgpu.rocm
        >>> amdgpu.set_device("cpu:0")
        >>> amdgpu.rocm.get_device()
        'cpu'
    """
    return _native.device_text()


def device_info() -> dict[str, Any]:
    """What the calling thread's current device is.

    Returns:
        Of an AMD GPU what `rocm_get_device_info` answers, and `type` "rocm". Of the CPU `type` "cpu", `name` and `cores`. Of other devices
        the keys of an AMD GPU, with the kind of device as `type` and the number among its kind as `device_id`.

    Example:
        >>> import amdgpu.rocm
        >>> amdgpu.rocm.set_device("cpu")
        >>> sorted(amdgpu.rocm.device_info())
        ['cores', 'name', 'type']
    """
    return _native.current_device_info()


def synchronize() -> None:
    """Wait until everything is done that the calling thread's current device was given. On the CPU operations are done when they return.

    Example:
        >>> import amdgpu.rocm
        >>> amdgpu.rocm.synchronize()
    """
    _native.synchronize_current_device()
