"""White noise in linear equations: its variance is that of theory at any time step, Ornstein and Uhlenbeck's process."""

from __future__ import annotations

import math

import amdgpu
import numpy as np
import pytest

NEURONS = 40_000
# Of a standard deviation of that many independent numbers: 1 / sqrt(2 n) is one standard error, and five of them happen by chance once in
# 1.7 million tests; seeds are fixed, so each outcome is what it is.
TOLERANCE = 5 / math.sqrt(2 * NEURONS)


def network(text: str) -> amdgpu.Network:
    return amdgpu.Network("dt = 0.1.ms\nseed = 5\n" + text, device="cpu:0")


@pytest.mark.parametrize("integrator", ["auto", "exponential_euler"])
@pytest.mark.parametrize("steps_of_tau", [0.5, 1.0, 3.25, 10.0, 100.0])
def test_the_standard_deviation_is_that_of_theory(steps_of_tau: float, integrator: str) -> None:
    tau = steps_of_tau * 0.1
    net = network(
        f"neuron cell:\n  params(tau = {tau}.ms, sigma = 27.7)\n  dv/dt = -v/tau + sigma*sqrt(2/tau)*xi\n  integrator: {integrator}\n"
        f"population cells({NEURONS}, model: cell)\n"
    )
    steps = max(20, round(2 * steps_of_tau))
    net.run(steps * 1e-4)
    wanted = 27.7 * math.sqrt(-math.expm1(-2 * steps / steps_of_tau))
    assert abs(net.states["cells.v"].std() / wanted - 1) < TOLERANCE


def test_time_constants_that_differ_between_neurons_have_it_too() -> None:
    net = network(
        f"neuron cell:\n  params(tau = 1.ms)\n  dv/dt = -v/tau + sqrt(2/tau)*xi\npopulation cells({NEURONS}, model: cell, "
        'tau: array("tau"), v: normal(0, 1))\n'.replace('array("tau")', "random(0.1.ms, 0.4.ms)")
    )
    net.run(20e-4)
    assert abs(net.states["cells.v"].std() - 1) < TOLERANCE


def test_a_variable_that_follows_a_noisy_one_is_correlated_as_theory_says() -> None:
    # x is an Ornstein-Uhlenbeck process with tau_x, y' = (x - y)/tau_y: var y = cov x y = var x * tau_x / (tau_x + tau_y).
    net = network(
        "neuron cell:\n  params(tau_x = 0.3.ms, tau_y = 0.5.ms)\n  dx/dt = -x/tau_x + sqrt(2/tau_x)*xi\n  dy/dt = (x - y)/tau_y\n"
        f"population cells({NEURONS}, model: cell)\n"
    )
    net.run(60e-4)
    x, y = (net.states[f"cells.{name}"].astype(float) for name in "xy")
    share = 0.3 / 0.8
    # Standard errors of sums of squares and of products of normal numbers.
    assert abs(x.var() - 1) < 5 * math.sqrt(2 / NEURONS)
    assert abs(y.var() - share) < 5 * share * math.sqrt(2 / NEURONS)
    assert abs(np.mean(x * y) - share) < 5 * math.sqrt((share + share**2) / NEURONS)


def test_steps_are_as_independent_as_theory_says() -> None:
    net = network(
        "neuron cell:\n  params(tau = 0.2.ms)\n  dv/dt = -v/tau + sqrt(2/tau)*xi\n"
        f"population cells({NEURONS}, model: cell, v: normal(0, 1))\nrecord v(cells)\n"
    )
    v = net.run(5e-4).states["cells.v"].values.astype(float)
    for lag in (1, 2, 3):
        assert abs(np.mean(v[0] * v[lag]) - math.exp(-lag / 2)) < 5 * math.sqrt(2 / NEURONS)


def test_noise_goes_on_while_a_neuron_is_refractory() -> None:
    net = network(
        "neuron cell:\n  params(tau = 0.3.ms)\n  dx/dt = -x/tau + sqrt(2/tau)*xi\n  dv/dt = (x + 10 - v)/(1.ms)\n  threshold: v > -1\n"
        f"  reset: v = 0\n  refractory: 1.s\npopulation cells({NEURONS}, model: cell)\n"
    )
    net.run(30e-4)
    assert (net.states["cells.v"] == 0).all()
    assert abs(net.states["cells.x"].std() - 1) < TOLERANCE


def test_two_noises_are_independent() -> None:
    net = network(
        "neuron cell:\n  dx/dt = -x/(0.3.ms) + xi/sqrt(0.15.ms)\n  dy/dt = (0.0*x - y)/(0.3.ms) + xi/sqrt(0.15.ms)\n"
        f"population cells({NEURONS}, model: cell)\n"
    )
    net.run(30e-4)
    x, y = (net.states[f"cells.{name}"].astype(float) for name in "xy")
    assert abs(np.mean(x * y)) < 5 / math.sqrt(NEURONS)
    assert abs(x.std() - 1) < TOLERANCE
    assert abs(y.std() - 1) < TOLERANCE
