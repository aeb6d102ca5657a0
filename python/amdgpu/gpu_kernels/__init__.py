"""GPU kernels that come built with the package, and the choice among them."""

from amdgpu.gpu_kernels.archive import ArchivedKernel, architectures, archived_kernels
from amdgpu.gpu_kernels.choice import Choice, candidates, choose, ways
from amdgpu.gpu_kernels.loading import LaunchPlan
from amdgpu.gpu_kernels.matmul import matmul, plan_matmul
from amdgpu.gpu_kernels.operations import convolve, elementwise, reduce, transpose
from amdgpu.gpu_kernels.problem import Problem

__all__ = [
    "ArchivedKernel",
    "Choice",
    "LaunchPlan",
    "Problem",
    "architectures",
    "archived_kernels",
    "candidates",
    "choose",
    "convolve",
    "elementwise",
    "matmul",
    "plan_matmul",
    "reduce",
    "transpose",
    "ways",
]
