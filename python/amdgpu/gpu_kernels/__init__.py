"""GPU kernels that come built with the package, and the choice among them."""

from amdgpu.gpu_kernels.archive import ArchivedKernel, architectures, archived_kernels
from amdgpu.gpu_kernels.choice import Choice, candidates, choose, decide, ways
from amdgpu.gpu_kernels.matmul import matmul
from amdgpu.gpu_kernels.operations import convolve, elementwise, reduce, transpose
from amdgpu.gpu_kernels.problem import Problem

__all__ = [
    "ArchivedKernel",
    "Choice",
    "Problem",
    "architectures",
    "archived_kernels",
    "candidates",
    "choose",
    "convolve",
    "decide",
    "elementwise",
    "matmul",
    "reduce",
    "transpose",
    "ways",
]
