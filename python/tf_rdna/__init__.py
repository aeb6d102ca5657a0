"""The TensorFlow device `RDNA` of amdgpu: `import tf_rdna` after `import tensorflow` adds it (docs/tensorflow.md)."""

from amdgpu.tensorflow import (
    Fallback,
    config,
    fallback_report,
    get_fallback_mode,
    native_report,
    reset_fallback_report,
    set_fallback_mode,
)

__all__ = [
    "Fallback",
    "config",
    "fallback_report",
    "get_fallback_mode",
    "native_report",
    "reset_fallback_report",
    "set_fallback_mode",
]
