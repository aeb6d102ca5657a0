"""Where an operation runs: on the device on which the first array lies that is not in the host's memory, else on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from amdgpu import _native, dispatch
from amdgpu.device import default_device

# DLPack's kinds of memory that a GPU works on: CUDA, CUDA managed, ROCm.
_GPU_MEMORY = (2, 13, 10)
# Types whose objects are never on a GPU, as far as they were met; so many at most, because types can be made without end.
_host_types: set[type] = set()
_MOST_HOST_TYPES = 64


def elementwise(operation: str, inputs: tuple[Any, ...], out: Any, alpha: float = 0.0) -> Any:
    """Runs an elementwise operation where its arguments lie."""
    # What follows is `implementation` for the common case: a thousand elements take a microsecond in all.
    for argument in inputs:
        if type(argument) not in _host_types:
            compute = implementation("elementwise", *inputs, out)
            break
    else:
        is_on_host = out is None or type(out) in _host_types
        compute = dispatch.of_host("elementwise") if is_on_host else implementation("elementwise", out)
    return compute(operation, inputs, out, alpha=alpha) if alpha else compute(operation, inputs, out)


def implementation(operation: str, *arguments: Any) -> Callable[..., Any]:
    """The function that computes an operation of the Matrix core where its arguments lie; the decision is recorded."""
    for argument in arguments:
        kind = type(argument)
        if kind in _host_types:
            continue
        if isinstance(argument, _native.Array):
            if not argument.is_on_host:
                return _on(operation, argument.device)
        elif not hasattr(kind, "__cuda_array_interface__"):
            if len(_host_types) < _MOST_HOST_TYPES:
                _host_types.add(kind)
        elif _is_on_gpu(argument):
            return _on(operation, _native.from_dlpack(argument).device)
    return dispatch.of_host(operation)


def on_host(values: Any) -> Any:
    """A few values, one for each channel for example, as a NumPy array of float64, wherever they lie."""
    import numpy as np

    is_far = isinstance(values, _native.Array) and not values.is_on_host
    return np.asarray(values.numpy() if is_far else values, float)


def _on(operation: str, name: str) -> Callable[..., Any]:
    device = default_device(name)
    compute, entry = dispatch.resolve(operation, "matrix", device.native.kind)
    return functools.partial(compute, device=device) if entry.takes_device else compute


def _is_on_gpu(argument: Any) -> bool:
    """Whether an array of another library lies in memory that a GPU works on."""
    return hasattr(argument, "__dlpack_device__") and argument.__dlpack_device__()[0] in _GPU_MEMORY
