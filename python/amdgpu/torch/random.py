"""Random numbers: the generator of each device.

A seed stands for the same numbers as in `amdgpu.random`; its state is the seed and how many numbers were drawn.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch

from amdgpu.torch.devices import current_device, device_count, device_index
from amdgpu.torch.loading import shim


@functools.cache
def default_generator(index: int) -> torch.Generator:
    """The generator that functions without one use on a device."""
    generator: torch.Generator = shim().default_generator(index)
    return generator


def manual_seed(seed: int) -> None:
    """Sets the seed of the current device; nothing where there is no device."""
    if device_count():
        default_generator(current_device()).manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Sets the seed of every device."""
    for index in range(device_count()):
        default_generator(index).manual_seed(int(seed))


def seed() -> None:
    """Takes a seed for the current device that nobody can foresee."""
    if device_count():
        default_generator(current_device()).seed()


def seed_all() -> None:
    """Takes a seed that nobody can foresee, the same for every device."""
    if device_count():
        manual_seed_all(default_generator(0).seed())


def initial_seed() -> int:
    """The seed of the current device."""
    return int(default_generator(current_device()).initial_seed())


def get_rng_state(device: Any = "rdna") -> torch.Tensor:
    """Where the generator of a device stands: 16 bytes on the CPU."""
    return default_generator(device_index(device)).get_state()


def set_rng_state(new_state: torch.Tensor, device: Any = "rdna") -> None:
    """Puts the generator of a device where another one stood.

    Raises:
        RuntimeError: It is no state that `get_rng_state` gave.
    """
    default_generator(device_index(device)).set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    """Where the generators of all devices stand."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Puts the generators of all devices where they stood."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
