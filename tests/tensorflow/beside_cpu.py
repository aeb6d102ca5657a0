"""Kernels of RDNA beside those of TensorFlow's CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

CPU, RDNA = "/device:CPU:0", "/device:RDNA:0"

# Relative tolerances by dtype: a few units in the last place of sums and functions that both sides round in their own way.
TOLERANCES = {"float64": 1e-10, "float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}


def on(device: str, operation: Callable[..., Any], *arguments: Any, **options: Any) -> list[np.ndarray]:
    """The results of an operation on a device, as arrays. Arrays among the arguments become tensors of the device."""
    with tf.device(device):
        tensors = [_tensor(argument) for argument in arguments]
        given = {name: _tensor(option) for name, option in options.items()}
        results = operation(*tensors, **given)
    return [_array(result) for result in _flat(results)]


def _tensor(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        return tf.constant(argument)
    if isinstance(argument, (list, tuple)) and argument and all(isinstance(one, np.ndarray) for one in argument):
        return [tf.constant(one) for one in argument]
    return argument


def _flat(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _array(result: Any) -> np.ndarray:
    return np.asarray(result.numpy())


def compare(
    operation: Callable[..., Any], *arguments: Any, scale: float = 1.0, only: Sequence[int] = (), **options: Any
) -> None:
    """Asserts that both devices give the same shapes, dtypes and values."""
    wanted = on(CPU, operation, *arguments, **options)
    found = on(RDNA, operation, *arguments, **options)
    assert len(wanted) == len(found)
    for place, (one, other) in enumerate(zip(wanted, found, strict=True)):
        if only and place not in only:
            continue
        same(other, one, scale)


def same(found: np.ndarray, wanted: np.ndarray, scale: float = 1.0) -> None:
    """Asserts that values are close, as far as their dtype says."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    tolerance = TOLERANCES.get(str(wanted.dtype))
    if tolerance is None:
        np.testing.assert_array_equal(found, wanted)
        return
    wide = [values.astype(np.float64) for values in (found, wanted)]
    finite = wide[1][np.isfinite(wide[1])]
    size = max(1.0, float(np.abs(finite).max())) if finite.size else 1.0
    np.testing.assert_allclose(*wide, rtol=tolerance * scale, atol=tolerance * scale * size / 4, equal_nan=True)


def values(shape: Sequence[int], dtype: str, seed: int = 0, low: float = -3.0, high: float = 3.0) -> np.ndarray:
    """Numbers of a dtype within bounds; whole ones for integers, truth values for bool."""
    random = np.random.default_rng(seed)
    real = random.uniform(low, high, size=tuple(shape))
    if dtype == "bool":
        return real > (low + high) / 2
    return np.asarray(real).astype(tf.as_dtype(dtype).as_numpy_dtype)
