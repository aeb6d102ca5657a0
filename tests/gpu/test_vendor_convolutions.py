"""Convolutions and sums of matrices by the GPU vendor's own library on real GPUs, against float64, and the choice among the ways."""

from __future__ import annotations

import json
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops, tuning
from tolerances import PRODUCT_KERNEL

ml_dtypes = pytest.importorskip("ml_dtypes")

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "tf32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
}
# Images, filters and steps: odd channels, a layer of ResNet-50, its first one, groups, dilation, one channel a group, one tap.
SHAPES = (
    "3x5x13x11:7x3x2:p1",
    "2x64x28x28:64x3x3:p1",
    "2x3x64x64:64x7x7:s2:p3",
    "2x32x15x15:48x3x3:p1:g4",
    "2x16x17x19:24x3x3:p2:d2",
    "2x24x9x9:24x3x3:p1:g24",
    "2x64x14x14:128x1x1:s2",
)


def libraries_of(device: Any) -> list[str]:
    (plain,) = tuning.convolutions_of("1x8x8x8:8x3x3", ["f32"])
    return [way for way in plain.ways(device)[1] if way not in ("archived", "lowered", "generated")]


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU with a vendor's library for convolutions."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(GPU_NAMES[0]) as opened:
        if not libraries_of(opened):
            pytest.skip("no vendor's library for convolutions is installed: nvidia-cudnn-cu13 has cuDNN")
        yield opened


def arrays(asked: tuning.Convolution, seed: int) -> tuple[tuple[Any, ...], Any, Any]:
    """What the pass reads, the exact result and the sums of absolute products."""
    random = np.random.default_rng(seed)
    dtype, options = DTYPES[asked.operand], asked.keywords
    x, weight = (random.standard_normal(shape).astype(dtype) for shape in (asked.image_shape, asked.filters))
    wide = [x.astype(np.float64), weight.astype(np.float64)]
    exact = ops.conv2d(*wide, **options)
    if asked.direction == "forward":
        return (x, weight), exact, ops.conv2d(*map(np.abs, wide), **options)
    gradient = random.standard_normal(exact.shape).astype(dtype)
    wide_gradient = gradient.astype(np.float64)
    if asked.direction == "image_gradient":
        inputs, shape, by = (gradient, weight), x.shape, ops.conv2d_input_gradient
        wide = [wide_gradient, wide[1]]
    else:
        inputs, shape, by = (x, gradient), weight.shape, ops.conv2d_weight_gradient
        wide = [wide[0], wide_gradient]
    return inputs, by(*wide, shape, **options), by(*map(np.abs, wide), shape, **options)


@pytest.mark.gpu
@pytest.mark.parametrize("direction", ["forward", "image_gradient", "weight_gradient"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("number", list(DTYPES))
def test_libraries_are_right_for_awkward_shapes(gpu: Any, number: str, layout: str, direction: str) -> None:
    computed = 0
    for library in libraries_of(gpu):
        for seed, asked in enumerate(tuning.convolutions_of(",".join(SHAPES), [number], [layout], [direction])):
            inputs, exact, scale = arrays(asked, seed)
            given = tuple(amdgpu.array(x, device=gpu.name) for x in inputs)
            try:
                result = asked.compute(gpu, library, *given)
                again = asked.compute(gpu, library, *given)
            except errors.NoImplementationError:
                continue
            error = np.abs(result.numpy().astype(np.float64) - exact)
            assert np.all(error <= PRODUCT_KERNEL[number] * scale), (library, str(asked))
            # The same bits in every run.
            assert result.numpy().tobytes() == again.numpy().tobytes(), (library, str(asked))
            computed += 1
    if not computed:
        pytest.skip(f"no library convolves {number} in {layout}, {direction}")


@pytest.mark.gpu
def test_cudnn_takes_what_it_is_there_for(gpu: Any) -> None:
    if "cudnn" not in libraries_of(gpu):
        pytest.skip("cuDNN is not installed")
    missing = []
    for number, layout in (("f32", "NCHW"), ("tf32", "NCHW"), ("f16", "NHWC"), ("bf16", "NHWC")):
        for direction in ("forward", "image_gradient", "weight_gradient"):
            (asked,) = tuning.convolutions_of("2x64x28x28:64x3x3:p1", [number], [layout], [direction])
            inputs, _, _ = arrays(asked, 0)
            given = tuple(amdgpu.array(x, device=gpu.name) for x in inputs)
            try:
                asked.compute(gpu, "cudnn", *given)
            except errors.NoImplementationError:
                missing.append(f"{number} {layout} {direction}")
    assert missing == []


@pytest.mark.gpu
def test_a_bias_is_added_before_the_result_is_rounded(gpu: Any) -> None:
    random = np.random.default_rng(2)
    x, weight, bias = (random.standard_normal(shape) for shape in ((2, 64, 14, 14), (64, 64, 3, 3), (64,)))
    computed = 0
    for library in libraries_of(gpu):
        for number in ("f32", "f16", "bf16"):
            given = [one.astype(DTYPES[number]) for one in (x, weight, bias)]
            wide = [one.astype(np.float64) for one in given]
            (asked,) = tuning.convolutions_of("2x64x14x14:64x3x3:p1", [number])
            lent = tuple(amdgpu.array(one, device=gpu.name) for one in given)
            try:
                result = asked.compute(gpu, library, *lent)
            except errors.NoImplementationError:
                continue
            scale = ops.conv2d(*map(np.abs, wide), padding=1)
            assert np.all(
                np.abs(result.numpy().astype(float) - ops.conv2d(*wide, padding=1)) <= PRODUCT_KERNEL[number] * scale
            )
            computed += 1
    if not computed:
        pytest.skip("no library adds a bias")


PROGRAM = """
import amdgpu, json, numpy as np
from amdgpu import _native, ops
device = amdgpu.device.default_device({name!r})
random = np.random.default_rng(0)
x, weight = (random.standard_normal(shape).astype(np.float32) for shape in ((8, 64, 56, 56), (64, 64, 3, 3)))
lent = [amdgpu.array(one, device={name!r}) for one in (x, weight)]
result = ops.conv2d(*lent, padding=1).numpy()[:1]
exact = ops.conv2d(x[:1].astype(float), weight.astype(float), padding=1)
print(json.dumps([float(np.abs(result - exact).max()), _native.convolve_choices(device)]))
"""


@pytest.mark.gpu
def test_the_environment_decides_whose_kernel_computes(gpu: Any, run_python: Any) -> None:
    library = libraries_of(gpu)[0]
    program = PROGRAM.format(name=gpu.name)
    error, ways = json.loads(run_python(program, AMDGPU_MATMUL="vendor").stdout)
    assert error < 1e-3
    assert ways == [library]
    error, ways = json.loads(run_python(program, AMDGPU_MATMUL="ours").stdout)
    assert error < 1e-3
    assert library not in ways


@pytest.mark.gpu
def test_tuning_finds_a_way_that_computes_and_keeps_it(
    gpu: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "cache"))
    wanted = tuning.convolutions_of("8x64x28x28:64x3x3:p1", ["f32"], ["NCHW"], ["forward", "weight_gradient"])
    report = tuning.tune(wanted, gpu.name, budget_seconds=120)
    assert len(report.tuned) == 2
    assert all(len(record.seconds) > 1 for record in report.tuned)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_sums_of_matrices_are_numpys(gpu: Any, run_python: Any, dtype: str) -> None:
    program = f"""
import amdgpu, json, numpy as np
from amdgpu import ops
random = np.random.default_rng(0)
worst, fallbacks = 0.0, 0
for ta in (False, True):
    for tb in (False, True):
        a, b = (random.standard_normal((70, 50) if t else (50, 70)) + 1j for t in (ta, tb))
        a, b = ((x if "complex" in {dtype!r} else x.real).astype({dtype!r}) for x in (a, b))
        lent = [amdgpu.array(x, device={gpu.name!r}) for x in (a, b)]
        found = ops.geam(*lent, alpha=2, beta=-0.5, transpose_a=ta, transpose_b=tb).numpy()
        wanted = 2 * (a.T if ta else a) - 0.5 * (b.T if tb else b)
        worst = max(worst, float(np.abs(found - wanted).max()))
counters = amdgpu.telemetry.snapshot()["counters"]
print(json.dumps([worst, sum(one["value"] for one in counters if one["metric"] == "amdgpu_fallbacks_total")]))
"""
    worst, fallbacks = json.loads(run_python(program, AMDGPU_MATMUL="vendor").stdout)
    assert worst < (1e-5 if dtype in ("float32", "complex64") else 1e-13)
    if fallbacks:
        pytest.skip("neither cuBLAS nor rocBLAS is installed")
