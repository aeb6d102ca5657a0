"""The same bits by generated kernels as by the CPU's library, and in kernels that include amdgpu_philox.h; layouts of other libraries.

What a graph records is launched by kernels on the CPU device, too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import amdgpu
import ml_dtypes
import numpy as np
import pytest
import random_oracle as oracle
from amdgpu.random import Generator, default_rng
from device_ops_cases import fallbacks

COUNT = 3001
KEY = 0x0123_4567_89AB_CDEF
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

DRAWS: tuple[tuple[str, tuple[Any, ...], str], ...] = (
    *(("uniform", (-1.0, 2.0), dtype) for dtype in ("float64", "float32", "float16", "bfloat16")),
    *(("normal", (1.0, 3.0), dtype) for dtype in ("float64", "float32", "float16", "bfloat16")),
    *(("exponential", (0.7,), dtype) for dtype in ("float64", "float32", "float16", "bfloat16")),
    *(
        ("gamma", (shape, 1.5), dtype)
        for shape in (0.05, 0.9, 4.0, 900.0)
        for dtype in ("float64", "float32", "float16")
    ),
    *(("beta", parameters, "float64") for parameters in ((0.02, 0.01), (0.8, 3.0), (50.0, 20.0))),
    *(("poisson", (mean,), "int64") for mean in (0.3, 9.0, 10.0, 77.0, 1e7)),
    *(("binomial", parameters, "int64") for parameters in ((20, 0.2), (20, 0.8), (100, 0.5), (10**9, 1e-3), (3, 1.0))),
    *(("bernoulli", (p,), "bool") for p in (0.0, 0.3, 1.0)),
)
INTEGERS = (
    ("int64", 0, 10),
    ("int64", -(2**63), 2**63),
    ("uint64", 5, 3 << 62),
    ("uint32", 0, 3 << 30),
    ("uint32", 0, 2**32),
    ("int16", -300, 300),
    ("int8", -128, 128),
    ("uint8", 0, 3),
    ("bool", 0, 2),
)


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture(autouse=True)
def kernels_do_the_work() -> Any:
    """What no kernel computes the CPU would, with the bits that are wanted."""
    before = fallbacks()
    yield
    assert fallbacks() == before


def at(position: int) -> Generator:
    rng = default_rng(0, device="cpu:0")
    rng.state = {**rng.state, "key": KEY, "position": position, "jumps": 3}
    return rng


def by_kernels(call: Callable[[], Any]) -> np.ndarray:
    with amdgpu.CapturedGraph() as graph:
        made = call()
    assert graph.nodes
    graph.replay()
    amdgpu.synchronize("cpu:0")
    return oracle.bits_of(made)


def drawn(position: int, name: str, parameters: tuple[Any, ...], dtype: str) -> Any:
    keywords = {} if dtype in ("int64", "bool") else {"dtype": dtype}
    return getattr(at(position), name)(*parameters, size=COUNT, **keywords)


@pytest.mark.parametrize("position", [0, 1, 7])
@pytest.mark.parametrize(("name", "parameters", "dtype"), DRAWS)
def test_kernels_draw_the_bits_of_the_library(name: str, parameters: Any, dtype: str, position: int) -> None:
    ours = oracle.bits_of(drawn(position, name, parameters, dtype))
    assert (by_kernels(lambda: drawn(position, name, parameters, dtype)) == ours).all()


@pytest.mark.parametrize("position", [0, 1, 6])
@pytest.mark.parametrize(("dtype", "low", "high"), INTEGERS)
def test_kernels_draw_the_integers_of_the_library(dtype: str, low: int, high: int, position: int) -> None:
    ours = oracle.bits_of(at(position).integers(low, high, COUNT, dtype))
    assert (by_kernels(lambda: at(position).integers(low, high, COUNT, dtype)) == ours).all()


def test_kernels_take_arrays_of_parameters() -> None:
    rng = np.random.default_rng(1)
    shape, p, n = rng.uniform(0.1, 20, COUNT), rng.uniform(0, 1, COUNT), rng.integers(0, 100, COUNT)
    first, second, chance, trials, mean = (
        amdgpu.array(values, device="cpu:0") for values in (shape, shape[::-1], p, n, shape * 2)
    )
    for name, parameters, dtype in (
        ("gamma", (first, 2.0), "float64"),
        ("beta", (first, second), "float32"),
        ("poisson", (mean,), "int64"),
        ("binomial", (trials, chance), "int64"),
        ("bernoulli", (chance,), "bool"),
        ("normal", (first, chance), "float32"),
        ("uniform", (0.0, first), "float64"),
    ):
        ours = oracle.bits_of(drawn(2, name, parameters, dtype))
        theirs = by_kernels(lambda what=(name, parameters, dtype): drawn(2, *what))
        assert (theirs == ours).all(), name


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BFLOAT16])
def test_kernels_drop_what_the_library_drops(dtype: Any) -> None:
    x = amdgpu.array(np.linspace(-3, 3, COUNT).astype(dtype), device="cpu:0")
    for position in (0, 5):
        state = at(position).state
        ours = oracle.bits_of(amdgpu.ops.dropout(x, 0.3, seed=state))
        assert (by_kernels(lambda state=state: amdgpu.ops.dropout(x, 0.3, seed=state)) == ours).all()


SOURCE = """
#include "amdgpu_philox.h"
extern "C" __global__ void numbers(unsigned long long key, unsigned long long position, unsigned int jumps, float* uniform, double* normal,
                                   float* narrow_normal, double* gamma, long long* poisson, long long* binomial, double* beta,
                                   double* exponential, bool* bernoulli, unsigned long long* integers, unsigned long long* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    agpu_stream stream = agpu_stream_at(key, position, jumps);
    uniform[i] = agpu_uniform(stream, i);
    normal[i] = agpu_normal_double(stream, i);
    narrow_normal[i] = agpu_normal(stream, i);
    gamma[i] = agpu_gamma(stream, i, 2.5);
    poisson[i] = agpu_poisson(stream, i, 40.0);
    binomial[i] = agpu_binomial(stream, i, 50.0, 0.4);
    beta[i] = agpu_beta(stream, i, 0.5, 2.0);
    exponential[i] = agpu_exponential_double(stream, i);
    bernoulli[i] = agpu_bernoulli(stream, i, 0.3);
    integers[i] = agpu_integer(stream, i, 1000ull);
    wide[i] = agpu_integer(stream, i, 3ull << 61);
}
"""


@pytest.mark.parametrize("position", [0, 3])
def test_functions_in_kernels_draw_the_numbers_of_a_generator(cpu: Any, position: int) -> None:
    count = 501
    dtypes = ("f4", "f8", "f4", "f8", "i8", "i8", "f8", "f8", "?", "u8", "u8")
    outputs = [np.zeros(count, dtype) for dtype in dtypes]
    kernel = cpu.compile_kernel(SOURCE)
    kernel[(-(-count // 128),), (128,)](KEY, position, 3, *outputs, count)
    wanted = (
        ("uniform", (0.0, 1.0), "float32"),
        ("normal", (0.0, 1.0), "float64"),
        ("normal", (0.0, 1.0), "float32"),
        ("gamma", (2.5, 1.0), "float64"),
        ("poisson", (40.0,), "int64"),
        ("binomial", (50, 0.4), "int64"),
        ("beta", (0.5, 2.0), "float64"),
        ("exponential", (1.0,), "float64"),
        ("bernoulli", (0.3,), "bool"),
    )
    for found, (name, parameters, dtype) in zip(outputs, wanted, strict=False):
        ours = drawn(position, name, parameters, dtype).numpy()[:count]
        assert (oracle.bits_of(found) == oracle.bits_of(ours)).all(), name
    for found, span in zip(outputs[-2:], (1000, 3 << 61), strict=True):
        assert (found == at(position).integers(0, span, count, "uint64").numpy()).all()


def test_blocks_in_kernels_are_the_known_answers_of_random123(cpu: Any) -> None:
    source = """
#include <amdgpu_philox.h>
extern "C" __global__ void blocks(const uint4* counters, const uint2* keys, uint4* out) {
    out[threadIdx.x] = agpu_philox4x32_10(counters[threadIdx.x], keys[threadIdx.x]);
}
"""
    ones = 0xFFFFFFFF
    counters = np.array([[0] * 4, [ones] * 4, [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]], np.uint32)
    keys = np.array([[0, 0], [ones, ones], [0xA4093822, 0x299F31D0]], np.uint32)
    out = np.zeros((3, 4), np.uint32)
    cpu.compile_kernel(source)[(1,), (3,)](counters, keys, out)
    # kat_vectors of Random123, philox4x32 with 10 rounds.
    assert [[f"{word:08x}" for word in row] for row in out] == [
        ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"],
        ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"],
        ["d16cfe09", "94fdcceb", "5001e420", "24126ea1"],
    ]


def test_words_of_pytorch_are_in_the_order_of_its_kernels() -> None:
    # torch.manual_seed(0); torch.rand(2, 3, device="cuda"), as PyTorch prints it.
    words = amdgpu.random.torch_bits(6, 0, amdgpu.random.torch_layout(6, 108)[0], device="cpu:0").numpy()
    uniform = words.astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)
    assert np.round(uniform, 4).tolist() == pytest.approx([0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967], abs=1e-6)
    threads, seed, offset = 512, 2**40 + 9, 12
    count = 4 * threads * 2 + 77
    ours = amdgpu.random.torch_bits(count, seed, threads, offset=offset, device="cpu:0").numpy()
    element = np.arange(count)
    iteration, thread = element // threads, element % threads
    counter = np.zeros((count, 4), np.uint32)
    counter[:, 0], counter[:, 2] = offset // 4 + iteration // 4, thread
    blocks = oracle.philox(counter, (seed & 0xFFFFFFFF, seed >> 32))
    assert (ours == blocks[element, iteration % 4]).all()
    theirs = by_kernels(lambda: amdgpu.random.torch_bits(count, seed, threads, offset=offset, device="cpu:0"))
    assert (ours == theirs).all()
    with pytest.raises(ValueError, match="multiples of 4"):
        amdgpu.random.torch_bits(3, 0, 256, offset=2)


def test_words_of_tensorflow_are_those_of_its_generators() -> None:
    # tf.random.Generator.from_seed(1).normal([2, 3]) of TensorFlow's guide about random numbers: the state is the counter 1 and the key 0.
    words = amdgpu.random.tensorflow_bits(8, 0, 1, device="cpu:0").numpy().astype(np.float64)
    unit = np.floor(words.astype(np.uint32) & 0x7FFFFF) / 2.0**23
    radius = np.sqrt(-2 * np.log(np.maximum(unit[::2], 1e-7)))
    angle = 2 * np.pi * unit[1::2]
    normal = np.stack([np.sin(angle) * radius, np.cos(angle) * radius], axis=1).ravel()[:6]
    assert normal == pytest.approx([0.43842274, -0.53439844, -0.07710262, 1.5658046, -0.1012345, -0.2744976], abs=2e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("truncated", [False, True])
def test_normal_numbers_of_tensorflow_are_those_of_a_plain_loop(dtype: str, truncated: bool) -> None:
    key, start, count = 5, (7 << 64) + 2**64 - 300, 1027
    is_double = dtype == "float64"
    each = 2 if is_double else 4
    step = (64 * each) if truncated else 1
    wanted: list[float] = []
    for group in range(-(-count // each)):
        kept: list[float] = []
        block = start + group * step
        while len(kept) < each:
            words = [int(word) for word in amdgpu.random.tensorflow_bits(4, key, block, device="cpu:0").tolist()]
            kept += [one for one in box_muller(words, is_double) if not truncated or abs(one) < 2]
            block += 1
        wanted += kept[:each]
    draw = functools.partial(
        amdgpu.random.tensorflow_normal, count, key, start, dtype=dtype, truncated=truncated, device="cpu:0"
    )
    ours = oracle.bits_of(draw())
    rounding = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-22, "float64": 2.0**-51}[dtype]
    assert np.asarray(draw().tolist(), np.float64) == pytest.approx(np.array(wanted[:count]), rel=rounding, abs=1e-15)
    assert (by_kernels(draw) == ours).all()


def box_muller(words: list[int], is_double: bool) -> list[float]:
    """Two or four normal numbers of a block, with the angle and the smallest fraction of TensorFlow."""
    if is_double:
        fractions = [((words[place] & 0xFFFFF) << 32 | words[place + 1]) * 2.0**-52 for place in (0, 2)]
        real: Any = np.float64
    else:
        fractions = [(word & 0x7FFFFF) * 2.0**-23 for word in words]
        real = np.float32
    made = []
    for first, second in zip(fractions[::2], fractions[1::2], strict=True):
        radius = math.sqrt(-2 * math.log(max(first, float(real(1e-7)))))
        angle = float(real(2 * math.pi * second))
        made += [math.sin(angle) * radius, math.cos(angle) * radius]
    return made


def test_normal_numbers_of_tensorflow_refuse_other_dtypes() -> None:
    with pytest.raises(amdgpu.errors.UnsupportedDtypeError, match="float16"):
        amdgpu.random.tensorflow_normal(3, 0, 0, dtype="int32")


def test_counters_of_tensorflow_carry_into_their_high_half() -> None:
    start = (7 << 64) + 2**64 - 2
    ours = amdgpu.random.tensorflow_bits(19, 5, start, device="cpu:0").numpy()
    counters = [start + place for place in range(5)]
    rows = np.array([[number >> 32 * part & 0xFFFFFFFF for part in range(4)] for number in counters], np.uint32)
    assert (ours == oracle.philox(rows, (5, 0)).ravel()[:19]).all()
    assert (by_kernels(lambda: amdgpu.random.tensorflow_bits(19, 5, start, device="cpu:0")) == ours).all()
    key, counter = amdgpu.random.tensorflow_stateless_key((1, 2))
    mixed = oracle.philox(np.array([[1, 0, 2, 0]], np.uint32), (0x3EC8F720, 0x02461E29))[0].astype(object)
    assert key == mixed[0] | mixed[1] << 32
    assert counter == (mixed[2] | mixed[3] << 32) << 64
