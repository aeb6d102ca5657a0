"""Batch normalisation and gradients of norms from C against `amdgpu.ops`, each of which puts them together from smaller operations."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import amdgpu
import c_api_harness as harness
import numpy as np
import pytest

EPSILON = 1e-3
TOLERANCES = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}


class ErrorInfo(ctypes.Structure):
    _fields_ = [
        ("size_bytes", ctypes.c_uint64),
        ("status", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        *((name, ctypes.c_char_p) for name in ("name", "class_name", "message", "hint", "language")),
    ]


class BatchNormOptions(ctypes.Structure):
    _fields_ = [
        ("size_bytes", ctypes.c_uint64),
        ("weight", ctypes.c_void_p),
        ("bias", ctypes.c_void_p),
        ("epsilon", ctypes.c_double),
        ("has_epsilon", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


class NormalizeOptions(ctypes.Structure):
    _fields_ = [
        ("size_bytes", ctypes.c_uint64),
        *((name, ctypes.c_void_p) for name in ("out", "scale", "shift", "axes")),
        ("axis_count", ctypes.c_uint64),
        ("epsilon", ctypes.c_double),
        ("has_epsilon", ctypes.c_uint32),
        ("reserved", ctypes.c_uint32),
    ]


class Interface:
    """The library on the CPU device."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(harness.LIBRARY))
        self.handles: list[ctypes.c_void_p] = []
        self.device = self._made("agpu_device_open", b"cpu", None)

    def call(self, name: str, *arguments: Any) -> None:
        if getattr(self.library, name)(*arguments):
            info = ErrorInfo(ctypes.sizeof(ErrorInfo))
            self.library.agpu_last_error(ctypes.byref(info))
            raise AssertionError(f"{name}: {info.message.decode()}")

    def _made(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        (handle,) = self.results(name, arguments, 1)
        return handle

    def results(self, name: str, arguments: tuple[Any, ...], count: int) -> list[ctypes.c_void_p]:
        places = [ctypes.c_void_p() for _ in range(count)]
        self.call(name, *arguments, *(ctypes.byref(place) for place in places))
        self.handles += places
        return places

    def array(self, values: np.ndarray[Any, Any]) -> ctypes.c_void_p:
        shape = (ctypes.c_int64 * values.ndim)(*values.shape)
        name = values.dtype.name.encode()
        handle = self._made("agpu_array_create", self.device, name, ctypes.c_uint32(values.ndim), shape, None)
        data = values.tobytes()
        self.call("agpu_array_write", handle, data, ctypes.c_uint64(len(data)))
        return handle

    def read(self, handle: ctypes.c_void_p, like: Any) -> np.ndarray[Any, Any]:
        found = np.empty(np.shape(like), like.dtype)
        self.call("agpu_array_read", handle, ctypes.c_void_p(found.ctypes.data), ctypes.c_uint64(found.nbytes))
        return found

    def close(self) -> None:
        for handle in reversed(self.handles):
            self.call("agpu_release", handle)


@pytest.fixture
def interface() -> Iterator[Interface]:
    opened = Interface()
    yield opened
    opened.close()


def compare(interface: Interface, handles: list[ctypes.c_void_p], expected: tuple[Any, ...], dtype: str) -> None:
    for handle, values in zip(handles, expected, strict=True):
        wanted = np.asarray(values)
        found, tolerance = interface.read(handle, wanted), TOLERANCES[dtype]
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("scale", [1.0, 2.0**-122])
def test_batch_normalisation(interface: Interface, dtype: str, scale: float) -> None:
    """With means and factors beyond the range that float32 holds in all digits, too: those are computed in float64."""
    rng = np.random.default_rng(17)
    if dtype == "float16":
        scale = max(scale, 2.0**-10)
    x, gradient = ((rng.normal(size=(3, 4, 5)) * size).astype(dtype) for size in (scale, 1))
    weight, bias = (rng.normal(size=4).astype(dtype) for _ in range(2))
    epsilon = EPSILON * scale**2
    options = BatchNormOptions(ctypes.sizeof(BatchNormOptions), None, None, epsilon, 1, 0)
    options.weight, options.bias = interface.array(weight).value, interface.array(bias).value
    arguments = (interface.array(x), ctypes.c_int64(1), ctypes.byref(options))
    expected = amdgpu.ops.batch_norm_training(x, weight, bias, eps=epsilon)
    found = interface.results("agpu_ops_batch_norm_training", arguments, 3)
    compare(interface, found, expected, dtype)

    arguments = (arguments[0], *found[1:], *arguments[1:])
    expected = (amdgpu.ops.batch_norm(x, *expected[1:], weight, bias, eps=epsilon),)
    compare(interface, interface.results("agpu_ops_batch_norm", arguments, 1), expected, dtype)

    options.bias = None
    arguments = (arguments[0], interface.array(gradient), ctypes.c_int64(-2), ctypes.byref(options))
    expected = amdgpu.ops.batch_norm_gradient(x, gradient, weight, eps=epsilon)
    compare(interface, interface.results("agpu_ops_batch_norm_gradient", arguments, 3), expected, dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("operation", ["layer_norm", "rms_norm"])
def test_gradients_of_norms(interface: Interface, operation: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, gradient = (rng.normal(size=(3, 4, 5)).astype(dtype) for _ in range(2))
    weight = rng.normal(size=(4, 5)).astype(dtype)
    axes = (ctypes.c_int64 * 2)(-1, 1)
    options = NormalizeOptions(ctypes.sizeof(NormalizeOptions), axis_count=2, epsilon=EPSILON, has_epsilon=1)
    options.scale, options.axes = interface.array(weight).value, ctypes.addressof(axes)
    expected = getattr(amdgpu.ops, f"{operation}_gradient")(x, gradient, (4, 5), weight, EPSILON)
    arrays = (interface.array(x), interface.array(gradient))
    places = [ctypes.c_void_p() for _ in expected]
    given = [*(ctypes.byref(place) for place in places), *[None] * (3 - len(places))]
    interface.call("agpu_ops_normalize_gradient", operation.encode(), *arrays, ctypes.byref(options), *given)
    interface.handles += places
    compare(interface, places, expected, dtype)
