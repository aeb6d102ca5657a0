"""Spiking networks: what a run gives back, and the part of `amdgpu.Network` that steps them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from amdgpu import _native

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

SPIKING_VERSION = 2


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
class RunResult:
    """What `Network.run` gives back.

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

    @property
    def realtime_factor(self) -> float:
        """Wall time over model time: below 1 the network runs faster than what it models."""
        return self.wall_time / self.duration if self.duration else 0.0

    def rates(self) -> dict[str, float]:
        """Mean rate of each population and source in spikes per neuron and second."""
        scale = self.duration or 1.0
        return {name: count / self.sizes[name] / scale for name, count in self.counts.items()}


@dataclass
class SpikingPart:
    """A spiking network on a device, built when it is first needed."""

    plan_json: str
    device: Callable[[], _native.Device]
    base_directory: str | Path | None
    threads: int | None
    last_result: RunResult | None = None
    _native: _native.SpikingNetwork | None = field(default=None, repr=False)

    @property
    def native(self) -> _native.SpikingNetwork:
        """The built network."""
        if self._native is None:
            self._native = _native.SpikingNetwork(
                self.plan_json, self.device(), base_directory=self.base_directory, threads=self.threads
            )
        return self._native

    def steps(self, steps: int, progress: bool | Callable[[float], None]) -> RunResult:
        """Make steps; see `Network.run`."""
        native = self.native
        bar = _Progress(progress) if progress else None
        raw = native.run(steps, bar)
        if bar is not None:
            bar.close()
        result = _result(raw, native.dt_seconds)
        self.last_result = result
        if raw["error"] is not None:
            raise raw["error"]
        return result

    def memory_estimate(self) -> dict[str, Any]:
        """Predicted memory in bytes; see `Network.memory_estimate`."""
        text = (
            self._native.memory_json()
            if self._native is not None
            else _native.network_memory(self.plan_json, self.device())
        )
        estimate: dict[str, Any] = json.loads(text)
        return estimate


def _result(raw: dict[str, Any], dt: float) -> RunResult:
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
    )


class _Progress:
    """Tells a function how much is done, or draws a bar on the terminal."""

    WIDTH = 40

    def __init__(self, target: bool | Callable[[float], None]) -> None:
        self._target = None if target is True or target is False else target
        self._is_drawn = False

    def __call__(self, done: int, total: int, spikes: int) -> None:
        part = done / total if total else 1.0
        if self._target is not None:
            self._target(part)
            return
        import sys

        filled = int(part * self.WIDTH)
        bar = "#" * filled + "-" * (self.WIDTH - filled)
        print(f"\r[{bar}] {part:4.0%} {spikes} spikes", end="", file=sys.stderr, flush=True)
        self._is_drawn = True

    def close(self) -> None:
        """End the line of the bar."""
        if self._is_drawn:
            import sys

            print(file=sys.stderr)
