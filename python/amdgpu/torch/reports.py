"""Which operators ran natively and which on the CPU."""

from __future__ import annotations

from dataclasses import dataclass

from amdgpu.torch.loading import shim


@dataclass(frozen=True)
class Fallback:
    """An operator without a kernel for rdna, which ran on the CPU.

    Attributes:
        operator: For example "aten::erfinv.out".
        calls: How often.
        bytes: How many bytes of tensors were copied to the CPU for it.
    """

    operator: str
    calls: int
    bytes: int


def fallback_report() -> list[Fallback]:
    """Operators that ran on the CPU so far, the one that was called most often first."""
    return [Fallback(*row) for row in shim().fallbacks()]


def reset_fallback_report() -> None:
    """Lets the counts begin again; operators that were told are told again."""
    shim().reset_fallbacks()


def native_report() -> dict[str, int]:
    """How often the kernels of each operator ran so far."""
    return {name: calls for name, calls in shim().native_calls() if calls}


def get_fallback_mode() -> str:
    """What happens to operators without a kernel: "warn", "silent" or "error"."""
    return str(shim().fallback_mode())


def set_fallback_mode(mode: str) -> None:
    """Says what happens to operators without a kernel, as AMDGPU_TORCH_FALLBACK does at the start.

    Args:
        mode: "warn": they run on the CPU, told once for each; "silent": without a word; "error": they raise NotImplementedError.

    Raises:
        ValueError: It is none of these.
    """
    shim().set_fallback_mode(mode)
