"""The same bits with every pass of the kernel compiler on, with all of them off, with each off, and with each alone."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from kernel_harness import Kernels, emit
from random_programs import BLOCK, ITEMS, Program

SEEDS = range(24)


@functools.cache
def pass_names() -> tuple[str, ...]:
    unit = emit("__global__ void k(float* p) { p[0] = 1; }", "--level", "max")
    return tuple(entry["name"] for entry in unit["telemetry"]["passes"])


def results(source: str, *flags: str) -> tuple[bytes, bytes]:
    """What the kernel writes; LLVM's level is that of the fewest of its own changes."""
    kernels = Kernels(source, *flags, level=0)
    random = np.random.default_rng(7)
    out = random.random(ITEMS * 4, dtype=np.float32)
    given = (random.random(ITEMS * 4, dtype=np.float32) - 0.5) * 8
    sums = random.integers(-1000, 1000, ITEMS * 4, dtype=np.int32)
    kernels("k", (ITEMS // BLOCK,), (BLOCK,), out, given, sums, 5)
    # A NaN is a NaN; its payload is the processor's.
    out[np.isnan(out)] = np.nan
    return out.tobytes(), sums.tobytes()


def without(names: tuple[str, ...]) -> list[str]:
    return [word for name in names for word in ("--disable", name)]


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_give_the_same_bits_with_passes_on_and_off(seed: int) -> None:
    source = Program(seed).text()
    names = pass_names()
    expected = results(source, "--level", "none")
    choices = {"all": [], "low": ["--level", "low"], "max": ["--level", "max"], "none": without(names)}
    # Each pass off and alone, spread over the seeds so that every one meets many programs.
    for index, name in enumerate(names):
        if (index + seed) % 4 == 0:
            choices[f"without {name}"] = without((name,))
            choices[f"{name} alone"] = without(tuple(other for other in names if other != name))
    for choice, flags in choices.items():
        assert results(source, *flags) == expected, f"{choice}\n{source}"
