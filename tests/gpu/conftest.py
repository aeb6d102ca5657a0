"""Fixtures of the tests that need a GPU."""

import amdgpu
import pytest
from gpu_harness import GPU_NAMES


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
