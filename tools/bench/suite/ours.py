"""The contender "ours": the HIP-C source of tests/kernels on the CPU device, prepared launches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import amdgpu

from suite.cases import Case


class Ours:
    """Kernels of this package."""

    def __init__(self, level: str) -> None:
        self._level = level
        self._device = amdgpu.initialize_device("cpu:0", ["aura"])
        self.about = f"amdgpu {amdgpu.__version__}, optimization_level={level!r}"

    def prepare(self, case: Case) -> tuple[Callable[[], Any], list[Any]]:
        """A launch that waits, and what its first run wrote."""
        kernel = self._device.compile_kernel(case.path.read_text(), name=case.kernel, optimization_level=self._level)
        arguments = case.copies()
        launch = kernel.prepare(case.grid, case.block, *arguments, shared_bytes=case.shared_bytes)
        launch()
        return launch, [arguments[index].copy() for index in case.outputs]


def start(level: str = "high") -> Ours:
    """Opens the CPU device."""
    return Ours(level)
