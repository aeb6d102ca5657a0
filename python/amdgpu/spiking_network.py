"""Spiking networks: stepped over model time on a device."""

from __future__ import annotations

import functools
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments, spiking_batch
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NetworkError
from amdgpu.network import Network
from amdgpu.plotting.graph import weight_unit
from amdgpu.plotting.network import SpikePlotsMixin
from amdgpu.spiking_result import RunResult, Synapses, result_of
from amdgpu.training import checkpoint

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from amdgpu.plotting.weights import Matrix

SCHEMA = "amdgpu.spiking_checkpoint"
# Populations and sources that a message lists.
SHOWN_POPULATIONS = 6


class SpikingNetwork(Network, SpikePlotsMixin, kind="spiking"):
    """A spiking network on a device, built when it is first needed; `Network(text)` gives one where the text has populations.

    Arguments and errors are those of `Network`.

    Example:
        >>> import amdgpu
        >>> net = amdgpu.SpikingNetwork('''
        ... neuron cell:
        ...   params(tau = 10.ms, drive = 20.mV)
        ...   dv/dt = (drive - v) / tau
        ...   threshold: v > 10.mV
        ...   reset: v = 0.mV
        ... population cells(3, model: cell)
        ... ''')
        >>> net.step(100).counts["cells"]
        3
    """

    _wrong_kind = "the network is a spiking one, without layers: step it with run"

    def _begin(self, built: _native.LayeredNetwork | None, threads: int | None) -> None:  # noqa: ARG002  (layered)
        self._threads = threads
        self._built: _native.SpikingNetwork | None = None
        self._last_result: RunResult | None = None

    @property
    def _engine(self) -> _native.SpikingNetwork:
        """The network on its device, built now if it was not."""
        if self._built is None:
            external = self._external
            self._built = _native.SpikingNetwork(
                self._plan,
                self._stepping_device().native,
                base_directory=external.base_directory,
                arrays=external.arrays,
                threads=self._threads,
            )
            found = [f"line {line}: {message}; {hint}" for line, _, message, hint in self._plan.warnings]
            for text in [*found, *self._built.warnings()]:
                warnings.warn(f"network {self.name!r}: {text}", RuntimeWarning, stacklevel=3)
        return self._built

    @property
    def weights(self) -> SpikingWeights:
        """Weights by the name of the connection, one for each synapse in the order of `synapses`."""
        # Made at each access: a network that kept it would be in a circle and outlive its last user.
        return SpikingWeights(lambda: self._engine)

    @property
    def warnings(self) -> list[str]:
        """Findings that do not stop the network: those of the text, and once the network was built those of the engine."""
        return super().warnings + ([] if self._built is None else self._built.warnings())

    @property
    def base_directory(self) -> Path:
        """Where relative paths of the text start."""
        from pathlib import Path

        return self._external.base_directory or Path()

    @functools.cached_property
    def sizes(self) -> dict[str, int]:
        """Neurons of every population and source."""
        spiking = self.plan["spiking"]
        return {one["name"]: one["size"] for one in [*spiking["populations"], *spiking["sources"]]}

    def run(self, duration: float, *, progress: bool | Callable[[float], None] = False) -> RunResult:
        """Step the network for so many seconds of model time; the next run goes on from there.

        Ctrl-C ends the run between two steps: the network is whole, `net.last_result` holds what was done.

        Args:
            duration: Seconds of model time, rounded to whole steps.
            progress: True draws a bar on standard error; a function is called with the part done, 0 to 1.

        Raises:
            InvalidArgumentError: A duration that is negative, not finite, or of more steps than can be counted.
            InvalidTypeError: A duration that is no number, or a progress that is neither a truth value nor a function.
            NetworkError: The network does not fit together.
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
        seconds = arguments.number("run", "duration", duration)
        progress = arguments.progress("run", progress)
        return self._run_steps(self._engine.steps_of(seconds), progress)

    def step(self, count: int = 1) -> RunResult:
        """Make `count` steps, 0 or more."""
        return self._run_steps(arguments.count("step", "count", count), False)

    def run_batch(
        self,
        duration: float,
        *,
        seeds: Sequence[int] | None = None,
        inputs: Sequence[spiking_batch.Inputs] | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> list[RunResult]:
        """Run the network from its start with several seeds or inputs, several at once.

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
        seconds = arguments.number("run_batch", "duration", duration)
        if progress is not None:
            arguments.function("run_batch", "progress", progress)
        runs = spiking_batch.run(
            spiking_batch.plans_of(self._plan, seeds, inputs),
            self._stepping_device().native,
            duration=seconds,
            external=self._external,
            threads=self._threads,
            progress=progress,
        )
        return [result_of(raw, dt, self._state_units) for raw, dt in runs]

    @property
    def last_result(self) -> RunResult | None:
        """What the last run gave, also one that was interrupted; None before the first."""
        return self._last_result

    @property
    def time(self) -> float:
        """Model time at the beginning of the next step, seconds."""
        return self._engine.step_number * self._engine.dt_seconds

    @property
    def states(self) -> SpikingStates:
        """Variables of the neurons, to be looked at and replaced between runs, for example `net.states["cells.rate"] = rates`.

        A number stands for all neurons of the population. Values are SI units, as float32.
        """
        return SpikingStates(lambda: self._engine, lambda: self.sizes)

    def reward(self, value: float) -> None:
        """Reward the network: learning synapses get the value in the next step, beside what `reward` statements of the text give."""
        self._engine.reward(arguments.number("reward", "value", value))

    def memory_estimate(self) -> dict[str, Any]:
        """Predicted memory in bytes, with the storage of each projection and its alternatives.

        Nothing is allocated for it. `total_bytes` is what building needs, `free_bytes` what the device has; beside a GPU `host_bytes` is
        what making the rows needs of this machine, of which `host_free_bytes` are free.
        """
        if self._built is None:
            external = self._external
            text = _native.network_memory(
                self._plan,
                self._stepping_device().native,
                base_directory=external.base_directory,
                arrays=external.arrays,
            )
        else:
            text = self._built.memory_json()
        estimate: dict[str, Any] = json.loads(text)
        return estimate

    def synapses(self, connection: str, *, sources: range | None = None) -> Synapses:
        """Sources, targets, weights and delays of a connection.

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
        arguments.text("synapses", "connection", connection, "the name of a connection, such as `exc -> inh`,")
        if sources is None:
            return Synapses(*self._engine.synapses(connection))
        if not isinstance(sources, range):
            raise InvalidTypeError(f"synapses: sources is {shortened(sources)}; a range is expected")
        if sources.step != 1 or sources.start < 0:
            raise InvalidArgumentError(
                f"synapses: sources is {sources}; a range from 0 or more with steps of 1 is expected"
            )
        first, stop = (
            arguments.count("synapses", "sources", end) for end in (sources.start, max(sources.start, sources.stop))
        )
        return Synapses(*self._engine.synapses(connection, (first, stop)))

    def _run_steps(self, steps: int, progress: bool | Callable[[float], None]) -> RunResult:
        bar = _Progress(progress) if progress else None
        raw = self._engine.run(steps, bar)
        if bar is not None:
            bar.close()
        self._last_result = result_of(raw, self._engine.dt_seconds, self._state_units)
        if raw["error"] is not None:
            raise raw["error"]
        return self._last_result

    @functools.cached_property
    def _state_units(self) -> dict[str, str]:
        """Unit of every variable, by `population.variable`."""
        spiking = self.plan["spiking"]
        return {
            f"{population['name']}.{variable['name']}": variable.get("unit", "")
            for population in spiking["populations"]
            for variable in spiking["groups"][population["group"]]["variables"]
        }

    def _matrices(self, names: Sequence[str] | None) -> list[Matrix]:
        from amdgpu.plotting.weights import Matrix, chosen_names

        all_names = self._engine.projection_names()
        projections = self.plan["spiking"]["projections"]
        units = {name: weight_unit(one, self._state_units) for name, one in zip(all_names, projections, strict=True)}
        result = []
        for name in chosen_names(all_names, names):
            sources, targets, values, _ = self._engine.synapses(name)
            origin, _, target = name.partition(" #")[0].partition(" -> ")
            shape = self.sizes[origin], self.sizes[target]
            result.append(Matrix(name, units[name], shape, values, sources, targets))
        return result

    def save(self, path: str | Path) -> None:
        """Write the whole state of the network to a file, atomically.

        Raises:
            OSError: The file cannot be written.
        """
        path = arguments.path("save", "path", path)
        step, arrays = self._engine.export_state()
        header = {
            "schema": SCHEMA,
            "version": 1,
            "name": self.name,
            "plan": self._digest(),
            "step": step,
            "summary": self._summary(),
        }
        checkpoint.write(path, header, arrays)

    def restore(self, path: str | Path) -> None:
        """Read what `save` wrote; `run` then goes on as if nothing had happened.

        Raises:
            OSError: The file cannot be read.
            NetworkError: It is damaged or of another network. Nothing is changed then.
        """
        path = arguments.path("restore", "path", path)
        try:
            header, arrays = checkpoint.read(path)
        except IsADirectoryError as error:
            raise NetworkError(f"{path} is a directory, no checkpoint") from error
        if header.get("schema") != SCHEMA or header.get("version") != 1:
            raise NetworkError(
                f"{path} is no checkpoint of a spiking network that this version reads: its schema is {header.get('schema')!r}, "
                f"version {header.get('version')!r}; {SCHEMA!r}, version 1, is read"
            )
        if header.get("plan") != self._digest():
            raise NetworkError(
                f"{path} was saved at step {header.get('step')} by another network: saved was {header.get('name')!r}, "
                f"{header.get('summary', 'of an older version')}; this one is {self.name!r}, {self._summary()}. Restore into a "
                "network of the text and seed that were saved"
            )
        self._engine.import_state(int(header["step"]), arrays)

    def _summary(self) -> str:
        """What tells networks of one name apart."""
        shown = [f"{name} ({size})" for name, size in list(self.sizes.items())[:SHOWN_POPULATIONS]]
        if len(self.sizes) > SHOWN_POPULATIONS:
            shown.append(f"{len(self.sizes) - SHOWN_POPULATIONS} more")
        connections = len(self.plan["spiking"]["projections"])
        return (
            f"{', '.join(shown)}, {connections} connection{'s' if connections != 1 else ''}, seed {self._plan.seed}, "
            f"plan {self._digest()[:12]}"
        )

    def _digest(self) -> str:
        """A hash of the plan, the seed, and the arrays that the plan names."""
        digest = hashlib.sha256(self._plan.json.encode())
        digest.update(f"seed {self._plan.seed}".encode())
        for name, values in sorted(self._external.arrays.items()):
            digest.update(f"{name} {values.shape}".encode())
            digest.update(values.tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        populations = ", ".join(f"{one['name']}({one['size']})" for one in self.plan["spiking"]["populations"])
        return f"<SpikingNetwork {self.name!r} {populations}>"


class SpikingWeights:
    """Weights of a spiking network by connection, one for each synapse in the order of `net.synapses`; copies out, checks in."""

    def __init__(self, engine: Callable[[], _native.SpikingNetwork]) -> None:
        self._engine = engine

    def __getitem__(self, connection: str) -> npt.NDArray[np.float32]:
        return self._engine().synapses(_connection_name(connection))[2]

    def __setitem__(self, connection: str, values: npt.ArrayLike) -> None:
        self._engine().set_weights(_connection_name(connection), values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """Names of the connections, in the order of the plan."""
        return self._engine().projection_names()


def _connection_name(name: Any) -> str:
    return arguments.text("weights", "connection", name, "the name of a connection, such as `exc -> inh`,")


class SpikingStates:
    """Variables of the neurons by `population.variable`, without what arrives in the next step; copies out, checks in."""

    def __init__(self, engine: Callable[[], _native.SpikingNetwork], sizes: Callable[[], dict[str, int]]) -> None:
        self._engine, self._sizes = engine, sizes

    def __getitem__(self, name: str) -> npt.NDArray[np.float32]:
        return self._engine().state(
            arguments.text("states", "name", name, "the name of a variable, `population.variable`,")
        )

    def __setitem__(self, name: str, values: npt.ArrayLike) -> None:
        import numpy as np

        arguments.text("states", "name", name, "the name of a variable, `population.variable`,")
        given: Any = values
        if np.ndim(arguments.values("states", name, values)) == 0:
            of_all = arguments.number("states", name, values)
            given = np.full(self._sizes().get(name.partition(".")[0], 1), of_all, np.float32)
        self._engine().set_state(name, given)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def keys(self) -> list[str]:
        """Names of the variables, in the order of the plan."""
        return self._engine().state_names()


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
