"""Kernels on a real GPU: the same bits as on the CPU, memory, streams, errors.

Everything marked `gpu` runs on each GPU that `list_devices()` shows, and skips with a reason where there is none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from gpu_harness import GPU_KINDS, run

KERNELS = Path(__file__).resolve().parents[1] / "kernels"

BLOCK_SUM = """
__global__ void block_sum(const float* in, float* out, int n) {
    __shared__ float partial[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[threadIdx.x] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}
"""
HISTOGRAM = """
__global__ void histogram(const unsigned int* values, unsigned int* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[values[i] % 64], 1u);
}
"""
MIXED_ARGUMENTS = """
__global__ void mixed(char a, double b, short c, long long d, float e, double* out) {
    if (threadIdx.x == 0) { out[0] = a; out[1] = b; out[2] = c; out[3] = (double)d; out[4] = e; }
}
"""
EVERY_INTEGER = """
__global__ void integers(const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int divisor = b[i] == 0 ? 1 : b[i];
    out[i] = (a[i] / divisor) ^ (a[i] % divisor) ^ (a[i] >> (b[i] & 31)) ^ (int)((unsigned)a[i] * (unsigned)b[i]);
}
"""
DOUBLES = """
__global__ void doubles(const double* a, const double* b, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = sqrt(fabs(a[i])) / (b[i] + 3.0) - a[i] * b[i] + floor(a[i]);
}
"""
RECIPROCAL_ROOTS = """
// `one` is no constant, so the second way is a square root and a division.
__global__ void compare(float one, unsigned long long* differences) {
    unsigned long long different = 0;
    unsigned long long count = (unsigned long long)gridDim.x * blockDim.x;
    for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < (1ull << 32); i += count) {
        float x = __int_as_float((int)(unsigned int)i);
        float ours = rsqrtf(x), exact = one / sqrtf(x);
        bool both_nan = ours != ours && exact != exact;
        different += __float_as_int(ours) != __float_as_int(exact) && !both_nan;
    }
    atomicAdd(differences, different);
}
"""
MATH = """
__global__ void math(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    out[8 * i + 0] = expf(v);
    out[8 * i + 1] = logf(fabsf(v) + 0.5f);
    out[8 * i + 2] = sinf(v);
    out[8 * i + 3] = cosf(v);
    out[8 * i + 4] = tanhf(v);
    out[8 * i + 5] = powf(fabsf(v), 1.3f);
    out[8 * i + 6] = rsqrtf(fabsf(v) + 1.0f);
    out[8 * i + 7] = sqrtf(fabsf(v)) / (v + 7.0f);
}
"""
INCREMENT = """
__global__ void increment(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += 1.0f;
}
"""


def floats(rng: Any, count: int) -> Any:
    """Ordinary values of many magnitudes, then the special ones."""
    values = (rng.standard_normal(count) * 10.0 ** rng.integers(-6, 7, count)).astype(np.float32)
    special = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 3.4e38, 1.17549435e-38])
    values[: special.size] = special[: values.size]
    return values


def corpus(rng: Any) -> dict[str, tuple[Any, ...]]:
    """Source, kernel, grid, block, arguments."""
    n = 100_003
    blocks = (-(-n // 256),)
    a, b = floats(rng, n), floats(rng, n)[::-1].copy()
    integers = rng.integers(-(2**31), 2**31, (2, n)).astype(np.int32)
    doubles = rng.standard_normal((2, n))
    moderate = (rng.random(n, dtype=np.float32) - 0.5) * 40
    bodies = rng.standard_normal((777, 4)).astype(np.float32)
    years = rng.random(n, dtype=np.float32) * 5 + 0.25
    prices, strikes = rng.random((2, n), dtype=np.float32) * 40 + 5

    def file(name: str) -> str:
        return (KERNELS / f"{name}.hip").read_text()

    zeros = np.zeros(n, np.float32)
    return {
        "vector_add": (file("vector_add"), "vector_add", blocks, (256,), a, b, zeros, n),
        "saxpy": (file("saxpy"), "saxpy", blocks, (256,), 2.7, a, b, n),
        "mandelbrot": (
            *(file("mandelbrot"), "mandelbrot", (40, 60), (16, 8), np.zeros((480, 640), np.int32)),
            *(640, 480, -2.2, -1.2, 0.005, 500),
        ),
        "collatz": (
            *(file("collatz"), "collatz", blocks, (256,)),
            *(np.arange(1, n + 1, dtype=np.uint32), np.zeros(n, np.int32), n),
        ),
        "transpose_scaled": (
            *(file("two_dimensional_map"), "transpose_scaled", (20, 17), (16, 16)),
            *(floats(rng, 313 * 267), np.zeros(313 * 267, np.float32), 313, 267),
        ),
        "n_body": (file("n_body"), "n_body", (7,), (128,), bodies, np.zeros_like(bodies), 777, 0.01),
        "black_scholes": (
            *(file("black_scholes"), "black_scholes", (60,), (128,), zeros, zeros),
            *(prices, strikes, years, 0.02, 0.3, n),
        ),
        "block_sum": (BLOCK_SUM, "block_sum", blocks, (256,), moderate, np.zeros(blocks[0], np.float32), n),
        "histogram": (
            *(HISTOGRAM, "histogram", blocks, (256,)),
            *(rng.integers(0, 2**32, n, dtype=np.uint32), np.zeros(64, np.uint32), n),
        ),
        "mixed": (MIXED_ARGUMENTS, "mixed", (1,), (32,), -3, 1.5, -400, 2**40, 0.1, np.zeros(5)),
        "integers": (EVERY_INTEGER, "integers", blocks, (256,), *integers, np.zeros(n, np.int32), n),
        "doubles": (DOUBLES, "doubles", blocks, (256,), *doubles, np.zeros(n), n),
        "math": (MATH, "math", blocks, (256,), moderate, np.zeros(8 * n, np.float32), n),
    }


def same_bits(ours: Any, theirs: Any) -> Any:
    """Where two arrays hold the same values: equal bits, or both not a number (whose payload no target promises)."""
    unsigned = f"u{ours.itemsize}"
    equal = ours.view(unsigned) == theirs.view(unsigned)
    return equal | (np.isnan(ours) & np.isnan(theirs)) if ours.dtype.kind == "f" else equal


@pytest.mark.gpu
@pytest.mark.parametrize("name", sorted(corpus(np.random.default_rng(0))))
def test_results_are_those_of_the_cpu_bit_for_bit(gpu, cpu, name):
    case = corpus(np.random.default_rng(20261121))[name]
    on_gpu, on_cpu = run(gpu, *case), run(cpu, *case)
    assert any((array != 0).any() for array in on_cpu)
    for ours, theirs in zip(on_gpu, on_cpu, strict=True):
        same = same_bits(ours, theirs)
        wrong = np.argwhere(~same)
        assert same.all(), (
            f"{len(wrong)} of {same.size} differ, first at {wrong[0]}: {ours[~same][:4]}, {theirs[~same][:4]}"
        )


@pytest.mark.gpu
def test_ten_million_additions_equal_numpy(gpu, rng):
    n = 10_000_000
    a, b = rng.random((2, n), dtype=np.float32)
    source = (KERNELS / "vector_add.hip").read_text()
    result = run(gpu, source, "vector_add", (-(-n // 256),), (256,), a, b, np.zeros(n, np.float32), n)[2]
    assert np.array_equal(result, a + b)


@pytest.mark.gpu
def test_reciprocal_roots_of_all_floats_equal_a_root_and_a_division(gpu):
    kernel = gpu.compile_kernel(RECIPROCAL_ROOTS)
    different = amdgpu.array(np.zeros(1, np.uint64), device=gpu.name)
    kernel[4096, 256](np.float32(1), different)
    assert different.numpy()[0] == 0


@pytest.mark.gpu
def test_the_device_describes_itself(gpu):
    info = gpu.info()
    assert info.kind in GPU_KINDS
    assert info.name
    assert info.architecture.startswith({"hip": "gfx", "cuda": "sm_"}[info.kind])
    assert info.warp_size in (32, 64)
    assert info.compute_units > 0
    assert 0 < info.free_memory_bytes <= info.total_memory_bytes
    assert info.details["uuid"].startswith("GPU-")
    assert info.details["driver_version"]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint64", "bool"])
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5, 7), (1 << 20,)])
def test_arrays_survive_the_round_trip(gpu, rng, dtype, shape):
    values = rng.integers(0, 100, shape).astype(dtype)
    array = amdgpu.array(values, device=gpu.name)
    assert array.device == gpu.name
    assert np.array_equal(array.numpy(), values)
    array.fill(0)
    assert not array.numpy().any()


@pytest.mark.gpu
def test_too_much_memory_is_refused_and_harms_nothing(gpu):
    total = gpu.info().total_memory_bytes
    with pytest.raises(errors.OutOfMemoryError) as caught:
        amdgpu.empty((total + 1,), "uint8", device=gpu.name)
    assert isinstance(caught.value, MemoryError)
    assert not amdgpu.zeros(100, "float32", device=gpu.name).numpy().any()


@pytest.mark.gpu
def test_streams_keep_order_and_arguments(gpu):
    kernel = gpu.compile_kernel(INCREMENT)
    stream = gpu.create_stream()
    x = amdgpu.zeros(1000, "float32", device=gpu.name)
    for _ in range(200):
        kernel[4, 256, 0, stream](x, 1000)
        kernel[4, 256, 0, stream](amdgpu.zeros(1000, "float32", device=gpu.name), 1000)
    stream.synchronize()
    assert (x.numpy() == 200).all()
    assert stream.is_idle


@pytest.mark.gpu
def test_execute_measures_and_waits(gpu):
    kernel = gpu.compile_kernel(INCREMENT)
    x = amdgpu.zeros(1000, "float32", device=gpu.name)
    result = gpu.execute(kernel, x, 1000, timeout_ms=10_000)
    assert result.execution_time > 0
    pending = gpu.execute(kernel, x, 1000, async_execution=True)
    pending.result()
    assert (x.numpy() == 2).all()


@pytest.mark.gpu
def test_dynamic_shared_memory_up_to_the_limit(gpu):
    source = """
    extern __shared__ int scratch[];
    __global__ void reverse(int* out, int count) {
        for (int i = threadIdx.x; i < count; i += blockDim.x) scratch[i] = i;
        __syncthreads();
        for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = scratch[count - 1 - i];
    }
    """
    limit = gpu.info().details["shared_memory_per_block_bytes"]
    for count in (100, limit // 4):
        out = run(gpu, source, "reverse", (1,), (256,), np.zeros(count, np.int32), count, shared_bytes=4 * count)[0]
        assert np.array_equal(out, np.arange(count)[::-1])


@pytest.mark.gpu
def test_host_arrays_and_impossible_launches_are_refused(gpu):
    kernel = gpu.compile_kernel(INCREMENT)
    with pytest.raises(errors.WrongDeviceError, match="host memory"):
        kernel[1, 32](np.zeros(10, np.float32), 10)
    with pytest.raises(errors.InvalidLaunchError, match="1024"):
        kernel[1, 2048](amdgpu.zeros(10, "float32", device=gpu.name), 10)


@pytest.mark.gpu
def test_a_product_runs_where_its_operand_is_whatever_device_id_says(gpu):
    array = amdgpu.zeros((4, 4), "float32", device=gpu.name)
    result = amdgpu.matrix_multiply(array, np.eye(4, dtype="float32"), device_id="cpu:0")
    assert result.device == gpu.name
    on_host = amdgpu.zeros((4, 4), "float32", device="cpu:0")
    with pytest.raises(errors.WrongDeviceError, match="cpu:0"):
        amdgpu.matrix_multiply(array, on_host)


@pytest.mark.gpu
def test_what_no_gpu_computes_yet_falls_back_to_the_cpu_aloud(gpu, run_python):
    program = f"""
import numpy, amdgpu
x = amdgpu.array(numpy.arange(5, dtype=numpy.int32), device={gpu.name!r})
print(amdgpu.ops.power(x, x).numpy().tolist())
"""
    done = run_python(program)
    assert done.stdout.strip() == "[1, 1, 4, 27, 256]"
    assert "the CPU computes" in done.stderr


@pytest.mark.gpu
def test_a_second_process_takes_the_compiled_kernel_from_disk(gpu, run_python):
    program = f"import amdgpu; k = amdgpu.initialize_device({gpu.name!r}).compile_kernel({INCREMENT!r}); print(k.cache_answer)"
    assert [run_python(program).stdout.strip() for _ in range(2)] == ["miss", "disk"]


@pytest.mark.gpu
def test_a_wild_pointer_ends_the_device_and_not_the_process(gpu, run_python):
    program = f"""
import amdgpu
from amdgpu import errors
device = amdgpu.initialize_device({gpu.name!r})
kernel = device.compile_kernel("__global__ void wild(long long at) {{ *(int*)at = 1; }}")
for attempt in range(2):
    try:
        kernel[1, 1](0x10)
    except errors.DeviceLostError as error:
        print(type(error).__name__, error)
with amdgpu.initialize_device("cpu:0") as cpu:
    print(cpu.name)
"""
    lines = [line for line in run_python(program).stdout.splitlines() if "hint:" not in line]
    assert len(lines) == 3
    assert all(line.startswith("DeviceLostError") for line in lines[:2])
    assert lines[2] == "cpu:0"


@pytest.mark.gpu
def test_a_forked_child_is_told_so(gpu, run_python):
    program = f"""
import os, warnings
warnings.simplefilter("ignore")
import amdgpu
from amdgpu import errors
device = amdgpu.initialize_device({gpu.name!r})
array = amdgpu.zeros(10, "float32", device={gpu.name!r})
child = os.fork()
if child == 0:
    code = 0
    for attempt in (lambda: array.numpy(), lambda: amdgpu.initialize_device({gpu.name!r})):
        try:
            attempt()
        except errors.ForkedProcessError:
            code += 1
    code += [info.device for info in amdgpu.list_devices()] == ["cpu:0"]
    os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(array.numpy().sum()))
"""
    assert run_python(program).stdout.split() == ["3", "0"]


@pytest.mark.gpu
def test_the_environment_hides_gpus(gpu, run_python):
    program = "import amdgpu, json; print(json.dumps([info.device for info in amdgpu.list_devices()]))"
    assert json.loads(run_python(program, AMDGPU_DEVICES="cpu").stdout) == ["cpu:0"]
    assert json.loads(run_python(program, AMDGPU_DEVICES=f"cpu,{gpu.name}").stdout) == ["cpu:0", gpu.name]
    assert json.loads(run_python(program).stdout)[-1] == "cpu:0"


def test_importing_opens_no_gpu_library(run_python):
    program = """
import amdgpu
with open("/proc/self/maps") as maps:
    text = maps.read()
print([name for name in ("libcuda", "libamdhip64") if name in text])
"""
    assert run_python(program).stdout.strip() == "[]"


@pytest.mark.parametrize("kind", GPU_KINDS)
def test_a_gpu_that_is_not_there_gives_a_reason(kind):
    with pytest.raises(errors.DeviceNotFoundError, match="driver"):
        amdgpu.initialize_device(f"{kind}:99")


@pytest.mark.gpu
def test_the_driver_tells_the_occupancy_of_a_kernel(gpu):
    kernel = gpu.compile_kernel(BLOCK_SUM)
    found = kernel.occupancy(256)
    assert found["groups_per_unit"] >= 1
    assert found["waves_per_unit"] >= found["groups_per_unit"]
    assert found["registers"] > 0
    assert found["shared_bytes"] == 1024
    assert kernel.occupancy(256, shared_bytes=40 << 10)["groups_per_unit"] < found["groups_per_unit"]
