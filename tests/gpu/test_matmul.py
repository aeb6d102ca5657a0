"""Matrix products by the archived kernels on real GPUs, against float64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, gpu_kernels
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
# No multiple of any tile, one of all, single rows and columns, inner dimensions that are empty, odd or long.
SHAPES = (
    (1, 1, 1),
    (128, 256, 64),
    (129, 257, 65),
    (64, 8, 1000),
    (1, 1000, 37),
    (513, 1, 513),
    (136, 264, 72),
    (300, 520, 2048),
    (5, 7, 0),
)


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU, opened, when there is an archive for it."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(GPU_NAMES[0]) as opened:
        if not gpu_kernels.architectures():
            pytest.skip("./x kernels was not run")
        yield opened


def operands(number: str, shape: tuple[int, int, int], layout: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Both operands as they lie in memory, the product in float64, and the sums of absolute products."""
    random = np.random.default_rng(seed)
    m, n, k = shape
    if number == "i8":
        a, b = (random.integers(-128, 128, size).astype(np.int8) for size in ((m, k), (k, n)))
    else:
        a, b = (random.standard_normal(size).astype(DTYPES[number]) for size in ((m, k), (k, n)))
    exact, scale = (
        a.astype(np.float64) @ b.astype(np.float64),
        np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64),
    )
    stored = [np.ascontiguousarray(x.T if letter == "t" else x) for x, letter in zip((a, b), layout, strict=True)]
    return stored[0], stored[1], exact, scale


def check(result: Any, exact: Any, scale: Any, number: str) -> None:
    error = np.abs(result.numpy().astype(np.float64) - exact)
    assert np.all(error <= PRODUCT_KERNEL[number] * scale + 1e-300), float(np.max(error / (scale + 1e-300)))


def problem_of(number: str, shape: tuple[int, int, int], layout: str, *, epilogue: str = "") -> gpu_kernels.Problem:
    item = np.dtype(DTYPES[number]).itemsize
    m, n, k = shape
    columns = (m if layout[0] == "t" else k, k if layout[1] == "t" else n)
    output = {"tf32": "f32", "i8": "i32"}.get(number, number)
    result_item = 4 if output == "i32" else item
    aligned = all(count * item % 16 == 0 for count in columns) and n * result_item % 16 == 0
    return gpu_kernels.Problem(m, n, k, 1, number, output, layout, epilogue, aligned)


def runnable(gpu: Any, problem: gpu_kernels.Problem) -> list[gpu_kernels.ArchivedKernel]:
    """Candidates of the archive that the GPU takes."""
    return gpu_kernels.candidates(gpu.info().architecture, problem)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("number", ["f64", "f32", "tf32", "f16", "bf16", "i8"])
def test_every_kernel_of_the_archive_is_right_for_awkward_shapes(gpu: Any, number: str, layout: str) -> None:
    tried = 0
    for seed, shape in enumerate(SHAPES):
        stored_a, stored_b, exact, scale = operands(number, shape, layout, seed)
        a, b = amdgpu.array(stored_a, device=gpu.name), amdgpu.array(stored_b, device=gpu.name)
        for kernel in runnable(gpu, problem_of(number, shape, layout)):
            result = gpu_kernels.matmul(
                gpu,
                a,
                b,
                transpose_a=layout[0] == "t",
                transpose_b=layout[1] == "t",
                precision="tf32" if number == "tf32" else None,
                kernel=kernel,
            )
            check(result, exact, scale, number)
            tried += 1
    if not tried:
        pytest.skip(f"the archive has no kernel for {number} {layout}")


@pytest.mark.gpu
def test_newer_gpus_run_the_kernels_of_an_older_archive(gpu: Any, tmp_path: Path) -> None:
    if os.environ.get("AMDGPU_LIBRARY_PATH"):
        pytest.skip("this is the process with the older archive")
    if gpu.info().kind != "cuda" or "sm_80" not in gpu_kernels.architectures() or gpu.info().architecture == "sm_80":
        pytest.skip("needs a newer NVIDIA GPU and the archive of sm_80")
    libraries = Path(amdgpu.__file__).parent / "_lib"
    for entry in libraries.iterdir():
        if entry.name != "kernels":
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "sm_80.archive").symlink_to(libraries / "kernels" / "sm_80.archive")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        "/dev/null",
        "-q",
        "-p",
        "no:cacheprovider",
        "-W",
        "ignore",
        __file__,
    ]
    done = subprocess.run(
        [*command, "-k", "every_kernel_of_the_archive or beta_adds"],
        env={**os.environ, "AMDGPU_LIBRARY_PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "failed" not in done.stdout
    assert "passed" in done.stdout


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("number", ["f16", "bf16"])
def test_sums_of_narrow_operands_are_given_unrounded(gpu: Any, number: str, layout: str) -> None:
    tried = 0
    for seed, shape in enumerate((*SHAPES, (256, 512, 4096), (1000, 1000, 200))):
        stored_a, stored_b, exact, scale = operands(number, shape, layout, seed)
        a, b = amdgpu.array(stored_a, device=gpu.name), amdgpu.array(stored_b, device=gpu.name)
        problem = problem_of(number, shape, layout)._replace(output="f32")
        for kernel in runnable(gpu, problem):
            out = amdgpu.array(np.full(shape[:2], np.nan, np.float32), device=gpu.name)
            flags = {"transpose_a": layout[0] == "t", "transpose_b": layout[1] == "t"}
            gpu_kernels.matmul(gpu, a, b, out=out, kernel=kernel, **flags)
            # The products are exact in float32; matrix units cut their sums off. Rounding to the operands' format would be far outside.
            assert np.all(np.abs(out.numpy().astype(np.float64) - exact) <= 5e-6 * scale)
            tried += 1
    if not tried:
        pytest.skip(f"the archive has no kernel for {number} {layout} with float32 results")


@pytest.mark.gpu
@pytest.mark.parametrize("number", ["f64", "f32", "f16", "bf16"])
def test_random_shapes_are_right_with_the_kernel_that_is_chosen(gpu: Any, number: str) -> None:
    random = np.random.default_rng(7)
    for seed in range(25):
        m, n, k = (int(2 ** random.uniform(0, 10.5)) for _ in range(3))
        stored_a, stored_b, exact, scale = operands(number, (m, n, k), "nn", seed)
        try:
            result = gpu_kernels.matmul(
                gpu, amdgpu.array(stored_a, device=gpu.name), amdgpu.array(stored_b, device=gpu.name)
            )
        except errors.NoImplementationError:
            continue
        check(result, exact, scale, number)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("number", "activation"),
    [
        *((number, word) for number in ("f32", "tf32", "f16", "bf16") for word in (None, "relu", "gelu", "silu")),
        ("f64", None),
        ("f64", "relu"),
    ],
)
def test_epilogues_are_those_of_float64(gpu: Any, number: str, activation: str | None) -> None:
    from math import erf

    m, n, k = 200, 264, 96
    stored_a, stored_b, exact, scale = operands(number, (m, n, k), "nn", 3)
    bias = np.random.default_rng(4).standard_normal(n).astype(DTYPES[number])
    result = gpu_kernels.matmul(
        gpu,
        *(amdgpu.array(values, device=gpu.name) for values in (stored_a, stored_b)),
        bias=amdgpu.array(bias, device=gpu.name),
        activation=activation,
        precision="tf32" if number == "tf32" else None,
        alpha=0.25,
    )
    x = 0.25 * exact + bias.astype(np.float64)
    expected = {
        None: x,
        "relu": np.maximum(x, 0),
        "gelu": x * 0.5 * (1 + np.vectorize(erf)(x / np.sqrt(2))),
        "silu": x / (1 + np.exp(-x)),
    }[activation]
    # The slopes of the activations are below 1.13.
    check(result, expected, 1.2 * scale + np.abs(x), number)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(130, 132, 68), (131, 133, 67)])
@pytest.mark.parametrize("number", ["f64", "f32", "tf32"])
def test_beta_adds_what_the_result_held(gpu: Any, number: str, shape: tuple[int, int, int]) -> None:
    stored_a, stored_b, exact, scale = operands(number, shape, "nn", 5)
    held = np.random.default_rng(6).standard_normal(shape[:2]).astype(DTYPES[number])
    arrays = [amdgpu.array(values, device=gpu.name) for values in (stored_a, stored_b)]
    for kernel in (None, *runnable(gpu, problem_of(number, shape, "nn"))):
        out = amdgpu.array(held, device=gpu.name)
        precision = "tf32" if number == "tf32" else None
        gpu_kernels.matmul(gpu, *arrays, out=out, alpha=2.0, beta=-0.5, kernel=kernel, precision=precision)
        check(out, 2 * exact - 0.5 * held, 2 * scale + np.abs(held), number)


@pytest.mark.gpu
def test_what_is_not_a_number_in_the_old_result_does_not_matter_without_beta(gpu: Any) -> None:
    stored_a, stored_b, exact, scale = operands("f32", (64, 64, 64), "nn", 5)
    out = amdgpu.array(np.full((64, 64), np.nan, np.float32), device=gpu.name)
    gpu_kernels.matmul(gpu, *(amdgpu.array(values, device=gpu.name) for values in (stored_a, stored_b)), out=out)
    check(out, exact, scale, "f32")


@pytest.mark.gpu
def test_batches_are_multiplied_one_by_one(gpu: Any) -> None:
    random = np.random.default_rng(8)
    for number in ("f64", "f32", "tf32", "f16"):
        dtype, precision = DTYPES[number], "tf32" if number == "tf32" else None
        a, b = random.standard_normal((3, 100, 72)).astype(dtype), random.standard_normal((3, 72, 136)).astype(dtype)
        arrays = (amdgpu.array(values, device=gpu.name) for values in (a, b))
        result = gpu_kernels.matmul(gpu, *arrays, precision=precision)
        check(
            result,
            a.astype(np.float64) @ b.astype(np.float64),
            np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64),
            number,
        )


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("precision", "number"), [("fp32", "f32"), ("tf32", "tf32"), ("fp64", "f64"), ("bf16", "bf16"), ("int8", "i8")]
)
def test_matrix_multiply_runs_on_the_gpu(gpu: Any, precision: str, number: str) -> None:
    if gpu.info().kind != "cuda":
        pytest.skip("the archived kernels have not been run on this kind of device")
    a, b, exact, scale = operands(number, (70, 33, 90), "nt", 9)
    result = amdgpu.matrix_multiply(a, b, gpu.name, precision, transpose_b=True)
    assert isinstance(result, np.ndarray)
    assert np.all(np.abs(result.astype(np.float64) - exact) <= PRODUCT_KERNEL[number] * scale)
    ours = [amdgpu.array(values, device=gpu.name) for values in (a, b)]
    on_device = amdgpu.matrix_multiply(*ours, gpu.name, precision, transpose_b=True)
    assert on_device.device == gpu.name
    assert np.array_equal(on_device.numpy(), result)


@pytest.mark.gpu
def test_matrix_multiply_refuses_on_the_gpu_what_it_refuses_on_the_cpu(gpu: Any) -> None:
    with pytest.raises(errors.ShapeMismatchError):
        amdgpu.matrix_multiply(np.ones((2, 3)), np.ones((2, 3)), gpu.name)
    with pytest.raises(errors.UnsupportedDtypeError):
        amdgpu.matrix_multiply(np.ones((2, 2)), np.ones((2, 2), complex), gpu.name, alpha=2.0)
    assert amdgpu.matrix_multiply(np.ones((2, 0)), np.ones((0, 3)), gpu.name).tolist() == [[0, 0, 0], [0, 0, 0]]


@pytest.mark.gpu
def test_products_that_are_transposed_first_are_right(gpu: Any) -> None:
    for number in ("tf32", "i8"):
        for layout in ("nn", "tn", "tt"):
            stored_a, stored_b, exact, scale = operands(number, (512, 640, 544), layout, 11)
            result = gpu_kernels.matmul(
                gpu,
                *(amdgpu.array(values, device=gpu.name) for values in (stored_a, stored_b)),
                transpose_a=layout[0] == "t",
                transpose_b=layout[1] == "t",
                precision="tf32" if number == "tf32" else None,
            )
            check(result, exact, scale, number)
