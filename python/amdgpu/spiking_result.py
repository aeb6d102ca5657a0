"""What runs of spiking networks give back, and the table of a connection's synapses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amdgpu.plotting.activity import ActivityPlots

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class Spikes:
    """Spikes of a population: `times` in seconds and `indices` inside the population, in order of time."""

    times: npt.NDArray[np.float64]
    indices: npt.NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class States:
    """A variable over time: `values[t, k]` is that of neuron `first + k` at `times[t]` seconds."""

    times: npt.NDArray[np.float64]
    first: int
    values: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Synapses:
    """Synapses of a connection, sources ascending, then targets; delays in seconds."""

    sources: npt.NDArray[np.uint32]
    targets: npt.NDArray[np.uint32]
    weights: npt.NDArray[np.float32]
    delays: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True)
class RunResult(ActivityPlots):
    """What `SpikingNetwork.run` gives back.

    Attributes:
        spikes: By population or source, for those that the text records.
        states: By `population.variable`, for those that the text records.
        counts: Spikes of every population and source, recorded or not.
        sizes: Neurons of every population and source.
        start: Model time at the beginning, seconds.
        duration: Model time that was run, seconds.
        wall_time: Seconds that it took.
        spike_hash: Equal for runs whose every spike is equal, whatever the device and the number of threads.
        is_interrupted: The run was ended before its time.
        units: SI units of `states`, by `population.variable`; empty for plain numbers.
    """

    spikes: Mapping[str, Spikes]
    states: Mapping[str, States]
    counts: Mapping[str, int]
    sizes: Mapping[str, int]
    start: float
    duration: float
    steps: int
    wall_time: float
    spike_hash: str
    is_interrupted: bool = False
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def realtime_factor(self) -> float:
        """Wall time over model time: below 1 the network runs faster than what it models."""
        return self.wall_time / self.duration if self.duration else 0.0

    def rates(self) -> dict[str, float]:
        """Mean rate of each population and source in spikes per neuron and second."""
        scale = self.duration or 1.0
        return {name: count / self.sizes[name] / scale for name, count in self.counts.items()}


def result_of(raw: dict[str, Any], dt: float, units: Mapping[str, str]) -> RunResult:
    """A run as the engine reports it; `dt` in seconds, `units` of the recorded variables by `population.variable`."""
    return RunResult(
        spikes={name: Spikes(times, indices) for name, times, indices in raw["spikes"]},
        states={name: States(times, first, values) for name, times, first, values in raw["states"]},
        counts={name: count for name, _, count in raw["counts"]},
        sizes={name: size for name, size, _ in raw["counts"]},
        start=raw["first_step"] * dt,
        duration=raw["steps"] * dt,
        steps=raw["steps"],
        wall_time=raw["wall_seconds"],
        spike_hash=raw["spike_hash"],
        is_interrupted=raw["is_interrupted"],
        units={name: units.get(name, "") for name, _, _, _ in raw["states"]},
    )
