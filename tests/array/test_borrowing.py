"""Whoever borrows the memory of an array has it until he is done, whatever becomes of the array."""

import gc
import threading

import amdgpu
import numpy as np
import pytest

COUNT = 1000
ALLOCATED = "allocated_bytes.all.current"


class _Foreign:
    """What knows an array by its array interface alone."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.array = array


BORROWERS = {
    "asarray": np.asarray,
    "asarray as it is": lambda array: np.asarray(array, array.dtype),
    "array without a copy": lambda array: (
        np.array(array, copy=False) if np.lib.NumpyVersion(np.__version__) < "2.0.0" else np.array(array, copy=None)
    ),
    "__array__": lambda array: array.__array__(),
    "interface": lambda array: np.asarray(_Foreign(array)),
    "dlpack": np.from_dlpack,
    "view": lambda array: np.asarray(array.reshape(10, 100)).reshape(-1),
    "from_dlpack": lambda array: np.asarray(amdgpu.from_dlpack(array)),
    "frombuffer": lambda array: np.frombuffer(memoryview(np.asarray(array)), "float32"),
}


@pytest.mark.parametrize("borrow", BORROWERS.values(), ids=BORROWERS.keys())
def test_freed_memory_stays_with_its_borrower(device, borrow):
    gc.collect()
    before = device.memory_stats()[ALLOCATED]
    array = amdgpu.array(np.full(COUNT, 3, "float32"), device=device)
    borrowed = borrow(array)
    array.free()
    others = [amdgpu.array(np.full(COUNT, 7, "float32"), device=device) for _ in range(20)]
    assert (borrowed == 3).all()
    borrowed[:] = 1
    assert all((other.numpy() == 7).all() for other in others)
    assert device.memory_stats()[ALLOCATED] > before + sum(other.nbytes for other in others)
    del borrowed, array, others
    gc.collect()
    assert device.memory_stats()[ALLOCATED] == before


def test_threads_that_free_do_not_pull_memory_away_from_those_who_read(device):
    # Each array is freed while another thread copies it; what is copied is the array's or the reader is told.
    torn = []

    def read(array):
        try:
            values = array.numpy()
        except amdgpu.errors.UseAfterFreeError:
            return
        if (values != values[0]).any():
            torn.append(np.unique(values).tolist())

    for turn in range(30):
        array = amdgpu.array(np.full(1 << 18, turn, "float32"), device=device)
        readers = [threading.Thread(target=read, args=(array,)) for _ in range(2)]
        for reader in readers:
            reader.start()
        array.free()
        amdgpu.array(np.full(1 << 18, -1, "float32"), device=device)
        for reader in readers:
            reader.join()
    assert torn == []
