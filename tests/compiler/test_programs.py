"""Whole programs, host code included, as they stand in repositories: their kernels compute, the rest is skipped with one note."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from kernel_harness import CompileFailed, Kernels, emit

PROGRAMS = Path(__file__).parents[1] / "programs"
F32 = np.float32


def kernels_of(name: str, *flags: str) -> Kernels:
    kernels = Kernels((PROGRAMS / name).read_text(), *flags)
    notes = [note["message"] for note in kernels.unit["notes"]]
    assert len(notes) == 1
    assert notes[0].startswith("host code is skipped")
    return kernels


def check_saxpy(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 1000)).astype(F32)
    expected = (2.5 * x.astype(np.float64) + y).astype(F32)
    kernels_of("saxpy_template.hip")("saxpy<float>", (3,), (64,), y, x, 2.5, 1000)
    assert np.array_equal(y, expected)


def check_heat(rng: np.random.Generator) -> None:
    power, src = rng.random((2, 28, 28)).astype(F32)
    dst = np.zeros_like(src)
    kernels_of("heat.cu")("heat_step", (2, 2), (16, 16), 1, power, src, dst, 28, 28, 0.5, 0.1)
    edge = np.pad(src.astype(np.float64), 1, mode="edge")
    middle = edge[1:-1, 1:-1]
    vertical = (edge[2:, 1:-1] + edge[:-2, 1:-1] - 2 * middle) * 0.1
    horizontal = (edge[1:-1, 2:] + edge[1:-1, :-2] - 2 * middle) * 0.1
    np.testing.assert_allclose(dst, middle + 0.5 * (power + vertical + horizontal), rtol=0, atol=1e-6)


def check_graph(rng: np.random.Generator) -> None:
    count = 700
    neighbours = [np.unique(rng.integers(0, count, rng.integers(1, 4))) for _ in range(count)]
    degrees = np.array([len(each) for each in neighbours])
    nodes = np.stack([np.cumsum(degrees) - degrees, degrees], axis=1).astype(np.int32)
    edges = np.concatenate(neighbours).astype(np.int32)
    mask, updating, visited = np.zeros((3, count), np.uint8)
    cost = np.full(count, -1, np.int32)
    mask[0] = visited[0] = 1
    cost[0] = 0
    kernels = kernels_of("graph_levels.cu")
    over = np.ones(1, np.uint8)
    while over[0]:
        over[0] = 0
        kernels("Kernel", (2,), (512,), nodes, edges, mask, updating, visited, cost, count)
        kernels("Kernel2", (2,), (512,), mask, updating, visited, over, count)
    expected = np.full(count, -1)
    level, front = 0, {0}
    while front:
        expected[list(front)] = level
        front = {int(to) for node in front for to in neighbours[node] if expected[to] < 0}
        level += 1
    assert np.array_equal(cost, expected)


def check_block_sums(rng: np.random.Generator) -> None:
    names = ["reduce<int, 128u, true>", "reduce<double, 64u, false>"]
    kernels = kernels_of("block_sums.cu", "--kernel", names[0], "--kernel", names[1])
    data = rng.integers(-1000, 1000, 1024, dtype=np.int32)
    sums = np.zeros(2, np.int32)
    kernels("reduce<int, 128, true>", (2,), (128,), data, sums, 1024, shared_bytes=512)
    assert sums.sum() == data.sum()
    wide, total = rng.integers(0, 100, 999).astype(np.float64), np.zeros(3)
    kernels("reduce<double, 64, false>", (3,), (64,), wide, total, 999, shared_bytes=512)
    assert total.sum() == wide.sum()


def check_particles(rng: np.random.Generator) -> None:
    particles = rng.random((300, 7)).astype(F32)
    particles[:, 6] += 0.5
    before = particles.astype(np.float64)
    kernels_of("particles.cpp.hip")("step", (3,), (128,), particles, 300, 0.25, 1.0)
    gravity = np.array([0, -9.8125, 0])
    velocity = before[:, 3:6] + 0.25 * (gravity - 0.5 * before[:, 3:6] / before[:, 6:])
    position = before[:, :3] + 0.25 * velocity
    position[:, 0] -= position[:, 0] >= 1
    np.testing.assert_allclose(particles[:, 3:6], velocity, rtol=0, atol=1e-5)
    np.testing.assert_allclose(particles[:, :3], position, rtol=0, atol=1e-5)


def check_convolution(rng: np.random.Generator) -> None:
    width, height = 192, 8
    source = rng.random((height, width)).astype(F32)
    weights = np.array([0.03125, 0.109375, 0.21875, 0.28125, 0.21875, 0.109375, 0.03125])
    kernels = kernels_of("convolution.hip")
    image = np.array([width, height, width], np.int32)
    rows, naive = np.zeros((2, height, width), F32)
    kernels("conv_rows", (3, 2), (16, 4), rows, source, image)
    kernels("conv_naive", (3, height), (64,), naive, source, width, height)
    for result, padded in (
        (rows, np.pad(source, ((0, 0), (3, 3)))),
        (naive, np.pad(source, ((0, 0), (3, 3)), mode="edge")),
    ):
        windows = np.lib.stride_tricks.sliding_window_view(padded.astype(np.float64), 7, axis=1)
        np.testing.assert_allclose(result, windows @ weights, rtol=0, atol=1e-6)


def check_transform(rng: np.random.Generator) -> None:
    kernels = kernels_of("transform.cu")
    source = rng.integers(-20, 20, 1000, dtype=np.int32)
    out = np.zeros(1000, np.int32)
    kernels("transform<4, int, Square>", (2,), (128,), out, source, 1000, np.zeros(1, np.uint8))
    assert np.array_equal(out, source**2)
    kernels("transform<2, int, AddIndex>", (4,), (128,), out, source, 1000, np.array([3], np.int32))
    assert np.array_equal(out, source + 3 * np.arange(1000))
    kernels("transform<1, int, Compose<Square, Square>>", (8,), (128,), out, source, 1000, np.zeros(2, np.uint8))
    assert np.array_equal(out, source**4)


CHECKS: dict[str, Callable[[np.random.Generator], None]] = {
    "saxpy_template.hip": check_saxpy,
    "heat.cu": check_heat,
    "graph_levels.cu": check_graph,
    "block_sums.cu": check_block_sums,
    "particles.cpp.hip": check_particles,
    "convolution.hip": check_convolution,
    "transform.cu": check_transform,
}


def test_every_program_is_checked() -> None:
    assert sorted(CHECKS) == sorted(path.name for path in PROGRAMS.iterdir())


@pytest.mark.parametrize("name", CHECKS)
def test_kernels_of_a_whole_program_compute(name: str, rng: np.random.Generator) -> None:
    CHECKS[name](rng)


@pytest.mark.parametrize("target", ["gfx90a", "sm_80"])
def test_whole_programs_compile_for_gpus(target: str) -> None:
    for path in PROGRAMS.iterdir():
        flags = ["--kernel", "reduce<float, 256u, true>"] if path.name == "block_sums.cu" else []
        assert "define" in emit(path.read_text(), "--target", target, *flags)["llvm_ir"], path.name


def test_kernels_that_use_host_constants_are_told_so() -> None:
    source = """
    #include <cstdlib>
    const int runs = atoi(getenv("RUNS"));
    int counter = 0;
    __global__ void k(int* p) { p[0] = runs; p[1] = counter; }
    """
    with pytest.raises(CompileFailed) as caught:
        emit(source)
    assert "'runs' is host code, which kernels cannot use" in str(caught.value)
    assert "'counter' is host code, which kernels cannot use" in str(caught.value)
