"""The TensorFlow device `RDNA`: `import tf_rdna`, or `import amdgpu.tensorflow`, adds it to TensorFlow (docs/tensorflow.md).

The device is `hip`, else `cuda`, or what AMDGPU_TENSORFLOW_DEVICE names. Import it before the first tensor is made: TensorFlow lists its
devices then.
"""

from amdgpu.tensorflow import config, loading
from amdgpu.tensorflow.fusion import (
    Fusion,
    fusion_report,
    is_fusion_enabled,
    reset_fusion_report,
    set_fusion_enabled,
)
from amdgpu.tensorflow.reports import (
    Fallback,
    fallback_report,
    get_fallback_mode,
    native_report,
    reset_fallback_report,
    set_fallback_mode,
)

__all__ = [
    "AllReduce",
    "Collective",
    "Fallback",
    "Fusion",
    "MirroredStrategy",
    "collective_report",
    "config",
    "fallback_report",
    "fusion_report",
    "get_fallback_mode",
    "is_fusion_enabled",
    "native_report",
    "reset_collective_report",
    "reset_fallback_report",
    "reset_fusion_report",
    "set_fallback_mode",
    "set_fusion_enabled",
]

loading.load()

# Its classes are TensorFlow's, which `load` has looked for.
from amdgpu.tensorflow.distribution import (  # noqa: E402
    AllReduce,
    Collective,
    MirroredStrategy,
    collective_report,
    reset_collective_report,
)
