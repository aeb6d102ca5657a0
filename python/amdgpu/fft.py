"""Fourier transforms: the place of the array API standard's extension `fft`, whose functions come later."""

from __future__ import annotations

from amdgpu import later

__getattr__ = later.answer(
    __name__,
    "fft fftfreq fftn fftshift hfft ifft ifftn ifftshift ihfft irfft irfftn rfft rfftfreq rfftn".split(),  # noqa: SIM905
)
