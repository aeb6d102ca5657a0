"""The GPUs of this machine, by the architectures that `./x kernels` knows; nothing is opened that would wake a sleeping one up for long."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from pathlib import Path

from x.kernel_catalog import ARCHITECTURES, NVIDIA

# One folder for each CPU and GPU, written by the amdgpu driver of Linux (drivers/gpu/drm/amd/amdkfd).
AMD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")
# CUdevice_attribute: COMPUTE_CAPABILITY_MAJOR and _MINOR.
_CAPABILITY = (75, 76)


def architectures_here(nodes: Path = AMD_NODES) -> list[str]:
    """What is to be built for the GPUs of this machine, sorted; of NVIDIA the newest that runs on them."""
    return sorted({*_amd(nodes), *_nvidia()} & {*ARCHITECTURES})


def _amd(nodes: Path) -> Iterator[str]:
    for properties in sorted(nodes.glob("*/properties")):
        try:
            found = re.search(r"^gfx_target_version (\d+)$", properties.read_text(), re.MULTILINE)
        except OSError:
            continue
        # Two digits each for major, minor and stepping, of which the last is written as one hexadecimal digit: 90010 is gfx90a.
        version = int(found.group(1)) if found else 0
        if version:
            yield f"gfx{version // 10000}{version // 100 % 100}{version % 100:x}"


def _nvidia() -> Iterator[str]:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0):
            return
    except OSError:
        return
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    for device in range(count.value):
        numbers = []
        for attribute in _CAPABILITY:
            number = ctypes.c_int()
            driver.cuDeviceGetAttribute(ctypes.byref(number), attribute, device)
            numbers.append(number.value)
        name = nvidia_archive(*numbers)
        if name:
            yield name


def nvidia_archive(major: int, minor: int) -> str | None:
    """The archive for a GPU of this compute capability: Hopper has its own, newer and older ones share that of sm_80."""
    exact = f"sm_{major}{minor}"
    if exact in NVIDIA:
        return exact
    return "sm_80" if major >= 8 else None
