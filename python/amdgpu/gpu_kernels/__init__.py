"""GPU kernels that come built with the package: what there is, what is chosen for a product, and operations by them alone."""

from amdgpu._native import ArchivedKernel
from amdgpu.gpu_kernels.choice import Choice, architectures, archived_kernels, candidates, choose, decide, ways
from amdgpu.gpu_kernels.operations import convolve, matmul, problem_of, transpose
from amdgpu.tuning.entries import Product as Problem

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
    "matmul",
    "problem_of",
    "transpose",
    "ways",
]
