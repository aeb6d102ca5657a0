"""Published networks of tests/neuro_validation/networks, run by ours, as the figures that Brian2 gives for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import amdgpu
import numpy as np

NETWORKS = Path(__file__).resolve().parents[1] / "neuro_validation" / "networks"
GAMMA = np.deg2rad(22.5 + 45 * np.arange(8))


def _network(name: str, seed: int | None = None, **arrays: np.ndarray) -> amdgpu.Network:
    text = (NETWORKS / f"{name}.net").read_text(encoding="utf-8")
    return amdgpu.Network(text, device="cpu:0", seed=seed, arrays=arrays or None)


def rothman_manis() -> dict[str, Any]:
    """Potentials every millisecond, and spikes, of a stellate and a bushy cell."""
    states = _network("rothman_manis").run(0.1).states
    found = {}
    for name in ("stellate", "bushy"):
        v = states[f"{name}.v"].values[:, 0]
        found[name] = {"v": v[:4000:40], "spikes": int(((v[1:] > -0.02) & (v[:-1] <= -0.02)).sum())}
    return found


def stuerzl(seed: int) -> dict[str, Any]:
    """Spikes of legs and command neurons."""
    spikes = _network("stuerzl", seed, gamma=GAMMA).run(0.5).spikes
    return {name: np.bincount(spikes[name].indices, minlength=8) for name in ("legs", "commands")}


def direction(commands: Any) -> float:
    """Where the command neurons see the prey, degrees."""
    return float(np.rad2deg(np.angle((np.asarray(commands) * np.exp(1j * GAMMA)).sum())) % 360)


def wang(seed: int) -> dict[str, list[float]]:
    """Rates of the populations in thirds of one and a half seconds."""
    result = _network("wang", seed).run(1.5)
    return {
        name: [
            float(count)
            for count in np.histogram(result.spikes[name].times, bins=(0, 0.5, 1.0, 1.5))[0] / result.sizes[name] / 0.5
        ]
        for name in ("e0", "e1", "e2", "i0")
    }
