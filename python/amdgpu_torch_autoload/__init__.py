"""What torch calls at the end of its import: loads the device `rdna` where AMDGPU_TORCH_AUTOLOAD=1 asks for it.

This package imports nothing of amdgpu before that, and never raises: an exception here would take `import torch` with it.
"""

import os
import warnings


def autoload() -> None:
    """Imports `amdgpu.torch` where AMDGPU_TORCH_AUTOLOAD is 1; what prevents it becomes one warning."""
    if os.environ.get("AMDGPU_TORCH_AUTOLOAD") != "1":
        return
    try:
        import amdgpu.torch  # noqa: F401
    except Exception as error:  # noqa: BLE001 - whatever it is, torch works without the device
        try:
            warnings.warn(
                f"AMDGPU_TORCH_AUTOLOAD=1, but the PyTorch device rdna cannot be loaded: {error}", stacklevel=2
            )
        except Warning:
            # Where warnings are errors, torch comes first.
            return
