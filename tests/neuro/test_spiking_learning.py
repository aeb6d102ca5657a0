"""Rewards and states of spiking networks, and tasks that reward-modulated and unsupervised plasticity learn (examples/spiking_learning)."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu.errors import InvalidArgumentError, NetworkError, ShapeMismatchError, WeightsNotFiniteError
from spiking_learning import maze, stdp_digits, two_choice

NETWORK = """
dt = 1.ms
seed = 3
neuron cell:
  params(tau = 10.ms)
  dv/dt = -v/tau
  threshold: v > 1
  reset: v = 0
population pre(4, model: poisson, rate: 100.Hz)
population post(3, model: cell)
connect pre -> post(weight: 0.5, target: v)
plasticity r_stdp(a_minus: 0, on: pre -> post)
record spikes(post)
"""
CONNECTION = "pre -> post"


def test_rewards_of_the_text_are_those_of_the_program():
    by_text = amdgpu.Network(
        NETWORK
        + "reward at(times: [50.ms, 100.ms, 50.ms], values: [1, -0.5, 0.25])\nreward at(times: [0.s, 199.ms], values: 2)\n"
        + "reward every(50.ms, value: 0.125)\n",
        device="cpu:0",
    )
    by_text.run(0.2)
    by_program = amdgpu.Network(NETWORK, device="cpu:0")
    given = {0: 2.0, 50: 1.375, 100: -0.375, 150: 0.125, 199: 2.0}
    for step in range(200):
        if step in given:
            by_program.reward(given[step])
        by_program.step(1)
    unrewarded = amdgpu.Network(NETWORK, device="cpu:0")
    unrewarded.run(0.2)
    assert np.array_equal(by_text.weights[CONNECTION], by_program.weights[CONNECTION])
    assert np.array_equal(unrewarded.weights[CONNECTION], np.full(12, 0.5, np.float32))
    assert not np.array_equal(by_text.weights[CONNECTION], unrewarded.weights[CONNECTION])


def test_rewards_of_the_text_go_on_behind_a_checkpoint(tmp_path):
    text = NETWORK + "reward every(30.ms, value: 1)\nreward at(times: [140.ms], values: [-1])\n"
    whole, first, second = (amdgpu.Network(text, device="cpu:0") for _ in range(3))
    whole.run(0.3)
    first.run(0.1)
    first.save(tmp_path / "state.npz")
    second.restore(tmp_path / "state.npz")
    second.run(0.2)
    assert np.array_equal(whole.weights[CONNECTION], second.weights[CONNECTION])


def test_a_reward_that_nothing_waits_for_is_a_warning():
    text = "population a(1, model: lif)\nreward every(1.s, value: 1)\n"
    assert any("no synapse waits" in warning for warning in amdgpu.Network(text).warnings)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("reward", "'reward' is incomplete"),
        ("reward later(1.s)", "one of at, every"),
        ("reward at(times: [1.s, 2.s], values: [1])", "2 times and 1 values"),
        ("reward at(times: [1.mV], values: [1])", "where a time is needed"),
        ("reward at(times: [-1.s], values: [1])", "a reward before the start"),
        ("reward at(times: [1.s])", "a reward needs its values"),
        ("reward every(1.us, value: 1)", "below the time step"),
        ("reward every(1.s)", "needs an interval and a value"),
        ("reward every(1.s, value: 1.mV)", "is a voltage"),
    ],
)
def test_wrong_rewards_are_found_in_the_text(statement, expected):
    with pytest.raises(NetworkError, match=expected):
        amdgpu.Network(f"population a(1, model: lif)\n{statement}\n")


def test_states_are_read_and_replaced_between_runs():
    net = amdgpu.Network(NETWORK, device="cpu:0")
    assert list(net.states) == ["pre.rate", "post.v"]
    net.states["pre.rate"] = [0, 0, 1000, 0]
    assert net.states["pre.rate"].tolist() == [0, 0, 1000, 0]
    assert net.run(0.05).counts["pre"] == 50
    net.states["pre.rate"] = 0
    net.run(0.5)
    net.states["post.v"] = [0.5, 0.25, 1.5]
    assert net.states["post.v"].tolist() == [0.5, 0.25, 1.5]
    assert net.run(0.001).counts == {"pre": 0, "post": 1}
    assert np.allclose(net.states["post.v"], np.array([0.5, 0.25, 0]) * np.exp(-0.1), atol=1e-6)


def test_wrong_states_are_refused_and_change_nothing():
    net = amdgpu.Network(NETWORK, device="cpu:0")
    net.states["post.v"] = 0.5
    with pytest.raises(ShapeMismatchError, match="has 3 values; 2 were given"):
        net.states["post.v"] = [1, 2]
    with pytest.raises(WeightsNotFiniteError, match=r"post\.v"):
        net.states["post.v"] = [1, np.nan, 2]
    with pytest.raises(InvalidArgumentError, match=r"it has pre\.rate"):
        net.states["nobody.v"]
    with pytest.raises(InvalidArgumentError, match="a record statement keeps it"):
        net.states["post.w"] = 1
    assert net.states["post.v"].tolist() == [0.5] * 3
    with pytest.raises(NetworkError, match="layered"):
        _ = amdgpu.Network("layer a(2)\nlayer b(2)\nconnect a -> b\n").states


def test_two_choices_are_learnt_and_relearnt_from_rewards():
    learnt = two_choice.run(3)
    assert learnt.learnt > 0.9
    assert learnt.relearnt > 0.9
    # Without rewards nothing changes: chance is 0.5, its standard deviation over 100 trials 0.05.
    assert 0.3 < two_choice.run(3, is_rewarded=False).learnt < 0.7


def test_the_way_through_a_maze_is_learnt_from_rewards():
    learnt = maze.run(6, episodes=40, counted=10)
    assert learnt.fewest == 6
    assert learnt.moves < 1.5 * learnt.fewest
    assert maze.run(6, episodes=10, counted=10, is_rewarded=False).moves > 4 * learnt.moves


def test_some_digits_are_learnt_without_labels():
    # Of few images and one pass; chance is 0.1. All of them: below.
    assert stdp_digits.run(1, epochs=1, training=300, testing=100).accuracy > 0.35


@pytest.mark.slow
def test_two_choices_are_learnt_with_every_seed():
    outcomes = [two_choice.run(seed) for seed in two_choice.SEEDS]
    assert min(one.learnt for one in outcomes) > 0.9, outcomes
    assert min(one.relearnt for one in outcomes) > 0.9, outcomes


@pytest.mark.slow
def test_the_maze_is_learnt_with_every_seed():
    learnt = [maze.run(seed) for seed in maze.SEEDS]
    chance = [maze.run(seed, is_rewarded=False) for seed in maze.SEEDS]
    assert max(one.moves for one in learnt) < 1.5 * maze.fewest_moves(), learnt
    assert np.mean([one.moves for one in chance]) > 6 * np.mean([one.moves for one in learnt])


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_digits_are_learnt_without_labels_with_every_seed():
    found = [stdp_digits.run(seed).accuracy for seed in stdp_digits.SEEDS]
    assert min(found) > 0.85, found
    assert np.mean(found) > 0.88, found
