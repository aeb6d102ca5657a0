"""The cortical microcircuit of Potjans and Diesmann 2014 as network text, at any scale; numbers from potjans_diesmann.py."""

from __future__ import annotations

import potjans_diesmann as numbers


def sizes(scale: float) -> dict[str, int]:
    """Neurons of each population."""
    return numbers.circuit(scale).sizes


def text(scale: float, *, seed: int, drive: str = "poisson", is_recorded: bool = True) -> str:
    """The network text; spikes of all populations are recorded.

    `drive` is "poisson", or "dc" for constant currents of the same mean (supplementary figure 1 of the paper).
    """
    circuit = numbers.circuit(scale)
    lines = [
        "neuralNetwork microcircuit:",
        "  dt = 0.1.ms",
        f"  seed = {seed}",
        "  neuron cell:",
        f"    params(c = {numbers.MEMBRANE_PF}.pF, taum = {numbers.MEMBRANE_MS}.ms, taus = {numbers.SYNAPSE_MS}.ms,",
        f"      el = {numbers.REST_MV}.mV, vt = {numbers.THRESHOLD_MV}.mV, vr = {numbers.RESET_MV}.mV, direct = 0.pA)",
        "    dv/dt = (el - v)/taum + (current + direct)/c",
        "    dcurrent/dt = -current/taus",
        "    threshold: v > vt",
        "    reset: v = vr",
        f"    refractory: {numbers.REFRACTORY_MS}.ms",
    ]
    for name, size in circuit.sizes.items():
        external = circuit.external_synapses[name]
        direct = circuit.direct_pa[name]
        if drive == "dc":
            # Events a second, times the charge of one: its peak times its time constant.
            direct += numbers.BACKGROUND_HZ * external * circuit.external_weight_pa * 1e-3 * numbers.SYNAPSE_MS
        lines.append(
            f"  population {name}({size}, model: cell, direct: {direct:.6f}.pA, "
            f"v: normal({numbers.START_MEAN_MV}.mV, {numbers.START_DEVIATION_MV}.mV))"
        )
        if drive == "poisson":
            lines.append(
                f"  source drive_{name}(poisson(rate: {numbers.BACKGROUND_HZ}.Hz), n: {external}, "
                f"weight: {circuit.external_weight_pa:.6f}.pA, target: {name}.current)"
            )
    for one in circuit.projections:
        bounds = ("0.pA", "10.nA") if one.weight_pa > 0 else ("-10.nA", "0.pA")
        lines.append(
            f"  connect {one.source} -> {one.target}(pattern: fixed_total({one.synapses}), "
            f"weight: clip(normal({one.weight_pa:.6f}.pA, {one.weight_deviation_pa:.6f}.pA), {bounds[0]}, {bounds[1]}), "
            f"delay: clip(normal({one.delay_ms}.ms, {one.delay_deviation_ms}.ms), 0.1.ms, 20.ms), target: current)"
        )
    if is_recorded:
        lines.append(f"  record spikes({', '.join(circuit.sizes)})")
    return "\n".join(lines) + "\n"
