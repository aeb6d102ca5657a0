"""Runs of one network in ours and in the simulators that others wrote, with the spikes of each."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import amdgpu
import numpy as np
import numpy.typing as npt
import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tools" / "bench"))

from suite.environments import Absent, environment_python  # noqa: E402


@dataclass(frozen=True)
class Spikes:
    """Of one population, in the order of time."""

    times: npt.NDArray[np.float64]
    indices: npt.NDArray[np.int64]
    size: int
    seconds: float

    @property
    def rate(self) -> float:
        """Spikes a second and neuron."""
        return len(self.times) / self.size / self.seconds


def of_peer(
    simulator: str, name: str, sizes: dict[str, int], *, folder: Path, seconds: float, seed: int, scale: float = 1.0
) -> dict[str, Spikes]:
    """The populations of a network as Brian2 or NEST runs it; skips the test where that cannot be installed."""
    try:
        python = environment_python(simulator)
    except Absent as reason:
        pytest.skip(f"no {simulator}: {reason}")
    path = folder / f"{simulator}-{name}-{seed}.npz"
    command = [str(python), str(HERE / "peers" / f"{simulator}_networks.py"), name]
    command += ["--seconds", str(seconds), "--seed", str(seed), "--out", str(path)]
    if simulator == "nest":
        command += ["--scale", str(scale)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    json.loads(done.stdout.strip().splitlines()[-1])
    with np.load(path) as spikes:
        return {
            part: Spikes(spikes[f"{part}.times"], spikes[f"{part}.indices"].astype(np.int64), size, seconds)
            for part, size in sizes.items()
        }


def of_ours(text: str, sizes: dict[str, int], *, seconds: float) -> dict[str, Spikes]:
    """The populations of a network as `amdgpu.Network` runs it."""
    result = amdgpu.Network(text).run(seconds)
    return {
        part: Spikes(
            np.asarray(result.spikes[part].times, dtype=np.float64),
            np.asarray(result.spikes[part].indices, dtype=np.int64),
            size,
            seconds,
        )
        for part, size in sizes.items()
    }


def text_of(name: str) -> str:
    """The network text of that name in networks/."""
    return (HERE / "networks" / f"{name}.net").read_text()
