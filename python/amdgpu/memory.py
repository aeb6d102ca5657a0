"""Raw device memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amdgpu import arguments
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from amdgpu._native import Array
    from amdgpu.device import AMDGPUDevice

KINDS = ("device", "pinned", "unified")


def allocate_memory(device_id: AMDGPUDevice | int | str | None = None, size: int = 0, *, kind: str = "device") -> Array:
    """Allocate bytes from the device's caching allocator.

    Args:
        device_id: An open device, an index in `list_devices()` or a name; None means the current device.
        size: Bytes; 0 gives an empty array.
        kind: device, pinned (host memory that the device reaches directly) or unified (one address on both sides).

    Returns:
        An array of `size` bytes (uint8). The block goes back to the allocator when the array is freed or dropped.

    Raises:
        InvalidArgumentError: A negative size or an unknown kind.
        InvalidTypeError: A size that is no integer.
        OutOfMemoryError: The device has no room.

    Example:
        >>> import amdgpu
        >>> amdgpu.allocate_memory(0, 4096).nbytes
        4096
    """
    size = arguments.integer("allocate_memory", "size", size)
    if size < 0:
        raise InvalidArgumentError(f"size is {size}; it counts bytes and cannot be negative")
    arguments.choice("allocate_memory", "kind", kind, KINDS)
    return default_device(device_id).native.empty((size,), "uint8", kind)


def warm_up(sizes: Sequence[int], device_id: AMDGPUDevice | int | str | None = None, *, kind: str = "device") -> int:
    """Reserve memory in advance.

    The allocator then has a free block for each size, so that requests of these sizes take nothing from the system.
    `AMDGPUDevice.empty_cache` gives it back.

    Args:
        sizes: Bytes of the blocks that will be alive at the same time.
        device_id: An open device, an index in `list_devices()` or a name; None means the current device.
        kind: device, pinned or unified.

    Returns:
        How many bytes more are reserved than before.

    Raises:
        InvalidArgumentError: A negative size or an unknown kind.
        InvalidTypeError: A size that is no integer.
        OutOfMemoryError: The device has no room; what was reserved until then stays in the cache.

    Example:
        >>> import amdgpu
        >>> dev = amdgpu.initialize_device("cpu:0")
        >>> reserved = amdgpu.memory.warm_up([32 << 20, 32 << 20], dev)
        >>> 0 <= reserved <= 64 << 20
        True
    """
    given = arguments.sequence("warm_up", "sizes", sizes, "numbers of bytes")
    bytes_of = [arguments.count("warm_up", f"sizes[{place}]", size) for place, size in enumerate(given)]
    arguments.choice("warm_up", "kind", kind, KINDS)
    return default_device(device_id).native.warm_up(bytes_of, kind)
