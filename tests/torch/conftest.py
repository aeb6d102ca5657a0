"""Tests of the PyTorch device rdna. `./x test torch` runs them with a Python that has torch, twice: as it is, and in poison mode."""

import gc

import amdgpu.torch  # noqa: F401
import pytest
import torch

# GPUs compute convolutions of float32 in all digits, as torch's CPU does.
torch.backends.cudnn.allow_tf32 = False

# Of torch's own, told when parts of it are imported for the first time.
collect_ignore_glob = ["programs/*"]


@pytest.fixture(autouse=True)
def fallback_mode_is_kept():
    before = torch.rdna.get_fallback_mode()
    yield
    torch.rdna.set_fallback_mode(before)
    torch.rdna.set_device(0)


@pytest.fixture
def device():
    return torch.device("rdna", 0)


@pytest.fixture
def collected():
    """Nothing of earlier tests holds memory."""
    gc.collect()
    torch.rdna.synchronize()
