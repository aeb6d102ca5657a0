"""Graphs of `amdgpu.jit` on a real GPU: the bits of the operations one by one, replays as one graph of the device, and what they cost.

PYTHONPATH=python:tests:tests/support python -m pytest -c /dev/null --rootdir=. -s tests/gpu/test_graphs.py
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import amdgpu
import numpy as np
import pytest
from amdgpu import ops
from amdgpu.device import default_device

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
pytestmark = pytest.mark.gpu
ADD = "__global__ void add(float* x, float value, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += value; }"


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU as functions of the package open it: where their arrays and operations are."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    return default_device(GPU_NAMES[0])


class Case(NamedTuple):
    """A function with the shapes of its arguments; `is_exact` where joined steps give its bits, `is_recorded` where replays are certain."""

    function: Callable[..., Any]
    shapes: list[tuple[int, ...]]
    is_exact: bool = True
    is_recorded: bool = True
    dtype: str = "float32"
    tolerance: float = 2e-5


def chain(x: Any, y: Any) -> Any:
    return amdgpu.where(x > 0.0, amdgpu.tanh(x * 2.0 + y), amdgpu.exp(-abs(x))) / (1.0 + y * y)


def normalised(x: Any, weight: Any) -> Any:
    y = ops.layer_norm(amdgpu.tanh(x) + x, x.shape[-1], weight, weight) * 0.5
    return ops.softmax(y) + ops.rms_norm(x, x.shape[-1], weight)


def reduced(x: Any) -> Any:
    y = x * 2.0 + 1.0
    return (
        amdgpu.sum(y, axis=-1),
        amdgpu.mean(y * y, axis=0),
        amdgpu.max(y, axis=-1, keepdims=True) - y,
        amdgpu.sum(y),
    )


def softmax_by_hand(x: Any) -> Any:
    powers = amdgpu.exp(x - amdgpu.max(x, axis=-1, keepdims=True))
    return powers / amdgpu.sum(powers, axis=-1, keepdims=True)


def norm_by_hand(x: Any, weight: Any) -> Any:
    centered = x - amdgpu.mean(x, axis=-1, keepdims=True)
    return centered / amdgpu.sqrt(amdgpu.mean(centered * centered, axis=-1, keepdims=True) + 1e-5) * weight


def distances(x: Any, y: Any) -> Any:
    return amdgpu.sum((x - y) * (x - y), axis=-1)


def several(x: Any) -> Any:
    values, places = ops.top_k(x * 3.0, 5)
    return {"values": values, "places": places, "twice": values * 2.0, "transposed": (x + 1.0).T}


def written(x: Any) -> Any:
    y = x * 2.0
    y[1:, ::2] = x[:-1, ::2] - 1.0
    y += 0.5
    return y


def perceptron(x: Any, first: Any, second: Any, bias: Any) -> Any:
    return ops.relu(x @ first + bias) @ second


def attended(q: Any, k: Any, v: Any) -> Any:
    return ops.softmax((q @ amdgpu.permute_dims(k, (0, 1, 3, 2))) * 0.125) @ v


def attended_by_one(q: Any, k: Any, v: Any) -> Any:
    return ops.scaled_dot_product_attention(q, k, v, is_causal=True)


def convolved(x: Any, first: Any, second: Any, mean: Any) -> Any:
    y = ops.relu(ops.batch_norm(ops.conv2d(x, first, padding=1), mean, mean * mean + 1.0))
    y = ops.max_pool2d(y, 2)
    return ops.relu(ops.conv2d(y, second, padding=1) + y)


def trained(x: Any, target: Any, first: Any, second: Any) -> Any:
    hidden = amdgpu.tanh(x @ first)
    made = hidden @ second
    gradient = ops.mse_loss_gradient(made, target, ops.mse_loss(made, target))
    of_second = hidden.T @ gradient
    of_first = x.T @ ((gradient @ second.T) * (1.0 - hidden * hidden))
    return first - 0.1 * of_first, second - 0.1 * of_second, ops.mse_loss(made, target)


CASES = {
    "chain": Case(chain, [(257, 1024), (1024,)]),
    "chain float16": Case(chain, [(64, 512), (64, 512)], dtype="float16"),
    "chain float64": Case(chain, [(64, 512), (64, 512)], dtype="float64"),
    "norms": Case(normalised, [(128, 768), (768,)]),
    "reductions": Case(reduced, [(65, 1000)]),
    "softmax by hand": Case(softmax_by_hand, [(257, 768)]),
    "softmax by hand, odd rows": Case(softmax_by_hand, [(65, 1001)], dtype="float64"),
    "norm by hand": Case(norm_by_hand, [(5, 33, 512), (512,)]),
    "norm by hand float16": Case(norm_by_hand, [(130, 768), (768,)], dtype="float16"),
    "distances": Case(distances, [(1000, 128), (128,)]),
    "several results": Case(several, [(32, 64)]),
    "assignments": Case(written, [(32, 64)]),
    "perceptron": Case(perceptron, [(64, 256), (256, 512), (512, 128), (512,)], is_exact=False, is_recorded=False),
    "attention": Case(attended, [(2, 4, 128, 64)] * 3, is_exact=False, is_recorded=False),
    "one attention": Case(attended_by_one, [(2, 4, 128, 64)] * 3),
    "convolutions": Case(
        convolved, [(2, 8, 32, 32), (16, 8, 3, 3), (16, 16, 3, 3), (16,)], is_exact=False, is_recorded=False
    ),
    "training step": Case(trained, [(64, 128), (64, 32), (128, 256), (256, 32)], is_exact=False, is_recorded=False),
}


def given(case: Case, gpu: Any, seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    scales = [1.0 if len(shape) < 2 else 1.0 / np.sqrt(shape[0]) for shape in case.shapes]
    scales[0] = 1.0
    drawn = [rng.standard_normal(shape) * scale for shape, scale in zip(case.shapes, scales, strict=True)]
    return [amdgpu.array(one.astype(case.dtype), device=gpu) for one in drawn]


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [one for each in value for one in flat(each)]
    return [value.numpy()]


def same(got: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for one, other in zip(got, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", CASES)
def test_graphs_give_the_bits_of_the_operations(gpu: Any, name: str) -> None:
    case = CASES[name]
    plain = amdgpu.jit(case.function, optimize=False, replay=False)
    joined = amdgpu.jit(case.function, replay=False)
    for seed in range(3):
        arguments = given(case, gpu, seed)
        expected = flat(case.function(*arguments))
        same(flat(plain(*arguments)), expected)
        got = flat(joined(*arguments))
        if case.is_exact:
            same(got, expected)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_replays_give_the_bits_of_the_steps(gpu: Any, name: str, optimize: bool) -> None:
    case = CASES[name]
    steps = amdgpu.jit(case.function, optimize=optimize, replay=False)
    replayed = amdgpu.jit(case.function, optimize=optimize)
    arguments = given(case, gpu, 0)
    expected = flat(steps(*arguments))
    for _ in range(6):
        same(flat(replayed(*arguments)), expected)
    replays = replayed.graph(*arguments).replays
    print(f"\n{name}, optimize={optimize}: {replays}")
    if case.is_recorded:
        assert replays.refusal is None
    if replays.refusal is None:
        assert replays.replayed > 0
    # Other values in the same places: nothing of the run before is left.
    for seed in range(1, 4):
        others = given(case, gpu, seed)
        for argument, other in zip(arguments, others, strict=True):
            argument.copy_from(other)
        same(flat(replayed(*arguments)), flat(steps(*others)))


def test_arguments_that_moved(gpu: Any) -> None:
    case = CASES["chain"]
    steps, replayed = amdgpu.jit(chain, replay=False), amdgpu.jit(chain)
    sets = [given(case, gpu, seed) for seed in range(12)]
    expected = [flat(steps(*arguments)) for arguments in sets]
    for _ in range(4):
        for arguments, wanted in zip(sets, expected, strict=True):
            same(flat(replayed(*arguments)), wanted)
    # Results that are kept are nobody else's.
    kept = [replayed(*arguments) for arguments in sets for _ in range(3)]
    for place, result in enumerate(kept):
        same(flat(result), expected[place // 3])


def test_memory_that_was_freed_and_given_to_others(gpu: Any) -> None:
    case = CASES["norms"]
    steps, replayed = amdgpu.jit(normalised, replay=False), amdgpu.jit(normalised)
    for seed in range(12):
        arguments = given(case, gpu, seed)
        expected = flat(steps(*arguments))
        made = replayed(*arguments)
        others = [amdgpu.full(shape, float("nan"), device=gpu) for shape in case.shapes for _ in range(4)]
        same(flat(made), expected)
        same(flat(replayed(*arguments)), expected)
        del made, arguments, others
    assert replayed.graph(*given(case, gpu, 0)).replays.replayed > 0


def test_results_are_arguments_of_the_next_call(gpu: Any) -> None:
    def step(x: Any) -> Any:
        return x * 0.5 + 1.0

    replayed = amdgpu.jit(step)
    x = y = amdgpu.array(np.linspace(-3, 3, 4096, dtype=np.float32), device=gpu)
    for _ in range(50):
        x, y = replayed(x), step(y)
    same(flat(x), flat(y))
    print(f"\n{replayed.graph(x).replays}")
    assert replayed.graph(x).replays.replayed > 30


def test_work_of_streams_before_and_behind_a_replay(gpu: Any) -> None:
    add = gpu.compile_kernel(ADD)
    count = 1 << 16
    before, behind = gpu.create_stream(), gpu.create_stream()
    replayed = amdgpu.jit(lambda x: x * 2.0)
    x = amdgpu.zeros(count, "float32", device=gpu)
    expected = 0.0
    for _ in range(8):
        for _ in range(20):
            add[256, 256, 0, before](x, 1.0, count)
        expected += 20.0
        y = replayed(x)
        add[256, 256, 0, behind](y, 1.0, count)
        assert (y.numpy() == 2.0 * expected + 1.0).all()
        assert (x.numpy() == expected).all()


def test_threads_replay_one_function(gpu: Any) -> None:
    case = CASES["norms"]
    replayed = amdgpu.jit(normalised)
    sets = [given(case, gpu, seed) for seed in range(4)]
    expected = [flat(normalised(*arguments)) for arguments in sets]
    wrong: list[int] = []

    def work(place: int) -> None:
        for _ in range(40):
            made = flat(replayed(*sets[place]))
            if not all(np.array_equal(one, other) for one, other in zip(made, expected[place], strict=True)):
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


def test_memory_of_recordings_is_counted(gpu: Any) -> None:
    replayed = amdgpu.jit(reduced)
    x = given(CASES["reductions"], gpu, 0)[0]
    for _ in range(4):
        replayed(x)
    graph = replayed.graph(x)
    assert graph.replays.recordings > 0
    assert f"hold {graph.replays.held_bytes} bytes" in graph.explain()


def each(function: Callable[[], Any], gpu: Any, calls: int = 2000) -> float:
    """Microseconds of the host for a call, the least of five rounds."""
    rounds = []
    for _ in range(5):
        gpu.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            function()
        rounds.append((time.perf_counter() - begin) / calls * 1e6)
        gpu.synchronize()
    return min(rounds)


def test_what_a_replay_costs_the_host(gpu: Any) -> None:
    """Prints times; the aim of a replay of one addition is less than 10 us."""
    x = amdgpu.array(np.ones(1024, np.float32), device=gpu)

    def blocks(x: Any) -> Any:
        for _ in range(10):
            x = ops.softmax(x * 2.0 + 1.0)
        return x

    rows = amdgpu.array(np.random.default_rng(0).standard_normal((64, 256), dtype=np.float32), device=gpu)
    for name, function, argument in (("one addition", lambda x: x + x, x), ("ten softmaxes", blocks, rows)):
        steps, replayed = amdgpu.jit(function, replay=False), amdgpu.jit(function)
        for _ in range(8):
            steps(argument), replayed(argument)
        times = [each(lambda one=one, argument=argument: one(argument), gpu) for one in (function, steps, replayed)]
        print(f"\n{name}: operations {times[0]:.1f} us, steps {times[1]:.1f} us, replay {times[2]:.1f} us")
        print(replayed.graph(argument).replays)
        assert replayed.graph(argument).replays.replayed > 0
