"""Operations on arrays."""

from amdgpu.ops.matmul import matrix_multiply

__all__ = ["matrix_multiply"]
