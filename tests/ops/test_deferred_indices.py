"""Kernels that leave it to a later look to refuse indices, on the CPU device: what it says, and that nothing else is read or written."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest

LIBRARY = Path(amdgpu.__file__).parent / "_lib" / "libamdgpu.so"
TABLE = np.arange(10, dtype=np.float32).reshape(5, 2)
BAD = np.array([1, 7, 2])


class ErrorInfo(ctypes.Structure):
    _fields_ = [
        ("size_bytes", ctypes.c_uint64),
        ("status", ctypes.c_int32),
        ("reserved", ctypes.c_uint32),
        *((name, ctypes.c_char_p) for name in ("name", "class_name", "message", "hint", "language")),
    ]


class Look:
    """The C functions, for operations of this thread."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(LIBRARY))
        self.device = ctypes.c_void_p()
        assert self.library.agpu_device_open(b"cpu:0", None, ctypes.byref(self.device)) == 0
        before = ctypes.c_bool(True)
        assert self.library.agpu_ops_defer_index_checks(ctypes.c_bool(True), ctypes.byref(before)) == 0
        assert not before.value

    def __call__(self) -> str:
        """What is said of an index; nothing where all were in range."""
        if self.library.agpu_ops_check_indices(self.device) == 0:
            return ""
        info = ErrorInfo(size_bytes=ctypes.sizeof(ErrorInfo))
        self.library.agpu_last_error(ctypes.byref(info))
        assert info.name == b"index-out-of-range"
        return bytes(info.message).decode()

    def close(self) -> None:
        assert self.library.agpu_ops_defer_index_checks(ctypes.c_bool(False), None) == 0
        self.library.agpu_release(self.device)


@pytest.fixture(scope="module")
def cpu() -> Iterator[Any]:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture
def look(cpu: Any) -> Iterator[Look]:
    made = Look()
    yield made
    made.close()


CALLS = {
    "embedding": ((TABLE, BAD), "embedding: index 7 at place 1 of the indices is out of range: 5 are there"),
    "embedding_gradient": (
        (TABLE[:3], BAD, 5, None),
        "embedding_gradient: index 7 at place 1 of the indices is out of range: 5 are there",
    ),
    "index_add": (
        (TABLE, 0, BAD, TABLE[:3]),
        "index_add: index 7 at place 1 of the indices is out of range: 5 are there",
    ),
    "scatter_reduce": (
        (TABLE, 0, BAD[:, None], TABLE[:3, :1], "amax"),
        "scatter_reduce: index 7 at place 1 of the indices is out of range: 5 are there",
    ),
    "offsets": (((BAD,), (5,), (2,)), "offsets: index 7 at place 1 of the indices is out of range: 5 are there"),
    "class_loss": (
        ("nll_loss", TABLE, np.array([0, 1, 2, 1, 0]), None, None),
        "nll_loss: index 2 at place 2 of the indices is out of range: 2 are there",
    ),
}


@pytest.mark.parametrize("operation", CALLS)
def test_the_next_look_names_the_operation_and_the_index(cpu: Any, look: Look, operation: str) -> None:
    arguments, sentence = CALLS[operation]
    assert look() == ""
    options = {"reduction": "mean", "ignore_index": -100} if operation == "class_loss" else {}
    cases.on_device(operation)(*arguments, device=cpu, **options)
    assert look().startswith(sentence)
    assert look() == ""


def test_rows_of_such_an_index_are_zeros(cpu: Any, look: Look) -> None:
    rows = cases.on_device("embedding")(TABLE, BAD, device=cpu).numpy()
    gradient = cases.on_device("embedding_gradient")(TABLE[:3], BAD, 5, None, device=cpu).numpy()
    assert rows.tolist() == [[2, 3], [0, 0], [4, 5]]
    assert gradient.tolist() == [[0, 0], [0, 1], [4, 5], [0, 0], [0, 0]]
    assert "embedding" in look()


def test_good_indices_are_not_told_of_however_many_calls_there_are(cpu: Any, look: Look) -> None:
    for first in range(4):
        index = np.array([first, 4 - first])
        assert np.array_equal(cases.on_device("embedding")(TABLE, index, device=cpu).numpy(), TABLE[index])
    assert look() == ""
