"""Dropout: elements that are set to zero at random."""

from __future__ import annotations

from typing import Any

from amdgpu import _native, arguments
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError
from amdgpu.ops import placement

__all__ = ["dropout"]


def dropout(x: Any, p: float = 0.5, *, seed: Any = None, mask: Any = None, out: Any = None, device: Any = None) -> Any:
    """Sets elements to zero that a chance of `p` hits, and divides the others by `1 - p`.

    The elements follow from the seed alone: the gradient of x is `dropout(gradient, p, seed=seed)`, without a mask that is kept.

    Args:
        x: Floats of any shape.
        p: Chance of an element to become zero, from 0 to 1.
        seed: An integer or a sequence of integers, or the `state` of a generator; None takes a fresh one, for calls without a gradient.
        mask: Truth values of the shape of x, from `Generator.bernoulli(1 - p)`, that say which elements stay; in place of a seed.
        out: Receives the result; may be x. With a mask it must be an array of x's dtype.
        device: Where it is computed if x has no device; None means the current device.

    Returns:
        Values of the shape and dtype of x, on its device.

    Raises:
        InvalidArgumentError: p outside of [0, 1], or both a seed and a mask.
        UnsupportedDtypeError: x holds no floats.

    Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", JMLR 15 (2014).

    Example:
        >>> import amdgpu
        >>> y = amdgpu.ops.dropout([1.0, 1.0, 1.0, 1.0], 0.5, seed=3)
        >>> sorted(set(y.tolist())) in ([0.0], [0.0, 2.0], [2.0])
        True
    """
    chance = arguments.number("dropout", "p", p)
    if mask is not None:
        return _masked(x, chance, seed, mask, out)
    state = _state(seed)
    stream = (state["key"], state["position"], state["jumps"])
    held = placement.held("dropout", "x", x)
    name = placement.device_of("dropout", (held, out))
    place = default_device(device if name is None else name)
    result = _native.random_dropout(held, chance, stream, out, place)
    is_on_device = device is not None or name is not None or out is not None
    return result if is_on_device else result.numpy()


def _state(seed: Any) -> Any:
    from amdgpu.random import Generator

    if not isinstance(seed, dict):
        return Generator(seed).state
    generator = Generator(0)
    generator.state = seed
    return generator.state


def _masked(x: Any, p: float, seed: Any, mask: Any, out: Any) -> Any:
    from amdgpu import ops

    if seed is not None:
        raise InvalidArgumentError("dropout: seed and mask are given; each of them says which elements stay")
    if not 0 <= p < 1:
        raise InvalidArgumentError(f"dropout: p is {p}; with a mask it must be from 0 to below 1")
    return ops.where(mask, ops.multiply(x, 1 / (1 - p)), 0.0, out=out)
