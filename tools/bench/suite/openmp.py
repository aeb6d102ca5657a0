"""The contender "openmp": the loops of kernels.c, compiled before and called through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from suite.cases import Case

C_TYPES = {
    np.dtype(np.int32): ctypes.c_int32,
    np.dtype(np.uint32): ctypes.c_uint32,
    np.dtype(np.float32): ctypes.c_float,
}


class OpenMp:
    """A shared library with one function for each case."""

    def __init__(self, library: str, about: str) -> None:
        self._library = ctypes.CDLL(library)
        self.about = about

    def prepare(self, case: Case) -> tuple[Callable[[], Any], list[Any]]:
        """A call with its arguments converted, and what its first run wrote."""
        arguments = case.copies()
        function = self._library[case.kernel]
        function.restype = None
        converted: list[Any] = []
        for value in arguments:
            if isinstance(value, np.ndarray):
                converted.append(ctypes.c_void_p(value.ctypes.data))
            else:
                converted.append(C_TYPES[value.dtype](value.item()))
        if case.kernel == "softmax_rows":
            # The kernel has a block for each row; loops must be told how many there are.
            converted.insert(2, ctypes.c_int32(case.grid[0]))
        function.argtypes = [type(value) for value in converted]

        def call(function: Any = function, converted: list[Any] = converted, arguments: Any = arguments) -> None:
            function(*converted)

        call()
        return call, [arguments[index].copy() for index in case.outputs]


def start(library: str, about: str) -> OpenMp:
    """Opens the library that `peers.openmp_library` made."""
    return OpenMp(library, about)
