"""Layered networks on a GPU: their numbers are kept there, and every layer is computed where the one before it lies."""

from amdgpu.device_network.forward import forward

__all__ = ["forward"]
