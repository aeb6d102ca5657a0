"""LLVM for the kernel compiler: LLVM IR text in, machine code out."""

from amdgpu.codegen.host import host_target
from amdgpu.codegen.llvm import generate, identity

__all__ = ["generate", "host_target", "identity"]
