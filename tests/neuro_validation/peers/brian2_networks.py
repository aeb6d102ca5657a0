"""The networks of the validation in Brian2 (https://briansimulator.org), as C++ standalone programs.

Runs in Brian2's own environment: `python brian2_networks.py NAME --seconds 1 --threads 1 --seed 1 --out spikes.npz`. Prints one line of
JSON with `build_seconds` (generating and compiling), `run_seconds` (the loop over the steps, as the program measures it) and
`simulated_seconds`; the file gets `POPULATION.times` (seconds) and `POPULATION.indices`.

Sources of the networks
- cuba, coba, cobahh: Brette et al. 2007, "Simulation of networks of spiking neurons: a review of tools and strategies", benchmarks 2, 1
  and 3; cuba with the resting potential above the threshold, as Vogels and Abbott 2005 drive it.
- cuba_stdp: a balanced network with pair-based additive plasticity between excitatory neurons, sizes of Morrison et al. 2007.
- izhikevich: Izhikevich 2003, "Simple model of spiking neurons", the network of 1,000 neurons.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from brian2 import (
    Hz,
    Network,
    NeuronGroup,
    PoissonInput,
    SpikeMonitor,
    Synapses,
    defaultclock,
    device,
    ms,
    mV,
    nS,
    pF,
    prefs,
    second,
    seed,
    set_device,
    usiemens,
)


def cuba():
    """4,000 neurons, currents; exact integration."""
    neurons = NeuronGroup(
        4000,
        """dv/dt = (ge + gi - (v - el))/taum : volt (unless refractory)
           dge/dt = -ge/taue : volt
           dgi/dt = -gi/taui : volt""",
        threshold="v > vt",
        reset="v = vr",
        refractory=5 * ms,
        method="exact",
        namespace={"taum": 20 * ms, "taue": 5 * ms, "taui": 10 * ms, "vt": -50 * mV, "vr": -60 * mV, "el": -49 * mV},
    )
    neurons.v = "vr + rand()*(vt - vr)"
    parts = {"exc": neurons[:3200], "inh": neurons[3200:]}
    excitatory = Synapses(parts["exc"], neurons, on_pre="ge_post += 1.62*mV")
    excitatory.connect(p=0.02)
    inhibitory = Synapses(parts["inh"], neurons, on_pre="gi_post -= 9*mV")
    inhibitory.connect(p=0.02)
    return [neurons, excitatory, inhibitory], parts


def coba():
    """4,000 neurons, conductances relative to the leak; exponential Euler."""
    neurons = NeuronGroup(
        4000,
        """dv/dt = (ge*(ee - v) + gi*(ei - v) + (el - v))/taum : volt (unless refractory)
           dge/dt = -ge/taue : 1
           dgi/dt = -gi/taui : 1""",
        threshold="v > vt",
        reset="v = vr",
        refractory=5 * ms,
        method="exponential_euler",
        namespace={
            "taum": 20 * ms,
            "taue": 5 * ms,
            "taui": 10 * ms,
            "vt": -50 * mV,
            "vr": -60 * mV,
            "el": -60 * mV,
            "ee": 0 * mV,
            "ei": -80 * mV,
        },
    )
    neurons.v = "vr + rand()*(vt - vr)"
    neurons.ge = "4 + 1.5*randn()"
    neurons.gi = "20 + 12*randn()"
    parts = {"exc": neurons[:3200], "inh": neurons[3200:]}
    excitatory = Synapses(parts["exc"], neurons, on_pre="ge_post += 0.6")
    excitatory.connect(p=0.02)
    inhibitory = Synapses(parts["inh"], neurons, on_pre="gi_post += 6.7")
    inhibitory.connect(p=0.02)
    return [neurons, excitatory, inhibitory], parts


def cobahh():
    """4,000 neurons of Hodgkin and Huxley's kind (Traub and Miles 1991), conductances; exponential Euler."""
    neurons = NeuronGroup(
        4000,
        """dv/dt = (gl*(el - v) + ge*(ee - v) + gi*(ei - v) - gna*m**3*h*(v - ena) - gkd*n**4*(v - ek))/capacitance : volt
           dm/dt = alpham*(1 - m) - betam*m : 1
           dn/dt = alphan*(1 - n) - betan*n : 1
           dh/dt = alphah*(1 - h) - betah*h : 1
           dge/dt = -ge/taue : siemens
           dgi/dt = -gi/taui : siemens
           u = (v - vt)/mV : 1
           alpham = 0.32*4/exprel((13 - u)/4)/ms : Hz
           betam = 0.28*5/exprel((u - 40)/5)/ms : Hz
           alphah = 0.128*exp((17 - u)/18)/ms : Hz
           betah = 4/(1 + exp((40 - u)/5))/ms : Hz
           alphan = 0.032*5/exprel((15 - u)/5)/ms : Hz
           betan = 0.5*exp((10 - u)/40)/ms : Hz""",
        threshold="v > -20*mV",
        refractory=3 * ms,
        method="exponential_euler",
        namespace={
            "capacitance": 200 * pF, "gl": 10 * nS, "el": -60 * mV, "ek": -90 * mV, "ena": 50 * mV, "gna": 20 * usiemens,
            "gkd": 6 * usiemens, "vt": -63 * mV, "taue": 5 * ms, "taui": 10 * ms, "ee": 0 * mV, "ei": -80 * mV,
        },
    )  # fmt: skip
    neurons.v = "el + (randn()*5 - 5)*mV"
    neurons.ge = "(randn()*1.5 + 4)*10*nS"
    neurons.gi = "(randn()*12 + 20)*10*nS"
    parts = {"exc": neurons[:3200], "inh": neurons[3200:]}
    excitatory = Synapses(parts["exc"], neurons, on_pre="ge_post += 6*nS")
    excitatory.connect(p=0.02)
    inhibitory = Synapses(parts["inh"], neurons, on_pre="gi_post += 67*nS")
    inhibitory.connect(p=0.02)
    return [neurons, excitatory, inhibitory], parts


def cuba_stdp():
    """11,250 neurons, 12.7 million synapses, of which the 8.1 million between excitatory neurons learn."""
    neurons = NeuronGroup(
        11250,
        """dv/dt = -v/taum + current/taum : volt (unless refractory)
           dcurrent/dt = -current/taus : volt""",
        threshold="v > vt",
        reset="v = 0*mV",
        refractory=2 * ms,
        method="exact",
        namespace={"taum": 10 * ms, "taus": 0.5 * ms, "vt": 20 * mV},
    )
    neurons.v = "rand()*vt*0.95"
    parts = {"exc": neurons[:9000], "inh": neurons[9000:]}
    weight = 2.0
    plastic = Synapses(
        parts["exc"],
        parts["exc"],
        """w : 1
           dapre/dt = -apre/taup : 1 (event-driven)
           dapost/dt = -apost/taun : 1 (event-driven)""",
        on_pre="""current_post += w*mV
                  apre += 1
                  w = clip(w - 0.0105*wmax*apost, 0, wmax)""",
        on_post="""apost += 1
                   w = clip(w + 0.01*wmax*apre, 0, wmax)""",
        namespace={"taup": 20 * ms, "taun": 20 * ms, "wmax": 2 * weight},
        delay=1.5 * ms,
    )
    plastic.connect(p=0.1)
    plastic.w = weight
    to_inhibitory = Synapses(parts["exc"], parts["inh"], on_pre="current_post += 2*mV", delay=1.5 * ms)
    to_inhibitory.connect(p=0.1)
    inhibitory = Synapses(parts["inh"], neurons, on_pre="current_post -= 10*mV", delay=1.5 * ms)
    inhibitory.connect(p=0.1)
    drive = PoissonInput(neurons, "current", 900, 20.5 * Hz, 2 * mV)
    return [neurons, plastic, to_inhibitory, inhibitory, drive], parts


def izhikevich():
    """1,000 neurons of Izhikevich's kind with random weights and noise, steps of 1 ms in two halves."""
    neurons = NeuronGroup(
        1000,
        """a : 1
           b : 1
           c : 1
           d : 1
           drive : 1
           v : 1
           u : 1
           input : 1""",
        threshold="v >= 30",
        reset="v = c; u += d",
    )
    share = np.random.default_rng(7).random(1000)
    is_excitatory = np.arange(1000) < 800
    neurons.a = np.where(is_excitatory, 0.02, 0.02 + 0.08 * share)
    neurons.b = np.where(is_excitatory, 0.2, 0.25 - 0.05 * share)
    neurons.c = np.where(is_excitatory, -65 + 15 * share**2, -65)
    neurons.d = np.where(is_excitatory, 8 - 6 * share**2, 2)
    neurons.drive = np.where(is_excitatory, 5.0, 2.0)
    neurons.v = -65
    neurons.u = "b*v"
    # What arrives in a step counts in that step only, beside the noise.
    step = """total = input + drive*randn()
              v = v + 0.5*(0.04*v**2 + 5*v + 140 - u + total)
              v = v + 0.5*(0.04*v**2 + 5*v + 140 - u + total)
              u = u + a*(b*v - u)
              input = 0"""
    neurons.run_regularly(step, dt=1 * ms, when="groups")
    parts = {"exc": neurons[:800], "inh": neurons[800:]}
    excitatory = Synapses(parts["exc"], neurons, "w : 1", on_pre="input_post += w")
    excitatory.connect()
    excitatory.w = "0.5*rand()"
    inhibitory = Synapses(parts["inh"], neurons, "w : 1", on_pre="input_post -= w")
    inhibitory.connect()
    inhibitory.w = "rand()"
    return [neurons, excitatory, inhibitory], parts


NETWORKS = {"cuba": cuba, "coba": coba, "cobahh": cobahh, "cuba_stdp": cuba_stdp, "izhikevich": izhikevich}


def main() -> None:
    """One run, one line of JSON."""
    parser = argparse.ArgumentParser(description="Runs one network in Brian2.")
    parser.add_argument("name", choices=sorted(NETWORKS))
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds of model time")
    parser.add_argument("--threads", type=int, default=1, help="OpenMP threads")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file for the spikes (.npz)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        # One OpenMP thread costs time beside no OpenMP at all.
        prefs.devices.cpp_standalone.openmp_threads = options.threads if options.threads > 1 else 0
        prefs.codegen.cpp.extra_compile_args_gcc = ["-O3", "-ffast-math", "-march=native", "-w", "-std=c++11"]
        set_device("cpp_standalone", directory=folder, build_on_run=False)
        seed(options.seed)
        defaultclock.dt = (1.0 if options.name == "izhikevich" else 0.1) * ms
        objects, parts = NETWORKS[options.name]()
        monitors = {name: SpikeMonitor(part) for name, part in parts.items()} if options.out else {}
        network = Network(objects, list(monitors.values()))
        network.run(options.seconds * second)
        began = time.perf_counter()
        device.build(directory=folder, compile=True, run=False)
        build_seconds = time.perf_counter() - began
        device.run(with_output=False)
        if options.out:
            spikes = {}
            for name, monitor in monitors.items():
                spikes[f"{name}.times"] = np.asarray(monitor.t / second)
                spikes[f"{name}.indices"] = np.asarray(monitor.i)
            np.savez(options.out, **spikes)
        # The program measures its own loop; building the synapses before it is not part of that.
        run_seconds = float(device._last_run_time)
    print(
        json.dumps(
            {
                "name": options.name,
                "simulator": "brian2",
                "build_seconds": build_seconds,
                "run_seconds": run_seconds,
                "simulated_seconds": options.seconds,
                "threads": options.threads,
            }
        )
    )


if __name__ == "__main__":
    main()
