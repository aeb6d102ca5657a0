"""Spiking networks: what a run gives back, and the part of `amdgpu.Network` that steps them."""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments, spiking_batch
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NetworkError
from amdgpu.plotting.activity import ActivityPlots
from amdgpu.plotting.graph import weight_unit
from amdgpu.training import checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

SCHEMA = "amdgpu.spiking_checkpoint"
# Populations and sources that a message lists.
SHOWN_PARTS = 6


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


class SpikingPart:
    """A spiking network on a device, built when it is first needed."""

    def __init__(
        self,
        text: str,
        plan_json: str,
        device: Callable[[], _native.Device],
        given: spiking_batch.Givens,
        threads: int | None,
    ) -> None:
        self.text = text
        self.plan_json = plan_json
        self.last_result: RunResult | None = None
        self._device = device
        self._given = given
        self._threads = threads
        self._built: _native.SpikingNetwork | None = None

    @functools.cached_property
    def plan(self) -> dict[str, Any]:
        """The plan, read once."""
        plan: dict[str, Any] = json.loads(self.plan_json)
        return plan

    @property
    def base_directory(self) -> Path:
        """Where relative paths of the text start."""
        from pathlib import Path

        return Path(self._given.base_directory or ".")

    @functools.cached_property
    def sizes(self) -> dict[str, int]:
        """Neurons of every population and source."""
        spiking = self.plan["spiking"]
        return {one["name"]: one["size"] for one in [*spiking["populations"], *spiking["sources"]]}

    @functools.cached_property
    def state_units(self) -> dict[str, str]:
        """Unit of every variable, by `population.variable`."""
        spiking = self.plan["spiking"]
        return {
            f"{population['name']}.{variable['name']}": variable.get("unit", "")
            for population in spiking["populations"]
            for variable in spiking["groups"][population["group"]]["variables"]
        }

    @functools.cached_property
    def weight_units(self) -> dict[str, str]:
        """Unit of the weights of every connection."""
        names = self.native.projection_names()
        projections = self.plan["spiking"]["projections"]
        return {name: weight_unit(one, self.state_units) for name, one in zip(names, projections, strict=True)}

    @property
    def native(self) -> _native.SpikingNetwork:
        """The built network."""
        if self._built is None:
            self._built = _native.SpikingNetwork(
                self.plan_json,
                self._device(),
                base_directory=self._given.base_directory,
                arrays=self._given.arrays,
                threads=self._threads,
            )
            found = [f"line {one['line']}: {one['message']}; {one['hint']}" for one in self.plan["warnings"]]
            for text in [*found, *self._built.warnings()]:
                warnings.warn(f"network {self._built.name!r}: {text}", RuntimeWarning, stacklevel=4)
        return self._built

    @property
    def built_warnings(self) -> list[str]:
        """What the engine found when it built the network; nothing before that."""
        return [] if self._built is None else self._built.warnings()

    def run_steps(self, steps: int, progress: bool | Callable[[float], None]) -> RunResult:
        """Make steps; see `Running.run`."""
        native = self.native
        bar = _Progress(progress) if progress else None
        raw = native.run(steps, bar)
        if bar is not None:
            bar.close()
        self.last_result = _result(raw, native.dt_seconds, self.state_units)
        if raw["error"] is not None:
            raise raw["error"]
        return self.last_result

    def run_batch(
        self,
        duration: float,
        seeds: Sequence[int] | None,
        inputs: Sequence[spiking_batch.Inputs] | None,
        progress: Callable[[float], None] | None,
    ) -> list[RunResult]:
        """Run members of a batch; see `Running.run_batch`."""
        runs = spiking_batch.run(
            spiking_batch.plans_of(self.plan, seeds, inputs),
            self._device(),
            duration=duration,
            given=self._given,
            threads=self._threads,
            progress=progress,
        )
        return [_result(raw, dt, self.state_units) for raw, dt in runs]

    def memory_estimate(self) -> dict[str, Any]:
        """Predicted memory in bytes; see `Running.memory_estimate`."""
        built = self._built
        if built is None:
            given = self._given
            text = _native.network_memory(
                self.plan_json, self._device(), base_directory=given.base_directory, arrays=given.arrays
            )
        else:
            text = built.memory_json()
        estimate: dict[str, Any] = json.loads(text)
        return estimate

    def save(self, path: str | Path) -> None:
        """Write the state; see `Network.save`."""
        step, arrays = self.native.export_state()
        header = {
            "schema": SCHEMA,
            "version": 1,
            "name": self.native.name,
            "plan": self._digest(),
            "step": step,
            "summary": self._summary(),
        }
        checkpoint.write(path, header, arrays)

    def restore(self, path: str | Path) -> None:
        """Read the state; see `Network.restore`."""
        header, arrays = checkpoint.read(path)
        if header.get("schema") != SCHEMA or header.get("version") != 1:
            raise NetworkError(
                f"{path} is no checkpoint of a spiking network that this version reads: its schema is {header.get('schema')!r}, "
                f"version {header.get('version')!r}; {SCHEMA!r}, version 1, is read"
            )
        if header.get("plan") != self._digest():
            raise NetworkError(
                f"{path} was saved at step {header.get('step')} by another network: saved was {header.get('name')!r}, "
                f"{header.get('summary', 'of an older version')}; this one is {self.native.name!r}, {self._summary()}. Restore into a "
                "network of the text and seed that were saved"
            )
        self.native.import_state(int(header["step"]), arrays)

    def _summary(self) -> str:
        """What tells networks of one name apart."""
        spiking = self.plan["spiking"]
        parts = [f"{name} ({size})" for name, size in list(self.sizes.items())[:SHOWN_PARTS]]
        if len(self.sizes) > SHOWN_PARTS:
            parts.append(f"{len(self.sizes) - SHOWN_PARTS} more")
        connections = len(spiking["projections"])
        return (
            f"{', '.join(parts)}, {connections} connection{'s' if connections != 1 else ''}, seed {self.plan['seed']}, "
            f"plan {self._digest()[:12]}"
        )

    def _digest(self) -> str:
        """Of the plan and the arrays that it names."""
        digest = hashlib.sha256(self.plan_json.encode())
        for name, values in sorted(self._given.arrays.items()):
            digest.update(f"{name} {values.shape}".encode())
            digest.update(values.tobytes())
        return digest.hexdigest()


class SpikingStates:
    """Variables of the neurons by `population.variable`, without what arrives in the next step; copies out, checks in."""

    def __init__(self, part: SpikingPart) -> None:
        self._part = part

    def __getitem__(self, name: str) -> npt.NDArray[np.float32]:
        return self._part.native.state(
            arguments.text("states", "name", name, "the name of a variable, `population.variable`,")
        )

    def __setitem__(self, name: str, values: npt.ArrayLike) -> None:
        import numpy as np

        arguments.text("states", "name", name, "the name of a variable, `population.variable`,")
        given: Any = values
        if np.ndim(arguments.values("states", name, values)) == 0:
            of_all = arguments.number("states", name, values)
            given = np.full(self._part.sizes.get(name.partition(".")[0], 1), of_all, np.float32)
        self._part.native.set_state(name, given)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """Names of the variables, in the order of the plan."""
        return self._part.native.state_names()


class Running:
    """Stepping of a spiking network: the methods that `amdgpu.Network` gets from here."""

    _spiking: SpikingPart | None

    @property
    def is_spiking(self) -> bool:
        """Whether the network is stepped with `run`; a layered one computes with `forward`."""
        return self._spiking is not None

    @property
    def spiking_part(self) -> SpikingPart | None:
        """The part that is stepped, for other modules of the package; None of a layered network."""
        return self._spiking

    def _running(self) -> SpikingPart:
        if self._spiking is None:
            raise NetworkError("the network is layered: it has no populations to step; use forward")
        return self._spiking

    def run(self, duration: float, *, progress: bool | Callable[[float], None] = False) -> RunResult:
        """Step a spiking network for so many seconds of model time; the next run goes on from there.

        Ctrl-C ends the run between two steps: the network is whole, `net.last_result` holds what was done.

        Args:
            duration: Seconds of model time, rounded to whole steps.
            progress: True draws a bar on standard error; a function is called with the part done, 0 to 1.

        Raises:
            InvalidArgumentError: A duration that is negative, not finite, or of more steps than can be counted.
            InvalidTypeError: A duration that is no number, or a progress that is neither a truth value nor a function.
            NetworkError: The network is layered, or does not fit together.
            OutOfMemoryError: The network or what it records does not fit into memory.
            WeightsNotFiniteError: A variable became NaN or infinite; the message names it, its population and the step.

        Example:
            >>> import amdgpu
            >>> net = amdgpu.Network('''
            ... neuron cell:
            ...   params(tau = 10.ms, drive = 20.mV)
            ...   dv/dt = (drive - v) / tau
            ...   threshold: v > 10.mV
            ...   reset: v = 0.mV
            ... population cells(3, model: cell)
            ... record spikes(cells)
            ... ''')
            >>> net.run(0.1).counts["cells"]
            42
        """
        part = self._running()
        seconds = arguments.number("run", "duration", duration)
        progress = arguments.progress("run", progress)
        return part.run_steps(part.native.steps_of(seconds), progress)

    def step(self, count: int = 1) -> RunResult:
        """Make `count` steps of a spiking network, 0 or more."""
        return self._running().run_steps(arguments.count("step", "count", count), False)

    def run_batch(
        self,
        duration: float,
        *,
        seeds: Sequence[int] | None = None,
        inputs: Sequence[spiking_batch.Inputs] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> list[RunResult]:
        """Run a spiking network from its start with several seeds or inputs, several at once.

        Each member is the network that the text with its seed is, with the same spikes; this network itself is left where it is. On the
        CPU as many members run beside one another as there are threads and memory for, each on one thread; on a GPU up to 256 of them, as
        there is memory for, are stepped by the same launches.

        Args:
            duration: Seconds of model time of each.
            seeds: One for each member; without them all have the text's.
            inputs: For each member the spikes of sources that the text declares with `spikes`: by name, times in seconds and indices.
                Sources that are not named keep the spikes of the text.
            progress: Called with the part done, 0 to 1: on the CPU whenever a member is finished, on a GPU now and then.

        Returns:
            A result for each member, in their order.

        Raises:
            InvalidArgumentError: Neither seeds nor inputs, or numbers of them that differ; an unknown source; spikes out of range.
            InvalidTypeError: Seeds, inputs or a duration of another type.

        Example:
            >>> import amdgpu
            >>> net = amdgpu.Network('''
            ... neuron cell:
            ...   params(tau = 10.ms, drive = 20.mV)
            ...   dv/dt = (drive - v) / tau
            ...   threshold: v > 10.mV
            ...   reset: v = 0.mV
            ... population cells(3, model: cell)
            ... record spikes(cells)
            ... ''')
            >>> [result.counts["cells"] for result in net.run_batch(0.1, seeds=[1, 2])]
            [42, 42]
        """
        part = self._running()
        seconds = arguments.number("run_batch", "duration", duration)
        if progress is not None:
            arguments.function("run_batch", "progress", progress)
        return part.run_batch(seconds, seeds, inputs, progress)

    @property
    def last_result(self) -> RunResult | None:
        """What the last run gave, also one that was interrupted; None before the first."""
        return self._running().last_result

    @property
    def time(self) -> float:
        """Model time at the beginning of the next step, seconds."""
        native = self._running().native
        return native.step_number * native.dt_seconds

    @property
    def states(self) -> SpikingStates:
        """Variables of the neurons, to be looked at and replaced between runs, for example `net.states["cells.rate"] = rates`.

        A number stands for all neurons of the population. Values are SI units, as float32.
        """
        return SpikingStates(self._running())

    def reward(self, value: float) -> None:
        """Reward the network: learning synapses get the value in the next step, beside what `reward` statements of the text give."""
        self._running().native.reward(arguments.number("reward", "value", value))

    def memory_estimate(self) -> dict[str, Any]:
        """Predicted memory of a spiking network in bytes, with the storage of each projection and its alternatives.

        Nothing is allocated for it. `total_bytes` is what building needs, `free_bytes` what the device has; beside a GPU `host_bytes` is
        what making the rows needs of this machine, of which `host_free_bytes` are free.
        """
        return self._running().memory_estimate()

    def synapses(self, connection: str, *, sources: range | None = None) -> Synapses:
        """Sources, targets, weights and delays of a connection of a spiking network.

        Args:
            connection: For example `exc -> inh`; blanks around the arrow do not matter.
            sources: Those of these source neurons alone, a range of step 1, for connections whose table would not fit into memory.

        Raises:
            InvalidArgumentError: There is no such connection, or no such sources.
            InvalidTypeError: `connection` is no text, or `sources` no range.
            OutOfMemoryError: The table, at 20 bytes for each synapse, does not fit into the memory that is free; nothing was made of it.

        Example:
            >>> import amdgpu
            >>> net = amdgpu.Network('''
            ... neuron cell:
            ...   params(tau = 10.ms)
            ...   dv/dt = -v / tau
            ...   threshold: v > 10.mV
            ...   reset: v = 0.mV
            ... population cells(1000, model: cell)
            ... connect cells -> cells(pattern: probability(0.1), weight: 1.mV, target: v)
            ... ''')
            >>> table = net.synapses("cells -> cells", sources=range(10, 12))
            >>> sorted(set(table.sources.tolist()))
            [10, 11]
        """
        part = self._running()
        arguments.text("synapses", "connection", connection, "the name of a connection, such as `exc -> inh`,")
        if sources is None:
            return Synapses(*part.native.synapses(connection))
        if not isinstance(sources, range):
            raise InvalidTypeError(f"synapses: sources is {shortened(sources)}; a range is expected")
        if sources.step != 1 or sources.start < 0:
            raise InvalidArgumentError(
                f"synapses: sources is {sources}; a range from 0 or more with steps of 1 is expected"
            )
        first, stop = (
            arguments.count("synapses", "sources", end) for end in (sources.start, max(sources.start, sources.stop))
        )
        return Synapses(*part.native.synapses(connection, (first, stop)))


def _result(raw: dict[str, Any], dt: float, units: Mapping[str, str]) -> RunResult:
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
