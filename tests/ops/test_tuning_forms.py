"""Forms of generated kernels: all give the same bits, the fastest that was measured is taken."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, tuning
from amdgpu.tuning import Fused, Record, Reduction, database
from amdgpu.tuning.fused import usual_fused
from amdgpu.tuning.process import Worker
from amdgpu.tuning.reductions import USUAL_REDUCTIONS
from amdgpu.tuning.tuner import Tuner

DEVICE = "cpu:0"
# Answers with the seconds that stand in the name of the form.
STAND_IN = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    assert ("reduction" in question) != ("fused" in question)
    way = question["candidate"]
    print(json.dumps({"failed": "other bits"} if way == "wrong" else {"seconds": float(way.partition("-")[2])}), flush=True)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of its own."""
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tuning"


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    drawn = np.random.default_rng(seed).standard_normal(shape)
    return (drawn * 50).astype(dtype)


def rounding(dtype: Any) -> float:
    return float(np.finfo(dtype).eps) if np.dtype(dtype).kind == "f" else 0.0


def chain(x: amdgpu.Array, y: amdgpu.Array) -> amdgpu.Array:
    return amdgpu.maximum(x * 1.5 + y, 0.0) * x


@pytest.mark.parametrize(
    ("operation", "shape", "axes", "dtype", "begin"),
    [
        ("sum", (300, 1100), (1,), "float32", 0),
        ("sum", (300, 1100), (1,), "float32", 1),
        ("sum", (1100, 300), (0,), "float16", 0),
        ("var", (40, 500), (1,), "float64", 0),
        ("argmax", (64, 77), (1,), "int8", 1),
        ("max", (7, 33, 65), (0, 2), "float32", 0),
    ],
)
def test_forms_of_a_reduction_have_the_same_bits(
    operation: str, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, begin: int
) -> None:
    device = amdgpu.initialize_device(DEVICE)
    reduction = Reduction(operation, shape, axes, dtype)
    subject, forms = reduction.ways(device)
    assert subject.startswith("reduction ")
    assert dtype in subject
    assert len(set(forms)) == len(forms) > 3
    # Memory that begins at a vector or not, for which there are kernels of their own.
    size = int(np.prod(shape))
    x = amdgpu.array(numbers((size + 1,), dtype), device=DEVICE)[begin : begin + size].reshape(shape)
    usual = reduction.compute(device, forms[0], x).numpy()
    exact = getattr(np, operation)(x.numpy().astype(np.float64), axis=axes if len(axes) > 1 else axes[0])
    np.testing.assert_allclose(usual.astype(np.float64), exact, rtol=max(1e-12, rounding(usual.dtype)))
    # The kernels take seconds to compile for a CPU: the largest block, and one between.
    for form in (forms[len(forms) // 2], forms[-1]):
        made = reduction.compute(device, form, x).numpy()
        assert made.dtype == usual.dtype
        assert made.tobytes() == usual.tobytes(), form


def test_a_form_that_a_kernel_does_not_have_is_an_error() -> None:
    device = amdgpu.initialize_device(DEVICE)
    x = amdgpu.array(numbers((300, 1100), "float32"), device=DEVICE)
    reduction = Reduction("sum", (300, 1100), (1,), "float32")
    for form in ("block 128 ahead 2", "block 256 ahead 64", "block 100 ahead 1"):
        with pytest.raises(errors.InvalidArgumentError, match="the kernel has no form"):
            reduction.compute(device, form, x)
    with pytest.raises(errors.InvalidArgumentError, match='no form of kernels is called "fast"'):
        reduction.compute(device, "fast", x)


def test_every_form_of_joined_steps_has_the_bits_of_the_operations() -> None:
    device = amdgpu.initialize_device(DEVICE)
    for shapes in [((64, 1024), (64, 1024)), ((70, 999), (999,)), ((8_400_001,), (1,))]:
        x, y = (amdgpu.array(numbers(shape, "float32", seed), device=DEVICE) for seed, shape in enumerate(shapes))
        (steps,) = tuning.fused_of(amdgpu.jit(chain).graph(x, y))
        subject, forms = steps.ways(device)
        assert subject.startswith("fused ")
        assert ("repeated" in subject) == (shapes[0] != shapes[1])
        assert forms == [f"block {block} ahead 1" for block in (1024, 128, 256, 512)]
        expected = chain(x, y).numpy().tobytes()
        for form in forms:
            assert steps.compute(device, form, x, y).numpy().tobytes() == expected, form


def test_steps_that_no_kernel_computes_have_no_forms() -> None:
    device = amdgpu.initialize_device(DEVICE)
    small, rounded = ((4, 8), lambda x: x * 2.0 + 1.0), ((64, 1024), lambda x: amdgpu.exp(x) * 2.0)
    for shape, function in (small, rounded):
        (steps,) = tuning.fused_of(amdgpu.jit(function).graph(amdgpu.zeros(shape, device=DEVICE)))
        assert steps.ways(device) == ("", [])


def test_measured_steps_are_launched_in_their_fastest_form() -> None:
    x, y = (amdgpu.array(numbers((64, 1024), "float32", seed), device=DEVICE) for seed in (1, 2))
    traced = amdgpu.jit(chain)
    expected = traced(x, y).numpy().tobytes()
    (steps,) = tuning.fused_of(traced.graph(x, y))
    device = amdgpu.initialize_device(DEVICE)
    subject, forms = steps.ways(device)
    known = tuning.database_of(device.info().architecture)

    def blocks() -> int:
        """Work-items of a block of the next launches."""
        done = threading.Event()

        def launch() -> None:
            while not done.is_set():
                assert traced(x, y).numpy().tobytes() == expected

        thread = threading.Thread(target=launch)
        events = amdgpu.telemetry.events(timeout_seconds=60)
        thread.start()
        try:
            # Of launches that follow each other quickly a sample has records.
            found = next(one for one in events if one["kind"] == "launch" and one["name"] == "elementwise")
        finally:
            done.set()
            thread.join()
        return int(found["value"] // found["detail"][0])

    assert blocks() == 1024
    for block in (256, 512):
        times = dict.fromkeys(forms, 2e-5) | {f"block {block} ahead 1": 1e-5}
        known.add_record(Record(subject, times, {}, "a device", f"2026-11-21T18:00:{block % 60:02}Z"))
        before = tuning.stats(DEVICE)
        assert blocks() == block
        assert tuning.stats(DEVICE).hits == before.hits + 1
        # The choice is remembered.
        assert blocks() == block
        assert tuning.stats(DEVICE).hits == before.hits + 1
    tuning.clear(DEVICE)
    assert blocks() == 1024
    assert tuning.stats(DEVICE).misses == 1


def test_joined_steps_are_measured_in_a_child_and_travel_in_files(tmp_path: Path) -> None:
    x = amdgpu.array(numbers((64, 1024), "float32"), device=DEVICE)
    steps = tuning.fused_of(amdgpu.jit(lambda x: amdgpu.abs(x * 3.0) - x).graph(x))
    seen: list[str] = []
    report = tuning.tune(steps, DEVICE, budget_seconds=60, progress=lambda _, form, *rest: seen.append(form))
    (record,) = report.tuned
    assert isinstance(record, Record)
    assert record.subject == steps[0].ways(amdgpu.initialize_device(DEVICE))[0]
    assert not record.failed
    assert set(record.seconds) == set(seen) == {f"block {block} ahead 1" for block in (128, 256, 512, 1024)}
    again = tuning.tune(steps, DEVICE, budget_seconds=60, is_missing_only=True)
    assert again.known == steps
    architecture = report.database.architecture
    assert tuning.export_database(architecture, tmp_path / "known.json") == 1
    tuning.clear(DEVICE)
    assert tuning.import_database(tmp_path / "known.json") == (architecture, 1)
    assert tuning.database_of(architecture).record(record.subject) == record


def test_reductions_and_steps_are_measured_as_convolutions_are() -> None:
    (reduction,) = tuning.reductions_of("sum:64x64:1", ["f32"])
    (steps,) = usual_fused(["float32"])[:1]
    kept = database.database_of("gfx0")
    with Worker([sys.executable, "-c", STAND_IN]) as worker:
        tuner = Tuner("cuda:0", "a device", kept, budget_seconds=60, worker=worker)
        for what in (reduction, steps):
            record = tuner.tune_subject(what, f"subject {what}", ["a-2e-5", "b-1e-5", "wrong"])
            assert record is not None
            assert record.ranking() == ["b-1e-5", "a-2e-5"]
            assert record.failed == {"wrong": "other bits"}
            assert kept.record(f"subject {what}") == record


def test_reductions_are_tuned_on_gpus_only() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="and joined steps on every device"):
        tuning.tune(tuning.reductions_of("sum:64x64:1", ["f32"]), DEVICE, budget_seconds=1)


def test_reductions_are_read_from_text() -> None:
    found = tuning.reductions_of("sum:4096x4096:1, mean:64x3x224x224:0+2+3", ["f32", "bf16"])
    assert found[1] == Reduction("mean", (64, 3, 224, 224), (0, 2, 3), "float32")
    assert [one.dtype for one in found] == ["float32", "float32", "bfloat16", "bfloat16"]
    assert len(tuning.reductions_of(USUAL_REDUCTIONS, ["f16"])) == USUAL_REDUCTIONS.count(",") + 1


@pytest.mark.parametrize(
    "text", ["", "sum", "sum:4x4", "total:4x4:1", "sum:4x4:2", "sum:4x4:1+1", "sum:0x4:1", "sum:4x4:-1", "sum:4,4:1"]
)
def test_other_reductions_are_errors(text: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="is no reduction; write OPERATION:SHAPE:AXES"):
        tuning.reductions_of(text, ["f32"])


def test_other_formats_graphs_and_things_are_errors() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="format 'tf32' is not known"):
        tuning.reductions_of("sum:4x4:1", ["tf32"])
    with pytest.raises(errors.InvalidArgumentError, match="line 1"):
        tuning.fused_of("%0 = nothing")
    with pytest.raises(
        errors.InvalidTypeError, match="fused_of: graph must be a compiled graph or the text of one, got int"
    ):
        tuning.fused_of(3)  # type: ignore[arg-type]
    with pytest.raises(errors.InvalidArgumentError, match="more than joined steps"):
        Fused("%0 = input : float32[4]\nreturn %0").ways(amdgpu.initialize_device(DEVICE))
    assert str(Fused(usual_fused(["float16"])[0].text)) == "multiply+add+maximum float16[1024, 4096]"
