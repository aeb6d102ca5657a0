"""Kernels of `tests/kernels/` and small sources, executed on this machine and compared with NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from amdgpu import codegen
from kernel_harness import CompileFailed, Kernels, emit
from relocations import LOADABLE_RELOCATIONS, relocations

KERNELS = Path(__file__).resolve().parents[1] / "kernels"

GPU_TARGETS = {
    "gfx900": "amdgcn-amd-amdhsa",
    "gfx1100": "amdgcn-amd-amdhsa",
    "sm_70": "nvptx64-nvidia-cuda",
    "sm_90": "nvptx64-nvidia-cuda",
}


def load(name: str, *flags: str) -> Kernels:
    return Kernels((KERNELS / f"{name}.hip").read_text(), *flags)


@pytest.mark.parametrize("count", [1, 15, 256, 1000, 100_003])
@pytest.mark.parametrize("block", [1, 7, 64, 256])
def test_vector_add_is_exact_for_any_size_and_block(count: int, block: int, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, count)).astype(np.float32)
    c = np.full(count + 8, 5, np.float32)
    load("vector_add")("vector_add", (-(-count // block),), (block,), a, b, c, count)
    assert np.array_equal(c[:count], a + b)
    assert (c[count:] == 5).all()


def test_vector_add_may_work_in_place(rng: np.random.Generator) -> None:
    source = (KERNELS / "vector_add.hip").read_text().replace("__restrict__", "")
    a, b = rng.standard_normal((2, 1000)).astype(np.float32)
    expected = a + b
    Kernels(source)("vector_add", (4,), (256,), a, b, a, 1000)
    assert np.array_equal(a, expected)


def test_saxpy_rounds_once(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 5000)).astype(np.float32)
    # The product of two floats is exact in double, and one rounding of the sum follows.
    expected = (np.float64(np.float32(1.7)) * x + y).astype(np.float32)
    load("saxpy")("saxpy", (20,), (256,), 1.7, x, y, 5000)
    assert np.array_equal(y, expected)


def mandelbrot(width: int, height: int, left: float, top: float, step: float, limit: int) -> np.ndarray:
    f32, f64 = np.float32, np.float64

    def fma(a: Any, b: Any, c: Any) -> Any:
        return (f64(a) * f64(b) + f64(c)).astype(f32)

    cx = fma(np.arange(width, dtype=f32), f32(step), f32(left))[None, :].repeat(height, 0)
    cy = fma(np.arange(height, dtype=f32), f32(step), f32(top))[:, None].repeat(width, 1)
    x, y, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, np.int32)
    for _ in range(limit):
        active = fma(x, x, y * y) < 4
        following = (fma(x, x, -(y * y)) + cx).astype(f32)
        y = np.where(active, fma(f32(2) * x, y, cy), y)
        x = np.where(active, following, x)
        counts += active
    return counts


def test_mandelbrot_counts_are_exact() -> None:
    width, height, limit = 150, 70, 64
    counts = np.zeros((height, width), np.int32)
    load("mandelbrot")("mandelbrot", (10, 5), (16, 16), counts, width, height, -2.0, -1.0, 0.02, limit)
    assert np.array_equal(counts, mandelbrot(width, height, -2.0, -1.0, 0.02, limit))


def test_two_dimensional_map(rng: np.random.Generator) -> None:
    width, height = 37, 91
    source = rng.standard_normal((width, height)).astype(np.float32)
    out = np.zeros((height, width), np.float32)
    load("two_dimensional_map")("transpose_scaled", (3, 12), (16, 8), source, out, width, height)
    assert np.array_equal(out, 2 * source.T)


def test_n_body(rng: np.random.Generator) -> None:
    bodies = rng.uniform(-1, 1, (300, 4)).astype(np.float32)
    accelerations = np.zeros_like(bodies)
    load("n_body")("n_body", (5,), (64,), bodies, accelerations, 300, 0.01)
    position, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    difference = position[None] - position[:, None]
    cubed = ((difference**2).sum(-1) + np.float32(0.01)) ** -1.5
    expected = (difference * (mass[None] * cubed)[..., None]).sum(1)
    # 300 terms of float32 that cancel in part.
    assert np.allclose(accelerations[:, :3], expected, rtol=1e-4, atol=1e-3 * np.abs(expected).max())


def test_black_scholes_keeps_put_call_parity(rng: np.random.Generator) -> None:
    count = 4000
    price, strike = rng.uniform(5, 30, (2, count)).astype(np.float32)
    years = rng.uniform(0.25, 10, count).astype(np.float32)
    call, put = np.zeros((2, count), np.float32)
    load("black_scholes")("black_scholes", (3,), (128,), call, put, price, strike, years, 0.02, 0.3, count)
    parity = price.astype(np.float64) - strike * np.exp(-0.02 * years.astype(np.float64))
    assert np.allclose(call - put, parity, atol=2e-4)
    assert (call >= -1e-4).all()
    assert (call <= price).all()


def test_collatz(rng: np.random.Generator) -> None:
    start = rng.integers(1, 1_000_000, 700, dtype=np.uint32)
    steps = np.zeros(700, np.int32)
    load("collatz")("collatz", (6,), (128,), start, steps, 700)

    def count(value: int) -> int:
        done = 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            done += 1
        return done

    assert steps.tolist() == [count(int(value)) for value in start]


def test_the_whole_language_gives_the_same_bits_with_passes_on_and_off(rng: np.random.Generator) -> None:
    source = (KERNELS.parent.parent / "crates/amdgpu-compiler/tests/golden/language.hip").read_text()
    count = 1000
    values = rng.uniform(-3, 3, count).astype(np.float32)
    particles = rng.standard_normal((count, 3)).astype(np.float32)
    results = []
    for flags, level in [
        ((), 3),
        ((), 0),
        (("--level", "none"), 3),
        (("--disable", "address-spaces"), 2),
        (("--disable", "constant-folding"), 1),
    ]:
        out, moved = np.zeros(count, np.float32), particles.copy()
        Kernels(source, *flags, level=level)("language", (4,), (256,), values, out, moved, count, True, 1.5, 3)
        results.append((out, moved.view(np.uint32)))
    assert np.isfinite(results[0][0]).all()
    for out, moved in results[1:]:
        assert np.array_equal(out.view(np.uint32), results[0][0].view(np.uint32))
        assert np.array_equal(moved, results[0][1])


def test_undefined_corners_of_c_have_the_documented_results() -> None:
    source = """
    __global__ void k(const int* a, const int* b, const float* f, long long* out) {
        int i = threadIdx.x;
        out[i * 8 + 0] = a[i] / b[i];
        out[i * 8 + 1] = a[i] % b[i];
        out[i * 8 + 2] = (unsigned)a[i] / (unsigned)b[i];
        out[i * 8 + 3] = (unsigned)a[i] % (unsigned)b[i];
        out[i * 8 + 4] = a[i] << b[i];
        out[i * 8 + 5] = (int)f[i];
        out[i * 8 + 6] = (unsigned char)f[i];
        out[i * 8 + 7] = a[i] + 2147483647;
    }
    """
    low = -(2**31)
    a = np.array([7, -7, low, low, 5, 1], np.int32)
    b = np.array([0, 0, -1, 0, 2, 33], np.int32)
    f = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, 300.7], np.float32)
    out = np.zeros((6, 8), np.int64)
    Kernels(source)("k", (1,), (6,), a, b, f, out)
    assert out[:, 0].tolist() == [0, 0, low, 0, 2, 0]
    assert out[:, 1].tolist() == [7, -7, 0, low, 1, 1]
    assert out[:, 2].tolist() == [0, 0, 0, 0, 2, 0]
    assert out[:, 3].tolist() == [7, 2**32 - 7, 2**31, 2**31, 1, 1]
    assert out[:, 4].tolist() == [7, -7, 0, low, 20, 2]
    assert out[:, 5].tolist() == [0, 2**31 - 1, low, 2**31 - 1, low, 300]
    assert out[:, 6].tolist() == [0, 255, 0, 255, 0, 44]
    assert out[0, 7] == low + 6
    assert out[2, 7] == -1


def test_uninitialised_scalars_read_as_zero_and_missing_returns_give_zero() -> None:
    source = """
    __device__ int nothing(int x) { if (x > 100) return 5; }
    __global__ void k(int* out) { int a; float b; int* p;
        out[0] = a + (int)b + nothing(1) + (p == nullptr ? 1 : 9);
        out[1] = nothing(101);
    }
    """
    out = np.full(2, 7, np.int32)
    Kernels(source)("k", (1,), (1,), out)
    assert out.tolist() == [1, 5]


def test_strings_fill_arrays_of_characters() -> None:
    source = """
    __device__ const unsigned char JOINED[] = {"hi" "there"};
    __constant__ char PADDED[8] = "xyz";
    __global__ void k(signed char* out) {
        char local[] = "\\x41\\n";
        local[0] += 1;
        for (int i = 0; i < sizeof(JOINED); ++i) out[i] = JOINED[i];
        out[8] = sizeof(JOINED); out[9] = PADDED[2]; out[10] = PADDED[7]; out[11] = sizeof(local); out[12] = local[0]; out[13] = local[1];
    }
    """
    out = np.full(14, 99, np.int8)
    Kernels(source)("k", (1,), (1,), out)
    assert out.tolist() == [*b"hithere", 0, 8, ord("z"), 0, 3, ord("B"), ord("\n")]
    with pytest.raises(CompileFailed, match=r"'char\[3\]' has 3 value\(s\), and 4 values are given"):
        emit('__global__ void k(char* out) { const char text[3] = "abc"; *out = text[0]; }')


def test_block_and_grid_indices_cover_three_dimensions() -> None:
    source = """
    __global__ void k(unsigned* out) {
        unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
        unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        unsigned size = blockDim.x * blockDim.y * blockDim.z;
        out[block * size + thread] += 1 + blockIdx.z * 100 + threadIdx.z * 10000;
    }
    """
    grid, block = (3, 4, 5), (2, 3, 4)
    out = np.zeros((5, 4, 3, 4, 3, 2), np.uint32)
    Kernels(source)("k", grid, block, out)
    z = np.arange(5).reshape(5, 1, 1, 1, 1, 1) * 100 + np.arange(4).reshape(1, 1, 1, 4, 1, 1) * 10000
    assert np.array_equal(out, np.broadcast_to(1 + z, out.shape))


def test_struct_arguments_and_results_are_copies() -> None:
    source = """
    struct Pair { int a; long long b; };
    __device__ Pair swapped(Pair p) { int t = p.a; p.a = (int)p.b; p.b = t; return p; }
    __device__ int sum(const Pair& p) { return p.a + (int)p.b; }
    __global__ void k(long long* out) {
        Pair p = {1, 2};
        Pair q = swapped(p);
        p = swapped(swapped(q));
        Pair table[3] = {{10, 20}, q};
        out[0] = p.a; out[1] = p.b; out[2] = q.a; out[3] = sum(swapped(table[0]));
        out[4] = table[1].b; out[5] = table[2].a; out[6] = sizeof(Pair);
    }
    """
    out = np.zeros(7, np.int64)
    Kernels(source)("k", (1,), (1,), out)
    assert out.tolist() == [2, 1, 2, 30, 1, 0, 16]


def test_short_circuits_and_side_effects_happen_in_order() -> None:
    source = """
    __device__ bool touch(int* p, bool result) { *p += 1; return result; }
    __global__ void k(int* out) {
        if (touch(out, false) && touch(out + 1, true)) out[2] = 1;
        if (touch(out, true) || touch(out + 1, true)) out[3] = 1;
        int i = 0;
        int values[4] = {};
        values[i++] = i;
        values[i] = i++ + 5;
        out[4] = values[0] + 10 * values[1] + 100 * i;
        int x = 3;
        out[5] = (x += 2, x * x);
        const char* text = nullptr;
        out[6] = text ? *text : -1;
        for (int a = 0, b = 10; a < b; a++, --b) out[7] = a;
    }
    """
    out = np.zeros(8, np.int32)
    Kernels(source)("k", (1,), (1,), out)
    assert out[:4].tolist() == [2, 0, 0, 1]
    assert out[5:].tolist() == [25, -1, 4]


@pytest.mark.parametrize("target", sorted(GPU_TARGETS))
@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.hip")), ids=lambda path: path.stem)
def test_every_kernel_becomes_code_for_gpus(path: Path, target: str) -> None:
    unit = emit(path.read_text(), "--target", target)
    text = codegen.generate(unit["llvm_ir"], GPU_TARGETS[target], target, "", 3, "assembly").decode()
    for kernel in unit["kernels"]:
        marker = f".entry {kernel['name']}(" if target.startswith("sm") else f".amdhsa_kernel {kernel['name']}"
        assert marker in text
    code = codegen.generate(unit["llvm_ir"], GPU_TARGETS[target], target, "", 3, "object")
    assert code.startswith(b"//" if target.startswith("sm") else b"\x7fELF")


def test_kernel_arguments_of_amd_objects_lie_where_the_signature_says() -> None:
    unit = emit((KERNELS / "black_scholes.hip").read_text(), "--target", "gfx1100")
    text = codegen.generate(unit["llvm_ir"], "amdgcn-amd-amdhsa", "gfx1100", "", 3, "assembly").decode()
    metadata = text[text.index(".amdgpu_metadata") :]
    offsets = [int(line.split(":")[1]) for line in metadata.splitlines() if ".offset:" in line]
    wanted = [parameter["offset_bytes"] for parameter in unit["kernels"][0]["parameters"]]
    assert offsets[: len(wanted)] == wanted


def test_compile_errors_arrive_with_line_and_caret() -> None:
    with pytest.raises(CompileFailed, match=r"kernel\.hip:1:37: error: 'y' is not declared"):
        emit("__global__ void k(float* x) { x[0] = y; }".replace("{ x", "{x"))


def test_vector_add_and_saxpy_use_the_widest_vectors_of_this_machine() -> None:
    triple, cpu, features = codegen.host_target()
    if "+avx512f" not in features.split(","):
        pytest.skip("no AVX-512 here")
    for name in ("vector_add", "saxpy"):
        unit = emit((KERNELS / f"{name}.hip").read_text(), "--triple", triple, "--cpu", cpu, "--features", features)
        text = codegen.generate(unit["llvm_ir"], triple, cpu, features, 3, "assembly").decode()
        arithmetic = [line for line in text.splitlines() if "zmm" in line and ("vaddps" in line or "vfmadd" in line)]
        assert arithmetic, name


@pytest.mark.skipif(codegen.host_target()[0].split("-")[0] != "x86_64", reason="relocations of x86-64")
@pytest.mark.parametrize("level", [0, 3])
def test_objects_of_kernels_need_only_what_the_loader_provides(level: int) -> None:
    triple, cpu, features = codegen.host_target()
    language = KERNELS.parent.parent / "crates/amdgpu-compiler/tests/golden/language.hip"
    for path in [*KERNELS.glob("*.hip"), language]:
        unit = emit(path.read_text(), "--triple", triple, "--cpu", cpu, "--features", features)
        types, undefined = relocations(codegen.generate(unit["llvm_ir"], triple, cpu, features, level, "object"))
        assert types <= set(LOADABLE_RELOCATIONS), path
        assert undefined <= {"memcpy", "memset", "memmove"}, path
