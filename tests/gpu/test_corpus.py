"""The kernel corpus on every GPU of this machine: right, and the same bits as on the CPU.

Needs Python with numpy, pytest and llvmlite, nothing else: `python -m pytest tests/gpu/test_corpus.py -q`. Skipped with a reason where
`list_devices()` shows no GPU.
"""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from corpus import CORPUS

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
LAUNCHES = [(name, size) for name, entry in CORPUS.items() for size in entry.sizes]
ORDER_DEPENDENT = {"block_reduction", "coo_atomic"}


@pytest.fixture(scope="module", params=GPU_NAMES or [None])
def gpu(request):
    """Each GPU of this machine, opened."""
    if request.param is None:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def cpu():
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def unequal(ours, theirs):
    """Where two arrays do not hold the same bits; NaNs are all alike, no target promises their payload."""
    if ours.dtype.names:
        return ours.view(np.uint8) != theirs.view(np.uint8)
    unsigned = f"u{ours.itemsize}"
    different = ours.view(unsigned) != theirs.view(unsigned)
    return different & ~(np.isnan(ours) & np.isnan(theirs)) if ours.dtype.kind == "f" else different


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "size"), LAUNCHES, ids=[f"{name}-{size}" for name, size in LAUNCHES])
def test_results_are_right_and_the_bits_are_those_of_the_cpu(gpu, cpu, name, size):
    entry = CORPUS[name]
    launch = entry.launch(size)
    on_gpu = entry.run(gpu, launch)
    assert launch.problem(on_gpu) == ""
    if launch.order_dependent:
        return
    on_cpu = entry.run(cpu, launch)
    for place, (ours, theirs) in enumerate(zip(on_gpu, on_cpu, strict=True)):
        if isinstance(ours, np.ndarray) and place not in launch.scratch:
            wrong = np.argwhere(unequal(ours, theirs))
            where = tuple(int(index) for index in wrong[0]) if len(wrong) else ()
            assert not len(wrong), (
                f"argument {place}: {len(wrong)} of {ours.size} differ, first at {where}: {ours[where]!r}, cpu {theirs[where]!r}"
            )


def test_only_float_atomics_may_give_other_bits():
    excepted = {name for name, entry in CORPUS.items() if entry.launch(entry.sizes[0]).order_dependent}
    assert excepted == ORDER_DEPENDENT
    for name in excepted:
        assert "atomicAdd" in CORPUS[name].path.read_text()
