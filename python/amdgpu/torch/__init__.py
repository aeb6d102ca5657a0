"""The PyTorch device `rdna`: `import amdgpu.torch` makes `torch.device("rdna")` and `torch.rdna`.

The device is `hip`, else `cuda`, or what AMDGPU_TORCH_DEVICE names (docs/pytorch.md). Its C++ part is compiled for the torch that is
installed, once, by `python -m amdgpu.torch.build`.
"""

from amdgpu.torch import loading

if not loading.is_command():
    loading.load()
