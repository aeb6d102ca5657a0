"""Every plasticity rule of the language against dense NumPy in float64: kernels on one side, matrices on the other."""

from __future__ import annotations

import numpy as np
import pytest
from network_kernels import ProjectionRunner
from tolerances import SPIKING_STATE

DT = 1e-4
SOURCES, TARGETS, STEPS = 5, 7, 400


def runner_of(rule: str, weight: str = "0.5") -> ProjectionRunner:
    return ProjectionRunner(
        f"""
dt = 0.1.ms
neuron cell:
  params(tau = 5.ms)
  dg/dt = -g/tau
  target: g
population pre({SOURCES}, model: poisson)
population post({TARGETS}, model: cell)
connect pre -> post(weight: {weight})
plasticity {rule}
"""
    )


def spike_trains(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((STEPS, SOURCES)) < 0.06, rng.random((STEPS, TARGETS)) < 0.06


class Oracle:
    """A rule over all pairs: x are traces of sources, y of targets. The order in a step is that of docs/plan_schema.md."""

    def __init__(self) -> None:
        self.w = np.full((SOURCES, TARGETS), 0.5)

    def decay(self, **taus: float) -> None:
        for name, tau in taus.items():
            setattr(self, name, getattr(self, name) * np.exp(-DT / tau))


class Pair(Oracle):
    def __init__(self, dependence: str, pairing: str) -> None:
        super().__init__()
        self.dependence, self.nearest = dependence, pairing == "nearest"
        self.x, self.y = np.zeros(SOURCES), np.zeros(TARGETS)

    def scales(self) -> tuple[np.ndarray, np.ndarray]:
        if self.dependence == "additive":
            return np.ones_like(self.w), np.ones_like(self.w)
        if self.dependence == "multiplicative":
            return 1 - self.w, self.w
        return (1 - self.w) ** 0.4, self.w**0.4

    def step(self, pre, post, reward):
        self.decay(x=20e-3, y=20e-3)
        arriving = pre @ self.w
        self.w = np.where(pre[:, None], np.clip(self.w - 0.0105 * self.scales()[1] * self.y, 0, 1), self.w)
        self.x = np.where(pre, 1 if self.nearest else self.x + 1, self.x)
        self.w = np.where(post, np.clip(self.w + 0.01 * self.scales()[0] * self.x[:, None], 0, 1), self.w)
        self.y = np.where(post, 1 if self.nearest else self.y + 1, self.y)
        return arriving


class Rates(Oracle):
    """hebbian, oja, bcm, inhibitory_stdp: what a spike of either side does, from both traces."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.x, self.y, self.theta = np.zeros(SOURCES), np.zeros(TARGETS), np.zeros(TARGETS)

    def step(self, pre, post, reward):
        if self.kind == "bcm":
            self.theta = self.theta + (self.y**2 - self.theta) * -np.expm1(-DT / 0.1)
        self.decay(x=20e-3, y=20e-3)
        arriving = pre @ self.w
        change = {"hebbian": 0.01 * self.y, "inhibitory_stdp": 0.01 * (self.y - 2 * 5 * 0.02)}.get(
            self.kind, 0 * self.y
        )
        self.w = np.where(pre[:, None], np.clip(self.w + change, 0, 1), self.w)
        self.x = self.x + pre
        x = self.x[:, None]
        y = self.y + 1
        change = {
            "hebbian": 0.01 * x,
            "inhibitory_stdp": 0.01 * x,
            "oja": 0.01 * (x - y * self.w),
            "bcm": 0.01 * x * (y - self.theta),
        }[self.kind]
        self.w = np.where(post, np.clip(self.w + change, 0, 1), self.w)
        self.y = self.y + post
        return arriving


class Triplet(Oracle):
    def __init__(self) -> None:
        super().__init__()
        self.r1, self.r2, self.o1, self.o2 = np.zeros(SOURCES), np.zeros(SOURCES), np.zeros(TARGETS), np.zeros(TARGETS)

    def step(self, pre, post, reward):
        self.decay(r1=16.8e-3, r2=101e-3, o1=33.7e-3, o2=125e-3)
        arriving = pre @ self.w
        change = self.o1 * (0.007 + 0.00023 * self.r2[:, None])
        self.w = np.where(pre[:, None], np.clip(self.w - change, 0, 1), self.w)
        self.r1, self.r2 = self.r1 + pre, self.r2 + pre
        self.w = np.where(post, np.clip(self.w + self.r1[:, None] * (5e-10 + 0.0062 * self.o2), 0, 1), self.w)
        self.o1, self.o2 = self.o1 + post, self.o2 + post
        return arriving


class Reward(Oracle):
    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.x, self.y = np.zeros(SOURCES), np.zeros(TARGETS)
        self.c, self.d = np.zeros_like(self.w), np.zeros_like(self.w)

    def step(self, pre, post, reward):
        dopamine = self.kind == "stdp_dopamine"
        plus, minus = (0.1, 0.15) if dopamine else (0.01, 0.0105)
        self.decay(x=20e-3, y=20e-3)
        if not dopamine:
            self.decay(c=0.2)
        arriving = pre @ self.w
        self.c = self.c - minus * np.outer(pre, self.y)
        self.x = self.x + pre
        self.c = self.c + plus * np.outer(self.x, post)
        self.y = self.y + post
        if dopamine:
            self.w = np.clip(self.w + DT * 20 * self.c * self.d, 0, 1)
            self.decay(c=0.2, d=0.05)
            self.d = self.d + reward
        elif reward:
            self.w = np.clip(self.w + reward * self.c, 0, 1)
        return arriving


class ShortTerm(Oracle):
    def __init__(self) -> None:
        super().__init__()
        self.u, self.x = np.full(SOURCES, 0.3), np.ones(SOURCES)

    def step(self, pre, post, reward):
        self.u = 0.3 + (self.u - 0.3) * np.exp(-DT / 0.05)
        self.x = 1 + (self.x - 1) * np.exp(-DT / 0.1)
        self.u = np.where(pre, self.u + 0.3 * (1 - self.u), self.u)
        arriving = (pre * self.u * self.x) @ self.w
        self.x = np.where(pre, self.x * (1 - self.u), self.x)
        return arriving


class Scaling(Oracle):
    def __init__(self) -> None:
        super().__init__()
        self.rate = np.zeros(TARGETS)

    def step(self, pre, post, reward):
        self.decay(rate=0.02)
        arriving = pre @ self.w
        self.rate = self.rate + post / 0.02
        self.w = np.clip(self.w * np.exp(DT * (5 - self.rate) / (5 * 1.0)), 0, 1)
        return arriving


RULES = {
    "stdp(w_max: 1.0)": lambda: Pair("additive", "all"),
    "stdp(w_max: 1.0, pairing: nearest)": lambda: Pair("additive", "nearest"),
    "stdp(dependence: multiplicative)": lambda: Pair("multiplicative", "all"),
    "stdp(dependence: multiplicative, pairing: nearest)": lambda: Pair("multiplicative", "nearest"),
    "stdp(dependence: power)": lambda: Pair("power", "all"),
    "stdp(dependence: power, pairing: nearest)": lambda: Pair("power", "nearest"),
    "hebbian(learning_rate: 0.01)": lambda: Rates("hebbian"),
    "oja(learning_rate: 0.01)": lambda: Rates("oja"),
    "bcm(learning_rate: 0.01, tau_theta: 100.ms)": lambda: Rates("bcm"),
    "inhibitory_stdp(learning_rate: 0.01)": lambda: Rates("inhibitory_stdp"),
    "triplet_stdp()": Triplet,
    "r_stdp(tau_c: 200.ms)": lambda: Reward("r_stdp"),
    "stdp_dopamine(tau_c: 200.ms, tau_d: 50.ms, learning_rate: 20.Hz)": lambda: Reward("stdp_dopamine"),
    "tsodyks_markram(u_0: 0.3, tau_facil: 50.ms, tau_rec: 100.ms)": ShortTerm,
    "homeostatic(tau_rate: 20.ms, tau: 1.s)": Scaling,
}


@pytest.mark.parametrize("rule", RULES)
def test_rule_changes_weights_as_its_equations_say(rule):
    runner, oracle = runner_of(rule), RULES[rule]()
    pre, post = spike_trains(3)
    arrived = spread = 0.0
    for step in range(STEPS):
        reward = 1.0 if step % 100 == 60 else 0.0
        rows = runner.step(pre[step], post[step], reward)
        wanted = oracle.step(pre[step], post[step], reward)
        if pre[step].any():
            np.testing.assert_allclose(rows["g"], wanted, atol=SPIKING_STATE)
            arrived += wanted.sum()
        np.testing.assert_allclose(runner.weights(), oracle.w, atol=SPIKING_STATE, err_msg=f"step {step}")
        spread = max(spread, np.ptp(oracle.w))
    assert arrived > 10
    assert spread > 1e-3 or "tsodyks" in rule


def test_structural_plasticity_prunes_weak_synapses_and_grows_new_ones_where_the_target_is_silent():
    rule = (
        "structural(growth: 50.Hz, pruning: 500.Hz, w_min: 0.1, w_new: 0.3, tau: 50.ms, tau_rate: 50.ms, rho_0: 20.Hz)"
    )
    runner = runner_of(rule, weight="0.2")
    busy = np.arange(TARGETS) < 3
    for step in range(1200):
        runner.step(np.zeros(SOURCES, bool), busy & (step % 50 == 0))
        weights = runner.weights()
        assert np.all((weights >= 0) & (weights <= 1))
    # Busy targets (200 Hz against 20) lose their synapses, silent ones have all of theirs at the limit.
    assert np.mean(weights[:, busy] == 0) > 0.8
    assert np.all(weights[:, ~busy] == 1)
    silent = runner_of(rule, weight="0.0")
    for _ in range(400):
        silent.step(np.zeros(SOURCES, bool), np.zeros(TARGETS, bool))
    # 40 ms at 50 Hz: 1 - exp(-2) of the places are taken, at least half of 35 with near certainty.
    assert np.mean(silent.weights() > 0) > 0.5


def test_gap_junctions_pull_neighbours_together():
    source, target = np.linspace(0, 1e-3, 4).astype(np.float32), np.linspace(-1e-3, 1e-3, 4).astype(np.float32)
    runner = ProjectionRunner(
        """
neuron coupled:
  inputs(gap)
  params(tau = 10.ms, r = 10.MOhm)
  dv/dt = (-v + r*gap)/tau
population a(4, model: coupled)
population b(4, model: coupled)
connect a -> b(synapse: gap_junction, target: gap, weight: 1.uS)
""",
        neurons={("source_state", "v"): source, ("target_state", "v"): target},
        unit=2.0**-36,
    )
    rows = runner.step(np.zeros(4, bool), np.zeros(4, bool))
    wanted = 1e-6 * (source.astype(float)[:, None] - target.astype(float)).sum(axis=0)
    # A fixed-point unit is 1.5e-11 A here; four roundings.
    np.testing.assert_allclose(rows["gap"], wanted, atol=4e-11)
