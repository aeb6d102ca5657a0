"""Archived kernels on devices, ready to launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice
    from amdgpu.gpu_kernels.archive import ArchivedKernel


@dataclass(frozen=True)
class LaunchPlan:
    """A kernel with everything that launches it."""

    kernel: _native.Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: list[Any]
    shared_bytes: int = 0

    def launch(self, stream: _native.Stream | None = None) -> None:
        """Launch in a stream; without one queue it on the device's own."""
        launch(self.kernel, self.grid, self.block, self.arguments, shared_bytes=self.shared_bytes, stream=stream)


def launch(
    kernel: _native.Kernel,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    arguments: list[Any],
    *,
    shared_bytes: int = 0,
    stream: _native.Stream | None = None,
) -> None:
    """Launch a kernel in a stream; without one queue it on the device's own."""
    if stream is None:
        kernel.queue(grid, block, arguments, shared_bytes=shared_bytes)
    else:
        kernel.launch(grid, block, arguments, shared_bytes=shared_bytes, stream=stream)


def load(device: AMDGPUDevice, kernel: ArchivedKernel) -> _native.Kernel:
    """The kernel on a device; loaded once."""
    loaded: dict[tuple[str, str], _native.Kernel] = device.__dict__.setdefault("_archived_kernels", {})
    key = (kernel.architecture, kernel.name)
    found = loaded.get(key)
    if found is None:
        source = f'extern "C" __global__ void {kernel.name}({kernel.parameters}) {{}}'
        found = loaded[key] = device.native.load_compiled(
            source, kernel.name, kernel.read_code(), kernel.name, core_type="matrix", file_name=f"{kernel.name}.zig"
        )
    return found


class Facts:
    """Architecture and units of a device, once they were asked for."""

    def __init__(self) -> None:
        self.found: tuple[str, int] | None = None


def facts_of(device: AMDGPUDevice) -> tuple[str, int]:
    """Architecture and units; asking a device for what it is asks for its memory too, so they are kept."""
    facts = device.native.cache(Facts)
    if facts.found is None:
        info = device.info()
        facts.found = (str(info.architecture), info.compute_units)
    return facts.found
