"""What tuning databases hold, how often choices asked them, and forgetting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from amdgpu.device import default_device
from amdgpu.tuning.database import database_of

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice


class Stats(NamedTuple):
    """What the database of an architecture holds, and how often it was asked since the process began or it was cleared.

    Attributes:
        hits: Questions that a measurement answered.
        misses: Questions that none answered.
        entries: Measurements made or imported here.
        shipped: Measurements that came with the package.
    """

    hits: int
    misses: int
    entries: int
    shipped: int


def stats(device_id: AMDGPUDevice | int | str | None = None) -> Stats:
    """Hits, misses and entries of the database that a device uses; devices of one architecture share it.

    Args:
        device_id: An open device, an index in `list_devices()` or a name; None means the current device.

    Raises:
        DeviceNotFoundError: No such device.

    Example:
        >>> from amdgpu import tuning
        >>> tuning.stats("cpu:0").shipped
        0
    """
    return Stats(*database_of(default_device(device_id).info().architecture).statistics())


def clear(device_id: AMDGPUDevice | int | str | None = None) -> int:
    """Forget what was measured or imported for a device's architecture, in memory and in the file, and count from zero.

    What came with the package stays. Another process that holds the measurements may write them again.

    Args:
        device_id: An open device, an index in `list_devices()` or a name; None means the current device.

    Returns:
        How many measurements that were.

    Raises:
        DeviceNotFoundError: No such device.
        OSError: The file cannot be written; in this process the measurements are forgotten all the same.
    """
    return database_of(default_device(device_id).info().architecture).clear()
