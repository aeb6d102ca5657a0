"""Names and functions of the network language: each one in every place where docs/network_language.md allows it, from one table."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu.errors import NetworkError
from tolerances import SPIKING_STATE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "network_language.md"
DT = 1e-4
STEPS = 5

# How each name is written in an expression, and its value at the time `t`, as Python computes it.
NAMES = {
    "t": ("t/(1.s)", lambda t: t),
    "dt": ("dt/(1.s)", lambda t: DT),
    "pi": ("pi", lambda t: math.pi),
    "exp": ("exp(0.3)", lambda t: math.exp(0.3)),
    "log": ("log(3)", lambda t: math.log(3)),
    "log10": ("log10(3)", lambda t: math.log10(3)),
    "sin": ("sin(0.3)", lambda t: math.sin(0.3)),
    "cos": ("cos(0.3)", lambda t: math.cos(0.3)),
    "tan": ("tan(0.3)", lambda t: math.tan(0.3)),
    "sinh": ("sinh(0.3)", lambda t: math.sinh(0.3)),
    "cosh": ("cosh(0.3)", lambda t: math.cosh(0.3)),
    "tanh": ("tanh(0.3)", lambda t: math.tanh(0.3)),
    "exprel": ("exprel(0.3)", lambda t: math.expm1(0.3) / 0.3),
    "sqrt": ("sqrt(3)", lambda t: math.sqrt(3)),
    "abs": ("abs(-3)", lambda t: 3),
    "sign": ("sign(-3)", lambda t: -1),
    "floor": ("floor(-3.5)", lambda t: -4),
    "ceil": ("ceil(-3.5)", lambda t: -3),
    "min": ("min(2, 3)", lambda t: 2),
    "max": ("max(2, 3)", lambda t: 3),
    "clip": ("clip(5, 2, 3)", lambda t: 3),
    "where": ("where(1 > 2, 5, 7)", lambda t: 7),
    "int": ("int(2 > 1)", lambda t: 1),
    "random": ("random(2, 2)", lambda t: 2),
    "normal": ("normal(2, 0)", lambda t: 2),
    "poisson": ("poisson(0)", lambda t: 0),
}
# Names that are not in every place.
UNITS_LINE = re.compile(r"Units: (.*?)A variable or parameter hides", re.DOTALL)
PARTS = ("xi", "reward", "i", "j", "size", "distance", "kernel")
INTEGRATORS = ("auto", "exponential_euler", "euler", "rk2", "rk4")
RANDOM = ("random", "normal", "poisson")


def sums(values: list[float]) -> np.ndarray:
    """Of the values of the steps before each one."""
    return np.concatenate([[0.0], np.cumsum(values)[:-1]])


def expected(name: str, first: int = 0, count: int = STEPS) -> list[float]:
    """The values of a name in steps from `first` on."""
    return [NAMES[name][1]((first + step) * DT) for step in range(count)]


def neuron(lines: str, variables: str = "", first: str = "") -> amdgpu.Network:
    """One neuron with a recorded variable x."""
    text = f"""
dt = 0.1.ms
neuron cell:
  variables(x, y{variables})
  {first}
{lines}
population cells(1, model: cell)
record x(cells)
record y(cells)
record spikes(cells)
"""
    return amdgpu.Network(text, device="cpu:0")


def of_x(network: amdgpu.Network) -> np.ndarray:
    return network.run(STEPS * DT).states["cells.x"].values[:, 0].astype(float)


def test_the_table_has_every_function_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.split("| function | |", 1)[1].split("\n\n", 1)[0]
    listed = set(
        re.findall(r"[a-z][a-z0-9]+(?=[( `])", " ".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)) + " ")
    )
    listed -= {"a", "b", "x", "low", "high", "condition", "mean", "sd"}
    assert listed == set(NAMES) - {"t", "dt", "pi"}, listed ^ set(NAMES)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_an_equation(name: str, integrator: str) -> None:
    if name in RANDOM and integrator in ("rk2", "rk4"):
        with pytest.raises(NetworkError, match="noise with the integrator"):
            neuron(f"  dx/dt = ({NAMES[name][0]})/(1.ms)\n  integrator: {integrator}")
        return
    network = neuron(f"  dx/dt = ({NAMES[name][0]})/(1.ms)\n  integrator: {integrator}")
    # Runge and Kutta's methods know time inside a step: the integral of t is exact.
    inside = 0.5 if name == "t" and integrator in ("rk2", "rk4") else 0.0
    values = [NAMES[name][1]((step + inside) * DT) * DT / 1e-3 for step in range(STEPS + 1)]
    assert np.allclose(of_x(network), sums(values)[:STEPS], rtol=SPIKING_STATE, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in RANDOM])
def test_a_name_in_a_definition(name: str) -> None:
    network = neuron(f"  word = {NAMES[name][0]}\n  dx/dt = word/(1.ms)\n  dz/dt = -word*word*z/(1.ms)")
    values = [value * DT / 1e-3 for value in expected(name)]
    assert np.allclose(of_x(network), sums(values), rtol=SPIKING_STATE, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_threshold_and_a_reset(name: str) -> None:
    written, value = NAMES[name]
    first = f"""threshold: {written} > 1000*{written} - 999*({value(2 * DT)!r}) - 1e-6 and {written} >= {value(2 * DT)!r} - 1e-6"""
    network = neuron(f"  dz/dt = 1/(1.s)\n  {first}\n  reset:\n    y += 1\n    x = {written} + 0*y")
    states = network.run(STEPS * DT).states
    fired = np.diff(states["cells.y"].values[:, 0]) > 0
    # Of names that stand still every step; of t in steps where the difference is below the rounding.
    assert fired.any(), states["cells.y"].values
    step = int(np.flatnonzero(fired)[-1])
    assert math.isclose(states["cells.x"].values[step + 1, 0], value(step * DT), rel_tol=SPIKING_STATE, abs_tol=1e-8)
    assert name != "t" or step == 2


SYNAPSES = {
    "on_pre": "  on_pre:\n    w = {0}",
    "on_post": "  on_pre: target += 2\n  on_post:\n    w = {0}",
    "on_reward": "  on_reward:\n    w = {0} + 0*reward",
    "clocked": "  clocked:\n    w = {0}",
    "clocked equation": "  clocked:\n    dw/dt = ({0})/(0.1.ms)\n    u = w",
    "event-driven equation": "  dw/dt = ({0})/(0.1.ms)\n  on_pre:\n    u = w",
}


@pytest.mark.parametrize(("name", "place"), list(itertools.product(NAMES, SYNAPSES)))
def test_a_name_in_a_synapse(name: str, place: str) -> None:
    text = f"""
dt = 0.1.ms
neuron cell:
  dv/dt = -v/(1.s)
  threshold: v > 1
  reset: v = 0
  target: v
synapse tested:
  variables(w, u)
{SYNAPSES[place].format(NAMES[name][0])}
source tick(spikes(times: [0.3.ms], indices: [0]), n: 1)
population cells(1, model: cell)
connect tick -> cells(synapse: tested, weight: 0)
"""
    if place == "on_reward":
        text += "reward at(times: [0.3.ms], values: 1)\n"
    if place == "event-driven equation" and (name == "t" or name in RANDOM):
        with pytest.raises(NetworkError, match=r"cannot be solved between events|a random number|here"):
            amdgpu.Network(text, device="cpu:0")
        return
    if place == "clocked equation" and name in RANDOM:
        with pytest.raises(NetworkError, match="here"):
            amdgpu.Network(text, device="cpu:0")
        return
    network = amdgpu.Network(text, device="cpu:0")
    network.run(5 * DT)
    value = float(network.weights["tick -> cells"].reshape(-1)[0])
    at = {"on_pre": 3, "on_post": 4, "on_reward": 3, "clocked": 4}
    if place in at:
        wanted = NAMES[name][1](at[place] * DT)
    elif place == "clocked equation":
        wanted = sum(expected(name))
    else:
        wanted = 3 * NAMES[name][1](0)
    assert math.isclose(value, wanted, rel_tol=SPIKING_STATE, abs_tol=1e-8), (value, wanted)


# Names of some places only: the expression, with what it gives for neuron (or source) 1 and target 2 of 3.
INITIAL = {
    "i": ("i", 1),
    "size": ("size", 3),
    "x": ("x", 10),
    "y": ("y", 0),
    "z": ("z", 0),
    "pi": ("pi", math.pi),
    "p": ("p", 4),
}


@pytest.mark.parametrize("name", INITIAL)
def test_a_name_in_an_initial_value(name: str) -> None:
    written, value = INITIAL[name]
    network = amdgpu.Network(
        f"neuron cell:\n  params(p = 4)\n  variables(u)\n  dv/dt = -v/(1.s)\npopulation cells(3, model: cell, u: {written}, "
        f"positions: points([[0, 0, 0], [10, 0, 0], [20, 0, 0]]))\nrecord u(cells)\n",
        device="cpu:0",
    )
    assert math.isclose(network.run(DT).states["cells.u"].values[0, 1], value, rel_tol=1e-6)


PAIRS = {
    "i": 1, "j": 2, "x_pre": 10, "y_pre": 1, "z_pre": 0, "x_post": 20, "y_post": 2, "z_post": 0, "distance": math.sqrt(101), "pi": math.pi,
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_a_name_in_a_weight_and_a_delay(name: str) -> None:
    network = amdgpu.Network(
        "neuron cell:\n  dv/dt = -v/(1.s)\n  threshold: v > 1\npopulation cells(3, model: cell, "
        f"positions: points([[0, 0, 0], [10, 1, 0], [20, 2, 0]]))\nconnect cells -> cells(weight: {name}, delay: ({name})*ms, target: v)\n",
        device="cpu:0",
    )
    synapses = network.synapses("cells -> cells")
    place = np.flatnonzero((synapses.sources == 1) & (synapses.targets == 2))[0]
    assert math.isclose(synapses.weights[place], PAIRS[name], rel_tol=1e-5, abs_tol=1e-6)
    assert math.isclose(synapses.delays[place], round(PAIRS[name] * 10) * 1e-4, abs_tol=1e-9)


def test_the_kernel_in_a_weight() -> None:
    network = amdgpu.Network(
        "neuron cell:\n  dv/dt = -v/(1.s)\n  threshold: v > 1\npopulation cells(3, model: cell, positions: grid(3))\n"
        "connect cells -> cells(pattern: convolution([1, 2, 3], padding: same), weight: kernel*kernel, target: v)\n",
        device="cpu:0",
    )
    assert set(network.synapses("cells -> cells").weights) == {1.0, 4.0, 9.0}


def test_variables_of_both_neurons_and_the_reward_in_a_synapse() -> None:
    network = amdgpu.Network(
        """
dt = 0.1.ms
neuron cell:
  params(p = 7)
  dv/dt = 0*v/(1.s)
  target: v
synapse tested:
  variables(w, a, b, c)
  clocked:
    a = v_pre
    b = v_post
    c = p
  on_reward: w = reward + a + 10*b + 100*c
population one(1, model: cell, v: 2)
population other(1, model: cell, v: 3)
connect one -> other(synapse: tested, weight: 0)
reward at(times: [0.2.ms], values: 0.5)
""",
        device="cpu:0",
    )
    network.run(5 * DT)
    assert math.isclose(float(network.weights["one -> other"].reshape(-1)[0]), 0.5 + 2 + 30 + 700, rel_tol=1e-6)


def test_every_unit_of_the_page_is_known() -> None:
    line = UNITS_LINE.search(PAGE.read_text(encoding="utf-8"))
    assert line is not None
    units = [unit for group in re.findall(r"`([^`]*)`", line.group(1)) for unit in group.split()]
    assert len(units) > 40
    for unit in units:
        amdgpu.Network(
            f"neuron cell:\n  params(p = 1.{unit})\n  dv/dt = (p/(1.{unit}) - v)/(1.s)\npopulation a(1, model: cell)\n"
        )
