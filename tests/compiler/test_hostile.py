"""Sources that ask for far more work than their length: each compile ends, with code or with a sentence."""

from __future__ import annotations

import time

import pytest
from amdgpu import _native
from amdgpu.errors import CompileError, UnsupportedFeatureError
from hostile_sources import FAMILIES, hostile_sources

SOURCES = dict(hostile_sources())
# LLVM is given the smallest of each family: what it may take of larger ones is its own limit's matter.
SMALLEST = [f"{name}-{sizes[0]}" for name, (_, sizes) in FAMILIES.items()]
# Processor time for text to LLVM text; the worst of the table took 1.0.
MAX_SECONDS = 2.0


def compiled(source: str, target: str, emit: str) -> str:
    """Empty where code comes out, otherwise what the compiler says."""
    try:
        _native.compile_source(source, target, emit=emit)
    except (CompileError, UnsupportedFeatureError) as error:
        return str(error)
    return ""


def test_the_table_has_more_than_two_hundred_sources() -> None:
    assert len(SOURCES) >= 200


@pytest.mark.parametrize("target", ["x86_64", "gfx1100"])
@pytest.mark.parametrize("name", SOURCES)
def test_every_hostile_source_ends_with_code_or_a_sentence(name: str, target: str) -> None:
    started = time.process_time()
    said = compiled(SOURCES[name], target, "llvm")
    assert time.process_time() - started < MAX_SECONDS
    assert not said or "kernel.hip" in said.splitlines()[0]
    # Errors of the compiler itself are none of the source.
    assert "malformed" not in said


@pytest.mark.llvm
@pytest.mark.parametrize("name", SMALLEST)
def test_llvm_ends_too(name: str) -> None:
    said = compiled(SOURCES[name], "gfx1100", "obj")
    assert "LLVM gave up" not in said
    assert "LLVM takes" not in said


@pytest.mark.parametrize("name", ["nested_structs-64", "nested_structs-400"])
def test_structs_of_two_structs_take_no_time(name: str) -> None:
    assert "larger than" in compiled(SOURCES[name], "x86_64", "llvm")


@pytest.mark.parametrize("name", ["nested_structs_with_starts-64", "call_doubling-60"])
def test_work_past_the_limit_is_a_sentence_that_names_the_phase(name: str) -> None:
    said = compiled(SOURCES[name], "x86_64", "llvm")
    assert f"this source takes more work than its {len(SOURCES[name])} bytes may ask for" in said
    assert said.split(": ")[1].split(" this source")[0] in {"checking", "optimising", "lowering", "generating code for"}


@pytest.mark.parametrize("name", ["constexpr_fibonacci-90", "constexpr_loop-2000000000"])
def test_evaluation_at_compile_time_past_its_limit_says_so(name: str) -> None:
    said = compiled(SOURCES[name], "x86_64", "llvm")
    assert "a constexpr variable cannot be worked out at compile time" in said
    assert "more than 10,000,000 steps" in said
    assert "compute less in constexpr functions" in said


def test_a_recursion_too_deep_for_compile_time_says_so() -> None:
    source = """
__device__ constexpr int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
__global__ void k(int* o) { constexpr int x = depth(300); o[0] = x; }
"""
    assert "a function calls itself more than 256 deep" in compiled(source, "x86_64", "llvm")


def test_a_limit_that_was_met_elsewhere_is_not_named() -> None:
    source = """
__device__ constexpr int depth(int n) { return n == 0 ? 0 : 1 + depth(n - 1); }
__global__ void k(int* o, int n) { o[0] = depth(300); int t[n]; o[1] = t[0]; }
"""
    assert "the length of an array must be known at compile time" in compiled(source, "x86_64", "llvm")


def test_code_out_of_proportion_to_its_source_does_not_reach_llvm() -> None:
    said = compiled(SOURCES["nested_structs_with_constructors-16"], "gfx1100", "llvm")
    assert "this source of 591 bytes becomes 10" in said
    assert "bytes of LLVM code, of which it may become 718200" in said
