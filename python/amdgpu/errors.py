"""The exceptions of amdgpu; all inherit `AmdgpuError` and the fitting builtin. Listed in docs/errors.md."""

from __future__ import annotations

from amdgpu._generated.errors import *  # noqa: F403  (the generated module defines exactly the public exceptions)
from amdgpu._generated.errors import BY_CODE, AmdgpuError

__all__ = ["BY_CODE", "AmdgpuError", *(cls.__name__ for cls in BY_CODE.values())]  # noqa: PLE0604

# The module that programs import them from: tracebacks, pickles and reprs name it, not the generated one.
for _cls in (AmdgpuError, *BY_CODE.values()):
    _cls.__module__ = __name__
