"""Products by the GPU vendor's own library on real GPUs, against float64, and the choice between it and ours."""

from __future__ import annotations

import json
import threading
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors, gpu_kernels
from tolerances import PRODUCT_KERNEL

ml_dtypes = pytest.importorskip("ml_dtypes")

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
DTYPES = {
    "f64": np.float64,
    "f32": np.float32,
    "tf32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
}
# No multiple of any tile, one of all, single rows and columns, a long inner dimension, a stack.
SHAPES = ((1, 1, 1, 1), (128, 256, 64, 1), (129, 257, 65, 1), (1, 1000, 37, 1), (300, 520, 2048, 1), (48, 80, 32, 7))


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU with a vendor's library."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(GPU_NAMES[0]) as opened:
        if not _native.matmul_libraries(opened):
            pytest.skip("no vendor's library is installed")
        yield opened


def operands(number: str, shape: tuple[int, int, int, int], layout: str, seed: int) -> tuple[Any, ...]:
    """Both operands as they lie in memory, the products in float64, and the sums of absolute products."""
    random = np.random.default_rng(seed)
    m, n, k, batch = shape
    if number == "i8":
        a, b = (random.integers(-128, 128, size).astype(np.int8) for size in ((batch, m, k), (batch, k, n)))
    else:
        a, b = (random.standard_normal(size).astype(DTYPES[number]) for size in ((batch, m, k), (batch, k, n)))
    wide = [x.astype(np.float64) for x in (a, b)]
    stored = [
        np.ascontiguousarray(x.swapaxes(1, 2) if letter == "t" else x) for x, letter in zip((a, b), layout, strict=True)
    ]
    return stored[0], stored[1], wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1])


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("number", ["f64", "f32", "tf32", "f16", "bf16", "i8"])
def test_libraries_are_right_for_awkward_shapes(gpu: Any, number: str, layout: str) -> None:
    computed = 0
    for library in _native.matmul_libraries(gpu):
        for seed, shape in enumerate(SHAPES):
            a, b, exact, scale = operands(number, shape, layout, seed)
            output = {"tf32": "f32", "i8": "i32"}.get(number, number)
            problem = gpu_kernels.Problem(*shape, number, output, layout, "", is_aligned=False)
            held = np.full((shape[3], shape[0], shape[1]), 3, np.int32 if number == "i8" else DTYPES[number])
            arrays = [amdgpu.array(x, device=gpu.name) for x in (a, b, held)]
            try:
                _native.MatmulCall(gpu, problem, *arrays, alpha=2.0, beta=-1.0, way=library)()
            except errors.NoImplementationError:
                continue
            error = np.abs(arrays[2].numpy().astype(np.float64) - (2 * exact - 3))
            assert np.all(error <= PRODUCT_KERNEL[number] * (2 * scale + 3)), (library, shape)
            computed += 1
    if not computed:
        pytest.skip(f"no library computes {number} {layout}")


def problem_of(number: str, epilogue: str) -> gpu_kernels.Problem:
    output = {"tf32": "f32", "i8": "i32"}.get(number, number)
    return gpu_kernels.Problem(64, 64, 64, 1, number, output, "nn", epilogue, is_aligned=True)


@pytest.mark.gpu
@pytest.mark.parametrize("number", ["f64", "f32", "tf32", "f16", "bf16", "i8"])
def test_libraries_pass_the_check_of_their_first_use(gpu: Any, number: str) -> None:
    library = _native.matmul_libraries(gpu)[0]
    assert _native.matmul_is_verified(gpu, library, problem_of(number, ""))


@pytest.mark.gpu
@pytest.mark.parametrize("epilogue", ["bias", "relu"])
@pytest.mark.parametrize("number", ["f32", "tf32", "f16", "bf16"])
def test_epilogues_mean_the_same_as_ours(gpu: Any, number: str, epilogue: str) -> None:
    library = _native.matmul_libraries(gpu)[0]
    assert _native.matmul_is_verified(gpu, library, problem_of(number, epilogue))


@pytest.mark.gpu
def test_threads_do_not_disturb_each_other(gpu: Any) -> None:
    library = _native.matmul_libraries(gpu)[0]
    failures: list[str] = []

    def work(seed: int) -> None:
        for step in range(20):
            shape = (64 + seed, 96, 48 + 16 * (step % 3), 1)
            a, b, exact, scale = operands("f32", shape, "nn", seed * 100 + step)
            problem = gpu_kernels.Problem(*shape, "f32", "f32", "nn", "bias", is_aligned=True)
            bias = np.full(96, seed, np.float32)
            arrays = [amdgpu.array(x, device=gpu.name) for x in (a, b, np.zeros(exact.shape, np.float32), bias)]
            _native.MatmulCall(gpu, problem, *arrays[:3], bias=arrays[3], way=library)()
            error = np.abs(arrays[2].numpy() - (exact + seed))
            if not np.all(error <= 1e-6 * (scale + seed)):
                failures.append(f"{seed} {step}")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


PROGRAM = """
import amdgpu, json, numpy as np
device = amdgpu.device.default_device({name!r})
random = np.random.default_rng(0)
a, b = (random.standard_normal(({size}, {size})).astype(np.float32) for _ in range(2))
result = amdgpu.matrix_multiply(a, b, {name!r})
error = np.abs(result - a.astype(float) @ b.astype(float)).max()
names = [choice and choice[0] for choice in amdgpu._native.matmul_choices(device)]
print(json.dumps([float(error), names]))
"""


@pytest.mark.gpu
def test_the_environment_decides_whose_kernel_computes(gpu: Any, run_python: Any) -> None:
    library = _native.matmul_libraries(gpu)[0]
    program = PROGRAM.format(name=gpu.name, size=512)
    error, names = json.loads(run_python(program, AMDGPU_MATMUL="vendor").stdout)
    assert error < 1e-3
    assert names == [library]
    error, names = json.loads(run_python(program, AMDGPU_MATMUL="ours").stdout)
    assert error < 1e-3
    assert library not in names


@pytest.mark.gpu
def test_tuning_finds_a_way_that_computes_and_keeps_it(gpu: Any, run_python: Any, tmp_path: Any) -> None:
    # No extent of the measurements that come with the package, which would be believed.
    done = run_python(PROGRAM.format(name=gpu.name, size=520), AMDGPU_TUNE="60", timeout=180)
    error, names = json.loads(done.stdout)
    assert error < 1e-3
    kept = [json.loads(path.read_text()) for path in (tmp_path / "cache" / "tuning").glob("*.json")]
    assert len(kept) == 1
    (entry,) = kept[0]["entries"]
    assert len(entry["seconds"]) > 1
    assert names[0] in entry["seconds"]
