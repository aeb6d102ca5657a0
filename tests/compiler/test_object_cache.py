"""Code that the tests keep: who gets LLVM's full code generation, who the quick one, and that both compute the same bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import object_cache
import pytest
import sampling
from amdgpu import codegen
from kernel_harness import Kernels

SUM = """
define float @sum(ptr %x, i64 %n) {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %sum = phi float [ 0.0, %start ], [ %more, %loop ]
  %at = getelementptr float, ptr %x, i64 %i
  %value = load float, ptr %at
  %more = fadd float %sum, %value
  %next = add i64 %i, 1
  %is_last = icmp eq i64 %next, %n
  br i1 %is_last, label %end, label %loop
end:
  ret float %more
}
"""
Asked = list[int | None]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The code levels that LLVM was asked for, with an empty folder of kept code."""
    levels: Asked = []
    answer = object_cache.ask_llvm

    def ask(request: dict[str, Any], text: str = "") -> bytes:
        if request["ask"] == "code":
            levels.append(request.get("code_level"))
        return answer(request, text)

    monkeypatch.setattr(object_cache, "ask_llvm", ask)
    monkeypatch.setattr(object_cache, "FOLDER", tmp_path)
    monkeypatch.setattr(object_cache, "is_all_full", False)
    monkeypatch.setattr(codegen.llvm_process, "ask", object_cache.ask)
    return levels


def generate(triple: str = "x86_64-unknown-linux-gnu", level: int = 2, emit: str = "object") -> bytes:
    return codegen.generate(SUM, triple, "", "", level, emit)


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Says whether kernels are drawn."""
    return lambda is_drawn: monkeypatch.setattr(object_cache, "is_drawn", lambda name: is_drawn)


def test_what_is_not_drawn_is_made_quickly_and_kept(asked: Asked, draw: Callable[[bool], None]) -> None:
    draw(False)
    assert generate() == generate()
    assert asked == [0]


def test_full_code_that_is_kept_is_given_whatever_is_drawn(asked: Asked, draw: Callable[[bool], None]) -> None:
    draw(True)
    full = generate()
    draw(False)
    assert generate() == full
    assert asked == [None]


def test_all_is_full_where_everything_is_wanted(
    asked: Asked, draw: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw(False)
    monkeypatch.setattr(object_cache, "is_all_full", True)
    generate()
    assert asked == [None]


def test_tests_of_llvm_get_full_code_that_was_made_for_them(asked: Asked, draw: Callable[[bool], None]) -> None:
    draw(False)
    object_cache.serve(False)
    generate()
    generate()
    assert asked == [None, None]


def test_text_code_of_gpus_and_code_without_optimisation_stay_as_they_are(
    asked: Asked, draw: Callable[[bool], None]
) -> None:
    draw(False)
    generate(emit="assembly")
    generate(level=0)
    generate("amdgcn-amd-amdhsa")
    assert asked == [None] * 3


def test_one_in_eight_is_drawn_and_another_seed_draws_others(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [str(number) for number in range(4000)]
    drawn = []
    for seed in ("1", "2"):
        monkeypatch.setenv(sampling.VARIABLE, seed)
        drawn.append({name for name in names if object_cache.is_drawn(name)})
    assert all(400 < len(some) < 600 for some in drawn)
    assert drawn[0] != drawn[1]


def test_quick_code_computes_the_bits_of_full_code(asked: Asked, draw: Callable[[bool], None]) -> None:
    source = """
    __global__ void f(const float* x, float* out, int n) {
        __shared__ float part[64];
        int i = blockIdx.x * 64 + threadIdx.x;
        part[threadIdx.x] = i < n ? expf(x[i]) * x[i] + sinf(x[i]) / (x[i] * x[i] + 0.1f) : 0.0f;
        __syncthreads();
        for (int step = 32; step > 0; step /= 2) {
            if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
            __syncthreads();
        }
        out[i] = part[0] + part[threadIdx.x];
    }
    """
    x = np.random.default_rng(1).standard_normal(640).astype(np.float32)
    results = []
    for is_drawn in (True, False):
        draw(is_drawn)
        out = np.zeros(640, np.float32)
        Kernels(source)("f", (10,), (64,), x, out, 630)
        results.append(out.tobytes())
    assert asked == [None, 0]
    assert results[0] == results[1]
    assert any(results[0])
