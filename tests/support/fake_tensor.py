"""Tensors that claim to be anywhere: producers of DLPack capsules over NumPy memory, for tests without a GPU.

Layout: `DLManagedTensor` of DLPack 1.1 (`dlpack.h`), the capsule without a version.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

CPU, CUDA, CUDA_HOST, OPENCL, ROCM, ROCM_HOST, CUDA_MANAGED = 1, 2, 3, 4, 10, 11, 13
FLOAT = 2


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class FakeTensor:
    """A float32 vector in host memory that says it is on another device."""

    def __init__(self, values: Any, device_type: int, device_id: int = 0) -> None:
        self.host = np.ascontiguousarray(values, dtype="float32")
        self.device = (device_type, device_id)
        self.asked_streams: list[Any] = []
        self.deleted = 0
        self._deleter = _DELETER(self._delete)
        self._shape = (ctypes.c_int64 * 1)(self.host.size)
        tensor = _Tensor(self.host.ctypes.data, device_type, device_id, 1, FLOAT, 32, 1, self._shape, None, 0)
        self._managed = _Managed(tensor, None, ctypes.cast(self._deleter, ctypes.c_void_p))

    def _delete(self, _managed: int) -> None:
        self.deleted += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, stream: Any = None) -> Any:
        self.asked_streams.append(stream)
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)
