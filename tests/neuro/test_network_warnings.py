"""What is allowed in a network and will probably go wrong is said when it is built; what does not fit names its own line."""

from __future__ import annotations

import warnings

import amdgpu
import numpy as np
import pytest
from amdgpu.errors import NetworkError

CABLE = """
dt = {dt}.ms
neuron part:
  params(c = 1.pF, g = 0.1.nS)
  inputs(gap)
  dv/dt = (gap - g*v)/c
  {integrator}
population cable(20, model: part, v: random(0.mV, 10.mV))
connect cable -> cable(pattern: pairs([{forth}, {back}], [{back}, {forth}]), synapse: gap_junction, weight: {g}.nS, target: gap)
"""


def cable(dt: float, g: float, integrator: str = "") -> str:
    forth, back = (", ".join(str(number + late) for number in range(19)) for late in (0, 1))
    return CABLE.format(dt=dt, g=g, forth=forth, back=back, integrator=integrator)


@pytest.mark.parametrize("integrator", ["", "integrator: euler"])
def test_coupling_that_is_too_strong_for_the_step_is_said_when_the_network_is_built(integrator: str) -> None:
    # A chain is stable up to a coupling of about half of the difference in a step: 2 g dt / c < 1.
    for dt, g in ((0.1, 6), (0.01, 60)):
        net = amdgpu.Network(cable(dt, g, integrator), device="cpu:0")
        with pytest.warns(
            RuntimeWarning,
            match=r"coupling by cable -> cable is too strong for a step .* v of a neuron .* a dt of at most",
        ):
            net.step(1)
        assert any("too strong" in one for one in net.warnings)
        net.step(60)
        assert np.abs(net.states["cable.v"]).max() > 20e-3
    for dt, g in ((0.1, 4.5), (0.01, 45)):
        net = amdgpu.Network(cable(dt, g, integrator), device="cpu:0")
        net.run(0.02)
        assert net.warnings == []
        assert np.abs(net.states["cable.v"]).max() < 10e-3


def messages(text: str) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return amdgpu.Network(text, device="cpu:0").warnings


def cell(lines: str, options: str = "") -> str:
    return f"dt = 0.1.ms\nneuron cell:\n  {lines}\npopulation cells(2, model: cell{options})\n"


def test_time_constants_below_zero_are_said() -> None:
    for text in (
        cell("params(tau = -10.ms)\n  dv/dt = -v/tau"),
        cell("params(tau = 10.ms)\n  dv/dt = -v/tau", ", tau: -10.ms"),
    ):
        assert len(messages(text)) == 1
        assert "2:" in messages(text)[0] or "3:" in messages(text)[0]
        assert "'tau' of population 'cells' is -0.01 s, below zero" in messages(text)[0]
    assert "grows without end" in messages(cell("dv/dt = v/(10.ms)"))[0]
    text = cell("dv/dt = -v/(10.ms)\n  threshold: v > 1\n  target: v")
    text += "connect cells -> cells(synapse: tsodyks_markram(tau_rec: -1.ms), weight: 1)\n"
    assert any("'tau_rec' of synapse 'tsodyks_markram' is -0.001 s" in one for one in messages(text))
    with pytest.warns(RuntimeWarning, match="below zero"):
        amdgpu.Network(cell("params(tau = -10.ms)\n  dv/dt = -v/tau"), device="cpu:0").run(1e-4)


@pytest.mark.parametrize(
    ("integrator", "stable", "unstable"), [("euler", 0.051, 0.049), ("rk2", 0.051, 0.049), ("rk4", 0.0362, 0.0356)]
)
def test_steps_that_are_too_long_for_an_integrator_are_said(integrator: str, stable: float, unstable: float) -> None:
    def found(tau: float, name: str) -> list[str]:
        return messages(cell(f"dv/dt = -v/({tau}.ms)\n  integrator: {name}", ", v: 1"))

    assert found(stable, integrator) == []
    assert "the step is too long for 'v' of population 'cells'" in found(unstable, integrator)[0]
    assert found(unstable, "auto") == []
    # Where the slope depends on the variables it is that of their initial values.
    assert "too long" in messages(cell("dv/dt = -v*v/(0.04.ms)\n  integrator: euler", ", v: 1"))[0]


@pytest.mark.parametrize(
    "model", ["lif", "iaf_psc_exp", "iaf_psc_alpha", "iaf_cond_exp", "adex", "izhikevich", "hodgkin_huxley"]
)
def test_built_in_neurons_have_no_warnings(model: str) -> None:
    assert messages(f"dt = 0.1.ms\npopulation cells(2, model: {model})\n") == []


def error_of(text: str) -> str:
    with pytest.raises(NetworkError) as caught:
        amdgpu.Network(text, device="cpu:0")
    return str(caught.value)


def test_a_parameter_that_hides_a_unit_is_named() -> None:
    message = error_of(cell("params(cm = 1*uF/cm^2, gl = 0.3*mS/cm^2, el = -54.mV)\n  dv/dt = gl*(el - v)/cm"))
    assert "'cm' on line 3 is the parameter of neuron 'cell', which hides the unit" in message
    assert "'cm_0'" in message
    # Without a use as a unit the name is as good as any.
    assert messages(cell("params(cm = 1*uF/cm^2, i = 1e4*uA/m^2)\n  dv/dt = i/cm")) == []


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("params(i = 1.nA)\n  dv/dt = -v/(10.ms) + i\n  threshold: v > -50.mV", 4),
        ("dv/dt = (-70 - v)/(10.ms)\n  threshold: v > -50.mV\n  reset: v = -70.mV", 3),
        ("params(el = -70)\n  dv/dt = (el - v)/(10.ms)\n  threshold: v > -50.mV", 4),
        ("dv/dt = (-70.mV - v)/(10.ms)\n  threshold: v > -50\n  reset: v = -70.mV", 4),
        ("dv/dt = (-70.mV - v)/(10.ms)\n  threshold: v > -50.mV\n  reset: v = -70", 5),
        ("params(el = -70.mV)\n  dv/dt = (el - v)/(10.ms)\n  threshold: v > -50", 5),
    ],
)
def test_a_unit_error_is_told_of_its_own_line(lines: str, line: int) -> None:
    message = error_of(cell(lines))
    assert message.count("error: ") == 1, message
    assert f"error: line {line}," in message, message


def test_errors_without_a_line_promise_none() -> None:
    text = cell("dv/dt = -v/(10.ms)\n  threshold: v > 1")
    text += '\nsource s(poisson(rate: array("r")), n: 1)\nconnect s -> cells(weight: 1, target: v)\n'
    net = amdgpu.Network(text, device="cpu:0", arrays={"r": np.array([99999.0])})
    with pytest.raises(NetworkError) as caught:
        net.run(0.001)
    assert "99999" in str(caught.value)
    assert "line" not in str(caught.value)


def test_restoring_another_network_names_both(tmp_path) -> None:
    one = amdgpu.Network(cell("dv/dt = -v/(10.ms)"), device="cpu:0", seed=3)
    one.run(1e-4)
    one.save(tmp_path / "one.npz")
    other = amdgpu.Network("neuron cell:\n  dv/dt = -v/(10.ms)\npopulation others(7, model: cell)\n", device="cpu:0")
    with pytest.raises(NetworkError) as caught:
        other.restore(tmp_path / "one.npz")
    for part in ("cells (2)", "seed 3", "others (7)", "seed 0", "at step 1"):
        assert part in str(caught.value), str(caught.value)


def test_given_spikes_of_one_step_are_refused_with_their_place() -> None:
    text = cell("dv/dt = -v/(10.ms)\n  threshold: v > 1\n  target: v")
    text += "source b(spikes(times: [1.ms, 2.ms, 2.ms, 2.01.ms, 2.ms], indices: [0, 0, 1, 1, 1]), n: 2)\nconnect b -> cells(weight: 0.1)\n"
    with pytest.raises(
        NetworkError, match=r"the source \"b\" has 3 spikes of neuron 1 at 0\.002 s in one step of 0\.0001 s"
    ):
        amdgpu.Network(text, device="cpu:0").run(0.01)


USED = "dt = 0.1.ms\nneuron cell:\n  params(tau = 10.ms)\n  inputs(total)\n  dv/dt = (total - v)/tau\n  threshold: v > 1\n  target: v\n"


@pytest.mark.parametrize(
    "use",
    [
        "population a(2, model: cell)",
        "population a(2, model: cell)\nrecord spikes(a)",
        "population a(2, model: cell, tau: random(1.ms, 5.ms), v: 0.5)",
        "population a(4, model: cell, positions: grid(2, 2))",
        "population a(2, model: cell)\npopulation b(2, model: lif)\nconnect a -> b(weight: 1.mV, target: v)",
        "population a(2, model: cell)\nconnect a -> a(synapse: gap_junction, weight: 1, target: total)",
    ],
)
def test_a_neuron_that_some_population_has_is_used_however_little_the_population_does(use: str) -> None:
    assert not any("not used" in one for one in messages(USED + use + "\n"))


def test_a_neuron_that_no_population_has_is_not_used() -> None:
    assert messages(USED + "population a(2, model: lif)\n") == [
        "2:8: neuron 'cell' is not used (population NAME(size, model: cell))"
    ]
