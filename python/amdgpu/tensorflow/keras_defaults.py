"""Keras compiles models with XLA where it thinks that it can; RDNA has no XLA compiler."""

from __future__ import annotations

import functools
import importlib
from typing import Any


def install() -> None:
    """Lets `jit_compile="auto"` of Keras 3 mean False while a device RDNA is visible. Without Keras there is nothing to do."""
    try:
        trainer = importlib.import_module("keras.src.trainers.trainer")
    except ImportError:
        return
    original = getattr(trainer, "model_supports_jit", None)
    if original is None:
        return

    @functools.wraps(original)
    def model_supports_jit(model: Any) -> bool:
        import tensorflow as tf

        return not tf.config.list_logical_devices("RDNA") and bool(original(model))

    trainer.model_supports_jit = model_supports_jit  # type: ignore[attr-defined]
