"""The GPUs of this machine, and runs of kernels on them."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

GPU_KINDS = ("hip", "cuda")
GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in GPU_KINDS]


def run(
    device: Any, source: str, name: str, grid: Any, block: Any, *arguments: Any, shared_bytes: int = 0
) -> list[Any]:
    """Runs a kernel on copies of the arrays among its arguments and returns the copies as the kernel left them."""
    copies = [
        amdgpu.array(argument, device=device.name) if isinstance(argument, np.ndarray) else argument
        for argument in arguments
    ]
    try:
        kernel = device.compile_kernel(source, name=name)
    except (errors.CompileError, errors.UnsupportedFeatureError) as error:
        if "is not supported" not in str(error):
            raise
        pytest.skip(f"the compiler does not take it yet: {str(error).splitlines()[0]}")
    kernel[grid, block, shared_bytes](*copies)
    return [copy.numpy() for copy, argument in zip(copies, arguments, strict=True) if isinstance(argument, np.ndarray)]
