"""The numbers of the cortical microcircuit of Potjans and Diesmann 2014.

"The cell-type specific cortical microcircuit" (Cerebral Cortex 24, 785), tables 4 to 6.

At a `scale` below 1 both neurons and incoming synapses are fewer; weights grow by 1/sqrt(scale) and a
constant current makes up for the lost mean input, as van Albada, Helias and Diesmann 2015 derive it, so that rates stay those of the full
circuit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

POPULATIONS = ("l23e", "l23i", "l4e", "l4i", "l5e", "l5i", "l6e", "l6i")
SIZES = (20683, 5834, 21915, 5479, 4850, 1065, 14395, 2948)
# Probability of a connection between two neurons: row is the target, column the source.
PROBABILITIES = np.array(
    [
        [0.1009, 0.1689, 0.0437, 0.0818, 0.0323, 0.0, 0.0076, 0.0],
        [0.1346, 0.1371, 0.0316, 0.0515, 0.0755, 0.0, 0.0042, 0.0],
        [0.0077, 0.0059, 0.0497, 0.135, 0.0067, 0.0003, 0.0453, 0.0],
        [0.0691, 0.0029, 0.0794, 0.1597, 0.0033, 0.0, 0.1057, 0.0],
        [0.1004, 0.0622, 0.0505, 0.0057, 0.0831, 0.3726, 0.0204, 0.0],
        [0.0548, 0.0269, 0.0257, 0.0022, 0.06, 0.3158, 0.0086, 0.0],
        [0.0156, 0.0066, 0.0211, 0.0166, 0.0572, 0.0197, 0.0396, 0.2252],
        [0.0364, 0.001, 0.0034, 0.0005, 0.0277, 0.008, 0.0658, 0.1443],
    ]
)
EXTERNAL_SYNAPSES = (1600, 1500, 2100, 1900, 2000, 1900, 2900, 2100)
BACKGROUND_HZ = 8.0
# Rates that the full circuit settles at with Poisson drive; table 6 of the paper, rounded as its implementations repeat them.
PUBLISHED_HZ = (0.903, 2.965, 4.414, 5.876, 7.569, 8.633, 1.105, 7.829)
MEMBRANE_PF, MEMBRANE_MS, SYNAPSE_MS, REFRACTORY_MS = 250.0, 10.0, 0.5, 2.0
REST_MV, RESET_MV, THRESHOLD_MV = -65.0, -65.0, -50.0
START_MEAN_MV, START_DEVIATION_MV = -58.0, 10.0
POTENTIAL_MV, WEIGHT_DEVIATION, INHIBITION = 0.15, 0.1, -4.0
DELAY_EXCITATORY_MS, DELAY_INHIBITORY_MS, DELAY_DEVIATION = 1.5, 0.75, 0.5


@dataclass(frozen=True)
class Projection:
    """Synapses between two populations, drawn one by one; the same pair of neurons may get several."""

    source: str
    target: str
    synapses: int
    weight_pa: float
    weight_deviation_pa: float
    delay_ms: float
    delay_deviation_ms: float


@dataclass(frozen=True)
class Circuit:
    """The circuit at one scale."""

    sizes: dict[str, int]
    projections: tuple[Projection, ...]
    external_synapses: dict[str, int]
    external_weight_pa: float
    direct_pa: dict[str, float]
    """Constant currents that replace what the smaller scale took away."""


def current_of_potential() -> float:
    """The current in pA whose exponential pulse of 1 pA moves the membrane by 1 mV at most."""
    tau_m, tau_s = MEMBRANE_MS, SYNAPSE_MS
    ratio = tau_s / tau_m
    peak = ratio ** (ratio / (1 - ratio)) - ratio ** (1 / (1 - ratio))
    # Of dV/dt = -V/tau_m + I/C with I = exp(-t/tau_s): the difference of two exponentials at its maximum.
    return MEMBRANE_PF / (tau_m * tau_s / (tau_m - tau_s) * peak)


def circuit(scale: float = 1.0) -> Circuit:
    """The circuit with `scale` of its neurons and of the synapses that each of them gets."""
    full = np.array(SIZES)
    sizes = np.round(full * scale).astype(int)
    pairs = np.outer(full, full)
    totals = np.round(np.log(1 - PROBABILITIES) / np.log((pairs - 1) / pairs))
    synapses = np.round(totals * scale * scale).astype(int)
    base = POTENTIAL_MV * current_of_potential()
    factor = 1 / np.sqrt(scale)
    weights = np.where(np.arange(8) % 2 == 0, base, INHIBITION * base) * np.ones((8, 1))
    weights[0, 2] = 2 * base
    in_degrees = totals / full[:, None]
    lost = (weights * in_degrees * np.array(PUBLISHED_HZ)).sum(1) + base * np.array(EXTERNAL_SYNAPSES) * BACKGROUND_HZ
    # 1/s times ms times pA.
    direct = 1e-3 * SYNAPSE_MS * (1 - np.sqrt(scale)) * lost
    projections = []
    for target, row in enumerate(synapses):
        for source, count in enumerate(row):
            if count == 0:
                continue
            is_excitatory = source % 2 == 0
            delay = DELAY_EXCITATORY_MS if is_excitatory else DELAY_INHIBITORY_MS
            weight = float(weights[target, source] * factor)
            projections.append(
                Projection(
                    POPULATIONS[source],
                    POPULATIONS[target],
                    int(count),
                    weight,
                    abs(weight) * WEIGHT_DEVIATION,
                    delay,
                    delay * DELAY_DEVIATION,
                )
            )
    return Circuit(
        sizes=dict(zip(POPULATIONS, map(int, sizes), strict=True)),
        projections=tuple(projections),
        external_synapses={
            name: round(count * scale) for name, count in zip(POPULATIONS, EXTERNAL_SYNAPSES, strict=True)
        },
        external_weight_pa=float(base * factor),
        direct_pa=dict(zip(POPULATIONS, map(float, direct), strict=True)),
    )
