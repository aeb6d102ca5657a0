"""Devices and their memory: `tf_rdna.config`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from amdgpu.tensorflow.loading import plug_in

_MEMORY = ("current", "peak", "reserved", "free", "total")


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in _MEMORY]


@dataclass(frozen=True)
class Device:
    """A device of type RDNA.

    Attributes:
        name: For example "RDNA:0".
        amdgpu_name: The name that amdgpu has for it: "hip:0".
        is_host_simulated: Whether this is the CPU, which AMDGPU_TENSORFLOW_DEVICE has asked for.
    """

    name: str
    amdgpu_name: str
    is_host_simulated: bool


def list_devices() -> list[Device]:
    """The devices that there are, visible or not."""
    found: list[Device] = []
    while (name := plug_in().agpu_tensorflow_device_name(len(found))) is not None:
        text = name.decode()
        found.append(Device(f"RDNA:{len(found)}", text, text.startswith("cpu")))
    return found


def set_visible_devices(indices: Iterable[int]) -> None:
    """Says which devices of type RDNA TensorFlow sees; CPUs stay visible.

    Args:
        indices: Their numbers.

    Raises:
        ValueError: There is no device of such a number.
        RuntimeError: TensorFlow uses its devices already.
    """
    import tensorflow as tf

    devices = tf.config.list_physical_devices("RDNA")
    chosen = [devices[_checked(index, len(devices))] for index in indices]
    tf.config.set_visible_devices(chosen, "RDNA")


def get_memory_info(device: Any = 0) -> dict[str, int]:
    """Bytes that tensors of a device take.

    Args:
        device: "RDNA:0", its number or a logical or physical device of TensorFlow.

    Returns:
        `current` and `peak`: of tensors. `reserved`: taken from the system, in use or cached. `free` and `total`: of the device.

    Raises:
        ValueError: There is no such device.
        RuntimeError: The device does not answer.
    """
    memory = _Memory()
    _done(plug_in().agpu_tensorflow_memory(_index(device), ctypes.byref(memory)))
    return {name: int(getattr(memory, name)) for name in _MEMORY}


def reset_memory_stats(device: Any = 0) -> None:
    """Lets the peak of a device begin again at what is there now.

    Raises:
        ValueError: There is no such device.
        RuntimeError: The device does not answer.
    """
    _done(plug_in().agpu_tensorflow_reset_memory_peaks(_index(device)))


def _index(device: Any) -> int:
    text = str(getattr(device, "name", device))
    if isinstance(device, int):
        return _checked(device, len(list_devices()))
    kind, _, number = text.upper().rpartition("RDNA:")
    if not number.isdigit() or (kind and kind[-1] not in ":/"):
        raise ValueError(f"device is {device!r}; a device of type RDNA is expected, for example 'RDNA:0'")
    return _checked(int(number), len(list_devices()))


def _checked(index: int, count: int) -> int:
    if 0 <= index < count:
        return index
    there = f"there are RDNA:0 to RDNA:{count - 1}" if count else "there is none: amdgpu finds no GPU here"
    raise ValueError(f"RDNA:{index} does not exist; {there}")


def _done(status: int) -> None:
    if status:
        raise RuntimeError(plug_in().agpu_tensorflow_last_error().decode())
