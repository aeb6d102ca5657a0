"""Streams and events."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from amdgpu.torch.devices import device_index


def Stream(device: Any = None, priority: int = 0) -> torch.Stream:  # noqa: N802 - the name of torch's modules
    """A stream of a pool of 32 for each device.

    Args:
        device: Where; None is the current device.
        priority: Taken and not used: amdgpu has no priorities.

    Returns:
        A `torch.Stream`; `with torch.rdna.stream(it):` makes it the current one.
    """
    return torch.Stream(torch.device("rdna", device_index(device)), priority=priority)


def Event(*, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> torch.Event:  # noqa: N802
    """An event.

    Args:
        enable_timing: Whether `elapsed_time` may be asked.
        blocking: Taken and not used: waiting does not burn a processor.
        interprocess: Not there.

    Returns:
        A `torch.Event`, which `elapsed_time` of another one takes.

    Raises:
        NotImplementedError: `interprocess` is asked for.
    """
    if interprocess:
        raise NotImplementedError("events of rdna cannot be shared between processes")
    return torch.Event("rdna", enable_timing=enable_timing, blocking=blocking)


def current_stream(device: Any = None) -> torch.Stream:
    """The current stream of this thread on a device."""
    return torch.accelerator.current_stream(device_index(device))


def default_stream(device: Any = None) -> torch.Stream:
    """The default stream of a device, in which kernels run."""
    index = device_index(device)
    return torch.Stream(stream_id=0, device_index=index, device_type=current_stream(index).device_type)


def set_stream(stream: torch.Stream | None) -> None:
    """Makes a stream the current one of this thread; None changes nothing."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


def stream(stream: torch.Stream | None) -> contextlib.AbstractContextManager[Any]:
    """A context in which a stream is the current one of its device; nothing for None."""
    return contextlib.nullcontext() if stream is None else stream
