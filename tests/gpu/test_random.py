"""`amdgpu.random` on real GPUs: the bits of the CPU's library."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
import random_oracle as oracle
from amdgpu.random import default_rng

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
pytestmark = pytest.mark.gpu
COUNT = 100_003

FLOATS = ("float64", "float32", "float16", "bfloat16")
DRAWS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    *(("random", (), {"dtype": dtype}) for dtype in FLOATS),
    *(("normal", (1.0, 2.0), {"dtype": dtype}) for dtype in FLOATS),
    *(("exponential", (2.0,), {"dtype": dtype}) for dtype in FLOATS),
    *(("gamma", (shape, 1.5), {}) for shape in (0.05, 0.9, 4.0, 900.0)),
    ("gamma", (2.0,), {"dtype": "float32"}),
    *(("beta", parameters, {}) for parameters in ((0.02, 0.01), (2.0, 3.0))),
    *(("poisson", (mean,), {}) for mean in (0.3, 9.0, 10.0, 77.0, 1e7)),
    *(("binomial", parameters, {}) for parameters in ((20, 0.2), (20, 0.8), (100, 0.5), (10**9, 1e-3))),
    ("integers", (0, 10), {}),
    ("integers", (0, 3 << 30), {"dtype": "uint32"}),
    ("integers", (0, 3 << 62), {"dtype": "uint64"}),
    ("integers", (-128, 128), {"dtype": "int8"}),
    ("bernoulli", (0.3,), {}),
)


@pytest.fixture(scope="module")
def gpu() -> str:
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    return GPU_NAMES[0]


@pytest.mark.parametrize("draw", DRAWS, ids=lambda draw: f"{draw[0]}-{draw[1]}-{draw[2].get('dtype', '')}")
def test_numbers_have_the_bits_of_the_cpu(gpu: str, draw: Any) -> None:
    name, arguments, keywords = draw
    for words in (0, 1, 7):
        numbers = [
            getattr(default_rng(5, device=device).advance(words), name)(*arguments, size=COUNT, **keywords)
            for device in (gpu, "cpu:0")
        ]
        assert numbers[0].device == gpu
        assert (oracle.bits_of(numbers[0]) == oracle.bits_of(numbers[1])).all()


def test_orders_choices_and_masks_are_those_of_the_cpu(gpu: str) -> None:
    p = np.full(1000, 1e-3)
    for run in (
        lambda rng: rng.permutation(COUNT),
        lambda rng: rng.choice(1000, 500, replace=False),
        lambda rng: rng.choice(1000, 500, p=p),
        lambda rng: rng.choice(1000, 500, replace=False, p=p),
    ):
        assert run(default_rng(6, device=gpu)).tolist() == run(default_rng(6, device="cpu:0")).tolist()
    x = np.linspace(0, 1, COUNT, dtype=np.float32)
    on_gpu = amdgpu.ops.dropout(amdgpu.array(x, device=gpu), 0.3, seed=4)
    assert on_gpu.device == gpu
    assert (on_gpu.numpy() == amdgpu.ops.dropout(x, 0.3, seed=4)).all()
    bits = [amdgpu.random.torch_bits(5000, 3, 512, device=device).tolist() for device in (gpu, "cpu:0")]
    assert bits[0] == bits[1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("truncated", [False, True])
def test_normal_numbers_of_tensorflow_have_the_bits_of_the_cpu(gpu: str, dtype: str, truncated: bool) -> None:
    keywords = {"dtype": dtype, "truncated": truncated}
    found, wanted = (
        amdgpu.random.tensorflow_normal(COUNT, 9, 2**64 - 999, device=device, **keywords) for device in (gpu, "cpu:0")
    )
    assert (oracle.bits_of(found) == oracle.bits_of(wanted)).all()


def test_draws_go_into_memory_of_the_gpu_and_of_the_host(gpu: str) -> None:
    own, host = amdgpu.zeros(1001, "float32", device=gpu), np.zeros(1001, np.float32)
    assert default_rng(1).standard_normal(out=own, dtype="float32") is own
    default_rng(1, device=gpu).standard_normal(out=host, dtype="float32", device=gpu)
    assert (own.numpy() == host).all()


def test_raw_words_are_those_that_pytorch_draws(gpu: str) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("PyTorch sees no CUDA device")
    facts = torch.cuda.get_device_properties(0)
    for count in (1, 1000, 5_000_001):
        threads, step = amdgpu.random.torch_layout(
            count, facts.multi_processor_count, threads_each=facts.max_threads_per_multi_processor
        )
        offset = 0
        torch.manual_seed(11)
        for _ in range(2):
            theirs = torch.rand(count, device="cuda").cpu().numpy()
            words = amdgpu.random.torch_bits(count, 11, threads, offset=offset, device=gpu).numpy()
            ours = words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
            assert (np.where(ours == 1, np.float32(0), ours) == theirs).all()
            offset += step
