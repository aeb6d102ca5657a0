"""Archived kernels on devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice
    from amdgpu.gpu_kernels.archive import ArchivedKernel


def load(device: AMDGPUDevice, kernel: ArchivedKernel, parameters: str) -> _native.Kernel:
    """The kernel on a device; loaded once. `parameters` are written as in HIP-C."""
    loaded: dict[str, _native.Kernel] = device.__dict__.setdefault("_archived_kernels", {})
    found = loaded.get(kernel.name)
    if found is None:
        source = f'extern "C" __global__ void {kernel.name}({parameters}) {{}}'
        found = loaded[kernel.name] = device.native.load_compiled(
            source, kernel.name, kernel.read_code(), kernel.name, core_type="matrix", file_name=f"{kernel.name}.zig"
        )
    return found


def facts_of(device: AMDGPUDevice) -> tuple[str, int]:
    """Architecture and units; asking a device for what it is asks for its memory too, so they are kept."""
    found: tuple[str, int] | None = device.__dict__.get("_kernel_facts")
    if found is None:
        info = device.info()
        found = device.__dict__["_kernel_facts"] = (str(info.architecture), info.compute_units)
    return found
