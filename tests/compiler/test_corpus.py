"""Every kernel of the corpus on the CPU, against NumPy; as code for GPUs; with passes on and off."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors
from corpus import CORPUS, KERNELS

GPU_TARGETS = ("gfx1100", "gfx90a", "sm_90")
WANTED_KERNELS = 120
LAUNCHES = [(name, size) for name, entry in CORPUS.items() for size in entry.sizes]


@pytest.fixture(scope="module")
def cpu():
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.mark.parametrize(("name", "size"), LAUNCHES, ids=[f"{name}-{size}" for name, size in LAUNCHES])
def test_results_are_those_of_numpy(cpu, name, size):
    entry = CORPUS[name]
    launch = entry.launch(size)
    assert launch.problem(entry.run(cpu, launch)) == ""


def test_every_kernel_file_has_a_case_and_every_case_a_file():
    files = {path.relative_to(KERNELS) for path in KERNELS.rglob("*.hip")}
    assert {entry.path.relative_to(KERNELS) for entry in CORPUS.values()} == files


def test_the_corpus_is_large_enough():
    assert len(CORPUS) >= WANTED_KERNELS
    assert all(entry.sizes for entry in CORPUS.values())


def test_the_oracle_is_not_what_the_kernel_started_with():
    for name, entry in CORPUS.items():
        launch = entry.launch(entry.sizes[0])
        before = [launch.variables[variable] for variable in launch.expected_variables]
        assert launch.problem([*launch.arguments, *before]), f"{name}: a kernel that does nothing would pass"


@pytest.mark.sampled(0.3)
@pytest.mark.parametrize("name", sorted(CORPUS))
def test_the_optimization_level_does_not_change_a_bit(cpu, name):
    entry = CORPUS[name]
    launch = entry.launch(entry.sizes[-1])
    if launch.order_dependent:
        return
    plain, optimised = (entry.run(cpu, launch, optimization_level=level) for level in ("none", "high"))
    for place, (a, b) in enumerate(zip(plain, optimised, strict=True)):
        if isinstance(a, np.ndarray) and place not in launch.scratch:
            assert a.tobytes() == b.tobytes(), f"argument {place}"


@pytest.mark.parametrize("target", GPU_TARGETS)
def test_every_kernel_becomes_code_for_gpus(target):
    def compile_entry(entry):
        try:
            built = _native.compile_source(entry.path.read_text(), target, name=f"{entry.name}.hip")
        except (errors.AmdgpuError, RuntimeError) as error:
            return f"{entry.name}: {error}"
        content = built["content"]
        if target.startswith("sm"):
            return "" if ".entry" in content and f".target {target}" in content else f"{entry.name}: no PTX"
        return "" if content.startswith(b"\x7fELF") and b".kd" in content else f"{entry.name}: no code object"

    with ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(compile_entry, CORPUS.values()) if problem]
    assert not problems, "\n".join(problems)
