"""Random numbers: the same on every device, for any number of threads and for every split of a draw."""

from amdgpu.random.generator import Generator, default_rng
from amdgpu.random.layouts import tensorflow_bits, tensorflow_normal, tensorflow_stateless_key, torch_bits, torch_layout

__all__ = [
    "Generator",
    "default_rng",
    "tensorflow_bits",
    "tensorflow_normal",
    "tensorflow_stateless_key",
    "torch_bits",
    "torch_layout",
]
