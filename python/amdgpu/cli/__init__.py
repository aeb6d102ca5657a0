"""The command line `amdgpu`."""

from amdgpu.cli.main import main

__all__ = ["main"]
