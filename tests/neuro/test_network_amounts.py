"""What synapses add to neurons arrives whole: sums are wide where the text proves no bound, and what has no place stops the run."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu.errors import NetworkError

STEADY = """
dt = 0.1.ms
neuron steady:
  dv/dt = 0*v/(1.s)
  target: v
"""
CELLS = (
    STEADY
    + """neuron sink:
  dx/dt = 0*x/(1.s)
  target: x
"""
)


def projection(text: str, name: int = 0) -> dict:
    return amdgpu.Network(text, device="cpu:0").plan["spiking"]["projections"][name]


def pulled(synapse: str, weight: str = "1", v: float = 80.0, steps: int = 3) -> np.ndarray:
    text = f"{CELLS}synapse s:\n  variables(w)\n{synapse}\npopulation a(1, model: steady, v: {v})\npopulation b(1, model: sink)\n"
    text += f"connect a -> b(synapse: s, weight: {weight})\nrecord x(b)\n"
    return amdgpu.Network(text, device="cpu:0").run(steps * 1e-4).states["b.x"].values[:, 0]


@pytest.mark.parametrize("v", [80.0, 1e-4, 12345.0, -80.0])
def test_a_neuron_s_variable_times_a_weight_arrives_whole(v: float) -> None:
    # Also in step 0: what acts in every step acts in the first one.
    assert np.allclose(pulled("  clocked: target += w*v_pre", v=v), v * np.arange(1, 4), rtol=1e-6)


def test_weights_of_small_units_do_not_vanish_beside_plain_variables() -> None:
    text = STEADY + (
        "synapse s:\n  variables(w, x = 1)\n  on_pre:\n    x = x + 0.5*v_post\n    target += w*x\n"
        "source tick(spikes(times: [0.1.ms], indices: [0]), n: 1)\npopulation b(1, model: steady)\n"
        "connect tick -> b(synapse: s, weight: 1e-12)\n"
    )
    net = amdgpu.Network(text, device="cpu:0")
    net.run(5e-4)
    assert np.isclose(net.states["b.v"][0], 1e-12, rtol=1e-5)


def test_all_that_a_synapse_adds_in_a_step_has_a_place() -> None:
    # Three additions of 1, of 2000 sources, in one step: sums of 32 bits are sized for all of them.
    text = STEADY + (
        "synapse s:\n  variables(w)\n  on_pre:\n    target += w\n    target += w\n    target += clip(w, 0, 1)\n"
        "source tick(poisson(rate: 10000.Hz), n: 2000)\npopulation b(1, model: steady)\nconnect tick -> b(synapse: s, weight: 1)\n"
    )
    assert projection(text)["weight_bound"] == 3.0
    net = amdgpu.Network(text, device="cpu:0")
    net.run(2e-4)
    # What arrived in the second step; that of the second one is still to come.
    assert net.states["b.v"][0] == 6000


BOUNDS = [
    ("  on_pre: target += w", "random(-5, 0.5)", 5.0),
    ("  on_pre: target += w", "random(-0.5, 5)", 5.0),
    ("  on_pre:\n    target += w\n    w = where(v_post > 0, 5, 1)", "0.5", 5.0),
    ("  on_pre:\n    target += w\n    w = where(v_post > 0, 1, 5)", "0.5", 5.0),
    ("  on_pre:\n    target += w\n    w = where(v_post > 0, -7, w)", "0.5", 7.0),
    ("  on_pre:\n    target += 2*w\n    w = clip(w + v_post, -3, 2)", "0.5", 6.0),
    ("  on_pre: target += w*clip(v_post, -1, 4)", "2", 8.0),
    ("  on_pre: target += w*tanh(v_post)", "2", 2.0),
    ("  on_pre: target += min(w, 3)*random(0, 2)", "2", 4.0),
    ("  on_pre:\n    target += w\n    w = max(0, min(w + 1, 9))", "2", 9.0),
    ("  on_pre: target += w\n  clocked:\n    dw/dt = v_post/(1.s)\n    w = clip(w, 0, 4)", "2", 4.0),
    ("  on_post: target += w*w", "random(-3, 2)", 9.0),
    ("  on_pre:\n    target += w/(1 + abs(v_post))", "2", 2.0),
]


@pytest.mark.parametrize(("synapse", "weight", "bound"), BOUNDS)
def test_the_text_tells_the_largest_amount(synapse: str, weight: str, bound: float) -> None:
    text = f"{STEADY}synapse s:\n  variables(w)\n{synapse}\nsource tick(poisson(rate: 1.Hz), n: 1)\n"
    text += f"population b(1, model: steady)\nconnect tick -> b(synapse: s, weight: {weight})\n"
    assert projection(text)["weight_bound"] == pytest.approx(bound, rel=1e-12)


UNBOUNDED = [
    "  on_pre: target += w*v_post",
    "  on_pre:\n    target += w\n    w += 1",
    "  on_pre:\n    target += w\n    w = w*1.5",
    "  on_pre:\n    target += w\n    w = max(w, v_post)",
    "  on_pre: target += w/v_post",
    "  on_pre: target += normal(w, 1)",
    "  on_pre: target += w*exp(v_post)",
    "  clocked:\n    dw/dt = v_post/(1.s)\n    target += w\n    w = clip(w, 0, 4)",
    "  on_pre: target += w\n  on_reward: w += reward",
]


@pytest.mark.parametrize("synapse", UNBOUNDED)
def test_nothing_is_taken_for_bounded_that_is_not(synapse: str) -> None:
    text = f"{STEADY}synapse s:\n  variables(w)\n{synapse}\nsource tick(poisson(rate: 1.Hz), n: 1)\n"
    text += "population b(1, model: steady)\nconnect tick -> b(synapse: s, weight: 2)\n"
    found = projection(text)
    assert found["weight_bound"] is None
    assert found["amounts"]["scale"] > 0


def test_an_amount_beyond_all_sums_stops_the_run_with_the_connection_and_the_value() -> None:
    text = CELLS + (
        "synapse s:\n  variables(w)\n  clocked: target += w*v_pre*v_pre\npopulation a(1, model: steady, v: 1e9)\n"
        "population b(1, model: sink)\nconnect a -> b(synapse: s, weight: 1)\n"
    )
    net = amdgpu.Network(text, device="cpu:0")
    with pytest.raises(
        NetworkError, match=r"a synapse of a -> b added 1\.0000e18 to its target by step .*target \+= clip"
    ):
        net.run(0.01)


def test_wide_sums_belong_to_checkpoints(tmp_path) -> None:
    text = CELLS + (
        "synapse s:\n  variables(w)\n  clocked: target += w*v_pre\npopulation a(3, model: steady, v: random(1, 100))\n"
        "population b(3, model: sink)\nconnect a -> b(synapse: s, weight: random(0.5, 1))\nrecord x(b)\n"
    )
    net = amdgpu.Network(text, device="cpu:0")
    net.run(0.001)
    net.save(tmp_path / "state.npz")
    wanted = net.run(0.001).states["b.x"].values
    other = amdgpu.Network(text, device="cpu:0")
    other.restore(tmp_path / "state.npz")
    assert np.array_equal(other.run(0.001).states["b.x"].values, wanted)


def test_synapses_that_act_all_the_time_act_from_states_that_were_set() -> None:
    text = CELLS + (
        "synapse s:\n  variables(w)\n  clocked: target += w*v_pre\npopulation a(1, model: steady)\npopulation b(1, model: sink)\n"
        "connect a -> b(synapse: s, weight: 1)\nrecord x(b)\n"
    )
    net = amdgpu.Network(text, device="cpu:0")
    net.states["a.v"] = 3
    assert net.run(2e-4).states["b.x"].values[:, 0].tolist() == [3.0, 6.0]
