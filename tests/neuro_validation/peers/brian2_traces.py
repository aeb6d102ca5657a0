"""Single neurons in Brian2 (https://briansimulator.org), with the equations and parameters of our built-in models.

Runs in Brian2's own environment: `python brian2_traces.py NAME --dt-ms 0.1 --method exact --out trace.npz`. The file gets `v` (volts, at
the beginning of every step) and `spikes` (seconds) of one neuron that a constant current drives for 100 ms.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from brian2 import (
    Mohm,
    Network,
    NeuronGroup,
    SpikeMonitor,
    StateMonitor,
    defaultclock,
    ms,
    mV,
    nA,
    nS,
    pA,
    pF,
    prefs,
    second,
    usiemens,
    volt,
)


def lif(method):
    """Leaky integrate and fire, 0.25 nA."""
    names = {"tau": 20 * ms, "el": -70 * mV, "vt": -50 * mV, "vr": -70 * mV, "r": 100 * Mohm, "current": 0.25 * nA}
    equations = "dv/dt = (el - v + r*current)/tau : volt (unless refractory)"
    neuron = NeuronGroup(
        1, equations, threshold="v > vt", reset="v = vr", refractory=2 * ms, method=method, namespace=names
    )
    neuron.v = -70 * mV
    return neuron


def izhikevich(method):
    """Regular spiking (Izhikevich 2003), a current of 10."""
    names = {"a": 0.02, "b": 0.2, "c": -65 * mV, "d": 8 * mV, "current": 10 * mV}
    equations = """dv/dt = (0.04*v**2/mV + 5*v + 140*mV - u + current)/ms : volt
                   du/dt = a*(b*v - u)/ms : volt"""
    neuron = NeuronGroup(1, equations, threshold="v > 30*mV", reset="v = c; u += d", method=method, namespace=names)
    neuron.v = -65 * mV
    neuron.u = -13 * mV
    return neuron


def hodgkin_huxley(method):
    """Channels of Traub and Miles (1991), 0.3 nA."""
    names = {
        "c_m": 200 * pF, "g_l": 10 * nS, "e_l": -60 * mV, "e_k": -90 * mV, "e_na": 50 * mV, "g_na": 20 * usiemens, "g_kd": 6 * usiemens,
        "v_t": -63 * mV, "current": 0.3 * nA,
    }  # fmt: skip
    equations = """dv/dt = (g_l*(e_l - v) - g_na*m**3*h*(v - e_na) - g_kd*n**4*(v - e_k) + current)/c_m : volt
                   dm/dt = alpha_m*(1 - m) - beta_m*m : 1
                   dh/dt = alpha_h*(1 - h) - beta_h*h : 1
                   dn/dt = alpha_n*(1 - n) - beta_n*n : 1
                   alpha_m = 1.28/ms/exprel((13*mV - v + v_t)/(4*mV)) : Hz
                   beta_m = 1.4/ms/exprel((v - v_t - 40*mV)/(5*mV)) : Hz
                   alpha_h = 0.128/ms*exp((17*mV - v + v_t)/(18*mV)) : Hz
                   beta_h = 4/ms/(1 + exp((40*mV - v + v_t)/(5*mV))) : Hz
                   alpha_n = 0.16/ms/exprel((15*mV - v + v_t)/(5*mV)) : Hz
                   beta_n = 0.5/ms*exp((10*mV - v + v_t)/(40*mV)) : Hz"""
    neuron = NeuronGroup(1, equations, threshold="v > -20*mV", refractory=3 * ms, method=method, namespace=names)
    neuron.v = -60 * mV
    neuron.h = 1
    return neuron


def adex(method):
    """Adaptive exponential integrate and fire (Brette and Gerstner 2005), 1 nA."""
    names = {
        "c_m": 281 * pF, "g_l": 30 * nS, "e_l": -70.6 * mV, "v_t": -50.4 * mV, "delta_t": 2 * mV, "tau_w": 144 * ms, "a": 4 * nS,
        "b": 80.5 * pA, "v_peak": 0 * mV, "current": 1 * nA,
    }  # fmt: skip
    equations = """dv/dt = (g_l*(e_l - v) + g_l*delta_t*exp((bounded - v_t)/delta_t) - w + current)/c_m : volt
                   dw/dt = (a*(bounded - e_l) - w)/tau_w : amp
                   bounded = clip(v, -1*volt, v_peak) : volt"""
    neuron = NeuronGroup(1, equations, threshold="v > v_peak", reset="v = e_l; w += b", method=method, namespace=names)
    neuron.v = -70.6 * mV
    return neuron


NEURONS = {"lif": lif, "izhikevich": izhikevich, "hodgkin_huxley": hodgkin_huxley, "adex": adex}


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(description="Runs one neuron in Brian2.")
    parser.add_argument("name", choices=sorted(NEURONS))
    parser.add_argument("--dt-ms", type=float, default=0.1, help="time step in milliseconds")
    parser.add_argument("--method", default="rk4", help="Brian2's name of the integrator")
    parser.add_argument("--out", type=Path, required=True, help="file for the trace (.npz)")
    options = parser.parse_args()
    prefs.codegen.target = "numpy"
    defaultclock.dt = options.dt_ms * ms
    neuron = NEURONS[options.name](options.method)
    trace, spikes = StateMonitor(neuron, "v", record=True), SpikeMonitor(neuron)
    Network(neuron, trace, spikes).run(100 * ms)
    np.savez(options.out, v=np.asarray(trace.v[0] / volt), spikes=np.asarray(spikes.t / second))


if __name__ == "__main__":
    main()
