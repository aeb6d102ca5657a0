"""Memory for what a product writes and reads again before it is done: operands that are turned or padded, and sums."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from amdgpu.gpu_kernels.problem import ITEM_BYTES, NUMBERS

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

# Memory of a dtype for a place: an operand (0 and 1) or sums (2).
Make = Callable[[str, int, tuple[int, ...]], "_native.Array"]
# Places, shapes and dtypes that a device keeps memory for.
_ENTRIES_LIMIT = 16
# What is kept between products: operands and sums of 8191 cubed in float32 take 805 MB.
_BYTES_LIMIT = 1 << 30


def fresh(device: AMDGPUDevice) -> Make:
    """Memory that belongs to the launches it is given to, and goes when they do.

    The device's own stream hands memory on in its order; a graph keeps what it was recorded with, whatever its replays meet.
    """

    def make(dtype: str, _place: int, shape: tuple[int, ...]) -> _native.Array:
        return device.native.empty(shape, dtype)

    return make


class Scratch:
    """What a device keeps for products in streams: launches in a stream follow each other, so each stream uses its own again.

    That makes a loop of products, which runs ahead of the GPU, hold this memory once and not for each product.

    Attributes:
        lock: Held from the first launch of a product to the last, so that those of another thread in the same stream do not come between.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._kept: dict[tuple[int, str, int, tuple[int, ...]], _native.Array] = {}
        self._kept_bytes = 0

    def of_stream(self, device: AMDGPUDevice, stream: _native.Stream) -> Make:
        """The memory of a stream, to be used while the lock is held."""

        def make(dtype: str, place: int, shape: tuple[int, ...]) -> _native.Array:
            key = (stream.id, dtype, place, shape)
            found = self._kept.get(key)
            if found is not None:
                return found
            size_bytes = math.prod(shape) * ITEM_BYTES[NUMBERS[dtype]]
            if len(self._kept) >= _ENTRIES_LIMIT or self._kept_bytes + size_bytes > _BYTES_LIMIT:
                # Launches in streams may still use them, and what is larger than the limit waits for the product before.
                device.synchronize()
                self._kept.clear()
                self._kept_bytes = 0
            made = device.native.empty(shape, dtype)
            if size_bytes <= _BYTES_LIMIT:
                self._kept[key] = made
                self._kept_bytes += size_bytes
            return made

        return make


def scratch_of(device: AMDGPUDevice) -> Scratch:
    """What a device keeps, until it is closed."""
    return device.native.cache(Scratch)
