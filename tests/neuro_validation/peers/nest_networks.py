"""The networks of the validation in NEST (https://www.nest-simulator.org).

Runs in NEST's own environment: `python nest_networks.py NAME --seconds 1 --threads 1 --seed 1 --out spikes.npz`. Prints one line of JSON
with `build_seconds`, `run_seconds` and `simulated_seconds`; the file gets `POPULATION.times` (seconds) and `POPULATION.indices`.

Sources of the networks
- brunel: Brunel 2000, "Dynamics of sparsely connected networks of excitatory and inhibitory spiking neurons", model A, asynchronous
  irregular state.
- cuba_stdp: the network of brian2_networks.py.
- potjans_diesmann: Potjans and Diesmann 2014, see examples/potjans_diesmann.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import nest
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "potjans_diesmann"))

import potjans_diesmann


def brunel(scale):
    """10,000 excitatory and 2,500 inhibitory neurons at scale 1, jumps of the potential; g = 5, drive of twice the threshold."""
    excitatory, inhibitory = round(10_000 * scale), round(2_500 * scale)
    model = {"C_m": 1.0, "tau_m": 20.0, "t_ref": 2.0, "E_L": 0.0, "V_th": 20.0, "V_reset": 10.0, "V_m": 0.0}
    parts = {
        "exc": nest.Create("iaf_psc_delta", excitatory, model),
        "inh": nest.Create("iaf_psc_delta", inhibitory, model),
    }
    everyone = parts["exc"] + parts["inh"]
    everyone.V_m = nest.random.uniform(0.0, 20.0)
    from_excitatory, jump = round(0.1 * excitatory), 0.1 / scale
    strong = {"weight": jump, "delay": 1.5}
    nest.Connect(parts["exc"], everyone, {"rule": "fixed_indegree", "indegree": from_excitatory}, strong)
    nest.Connect(
        parts["inh"],
        everyone,
        {"rule": "fixed_indegree", "indegree": round(0.1 * inhibitory)},
        {"weight": -5 * jump, "delay": 1.5},
    )
    threshold_rate = 20.0 / (jump * from_excitatory * 20e-3)
    drive = nest.Create("poisson_generator", params={"rate": 2 * threshold_rate * from_excitatory})
    nest.Connect(drive, everyone, syn_spec=strong)
    return parts


def cuba_stdp(scale):
    """The balanced network with additive plasticity; weights are currents of a unit capacity."""
    excitatory, inhibitory = round(9_000 * scale), round(2_250 * scale)
    model = {
        "C_m": 10.0,
        "tau_m": 10.0,
        "t_ref": 2.0,
        "E_L": 0.0,
        "V_th": 20.0,
        "V_reset": 0.0,
        "tau_syn_ex": 0.5,
        "tau_syn_in": 0.5,
        "tau_minus": 20.0,
    }
    parts = {"exc": nest.Create("iaf_psc_exp", excitatory, model), "inh": nest.Create("iaf_psc_exp", inhibitory, model)}
    everyone = parts["exc"] + parts["inh"]
    everyone.V_m = nest.random.uniform(0.0, 19.0)
    rule = {"rule": "pairwise_bernoulli", "p": 0.1}
    nest.CopyModel(
        "stdp_synapse_hom",
        "learning",
        {"tau_plus": 20.0, "lambda": 0.01, "alpha": 1.05, "mu_plus": 0.0, "mu_minus": 0.0, "Wmax": 4.0},
    )
    nest.Connect(parts["exc"], parts["exc"], rule, {"synapse_model": "learning", "weight": 2.0, "delay": 1.5})
    nest.Connect(parts["exc"], parts["inh"], rule, {"weight": 2.0, "delay": 1.5})
    nest.Connect(parts["inh"], everyone, rule, {"weight": -10.0, "delay": 1.5})
    drive = nest.Create("poisson_generator", params={"rate": 900 * 20.5})
    nest.Connect(drive, everyone, syn_spec={"weight": 2.0, "delay": 0.1})
    return parts


def circuit(scale):
    """The cortical microcircuit with Poisson drive."""
    numbers = potjans_diesmann.circuit(scale)
    model = {
        "C_m": potjans_diesmann.MEMBRANE_PF,
        "tau_m": potjans_diesmann.MEMBRANE_MS,
        "t_ref": potjans_diesmann.REFRACTORY_MS,
        "E_L": potjans_diesmann.REST_MV,
        "V_th": potjans_diesmann.THRESHOLD_MV,
        "V_reset": potjans_diesmann.RESET_MV,
        "tau_syn_ex": potjans_diesmann.SYNAPSE_MS,
        "tau_syn_in": potjans_diesmann.SYNAPSE_MS,
    }
    parts = {}
    for name, size in numbers.sizes.items():
        part = nest.Create("iaf_psc_exp", size, model | {"I_e": numbers.direct_pa[name]})
        part.V_m = nest.random.normal(potjans_diesmann.START_MEAN_MV, potjans_diesmann.START_DEVIATION_MV)
        drive = nest.Create(
            "poisson_generator", params={"rate": potjans_diesmann.BACKGROUND_HZ * numbers.external_synapses[name]}
        )
        nest.Connect(drive, part, syn_spec={"weight": numbers.external_weight_pa, "delay": 1.5})
        parts[name] = part
    for projection in numbers.projections:
        mean, deviation = projection.weight_pa, projection.weight_deviation_pa
        bounds = {"min": 0.0} if mean > 0 else {"max": 0.0}
        delay = nest.math.redraw(
            nest.random.normal(projection.delay_ms, projection.delay_deviation_ms), min=nest.resolution, max=1e3
        )
        weight = nest.math.redraw(
            nest.random.normal(mean, deviation), min=bounds.get("min", -1e9), max=bounds.get("max", 1e9)
        )
        nest.Connect(
            parts[projection.source],
            parts[projection.target],
            {"rule": "fixed_total_number", "N": projection.synapses},
            {"weight": weight, "delay": delay},
        )
    return parts


NETWORKS = {"brunel": brunel, "cuba_stdp": cuba_stdp, "potjans_diesmann": circuit}


def main() -> None:
    """One run, one line of JSON."""
    parser = argparse.ArgumentParser(description="Runs one network in NEST.")
    parser.add_argument("name", choices=sorted(NETWORKS))
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds of model time")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the neurons")
    parser.add_argument("--out", type=Path, help="file for the spikes (.npz)")
    options = parser.parse_args()
    nest.verbosity = nest.VerbosityLevel.ERROR
    nest.ResetKernel()
    nest.set(resolution=0.1, local_num_threads=options.threads, rng_seed=options.seed)
    began = time.perf_counter()
    parts = NETWORKS[options.name](options.scale)
    recorders = {}
    for name, part in parts.items() if options.out else ():
        recorders[name] = nest.Create("spike_recorder")
        nest.Connect(part, recorders[name])
    nest.Prepare()
    build_seconds = time.perf_counter() - began
    began = time.perf_counter()
    nest.Run(options.seconds * 1000.0)
    run_seconds = time.perf_counter() - began
    nest.Cleanup()
    if options.out:
        spikes = {}
        for name, recorder in recorders.items():
            events = recorder.events
            spikes[f"{name}.times"] = np.asarray(events["times"]) / 1000.0
            spikes[f"{name}.indices"] = np.asarray(events["senders"]) - parts[name].global_id[0]
        np.savez(options.out, **spikes)
    print(
        json.dumps(
            {
                "name": options.name,
                "simulator": "nest",
                "build_seconds": build_seconds,
                "run_seconds": run_seconds,
                "simulated_seconds": options.seconds,
                "threads": options.threads,
                "scale": options.scale,
            }
        )
    )


if __name__ == "__main__":
    main()
