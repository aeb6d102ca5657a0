"""Forms of reductions and of joined steps on real GPUs: the same bits in every form, measured in a child, taken by the next launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import tuning

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
REDUCTIONS = "sum:4096x4096:1,sum:4096x4096:0,sum:10000001:0,var:1000x3001:1,argmax:777x1000:1,mean:16x64x56x56:0+2+3"


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The first GPU, with a tuning database of its own."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "cache"))
    with amdgpu.initialize_device(GPU_NAMES[0]) as opened:
        yield opened


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    return (np.random.default_rng(seed).standard_normal(shape) * 9).astype(dtype)


@pytest.mark.parametrize("name", ["f32", "f16", "i32"])
def test_every_form_of_a_reduction_has_the_same_bits(gpu: Any, name: str) -> None:
    for reduction in tuning.reductions_of(REDUCTIONS, [name]):
        x = amdgpu.array(numbers(reduction.shape, reduction.dtype, 1), device=gpu)
        _, forms = reduction.ways(gpu)
        usual = reduction.compute(gpu, forms[0], x).numpy()
        for form in forms[1:]:
            assert reduction.compute(gpu, form, x).numpy().tobytes() == usual.tobytes(), (str(reduction), form)


def test_every_form_of_joined_steps_has_the_bits_of_the_operations(gpu: Any) -> None:
    def chain(x: Any, y: Any) -> Any:
        return amdgpu.maximum((x + y) * 1.5, 0.0) * x

    for shapes in [((1024, 4096), (1024, 4096)), ((1000, 4100), (4100,)), ((77, 1, 333), (77, 5, 1))]:
        x, y = (amdgpu.array(numbers(shape, "float32", seed), device=gpu) for seed, shape in enumerate(shapes))
        (steps,) = tuning.fused_of(amdgpu.jit(chain).graph(x, y))
        _, forms = steps.ways(gpu)
        assert len(forms) == 12
        expected = chain(x, y).numpy().tobytes()
        for form in forms:
            made = steps.compute(gpu, form, x, y)
            assert made.numpy().tobytes() == expected, (shapes, form)


def test_forms_are_measured_and_taken(gpu: Any) -> None:
    def chain(x: Any) -> Any:
        return amdgpu.maximum(x * 1.5 + 0.5, 0.0) * x

    x = amdgpu.array(numbers((2048, 4096), "float32", 3), device=gpu)
    traced = amdgpu.jit(chain)
    before, total = traced(x).numpy(), amdgpu.sum(x, axis=1).numpy()
    wanted = [*tuning.reductions_of("sum:2048x4096:1", ["f32"]), *tuning.fused_of(traced.graph(x))]
    report = tuning.tune(wanted, GPU_NAMES[0], budget_seconds=120)
    assert len(report.tuned) == 2
    for record in report.tuned:
        assert not record.failed
        print(record.ranking()[0], record.seconds)
    hits = tuning.stats(GPU_NAMES[0]).hits
    assert traced(x).numpy().tobytes() == before.tobytes()
    assert amdgpu.sum(x, axis=1).numpy().tobytes() == total.tobytes()
    assert tuning.stats(GPU_NAMES[0]).hits == hits + 2
