"""Measuring a product because a choice asks for it: `AMDGPU_TUNE` allows a process so many seconds."""

from __future__ import annotations

from typing import Any

from amdgpu import _native
from amdgpu.device import default_device
from amdgpu.tuning.database import database_of
from amdgpu.tuning.entries import Product, fields_of
from amdgpu.tuning.tuner import Tuner

# Of each device; they keep the budget of the process.
_tuners: dict[str, Tuner] = {}


def measure(device: str, product: tuple[Any, ...], ways: list[str], budget_seconds: float) -> tuple[Any, ...] | None:
    """Measures a product; the fields of its entry, or None when no way was right in time.

    Args:
        device: Name of the device.
        product: Fields of a `Product`.
        ways: Names of the ways to compute it.
        budget_seconds: What the process may spend.
    """
    tuner = _tuners.get(device)
    if tuner is None:
        info = default_device(device).info()
        made = Tuner(device, info.name, database_of(info.architecture), budget_seconds=budget_seconds)
        tuner = _tuners.setdefault(device, made)
    if tuner.left_seconds <= 0:
        _native.record_fallback("tuning", "the time that AMDGPU_TUNE allows is used up: estimates decide")
        return None
    entry = tuner.tune(Product(*product), ways)
    return None if entry is None else fields_of(entry)
