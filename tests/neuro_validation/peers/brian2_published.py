"""Published networks in Brian2 (https://briansimulator.org), as networks/*.net have them.

Runs in Brian2's own environment: `python brian2_published.py NAME --seed 1 --out figures.json`. Stellate and bushy cells of Rothman and
Manis (2003): potentials every millisecond and numbers of spikes. The scorpion of Stürzl et al. (2000): spikes of legs and command
neurons. The decision of Wang (2002): rates of its populations in thirds of the run.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from brian2 import (
    Hz,
    Network,
    NeuronGroup,
    PoissonInput,
    SpikeMonitor,
    StateMonitor,
    Synapses,
    cm,
    defaultclock,
    meter,
    ms,
    mV,
    network_operation,
    nF,
    nS,
    pA,
    pF,
    prefs,
    second,
    seed,
)  # fmt: skip

VCN = """
u = v/mV : 1
current = int(t >= 10*ms and t < 80*ms)*strength : amp
i_k = (gkht*(nf*n**2 + (1 - nf)*p) + gklt*w**4*z)*(ek - v) : amp
dv/dt = (gl*(el - v) + gna*m**3*h*(ena - v) + i_k + ghbar*r*(eh - v) + current)/c : volt
dm/dt = (1/(1 + exp(-(u + 38)/7)) - m)/((10/(5*exp((u + 60)/18) + 36*exp(-(u + 60)/25)) + 0.04)*ms) : 1
dh/dt = (1/(1 + exp((u + 65)/6)) - h)/((100/(7*exp((u + 60)/11) + 10*exp(-(u + 60)/25)) + 0.6)*ms) : 1
dr/dt = (1/(1 + exp((u + 76)/7)) - r)/((100000/(237*exp((u + 60)/12) + 17*exp(-(u + 60)/14)) + 25)*ms) : 1
dn/dt = ((1 + exp(-(u + 15)/5))**(-0.5) - n)/((100/(11*exp((u + 60)/24) + 21*exp(-(u + 60)/23)) + 0.7)*ms) : 1
dp/dt = (1/(1 + exp(-(u + 23)/6)) - p)/((100/(4*exp((u + 60)/32) + 5*exp(-(u + 60)/22)) + 5)*ms) : 1
dw/dt = ((1/(1 + exp(-(u + 48)/6)))**0.25 - w)/((100/(6*exp((u + 60)/6) + 16*exp(-(u + 60)/45)) + 1.5)*ms) : 1
dz/dt = (zss + (1 - zss)/(1 + exp((u + 71)/10)) - z)/((1000/(exp((u + 60)/20) + exp(-(u + 60)/8)) + 50)*ms) : 1
gklt : siemens
ghbar : siemens
strength : amp
"""


def rothman_manis() -> dict[str, object]:
    """One cell of each kind for 100 ms."""
    defaultclock.dt = 0.025 * ms
    names = {"c": 12 * pF, "eh": -43 * mV, "ek": -70 * mV, "el": -65 * mV, "ena": 50 * mV, "nf": 0.85, "zss": 0.5,
             "gna": 1000 * nS, "gkht": 150 * nS, "gl": 2 * nS}  # fmt: skip
    cells = NeuronGroup(2, VCN, method="exponential_euler", namespace=names)
    cells.v, cells.m, cells.h, cells.r, cells.n, cells.p, cells.w, cells.z = (
        -65 * mV,
        0.02,
        0.5,
        0.17,
        0.007,
        0.001,
        0.48,
        0.68,
    )
    cells.gklt, cells.ghbar, cells.strength = [0, 200] * nS, [0.5, 20] * nS, [250, 700] * pA
    trace = StateMonitor(cells, "v", record=True)
    Network(cells, trace).run(100 * ms)
    v = np.asarray(trace.v)
    rises = ((v[:, 1:] > -0.02) & (v[:, :-1] <= -0.02)).sum(axis=1)
    return {
        name: {"v": v[place, ::40].tolist(), "spikes": int(rises[place])}
        for place, name in enumerate(("stellate", "bushy"))
    }


def stuerzl() -> dict[str, object]:
    """Half a second of the wave."""
    defaultclock.dt = 0.05 * ms
    gamma = np.deg2rad(22.5 + 45 * np.arange(8))
    names = {
        "tau_legs": 1 * ms,
        "sigma": 0.01,
        "phi": np.deg2rad(144),
        "radius": 2.5 * cm,
        "speed": 50 * meter / second,
        "f": 100 * Hz,
    }
    legs = NeuronGroup(
        8,
        """late = t - radius/speed*(1 - cos(phi - gamma)) : second
        wave = 0.2*(0.2*cos(2*pi*2*f*late + 1.3) + 0.7*cos(2*pi*2.5*f*late + 4.1) + cos(2*pi*3*f*late + 0.4)
               + 0.7*cos(2*pi*3.5*f*late + 5.2) + 0.2*cos(2*pi*4*f*late + 2.6)) : 1
        dv/dt = (1 + wave - v)/tau_legs + sigma*(2./tau_legs)**.5*xi : 1 (unless refractory)
        gamma : 1""",
        threshold="v > 1", reset="v = 0", refractory=1 * ms, method="euler", namespace=names,
    )  # fmt: skip
    legs.gamma = gamma
    commands = NeuronGroup(
        8, "dv/dt = (x - v)/tau : 1\ndx/dt = (y - x)/taus : 1\ndy/dt = -y/taus : 1", threshold="v > 1", reset="v = 0", method="exact",
        namespace={"tau": 1 * ms, "taus": 1.001 * ms},
    )  # fmt: skip
    excite = Synapses(legs, commands, on_pre="y += 7")
    excite.connect(j="i")
    inhibit = Synapses(legs, commands, on_pre="y -= 2", delay=0.7 * ms)
    inhibit.connect("abs(((j - i) % 8) - 4) <= 1")
    of_legs, of_commands = SpikeMonitor(legs), SpikeMonitor(commands)
    Network(legs, commands, excite, inhibit, of_legs, of_commands).run(500 * ms)
    return {"legs": np.asarray(of_legs.count).tolist(), "commands": np.asarray(of_commands.count).tolist()}


def wang() -> dict[str, object]:
    """One and a half seconds with a coherence of 51.2 %."""
    defaultclock.dt = 0.1 * ms
    equations = """g = gext*sext + gampa*sampa + gnmda*total/(1 + exp(-0.062*v/mV)/3.57) : siemens
    dv/dt = -(gl*(v - vl) + g*v + ggaba*sgaba*(v - vi))/cap : volt (unless refractory)
    dsext/dt = -sext/(2*ms) : 1
    dsampa/dt = -sampa/(2*ms) : 1
    dsgaba/dt = -sgaba/(5*ms) : 1
    total : 1
    """
    gates = "ds/dt = -s/(100*ms) + 0.5*x*(1 - s)/ms : 1\ndx/dt = -x/(2*ms) : 1"
    common = {"vl": -70 * mV, "vi": -70 * mV}
    of_exc = {
        "cap": 0.5 * nF,
        "gl": 25 * nS,
        "gext": 2.1 * nS,
        "gampa": 0.25 * nS,
        "gnmda": 0.825 * nS,
        "ggaba": 6.5 * nS,
        **common,
    }
    of_inh = {
        "cap": 0.2 * nF,
        "gl": 20 * nS,
        "gext": 1.62 * nS,
        "gampa": 0.2 * nS,
        "gnmda": 0.65 * nS,
        "ggaba": 5 * nS,
        **common,
    }
    exc = NeuronGroup(
        320,
        equations + gates,
        threshold="v > -50*mV",
        reset="v = -55*mV; x += 1",
        refractory=2 * ms,
        method="exponential_euler",
        namespace=of_exc,
    )
    inh = NeuronGroup(
        80,
        equations,
        threshold="v > -50*mV",
        reset="v = -55*mV",
        refractory=1 * ms,
        method="exponential_euler",
        namespace=of_inh,
    )
    exc.v = "-60*mV + 10*mV*rand()"
    inh.v = "-60*mV + 10*mV*rand()"
    parts = {"e0": exc[:224], "e1": exc[224:272], "e2": exc[272:], "i0": inh}
    low = 1 - 0.15 * (1.7 - 1) / (1 - 0.15)
    weight = np.ones((3, 3))
    weight[:, 1:] = low
    weight[1, 1] = weight[2, 2] = 1.7
    kind = np.repeat([0, 1, 2], [224, 48, 48])

    @network_operation(when="start")
    def pools() -> None:
        sums = np.bincount(kind, weights=np.asarray(exc.s), minlength=3)
        exc.total = (sums @ weight)[kind]
        inh.total = sums.sum()

    inputs = [
        PoissonInput(part, "sext", N=100, rate=rate / 100 * Hz, weight=1)
        for part, rate in zip(parts.values(), (2400, 2460.48, 2419.52, 2400), strict=True)
    ]
    ampa = Synapses(exc, exc, "factor : 1", on_pre="sampa_post += factor", delay=0.5 * ms)
    ampa.connect()
    ampa.factor = weight[kind[ampa.i], kind[ampa.j]]
    others = []
    for source, target, what in ((exc, inh, "sampa"), (inh, exc, "sgaba"), (inh, inh, "sgaba")):
        made = Synapses(source, target, on_pre=f"{what}_post += 1", delay=0.5 * ms)
        made.connect()
        others.append(made)
    spikes = {name: SpikeMonitor(part) for name, part in parts.items()}
    Network(exc, inh, pools, ampa, *inputs, *others, *spikes.values()).run(1.5 * second)
    result: dict[str, object] = {}
    for name, monitor in spikes.items():
        counts = np.histogram(np.asarray(monitor.t / second), bins=(0, 0.5, 1.0, 1.5))[0]
        result[name] = (counts / len(parts[name]) / 0.5).tolist()
    return result


NETWORKS = {"rothman_manis": rothman_manis, "stuerzl": stuerzl, "wang": wang}


def main() -> None:
    """One run."""
    parser = argparse.ArgumentParser(description="Runs a published network in Brian2.")
    parser.add_argument("name", choices=sorted(NETWORKS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="file for the figures (.json)")
    options = parser.parse_args()
    prefs.codegen.target = "numpy"
    seed(options.seed)
    options.out.write_text(json.dumps(NETWORKS[options.name]()) + "\n")


if __name__ == "__main__":
    main()
