"""The math library, half and bfloat16 on a real GPU: the bits of the CPU for every function."""

from __future__ import annotations

from typing import Any

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from math_oracle import BINARY, UNARY, samples

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
COUNT = 20_000
TYPES = {"double": (np.float64, ""), "float": (np.float32, "f")}
NARROW = """
__global__ void narrow(const T* a, const T* b, const T* c, T* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    o[i] = a[i] + b[i];
    o[n + i] = a[i] * b[i];
    o[2 * n + i] = a[i] / b[i];
    o[3 * n + i] = __hfma(a[i], b[i], c[i]);
    o[4 * n + i] = (T)((double)a[i] * 1.1 + (double)b[i]);
    o[5 * n + i] = hsqrt(a[i]);
    o[6 * n + i] = hexp(b[i]);
    o[7 * n + i] = (T)(long)((float)a[i] * 1e6f);
}
"""


def run(name: str, source: str, kernel: str, count: int, *arrays: np.ndarray) -> np.ndarray:
    """The last array as the kernel leaves it."""
    with amdgpu.initialize_device(name) as device:
        copies = [amdgpu.array(array, device=device.name) for array in arrays]
        device.compile_kernel(source, name=kernel)[(-(-count // 256),), (256,)](*copies, count)
        result: np.ndarray = copies[-1].numpy()
        return result


def assert_same_bits(ours: Any, theirs: Any) -> None:
    unsigned = f"u{ours.itemsize}"
    both_nan = np.isnan(ours.astype(np.float64)) & np.isnan(theirs.astype(np.float64))
    wrong = (ours.view(unsigned) != theirs.view(unsigned)) & ~both_nan
    assert not wrong.any(), f"{wrong.sum()} of {wrong.size} differ: {ours[wrong][:4]}, {theirs[wrong][:4]}"


@pytest.mark.gpu
@pytest.mark.skipif(not GPU_NAMES, reason="list_devices() shows no GPU")
@pytest.mark.parametrize("ty", TYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_every_math_function_gives_the_bits_of_the_cpu(name: str, ty: str, rng: np.random.Generator) -> None:
    dtype, suffix = TYPES[ty]
    function = UNARY.get(name) or BINARY[name]
    inputs = "ab" if name in BINARY else "a"
    sides = [samples(*limits, COUNT, dtype, rng) for limits in function.ranges]
    # Of one argument all ranges, of two one range each.
    arrays = [side[:COUNT] for side in sides[:2]] if name in BINARY else [np.concatenate(sides)]
    count = min(array.size for array in arrays)
    arrays = [
        np.concatenate([array[: count - 6], np.array([0, -0.0, np.inf, -np.inf, np.nan, 1], dtype)]) for array in arrays
    ]
    parameters = "".join(f"const {ty}* {letter}, " for letter in inputs)
    values = ", ".join(f"{letter}[i]" for letter in inputs)
    source = (
        f"__global__ void k({parameters}{ty}* y, int n) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" if (i < n) y[i] = {name}{suffix}({values}); }}"
    )
    ours, theirs = (
        run(device, source, "k", count, *arrays, np.zeros(count, dtype)) for device in (GPU_NAMES[0], "cpu:0")
    )
    assert_same_bits(ours, theirs)


@pytest.mark.gpu
@pytest.mark.skipif(not GPU_NAMES, reason="list_devices() shows no GPU")
@pytest.mark.parametrize(("ty", "dtype"), [("half", np.float16), ("__hip_bfloat16", ml_dtypes.bfloat16)])
def test_narrow_floats_give_the_bits_of_the_cpu(ty: str, dtype: Any, rng: np.random.Generator) -> None:
    values = np.arange(65536, dtype=np.uint16).view(dtype)
    arrays = [rng.permutation(values) for _ in range(3)]
    source = f"typedef {ty} T;" + NARROW
    out = np.zeros(8 * 65536, np.uint16).view(dtype)
    ours, theirs = (run(device, source, "narrow", 65536, *arrays, out) for device in (GPU_NAMES[0], "cpu:0"))
    assert_same_bits(ours, theirs)
