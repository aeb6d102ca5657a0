"""GPU kernels that come built with the package, and the choice among them."""

from amdgpu.gpu_kernels.archive import ArchivedKernel, architectures, archived_kernels
from amdgpu.gpu_kernels.loading import LaunchPlan
from amdgpu.gpu_kernels.matmul import candidates, matmul, plan_matmul
from amdgpu.gpu_kernels.operations import convolve, elementwise, reduce, transpose
from amdgpu.gpu_kernels.problem import Problem

__all__ = [
    "ArchivedKernel",
    "LaunchPlan",
    "Problem",
    "architectures",
    "archived_kernels",
    "candidates",
    "convolve",
    "elementwise",
    "matmul",
    "plan_matmul",
    "reduce",
    "transpose",
]
