"""Graphs that are replayed as one graph of their device: on the CPU device, by kernels, and on a device that computes nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops
from amdgpu.device import default_device

ROWS = (24, 96)


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype(dtype), device="cpu:0")


def chain(x: amdgpu.Array, y: amdgpu.Array) -> amdgpu.Array:
    # Every step is rounded correctly, so that kernels and functions of the host give the same bits.
    return amdgpu.where(x > 0.0, x * 2.0 + y, y - x) / (1.0 + y * y)


def several(x: amdgpu.Array) -> dict[str, amdgpu.Array]:
    # Kernels carry sums in float64, the host does not; a maximum is the same.
    y = x * 3.0 + 1.0
    return {"largest": amdgpu.max(y, axis=-1), "rows": y[1:, ::2] * 2.0, "transposed": y.T, "twice": y}


def written(x: amdgpu.Array) -> amdgpu.Array:
    y = x * 2.0
    y[1:, ::2] = x[:-1, ::2] - 1.0
    y += 0.5
    return y


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [one for each in value for one in flat(each)]
    return [value.numpy()]


def same(got: Any, wanted: Any) -> None:
    for one, other in zip(flat(got), flat(wanted), strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize(
    ("function", "shapes"), [(chain, [ROWS, ROWS]), (chain, [ROWS, (96,)]), (several, [ROWS]), (written, [ROWS])]
)
def test_replays_give_the_bits_of_the_function(
    function: Callable[..., Any], shapes: list[tuple[int, ...]], optimize: bool
) -> None:
    replayed = amdgpu.jit(function, optimize=optimize, replay=True)
    arguments = [numbers(*shape, seed=seed) for seed, shape in enumerate(shapes)]
    for _ in range(5):
        same(replayed(*arguments), function(*arguments))
    replays = replayed.graph(*arguments).replays
    assert replays.refusal is None
    assert replays.replayed >= 2
    assert replays.commands >= 1
    for seed in range(10, 14):
        others = [numbers(*shape, seed=seed) for shape in shapes]
        for argument, other in zip(arguments, others, strict=True):
            argument.copy_from(other)
        same(replayed(*arguments), function(*others))


def test_arguments_that_moved_and_results_that_are_kept() -> None:
    replayed = amdgpu.jit(chain, replay=True)
    sets = [(numbers(*ROWS, seed=seed), numbers(*ROWS, seed=seed + 50)) for seed in range(12)]
    kept = [(replayed(*arguments), arguments) for _ in range(4) for arguments in sets]
    for made, arguments in kept:
        same(made, chain(*arguments))
    # Each result is an array of its own, and none comes again as long as all are held.
    assert replayed.graph(*sets[0]).replays.replayed == 0


def test_memory_that_was_freed_and_given_to_others() -> None:
    replayed = amdgpu.jit(several, replay=True)
    for seed in range(12):
        x = numbers(*ROWS, seed=seed)
        made = replayed(x)
        others = [amdgpu.full(ROWS, float("nan"), device="cpu:0") for _ in range(4)]
        same(made, several(x))
        same(replayed(x), several(x))
        del made, x, others
    assert replayed.graph(numbers(*ROWS)).replays.replayed > 0


def test_the_result_of_a_call_is_the_argument_of_the_next() -> None:
    replayed = amdgpu.jit(lambda x: x * 0.5 + 1.0, replay=True)
    x = y = numbers(1000)
    for _ in range(30):
        x, y = replayed(x), y * 0.5 + 1.0
    same(x, y)
    replays = replayed.graph(x).replays
    assert replays.replayed > 10
    assert 1 <= replays.recordings <= 8


def test_recordings_are_bounded() -> None:
    replayed = amdgpu.jit(lambda x: x * 2.0, replay=True)
    arguments = [numbers(100, seed=seed) for seed in range(20)]
    for _ in range(6):
        for x in arguments:
            same(replayed(x), x * 2.0)
    assert replayed.graph(arguments[0]).replays.recordings <= 8


def test_threads_have_recordings_of_their_own() -> None:
    replayed = amdgpu.jit(chain, replay=True)
    sets = [(numbers(*ROWS, seed=seed), numbers(*ROWS, seed=seed + 50)) for seed in range(4)]
    expected = [chain(*arguments).numpy() for arguments in sets]
    replayed(*sets[0])
    wrong: list[int] = []

    def work(place: int) -> None:
        for _ in range(60):
            if not np.array_equal(replayed(*sets[place]).numpy(), expected[place]):
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


def test_work_of_streams_on_arguments_comes_first() -> None:
    device = default_device("cpu:0")
    add = device.compile_kernel(
        "__global__ void add(float* x, float value, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += value; }"
    )
    stream = device.create_stream()
    replayed = amdgpu.jit(lambda x: x * 2.0, replay=True)
    x = amdgpu.zeros(5000, "float32", device="cpu:0")
    for call in range(1, 6):
        add[20, 256, 0, stream](x, 1.0, 5000)
        assert (replayed(x).numpy() == 2.0 * call).all()
    assert replayed.graph(x).replays.replayed > 0


def test_what_the_host_checks_is_computed_step_by_step() -> None:
    replayed = amdgpu.jit(lambda x, i: x[i] * 2.0, replay=True)
    x, places = numbers(6, 4), amdgpu.array(np.array([5, 0, 2]), device="cpu:0")
    for _ in range(4):
        same(replayed(x, places), x[places] * 2.0)
    graph = replayed.graph(x, places)
    assert graph.replays.refusal is not None
    assert "(offsets): the host checks what its indices or labels are" in graph.replays.refusal
    assert f"not replayed as one graph of the device: {graph.replays.refusal}" in graph.explain()
    with pytest.raises(errors.IndexOutOfRangeError):
        replayed(x, amdgpu.array(np.array([5, 6, 2]), device="cpu:0"))


def test_memory_of_others_is_computed_step_by_step() -> None:
    replayed = amdgpu.jit(lambda x, y: x * 2.0 + y, replay=True)
    x, y = amdgpu.from_dlpack(np.arange(100, dtype=np.float32)), numbers(100)
    for _ in range(4):
        same(replayed(x, y), x * 2.0 + y)
    assert replayed.graph(x, y).replays.replayed == 0


def test_explain_tells_of_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    x = numbers(100)
    assert "not replayed as one graph of the device: cpu:0 computes at once" in amdgpu.jit(lambda x: -x).explain(x)
    switched_off = amdgpu.jit(lambda x: -x, replay=False).explain(x)
    assert "switched off by the argument `replay`" in switched_off
    replayed = amdgpu.jit(lambda x: -x, replay=True)
    assert "once arguments come to lie where they lay before" in replayed.explain(x)
    for _ in range(4):
        replayed(x)
    replays = replayed.graph(x).replays
    text = f"{replays.recordings} recordings hold {replays.held_bytes} bytes beside that memory, and were replayed {replays.replayed} times"
    assert text in replayed.explain(x)
    monkeypatch.setenv("AMDGPU_GRAPH_REPLAY", "1")
    assert "once arguments" in amdgpu.jit(lambda x: -x).explain(x)
    monkeypatch.setenv("AMDGPU_GRAPH_REPLAY", "0")
    assert "AMDGPU_GRAPH_REPLAY is 0" in amdgpu.jit(lambda x: -x).explain(x)
    monkeypatch.setenv("AMDGPU_GRAPH_REPLAY", "maybe")
    assert "it may be auto, 0, 1" in amdgpu.jit(lambda x: -x).explain(x)


def test_graphs_by_hand_are_replayed() -> None:
    graph = amdgpu.graph.Graph()
    x = graph.input((50,))
    graph.outputs = [graph.add("max", graph.add("multiply", x, 2.0), axes=[0])]
    run = graph.compile("cpu:0", replay=True)
    values = numbers(50)
    for _ in range(4):
        same(run(values)[0], amdgpu.max(values * 2.0))
    assert run.replays.replayed > 0


def test_memory_of_recordings_is_counted() -> None:
    # A sum over all elements has partial sums in memory of its own.
    x = numbers(1 << 17)
    summed = amdgpu.jit(lambda x: amdgpu.sum(x * 2.0), replay=True)
    for _ in range(4):
        summed(x)
    assert summed.graph(x).replays.held_bytes > 8
    doubled = amdgpu.jit(lambda x: x * 2.0, replay=True)
    for _ in range(6):
        y = doubled(x)
    # Two sets of results go round: the one that is held, and the next.
    assert doubled.graph(x).replays.held_bytes == 2 * x.nbytes
    assert y.shape == x.shape


def test_results_that_were_freed_or_told_to_others_are_not_given_again() -> None:
    x = numbers(*ROWS)
    replayed = amdgpu.jit(chain, replay=True)
    expected = chain(x, x).numpy()
    for _ in range(6):
        y = replayed(x, x)
        y.free()
        with pytest.raises(errors.UseAfterFreeError):
            y.numpy()
    views = []
    for _ in range(6):
        y = replayed(x, x)
        views.append((np.from_dlpack(y), y[1:]))
        del y
    for lent, view in views:
        np.testing.assert_array_equal(lent, expected)
        np.testing.assert_array_equal(view.numpy(), expected[1:])


def test_a_step_of_training_goes_round_in_two_sets_of_weights() -> None:
    def step(first: amdgpu.Array, second: amdgpu.Array, x: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        return first - x * second * 0.1, second * 0.9 + first * x

    replayed = amdgpu.jit(step, replay=True)
    x = numbers(*ROWS)
    got = wanted = (numbers(*ROWS, seed=1), numbers(*ROWS, seed=2))
    for _ in range(20):
        got, wanted = replayed(*got, x), step(*wanted, x)
        same(got, wanted)
    assert replayed.graph(*got, x).replays.replayed > 12


def test_what_operations_copy_to_its_place_is_part_of_the_recording() -> None:
    query = numbers(2, 3, 24, 16)
    replayed = amdgpu.jit(lambda x: ops.scaled_dot_product_attention(x, x, x), replay=True)
    expected = ops.scaled_dot_product_attention(query, query, query).numpy()
    for _ in range(5):
        np.testing.assert_allclose(replayed(query).numpy(), expected, rtol=1e-5, atol=1e-6)
    replays = replayed.graph(query).replays
    assert replays.refusal is None
    assert replays.replayed > 0


def test_a_device_that_computes_nothing_takes_replays() -> None:
    device = default_device("null:gfx1100")
    x = amdgpu.empty(ROWS, "float32", device=device)
    replayed = amdgpu.jit(several, replay=True)
    for _ in range(5):
        assert [one.shape for one in replayed(x).values()] == [(24,), (23, 48), (96, 24), ROWS]
    replays = replayed.graph(x).replays
    assert replays.refusal is None
    assert replays.replayed >= 2
