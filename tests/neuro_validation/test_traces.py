"""Single neurons beside Brian2: our traces lie within stated bounds, mostly the rounding of float32; spikes fall in the same steps.

Brian2 runs each built-in model twice: with our time step and integrator, and with Runge and Kutta's method at a quarter of the step, which
says how large the error of integration is. Ours may differ from the first run by float32's roundings, and by no more than that error
where a spike is a step earlier or later.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from neuro_validation import simulators
from suite.environments import Absent, environment_python

pytestmark = [pytest.mark.slow, pytest.mark.validation, pytest.mark.timeout(600)]

SECONDS = 0.1
REFINEMENT = 4
# Model, current, time step in milliseconds, Brian2's name of our integrator, volts that roundings may make before the first spike.
NEURONS = [
    pytest.param("lif", "0.25.nA", 0.1, "exact", 1e-6, id="lif"),
    pytest.param("izhikevich", "10.mV", 0.1, "euler", 1e-5, id="izhikevich"),
    pytest.param("hodgkin_huxley", "0.3.nA", 0.05, "exponential_euler", 1e-5, id="hodgkin_huxley"),
    pytest.param("adex", "1.nA", 0.1, "rk4", 1e-5, id="adex"),
]


def of_ours(model: str, current: str, dt_ms: float) -> tuple[np.ndarray, np.ndarray]:
    """Potentials at the beginning of every step, and times of spikes."""
    net = amdgpu.Network(
        f"dt = {dt_ms}.ms\npopulation cell(1, model: {model})\nsource drive(constant({current}), target: cell.i)\n"
        "record spikes(cell)\nrecord v(cell)\n",
        device="cpu:0",
    )
    result = net.run(SECONDS)
    return result.states["cell.v"].values[:, 0].astype(np.float64), result.spikes["cell"].times


def of_brian2(model: str, dt_ms: float, method: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The same of Brian2; skips the test where that cannot be installed."""
    try:
        python = environment_python("brian2")
    except Absent as reason:
        pytest.skip(f"no brian2: {reason}")
    path = folder / f"{model}-{method}-{dt_ms}.npz"
    command = [str(python), str(simulators.HERE / "peers" / "brian2_traces.py"), model]
    command += ["--dt-ms", str(dt_ms), "--method", method, "--out", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    with np.load(path) as trace:
        return trace["v"], trace["spikes"]


@pytest.mark.parametrize(("model", "current", "dt_ms", "method", "rounding"), NEURONS)
def test_a_neuron_follows_brian2_within_the_error_of_integration(model, current, dt_ms, method, rounding, tmp_path):
    ours, our_spikes = of_ours(model, current, dt_ms)
    theirs, their_spikes = of_brian2(model, dt_ms, method, tmp_path)
    fine, fine_spikes = of_brian2(model, dt_ms / REFINEMENT, "exact" if method == "exact" else "rk4", tmp_path)
    fine = fine[::REFINEMENT]
    assert len(ours) == len(theirs) == len(fine)
    assert len(our_spikes) == len(their_spikes) == len(fine_spikes) > 1
    error = np.abs(their_spikes - fine_spikes).max()
    difference = np.abs(our_spikes - their_spikes).max()
    first = round(min(our_spikes[0], their_spikes[0], fine_spikes[0]) / (dt_ms * 1e-3))
    before = np.abs(ours[:first] - theirs[:first]).max()
    own_error = np.abs(theirs[:first] - fine[:first]).max()
    print(
        f"\n{model}: {len(our_spikes)} spikes, {difference * 1e3:.2g} ms from Brian2's, whose error of integration is {error * 1e3:.2g} ms;"
    )
    print(f"before the first one {before * 1e3:.2g} mV from its trace, whose error is {own_error * 1e3:.2g} mV")
    assert before < rounding
    assert difference <= max(1.001 * dt_ms * 1e-3, 0.1 * error)
