"""Functions that ask for XLA: RDNA has no XLA compiler, so `tf.function(jit_compile=True)` is a graph there, which the plug-in fuses.

Keras computes convolutions of groups in such a function, and a model may be compiled with `jit_compile=True`.
"""

from __future__ import annotations

import functools
from typing import Any


def install() -> None:
    """Lets functions that are first called for RDNA be graphs without XLA. On the CPU they are compiled as ever."""
    from tensorflow.python.eager.polymorphic_function import polymorphic_function

    owner: Any = polymorphic_function.Function
    original = owner.__call__

    @functools.wraps(original)
    def called(self: Any, *arguments: Any, **options: Any) -> Any:
        if self._jit_compile and not _is_traced(self) and _is_for_rdna():
            self._jit_compile = None
        return original(self, *arguments, **options)

    owner.__call__ = called


def _is_traced(function: Any) -> bool:
    """Whether there is a graph of the function, which tells TensorFlow how to compile it."""
    return getattr(function, "_variable_creation_config", None) is not None


def _is_for_rdna() -> bool:
    """Whether operations without a device would be on RDNA here, which TensorFlow prefers to the CPU."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    if not tf.config.list_logical_devices("RDNA"):
        return False
    asked = str((context.context().device_name or "") if tf.executing_eagerly() else tf.no_op().device)
    return not asked or "RDNA" in asked
