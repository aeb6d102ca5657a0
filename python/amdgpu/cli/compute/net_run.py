"""The part of `amdgpu net` for spiking networks: a summary with predicted memory, a run, what came of it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output

if TYPE_CHECKING:
    import argparse

    from amdgpu.spiking_network import SpikingNetwork
    from amdgpu.spiking_result import RunResult

SCHEMA = "amdgpu.net_run/1"


def run(options: argparse.Namespace, network: SpikingNetwork) -> int:
    """Summary, run, answer. Ctrl-C ends the run; what was done is shown and saved, and the exit code is 130."""
    memory = network.memory_estimate()
    if not options.json:
        _print_summary(network, memory)
    result = None if options.duration is None else _run(options, network)
    if options.save:
        network.save(options.save)
    drawn = _draw(network, result, options.plot) if options.plot else None
    if options.json:
        output.print_json(SCHEMA, _content(network, memory, result))
    else:
        if result is not None:
            _print_result(result)
        for path, what in ((options.save, "state"), (options.plot, drawn)):
            if path:
                output.say(f"{what}: {path}")
    return 130 if result is not None and result.is_interrupted else 0


def _run(options: argparse.Namespace, network: SpikingNetwork) -> RunResult:
    try:
        return network.run(options.duration, progress=not options.json and sys.stderr.isatty())
    except KeyboardInterrupt:
        partial = network.last_result
        if partial is None:
            raise
        return partial


def _draw(network: SpikingNetwork, result: RunResult | None, path: str) -> str:
    """Draw the most telling picture there is; says what it is."""
    if result is not None and result.spikes:
        result.plot_raster(path)
        return "spikes"
    if result is not None and result.states:
        result.plot_states(path)
        return "variables"
    network.plot_graph(path)
    return "network"


def _content(network: SpikingNetwork, memory: dict[str, Any], result: RunResult | None) -> dict[str, Any]:
    spiking = network.plan["spiking"]
    content: dict[str, Any] = {
        "network": network.name,
        "dt": network.plan["dt_seconds"],
        "seed": network.plan["seed"],
        "populations": {one["name"]: one["size"] for one in spiking["populations"]},
        "sources": {one["name"]: one["size"] for one in spiking["sources"]},
        "memory": memory,
        "warnings": network.warnings,
        "run": None,
    }
    if result is not None:
        content["run"] = {
            "duration": result.duration,
            "steps": result.steps,
            "wall_time": result.wall_time,
            "realtime_factor": result.realtime_factor,
            "counts": dict(result.counts),
            "rates": result.rates(),
            "spike_hash": result.spike_hash,
            "is_interrupted": result.is_interrupted,
        }
    return content


def _print_summary(network: SpikingNetwork, memory: dict[str, Any]) -> None:
    plan = network.plan
    spiking = plan["spiking"]
    populations = [
        [one["name"], str(one["size"]), spiking["groups"][one["group"]]["name"]] for one in spiking["populations"]
    ]
    sources = [[one["name"], str(one["size"]), f"source: {one['kind']}"] for one in spiking["sources"]]
    output.print_table(
        f"Network {network.name}",
        [("population", "left"), ("neurons", "right"), ("model", "left")],
        populations + sources,
    )
    if memory["projections"]:
        output.print_table(
            "Connections",
            [("from -> to", "left"), ("synapses", "right"), ("storage", "left"), ("memory", "right")],
            [
                [one["name"], str(one["synapses"]), one["storage"], output.bytes_text(one["bytes"])]
                for one in memory["projections"]
            ],
        )
    neurons = sum(one["size"] for one in spiking["populations"])
    synapses = sum(one["synapses"] for one in memory["projections"])
    output.say(
        f"{neurons} neurons, up to {synapses} synapses, steps of {output.seconds_text(plan['dt_seconds'])}, seed {plan['seed']}"
    )
    output.say(
        f"predicted memory: {output.bytes_text(memory['total_bytes'])} of {output.bytes_text(memory['free_bytes'])} that are free"
    )
    for warning in network.warnings:
        output.say(f"warning: {warning}")
    sys.stdout.flush()


def _print_result(result: RunResult) -> None:
    rates = result.rates()
    output.print_table(
        "Interrupted run" if result.is_interrupted else "Run",
        [("population", "left"), ("spikes", "right"), ("rate (Hz per neuron)", "right")],
        [[name, str(count), f"{rates[name]:.3f}"] for name, count in result.counts.items()],
    )
    output.say(
        f"{output.seconds_text(result.duration)} of model time in {output.seconds_text(result.wall_time)}: "
        f"realtime factor {result.realtime_factor:.3g} (below 1 is faster than life)"
    )
    output.say(f"spike_hash {result.spike_hash}")
