"""The C++ layer of ROCm's interface for tests: its functions take host memory here, which is the CPU device's."""

from __future__ import annotations

import ctypes
import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import c_api_harness as harness
import numpy as np

# Of rocblas_operation.
NONE, TRANSPOSE, CONJUGATE = 111, 112, 113
OPERATIONS = (NONE, TRANSPOSE, CONJUGATE)
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
FLOATS = ("float32", "float64", "float16")
TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "float16": 4e-3}


class Layer:
    """The functions of rocm_numpy.cpp; each raises what the C++ function threw."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        for name in ("name_of_op", "name_of_dtype"):
            getattr(self._library, name).restype = ctypes.c_char_p
        self.ops = dict(self._names("name_of_op"))
        self.dtypes = dict(self._names("name_of_dtype"))

    def _names(self, function: str) -> Iterator[tuple[str, int]]:
        for number in itertools.count():
            name = getattr(self._library, function)(number).decode()
            if name == "unknown":
                return
            yield name, number

    def __call__(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, name)
        function.restype = ctypes.c_char_p
        # Held until the call is over.
        held = [self._convert(argument) for argument in arguments]
        thrown = function(*held)
        if thrown is not None:
            kind, _, message = thrown.decode().partition(": ")
            raise {"invalid_argument": ValueError, "runtime_error": RuntimeError}[kind](message)

    @staticmethod
    def _convert(argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return ctypes.c_void_p(argument.ctypes.data)
        if isinstance(argument, float):
            return ctypes.c_float(argument)
        if isinstance(argument, tuple):
            return (ctypes.c_int64 * len(argument))(*argument)
        if isinstance(argument, list):
            return (ctypes.c_int * len(argument))(*argument)
        return argument


def long(value: int) -> ctypes.c_int64:
    return ctypes.c_int64(value)


def size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


def double(value: float) -> ctypes.c_double:
    return ctypes.c_double(value)


def load(folder: Path) -> Layer:
    """Compiles the layer and loads it."""
    path = folder / "librocm_numpy.so"
    source = harness.SOURCES / "rocm_numpy.cpp"
    command = [*harness.compiler_of(source), "-std=c++17", *STRICT, "-shared", "-fPIC", f"-I{harness.HEADERS}"]
    link = [f"-L{harness.LIBRARIES}", "-lamdgpu", f"-Wl,-rpath,{harness.LIBRARIES}"]
    subprocess.run([*command, str(source), "-o", str(path), *link], check=True)
    return Layer(path)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def erf_gelu(x: np.ndarray) -> np.ndarray:
    from math import erf

    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


ACTIVATIONS = {
    "RELU": lambda x: np.maximum(x, 0),
    "LEAKY_RELU": lambda x: np.where(x > 0, x, 0.25 * x),
    "SIGMOID": sigmoid,
    "TANH": np.tanh,
    "GELU": erf_gelu,
    "SILU": lambda x: x * sigmoid(x),
    "SOFTPLUS": lambda x: np.log1p(np.exp(x)),
    "ELU": lambda x: np.where(x > 0, x, 0.25 * np.expm1(x)),
}
