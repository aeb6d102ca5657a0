"""Annealing on a GPU: the samples of the CPU, bit for bit."""

import amdgpu
import numpy as np
import pytest
from amdgpu import anneal
from annealing_instances import planted_loops

GPUS = [info.device for info in amdgpu.list_devices() if info.kind in ("cuda", "hip")]
pytestmark = pytest.mark.skipif(not GPUS, reason="no GPU")


@pytest.mark.parametrize("method", anneal.METHODS)
def test_a_gpu_gives_the_samples_of_the_cpu(method):
    couplings, _, energy = planted_loops(16, 180, 0)
    options = {"method": method, "reads": 200, "sweeps": 300, "seed": 5}
    host = anneal.ising(None, couplings, device="cpu:0", **options)
    gpu = anneal.ising(None, couplings, device=GPUS[0], **options)
    assert np.array_equal(host.samples, gpu.samples)
    assert gpu.energy == energy
