"""Random kernels whose lanes meet in waves, against a model in which they run in lockstep."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Kernels
from wave_programs import Program

# The larger ones are more than LLVM is asked to optimise in full, which is said.
pytestmark = pytest.mark.filterwarnings("ignore:amdgpu. codegen does not run as preferred")
SHAPES = ((32,), (96,), (40,), (8, 5), (5, 4, 7))


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("seed", range(24))
def test_random_kernels_give_what_lockstep_gives(seed: int) -> None:
    program = Program(seed, is_portable=seed % 4 == 1)
    kernels = Kernels(program.source, *(("--level", "none") if seed % 4 == 0 else ()))
    shapes = ((64,), (32, 3)) if program.is_portable else (SHAPES[seed % 5], SHAPES[(seed + 2) % 5])
    for block in shapes:
        size = int(np.prod(block))
        for u, w in [(1, 2), (333, 517)]:
            out = np.zeros(2 * size, np.int32)
            kernels("k", (2,), block, out, u, w)
            assert out.tolist() == program.run(size, 2, u, w), f"{program.source}\n{block} {u} {w}"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
def test_waves_of_shorter_vectors_give_what_lockstep_gives(seed: int, cpu: str) -> None:
    program = Program(seed)
    kernels = Kernels(program.source, cpu=cpu)
    (entry,) = kernels.unit["telemetry"]["lanes"]
    assert entry["lanes"] == {"x86-64-v2": 4, "x86-64-v3": 8}[cpu]
    for block in ((40,), (5, 4, 7)):
        size = int(np.prod(block))
        out = np.zeros(2 * size, np.int32)
        kernels("k", (2,), block, out, 333, 517)
        assert out.tolist() == program.run(size, 2, 333, 517), f"{program.source}\n{block}"
