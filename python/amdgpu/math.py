"""The Math core: kernels written in Julia."""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


__all__ = [
    "activation",
    "adaptive_learning_rate",
    "availability",
    "momentum_update",
    "prepare_runtime",
    "softmax",
]


def availability() -> dict[str, Any]:
    """Whether a Julia runtime is there, without starting it: `found`, `version`, `path`, `reason`.

    Example:
        >>> import amdgpu
        >>> sorted(amdgpu.math.availability())
        ['found', 'path', 'reason', 'version']
    """
    return _native.math_availability()


def activation(
    x: npt.ArrayLike, kind: str, *, alpha: float | None = None, beta: float | None = None
) -> npt.NDArray[np.float32]:
    """Apply an activation function elementwise.

    Args:
        x: Values; converted to float32.
        kind: identity, relu, leaky_relu, sigmoid, tanh, gelu, silu, softplus, elu or neuromorphic.
        alpha: Slope of leaky_relu (default 0.01), scale of elu (default 1), alpha of neuromorphic (default 1.2).
        beta: beta of neuromorphic (default 0.3).

    Returns:
        float32 values in the shape of `x`.

    Raises:
        JuliaMissingError: There is no Julia.
        InvalidArgumentError: An unknown kind, or softmax (which is not elementwise).
        InvalidTypeError: A kind that is no text; alpha or beta that are no numbers.
    """
    arguments.text("activation", "kind", kind, "the name of an activation, such as relu,")
    alpha, beta = (
        None if value is None else arguments.number("activation", name, value)
        for name, value in (("alpha", alpha), ("beta", beta))
    )
    prepare_runtime()
    return _native.math_activation(x, kind, alpha, beta)


def softmax(x: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Softmax over the last axis.

    Args:
        x: Values of shape (..., columns); converted to float32.

    Returns:
        float32 values in the shape of `x`; each row sums to 1.
    """
    prepare_runtime()
    return _native.math_softmax(x)


def adaptive_learning_rate(
    gradients: npt.ArrayLike, momentum: npt.NDArray[np.float32], *, learning_rate: float, decay: float
) -> npt.NDArray[np.float32]:
    """Update `momentum` in place and return a learning rate per value.

    momentum = decay * momentum + (1 - decay) * gradient; rate = learning_rate / (1 + abs(gradient)).

    Args:
        gradients: float32 values.
        momentum: float32 array of the same size; written.
        learning_rate: Base rate.
        decay: In 0..1.

    Returns:
        float32 rates in the shape of `gradients`.

    Raises:
        ShapeMismatchError: Sizes differ.
    """
    learning_rate = arguments.number("adaptive_learning_rate", "learning_rate", learning_rate)
    decay = arguments.number("adaptive_learning_rate", "decay", decay)
    prepare_runtime()
    return _native.math_adaptive_learning_rate(gradients, momentum, learning_rate, decay)


def momentum_update(
    weights: npt.NDArray[np.float32],
    gradients: npt.ArrayLike,
    velocity: npt.NDArray[np.float32],
    *,
    learning_rate: float,
    momentum: float,
) -> None:
    """One step of gradient descent with momentum, in place.

    velocity = momentum * velocity + gradient; weights -= learning_rate * velocity (Polyak 1964).

    Args:
        weights: float32 array; written.
        gradients: float32 values of the same size.
        velocity: float32 array of the same size; written.
        learning_rate: Step size.
        momentum: In 0..1.

    Raises:
        ShapeMismatchError: Sizes differ.
    """
    learning_rate = arguments.number("momentum_update", "learning_rate", learning_rate)
    momentum = arguments.number("momentum_update", "momentum", momentum)
    prepare_runtime()
    _native.math_momentum_update(weights, gradients, velocity, learning_rate, momentum)


_is_juliacall_adopted = False


# libjulia has to be opened for the whole process, and brings a libuv into it. A module that has its own, but leaves its functions open to
# be replaced, must be loaded before: it would call Julia's with structures of another version, and its sockets would lose data.
BOUND_BEFORE_JULIA = ("uvloop.loop",)


def prepare_runtime() -> None:
    """Make the process ready for Julia; called before each use, and does nothing once it runs.

    Takes the runtime of `juliacall` when the process already has it, since a process can hold only one. Else loads the modules that
    would not stand Julia coming before them (uvloop, where it is installed).
    """
    global _is_juliacall_adopted
    if _is_juliacall_adopted or _native.math_is_started():
        return
    juliacall = sys.modules.get("juliacall")
    if juliacall is None:
        for name in BOUND_BEFORE_JULIA:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
        return
    sources = str(_native.julia_source_path())
    juliacall.Main.seval(f'include(raw"{sources}")')
    juliacall.Main.seval(f"AgpuKernels.use_matmul(Ptr{{Cvoid}}({_native.math_matmul_address()}))")
    pointer = int(juliacall.Main.seval("UInt(AgpuKernels.table())"))
    version = str(juliacall.Main.seval("string(VERSION)"))
    _native.math_adopt_table(pointer, version, sources)
    _is_juliacall_adopted = True
