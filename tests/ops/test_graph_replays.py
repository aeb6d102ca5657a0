"""Graphs of operations on a fake of a GPU's driver: replayed there, and computed step by step where a library computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

STEPS = """
x = amdgpu.array(np.ones((64, 64), np.float32), device=NAME)
function = amdgpu.jit(lambda x: amdgpu.ops.softmax(x * 2.0 + 1.0) - x)
for _ in range(6):
    y = function(x)
    assert y.shape == (64, 64)
print(json.dumps(function.graph(x).replays._asdict()))
"""
PRODUCTS = """
x = amdgpu.array(np.ones((64, 64), np.float16), device=NAME)
function = amdgpu.jit(lambda x: (x @ x) * 2.0)
for _ in range(6):
    made = function(x).numpy()
    assert (made == 128).all()
print(json.dumps([function.graph(x).replays._asdict(), function.explain(x)]))
"""


@pytest.mark.parametrize("kind", ["cuda", "hip"])
def test_what_our_kernels_compute_is_replayed(run: Callable[..., Any], kind: str) -> None:
    replays = run(STEPS, kind)
    assert replays["refusal"] is None
    assert replays["replayed"] >= 2
    # Results that are held and the next ones.
    assert replays["held_bytes"] >= 2 * 64 * 64 * 4


def test_a_variable_switches_replays_off(run: Callable[..., Any]) -> None:
    replays = run(STEPS, "cuda", AMDGPU_GRAPH_REPLAY="0")
    assert replays["refusal"] == "AMDGPU_GRAPH_REPLAY is 0"
    assert replays["replayed"] == 0


def test_what_a_library_computes_is_computed_step_by_step(run: Callable[..., Any]) -> None:
    replays, text = run(PRODUCTS, "cuda", AMDGPU_MATMUL="vendor")
    assert "(matmul): a library of the vendor computes it" in replays["refusal"]
    assert replays["replayed"] == 0
    assert f"not replayed as one graph of the device: {replays['refusal']}" in text
