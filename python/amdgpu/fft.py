"""Fourier transforms: the place of the array API standard's extension `fft`, whose functions come later."""

from __future__ import annotations

from typing import Any

from amdgpu.errors import NoImplementationError

_LATER = frozenset(
    "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn".split()  # noqa: SIM905
)


def __getattr__(name: str) -> Any:
    if name in _LATER:
        raise NoImplementationError(f"amdgpu.fft.{name} is not there yet; numpy.fft.{name} takes x.numpy()")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
