"""Fast paths in front of the functions of `amdgpu.ops`, for usual arguments in memory of the host or on one device.

A decorated function is called as before, but no frame of Python runs where its arguments are NumPy's arrays, numbers or arrays of one
device and nothing unusual is asked for. Everything else, errors in their number or kind included, reaches the function itself, which
decides where its operation runs (`amdgpu.ops.placement`).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from amdgpu import _native, dispatch

_Function = TypeVar("_Function", bound=Callable[..., Any])


def elementwise(function: _Function) -> _Function:
    """For `function(*inputs, *, out=None)` and its like; further keywords have their defaults on the fast path."""
    alpha = (getattr(function, "__kwdefaults__", None) or {}).get("alpha", 0.0)
    name = function.__name__
    host = dispatch.matrix_functions(), _native.elementwise
    device = dispatch.device_functions(), _native.elementwise_on_device
    fast = _native.elementwise_fast_call(function, name, alpha, host, device)
    return cast(_Function, functools.update_wrapper(fast, function))


def reduce(function: _Function) -> _Function:
    """For `function(x, axis=None, *, keepdims=False, out=None)`, `correction` besides where the reduction has one."""
    host = dispatch.matrix_functions(), _native.reduce
    device = dispatch.device_functions(), _native.reduce_on_device
    fast = _native.reduce_fast_call(function, function.__name__, host, device)
    return cast(_Function, functools.update_wrapper(fast, function))


def normalize(function: _Function) -> _Function:
    """For the softmaxes and the norms over the last axes."""
    eps = inspect.signature(function).parameters.get("eps")
    epsilon = 0.0 if eps is None else eps.default
    name = function.__name__
    host = dispatch.matrix_functions(), _native.normalize
    device = dispatch.device_functions(), _native.normalize_on_device
    fast = _native.normalize_fast_call(function, name, epsilon, host, device)
    return cast(_Function, functools.update_wrapper(fast, function))


def transpose(function: _Function) -> _Function:
    """For `function(x, axes=None, *, out=None)`."""
    host = dispatch.matrix_functions(), _native.transpose
    device = dispatch.device_functions(), _native.transpose_on_device
    fast = _native.transpose_fast_call(function, host, device)
    return cast(_Function, functools.update_wrapper(fast, function))


def convolve(function: _Function) -> _Function:
    """For the forward pass of a convolution, whose options are integers, pairs and texts."""
    host = dispatch.matrix_functions(), _native.convolve
    device = dispatch.device_functions(), _native.convolve_on_device
    fast = _native.convolve_fast_call(function, host, device)
    return cast(_Function, functools.update_wrapper(fast, function))
