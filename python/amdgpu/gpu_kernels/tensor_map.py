"""Descriptors of matrices for the bulk tensor copy engine of NVIDIA's Hopper, made by the driver.

Source: CUDA Driver API, Tensor Map Object Management.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from amdgpu.errors import DriverFaultError

DESCRIPTOR_BYTES = 128
# CUtensorMapDataType.
_DATA_TYPES = {"i8": 0, "i32": 3, "f16": 6, "f32": 7, "bf16": 9, "tf32": 11}
_ELEMENT_BYTES = {"i8": 1, "i32": 4, "f16": 2, "bf16": 2, "f32": 4, "tf32": 4}
# CU_TENSOR_MAP_SWIZZLE_128B and CU_TENSOR_MAP_L2_PROMOTION_L2_256B.
_SWIZZLE_128 = 3
_PROMOTION_256 = 3


@functools.cache
def _encode() -> Any:
    function = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled
    function.restype = ctypes.c_int
    return function


def describe(
    number: str, address: int, shape: tuple[int, int, int], strides: tuple[int, int], box: tuple[int, int]
) -> bytes:
    """A descriptor of a batch of matrices.

    Args:
        number: Number format, as kernels name it.
        address: Of the first element, a multiple of 16.
        shape: Contiguous dimension, other dimension, matrices.
        strides: From row to row and from matrix to matrix, in elements; multiples of 16 bytes.
        box: How much is copied at a time: of the contiguous dimension (128 bytes) and of the other.

    Raises:
        DriverFaultError: The driver refuses the description.
    """
    size = _ELEMENT_BYTES[number]
    # The driver wants the descriptor at a multiple of 64.
    memory = ctypes.create_string_buffer(DESCRIPTOR_BYTES + 64)
    place = (ctypes.addressof(memory) + 63) // 64 * 64
    dims = (ctypes.c_uint64 * 3)(*shape)
    steps = (ctypes.c_uint64 * 2)(*(stride * size for stride in strides))
    boxes = (ctypes.c_uint32 * 3)(*box, 1)
    ones = (ctypes.c_uint32 * 3)(1, 1, 1)
    status = _encode()(
        *(ctypes.c_void_p(place), _DATA_TYPES[number], 3, ctypes.c_void_p(address)),
        *(dims, steps, boxes, ones, 0, _SWIZZLE_128, _PROMOTION_256, 0),
    )
    if status:
        raise DriverFaultError(
            f"cuTensorMapEncodeTiled refuses {number} {shape} with strides {strides} and boxes {box}: status {status}"
        )
    return ctypes.string_at(place, DESCRIPTOR_BYTES)
