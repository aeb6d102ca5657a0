"""Products with vectors, with an inner dimension that is cut among blocks, and of padded operands on real GPUs, against float64."""

from __future__ import annotations

import math
import threading
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, gpu_kernels
from amdgpu._generated.dtypes import FORMATS
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
# Rows, columns, inner dimension, products: rows and columns of one, of lengths that no block divides; few blocks and a long inner
# dimension; rows that do not start at multiples of 16 bytes.
SHAPES = (
    (1, 1000, 37, 1),
    (1, 1, 5000, 1),
    (1, 4096, 2048, 1),
    (777, 1, 1283, 1),
    (640, 1, 8192, 1),
    (1, 256, 512, 5),
    (16, 256, 4096, 1),
    (128, 384, 3072, 1),
    (129, 257, 65, 1),
    (131, 101, 1003, 3),
    (1001, 503, 205, 1),
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


class Case:
    """Operands on the GPU, the exact product and the sums of absolute products."""

    def __init__(
        self,
        gpu: Any,
        number: str,
        shape: tuple[int, int, int, int],
        layout: str,
        epilogue: str = "",
        *,
        is_wide: bool = False,
    ) -> None:
        random = np.random.default_rng(sum(shape))
        m, n, k, batch = shape
        dtype = DTYPES[number]
        if number == "i8":
            a, b = (random.integers(-128, 128, size).astype(dtype) for size in ((batch, m, k), (batch, k, n)))
        else:
            a, b = (random.standard_normal(size).astype(dtype) for size in ((batch, m, k), (batch, k, n)))
        self.exact = a.astype(np.float64) @ b.astype(np.float64)
        self.scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
        stored = [
            np.ascontiguousarray(x.swapaxes(1, 2) if letter == "t" else x)
            for x, letter in zip((a, b), layout, strict=True)
        ]
        self.a, self.b = (amdgpu.array(x, device=gpu.name) for x in stored)
        output = np.dtype(np.int32) if number == "i8" else np.dtype(np.float32 if is_wide else dtype)
        sizes = [x.shape[2] * FORMATS[number].bytes for x in stored] + [n * output.itemsize]
        kind = "f32" if is_wide else {"tf32": "f32", "i8": "i32"}.get(number, number)
        is_aligned = all(size % 16 == 0 for size in sizes)
        self.problem = gpu_kernels.Problem(m, n, k, batch, number, kind, layout, epilogue, is_aligned=is_aligned)
        self.held = random.integers(-3, 4, (batch, m, n)).astype(output)
        self.gpu, self.number = gpu, number

    def ways(self) -> list[gpu_kernels.Choice]:
        """What this file is about."""
        found = gpu_kernels.ways(self.gpu, self.problem, with_vendor=False)
        return [way for way in found if way.is_vector or way.is_padded or way.parts > 1]

    def run(self, way: gpu_kernels.Choice, **options: Any) -> Any:
        out = amdgpu.array(self.held, device=self.gpu.name)
        _native.MatmulCall(self.gpu, self.problem, self.a, self.b, out, way=way.name, **options)()
        return out.numpy()

    def check(self, result: Any, expected: Any, scale: Any, what: str) -> None:
        error = np.abs(result.astype(np.float64) - expected)
        assert np.all(error <= PRODUCT_KERNEL[self.number] * scale + 1e-300), (
            what,
            float(np.max(error / (scale + 1e-300))),
        )


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("number", list(DTYPES))
def test_they_are_right_and_repeat_to_the_bit(gpu: Any, number: str, layout: str) -> None:
    tried = set()
    for shape in SHAPES:
        case = Case(gpu, number, shape, layout)
        for way in case.ways():
            first = case.run(way)
            case.check(first, case.exact, case.scale, f"{way.name} {shape}")
            assert first.tobytes() == case.run(way).tobytes(), (way.name, shape)
            tried.add("vector" if way.is_vector else "padded" if way.is_padded else "split")
    if not tried:
        pytest.skip(f"the archive has no such ways for {number} {layout}")


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("number", "epilogue"),
    [
        *((number, word) for number in ("f32", "tf32", "f16", "bf16") for word in ("bias", "relu", "gelu", "silu")),
        ("f64", "bias"),
        ("f64", "relu"),
    ],
)
def test_what_follows_the_sums_is_that_of_float64(gpu: Any, number: str, epilogue: str) -> None:
    tried = 0
    for shape in ((1, 1000, 1024, 1), (900, 1, 700, 1), (16, 256, 4096, 1), (131, 101, 203, 1)):
        case = Case(gpu, number, shape, "nn", epilogue)
        bias = np.random.default_rng(4).standard_normal(shape[1]).astype(DTYPES[number])
        x = 0.25 * case.exact + 2.0 * case.held.astype(np.float64) + bias.astype(np.float64)
        expected = {
            "bias": lambda x: x,
            "relu": lambda x: np.maximum(x, 0),
            "gelu": lambda x: x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
            "silu": lambda x: x / (1 + np.exp(-x)),
        }[epilogue](x)
        for way in case.ways():
            result = case.run(way, bias=amdgpu.array(bias, device=gpu.name), alpha=0.25, beta=2.0)
            # The slopes of the activations are below 1.13.
            case.check(result, expected, 1.2 * (case.scale + 8) + np.abs(x), f"{way.name} {shape}")
            tried += 1
    if not tried:
        pytest.skip(f"the archive has no such ways for {number}")


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("number", ["f16", "bf16"])
def test_float32_results_of_16_bit_operands_are_their_sums(gpu: Any, number: str, layout: str) -> None:
    tried = 0
    for shape in (*SHAPES, (4096, 1, 4096, 1), (8192, 1, 4096, 1), (1, 4096, 4096, 1)):
        case = Case(gpu, number, shape, layout, is_wide=True)
        for way in gpu_kernels.ways(gpu, case.problem, with_vendor=False):
            # No kernel for vectors leaves sums of 16-bit operands as they are.
            assert not way.is_vector
            result = case.run(way)
            assert result.dtype == np.float32
            assert np.all(np.abs(result - case.exact) <= 1e-5 * case.scale), (way.name, shape)
            tried += 1
    if not tried:
        pytest.skip(f"the archive has no kernels of {number} that leave sums as they are")


def whole_calls() -> list[tuple[tuple[int, int, int], bool, dict[str, Any]]]:
    """Extents, whether the second operand is stored transposed, and what else a call is given."""
    random = np.random.default_rng(6)
    column, row = (random.standard_normal(shape).astype(np.float32) for shape in ((4096, 1), (1, 4096)))
    return [
        ((4096, 1, 4096), False, {}),
        ((1, 4096, 4096), True, {}),
        ((1, 4096, 4096), True, {"residual": row}),
        ((4096, 1, 4096), False, {"residual": column}),
        ((4096, 1, 4096), False, {"activation": "tanh"}),
        ((1, 1000, 4096), False, {"activation": "tanh"}),
    ]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("has_out", [False, True])
@pytest.mark.parametrize("number", range(6))
def test_16_bit_operands_with_vectors_give_what_float64_does(
    gpu: Any, dtype: Any, number: int, *, has_out: bool
) -> None:
    (m, n, k), is_turned, options = whole_calls()[number]
    random = np.random.default_rng(number)
    a, b = (random.standard_normal(shape).astype(dtype) / 64 for shape in ((m, k), (k, n)))
    a, b = (x.astype(dtype) for x in (a, b))
    exact = a.astype(np.float64) @ b.astype(np.float64) + options.get("residual", 0.0)
    scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + np.abs(options.get("residual", 0.0))
    exact = np.tanh(exact) if options.get("activation") == "tanh" else exact
    given = {
        name: amdgpu.array(value, device=gpu.name) if name == "residual" else value for name, value in options.items()
    }
    left, right = (amdgpu.array(x, device=gpu.name) for x in (a, np.ascontiguousarray(b.T) if is_turned else b))
    out = amdgpu.empty((m, n), "float32", device=gpu.name) if has_out else None
    result = amdgpu.matrix_multiply(left, right, gpu.name, "fp32", out=out, transpose_b=is_turned, **given)
    found = (result if out is None else out).numpy()
    # The default result is of the operands' dtype where it has 16 bits, and rounded once.
    rounding = {2: 2.0**-8 if dtype is not np.float16 else 2.0**-11}.get(found.dtype.itemsize, 2.0**-23)
    assert np.all(np.abs(found.astype(np.float64) - exact) <= 1e-5 * scale + rounding * np.abs(exact) + 1e-6)


@pytest.mark.gpu
def test_products_of_two_threads_and_of_graphs_do_not_meet_in_memory(gpu: Any) -> None:
    random = np.random.default_rng(8)
    shape = (259, 1003, 515)
    operands = [
        [amdgpu.array(random.standard_normal(size).astype(np.float16), device=gpu.name) for size in sizes]
        for sizes in [((shape[0], shape[2]), (shape[2], shape[1]))] * 3
    ]
    expected = [gpu_kernels.matmul(gpu, a, b).numpy().tobytes() for a, b in operands]
    outs = [amdgpu.empty((shape[0], shape[1]), "float16", device=gpu.name) for _ in operands]
    graph = amdgpu.CapturedGraph()
    with graph:
        gpu_kernels.matmul(gpu, *operands[2], out=outs[2])

    def multiply(number: int) -> None:
        for _ in range(200):
            gpu_kernels.matmul(gpu, *operands[number], out=outs[number])

    threads = [threading.Thread(target=multiply, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    other = gpu.create_stream()
    for _ in range(50):
        graph.replay(stream=other)
    for thread in threads:
        thread.join()
    other.synchronize()
    gpu.synchronize()
    assert [out.numpy().tobytes() for out in outs] == expected


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutions_of_float32_are_as_near_as_their_precision_says(gpu: Any, precision: str, layout: str) -> None:
    random = np.random.default_rng(12)
    for channels, outputs in ((64, 64), (12, 20), (32, 200)):
        x = random.standard_normal((2, channels, 19, 23)).astype(np.float32)
        weight = random.standard_normal((outputs, channels, 3, 3)).astype(np.float32)
        bias = random.standard_normal(outputs).astype(np.float32)
        wide = [one.astype(np.float64) for one in (x, weight)]
        exact = amdgpu.ops.conv2d(*wide, bias.astype(np.float64), padding=1, stride=2)
        scale = amdgpu.ops.conv2d(*(np.abs(one) for one in wide), np.abs(bias).astype(np.float64), padding=1, stride=2)
        images = x if layout == "NCHW" else np.ascontiguousarray(x.transpose(0, 2, 3, 1))
        arrays = [amdgpu.array(one, device=gpu.name) for one in (images, weight, bias)]
        results = [
            amdgpu.ops.conv2d(*arrays, padding=1, stride=2, layout=layout, precision=precision).numpy()
            for _ in range(3)
        ]
        assert all(one.tobytes() == results[0].tobytes() for one in results)
        result = results[0] if layout == "NCHW" else results[0].transpose(0, 3, 1, 2)
        bound = 2.0**-9 if precision == "tf32" else 2.0**-20
        assert np.all(np.abs(result - exact) <= bound * scale)
