"""The TensorFlow device `RDNA` of amdgpu: `import tf_rdna` after `import tensorflow` adds it (docs/tensorflow.md)."""

from amdgpu.tensorflow import (
    Fallback,
    Fusion,
    config,
    fallback_report,
    fusion_report,
    get_fallback_mode,
    is_fusion_enabled,
    native_report,
    reset_fallback_report,
    reset_fusion_report,
    set_fallback_mode,
    set_fusion_enabled,
)

__all__ = [
    "Fallback",
    "Fusion",
    "config",
    "fallback_report",
    "fusion_report",
    "get_fallback_mode",
    "is_fusion_enabled",
    "native_report",
    "reset_fallback_report",
    "reset_fusion_report",
    "set_fallback_mode",
    "set_fusion_enabled",
]
