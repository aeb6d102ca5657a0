"""Training of layered networks: `LayeredNetwork.train` and what it returns (docs/training.md)."""

from amdgpu.training.history import History

__all__ = ["History"]
