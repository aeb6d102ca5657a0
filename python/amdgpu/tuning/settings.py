"""`AMDGPU_TUNE` and `AMDGPU_MATMUL`."""

from __future__ import annotations

import math
import os

from amdgpu.errors import InvalidArgumentError

# What a process may spend on tuning when the variable is "on".
DEFAULT_BUDGET_SECONDS = 60.0
# A day: more is a mistake in the unit.
MAX_BUDGET_SECONDS = 86_400.0

WAYS = ("auto", "ours", "vendor")


def budget_seconds() -> float:
    """Seconds that this process may spend on tuning shapes as they come; 0 without tuning.

    Raises:
        InvalidArgumentError: `AMDGPU_TUNE` is neither off, on, nor a number of seconds.
    """
    text = os.environ.get("AMDGPU_TUNE", "").strip()
    if text in ("", "off"):
        return 0.0
    if text == "on":
        return DEFAULT_BUDGET_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= MAX_BUDGET_SECONDS:
        raise InvalidArgumentError(
            f"AMDGPU_TUNE is {text!r}; it may be off, on (at most {DEFAULT_BUDGET_SECONDS:.0f} seconds of a process),"
            f" or a number of seconds up to {MAX_BUDGET_SECONDS:.0f}"
        )
    return seconds


def product_way() -> str:
    """Whose kernels compute products on GPUs: auto, ours or vendor.

    Raises:
        InvalidArgumentError: `AMDGPU_MATMUL` is none of them.
    """
    text = os.environ.get("AMDGPU_MATMUL", "").strip() or "auto"
    if text not in WAYS:
        raise InvalidArgumentError(f"AMDGPU_MATMUL is {text!r}; it may be {', '.join(WAYS)}")
    return text
