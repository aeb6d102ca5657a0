"""The PyTorch device `rdna`: `import amdgpu.torch` makes `torch.device("rdna")` and `torch.rdna`.

The device is `hip`, else `cuda`, or what AMDGPU_TORCH_DEVICE names (docs/pytorch.md). Its C++ part is compiled for the torch that is
installed, once, by `python -m amdgpu.torch.build`.
"""

import sys

from amdgpu.torch import loading

# While `python -m` looks for `amdgpu.torch.build`, this package is imported and the shim need not be there yet.
if sys.argv[:1] != ["-m"]:
    loading.load()
