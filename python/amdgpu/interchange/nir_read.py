"""NIR graphs as spiking networks (Pedersen et al. 2024, "Neuromorphic intermediate representation")."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, LibraryMissingError, NetworkError
from amdgpu.interchange.forms import BY_KIND

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu.network import Network

Spikes = tuple["npt.ArrayLike", "npt.ArrayLike"]
# The text of a network has at most 1000000 words and signs, and a spike takes up to five.
SPIKE_LIMIT = 150_000
# Of the network language.
INTEGRATORS = ("auto", "exact", "exponential_euler", "euler", "rk2", "rk4")
TRANSFORMS = ("Linear", "Affine", "Scale", "Delay", "Flatten")


def load_nir() -> Any:
    """The package `nir`.

    Raises:
        LibraryMissingError: It is not installed.
    """
    try:
        import nir
    except ImportError as error:
        raise LibraryMissingError(
            f"NIR networks need the package nir, which cannot be imported ({error}): pip install nir"
        ) from None
    return nir


def from_nir(
    graph: Any,
    *,
    dt: float = 1e-4,
    inputs: Mapping[str, Spikes] | None = None,
    device: int | str | None = None,
    integrator: str = "auto",
    directory: str | Path | None = None,
) -> Network:
    """A spiking network of a NIR graph.

    LIF, CubaLIF, LI, CubaLI, IF and I become populations, Input becomes a source of spikes; Linear, Affine, Scale, Flatten and Delay
    between them become connections, of which a delay is rounded to whole steps. What an Output reads is recorded: spikes, or `v` of
    neurons without a threshold. A spike has the value 1 for one step, so `dt` is part of the network: give that of the tool it comes from.
    Every connection takes one step.

    Args:
        graph: A `nir.NIRGraph`, or the path of a file that `nir.read` reads.
        dt: Time step in seconds.
        inputs: Spikes by the name of the Input node: (times in seconds, indices). Inputs without an entry are silent.
        device: As in `Network`.
        integrator: `auto` solves the neurons' equations exactly, as they stand in the graph. `euler` makes the steps of snnTorch, Norse and
            other tools that train with `u += dt/tau*(...)`: take it to get the spikes of the tool that the graph was written by.
        directory: Where the text (`network.net`) and its numbers (`.npy`) are kept, to load them again; None keeps them as
            long as the network.

    Returns:
        The network; the populations have the names of the nodes, with `_` for what is no letter, digit or `_`.

    Raises:
        NetworkError: A node does not fit; the message names it.
        InvalidTypeError: Neither a graph nor a path.
        OSError: The file cannot be read.
        LibraryMissingError: The package `nir` is not installed.
    """
    from amdgpu.network import Network

    nir = load_nir()
    if isinstance(graph, str | os.PathLike):
        path = arguments.path("from_nir", "graph", graph)
        path.stat()
        try:
            graph = nir.read(path)
        except Exception as error:  # noqa: BLE001 - h5py and nir raise whatever a damaged file leads them to
            raise NetworkError(f"{path} is no NIR file: {error}") from None
    if not isinstance(graph, nir.NIRGraph):
        raise InvalidTypeError(
            f"from_nir: graph is {shortened(graph)}; a `nir.NIRGraph` or the path of one is expected"
        )
    dt = arguments.number("from_nir", "dt", dt)
    if not 0 < dt < 1:
        raise InvalidArgumentError(f"from_nir: dt is {dt}; seconds above 0 and below 1 are expected")
    arguments.choice("from_nir", "integrator", integrator, INTEGRATORS)
    given = {} if inputs is None else arguments.mapping("from_nir", "inputs", inputs, "spikes by the name of an Input")
    reader = _Reader(graph, dt, dict(given), integrator)
    if directory is not None:
        directory = arguments.path("from_nir", "directory", directory)
        directory.mkdir(parents=True, exist_ok=True)
        text = reader.text(directory)
        (directory / "network.net").write_text(text, encoding="utf-8")
        return Network(text, device=device, base_directory=directory)
    temporary = tempfile.mkdtemp(prefix="amdgpu-nir-")
    try:
        network = Network(reader.text(Path(temporary)), device=device, base_directory=temporary)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    # The network reads its files when it is built, and to_nir does later.
    weakref.finalize(network, shutil.rmtree, temporary, ignore_errors=True)
    return network


@dataclass
class _Map:
    """What arrives at a place from one source: `weight[target, source]` and `delay[target, source]` in seconds."""

    origin: str
    weight: npt.NDArray[np.float64]
    delay: npt.NDArray[np.float64]


@dataclass
class _Reader:
    graph: Any
    dt: float
    inputs: dict[str, Spikes]
    integrator: str = "auto"
    before: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nodes = self.graph.nodes
        for name, node in nodes.items():
            kind = _kind(node)
            if kind not in BY_KIND and kind not in (*TRANSFORMS, "Input", "Output"):
                raise NetworkError(
                    f"node {name!r} is a {kind}, which the network language does not express; known are "
                    f"{', '.join([*BY_KIND, *TRANSFORMS, 'Input', 'Output'])}"
                )
            self.before[name] = []
            self.names[name] = _fresh(name, set(self.names.values()))
        for origin, target in self.graph.edges:
            for name in (origin, target):
                if name not in nodes:
                    raise NetworkError(f"the edge {origin!r} -> {target!r} names {name!r}, which is no node")
            self.before[target].append(origin)
        for name in self.inputs:
            if name not in nodes or _kind(nodes[name]) != "Input":
                known = [key for key, node in nodes.items() if _kind(node) == "Input"]
                raise InvalidArgumentError(
                    f"inputs has {name!r}, which is no Input node; there are: {', '.join(known) or 'none'}"
                )
        if not any(_kind(node) in BY_KIND for node in nodes.values()):
            raise NetworkError("the graph has no neurons: it is a network of layers, which NIR has no activations for")

    def text(self, folder: Path) -> str:
        """The network's text; its arrays are written into the folder."""
        nodes = self.graph.nodes
        lines = ["neuralNetwork nir:", f"  dt = {self.dt!r}*s"]
        used = dict.fromkeys(_kind(node) for node in nodes.values() if _kind(node) in BY_KIND)
        for kind in used:
            form = BY_KIND[kind]
            parameters = ", ".join(f"{name} = {_with_unit('1.0', unit)}" for name, unit in form.parameters.items())
            lines += [f"  neuron nir_{kind}:", "    inputs(j)", f"    params({parameters}, bias = 0.0)"]
            lines += [f"    {line}" for line in form.equations]
            lines.append("    target: j")
            if self.integrator != "auto":
                lines.append(f"    integrator: {self.integrator}")
        for name, node in nodes.items():
            if _kind(node) == "Input":
                lines.append(self._source(name, node))
            elif _kind(node) in BY_KIND:
                lines.append(self._population(name, node, folder))
        for name, node in nodes.items():
            if _kind(node) in BY_KIND:
                lines += self._connections(name, folder)
        lines += self._records()
        return "\n".join(lines) + "\n"

    def _source(self, name: str, node: Any) -> str:
        import numpy as np

        size = _size_of(name, node.input_type["input"])
        given = self.inputs.get(name, ((), ()))
        times, indices = arguments.two("from_nir", f"inputs[{name!r}]", given, "(times, indices)")
        at = arguments.reals("from_nir", f"the times of inputs[{name!r}]", times).ravel()
        who = arguments.values("from_nir", f"the indices of inputs[{name!r}]", indices).ravel()
        if at.shape != who.shape or (who.size and not np.issubdtype(who.dtype, np.integer)):
            raise InvalidArgumentError(f"inputs[{name!r}] is (times in seconds, whole indices) of equal length")
        is_inside = not who.size or bool(
            who.min() >= 0 and who.max() < size and np.isfinite(at).all() and at.min() >= 0
        )
        if not is_inside:
            raise InvalidArgumentError(f"inputs[{name!r}] has indices outside of 0 to {size - 1}, or times below 0")
        if who.size > SPIKE_LIMIT:
            raise InvalidArgumentError(
                f"inputs[{name!r}] has {who.size} spikes; a network's text holds at most {SPIKE_LIMIT}"
            )
        listed = ", ".join(f"{float(time)!r}.s" for time in at)
        return (
            f"  source {self.names[name]}(spikes(times: [{listed}], indices: [{', '.join(map(str, who))}]), n: {size})"
        )

    def _population(self, name: str, node: Any, folder: Path) -> str:
        import numpy as np

        form = BY_KIND[_kind(node)]
        size = self._size(name)
        values = {parameter: getattr(node, parameter) for parameter in form.parameters}
        values["bias"] = self._constant(name, ())
        options = []
        for parameter, given in values.items():
            array = np.asarray(given, dtype=np.float64).ravel()
            if not np.isfinite(array).all():
                raise NetworkError(f"node {name!r}: {parameter} holds NaN or infinity")
            if parameter.startswith("tau") and not (array > 0).all():
                raise NetworkError(f"node {name!r}: {parameter} has to be above 0")
            unit = form.parameters.get(parameter, "")
            if array.size and (array == array[0]).all():
                options.append(f"{parameter}: {_with_unit(repr(float(array[0])), unit)}")
            else:
                options.append(
                    f"{parameter}: {_file(folder, f'{self.names[name]}_{parameter}', np.broadcast_to(array, (size,)))}"
                )
        return f"  population {self.names[name]}({size}, model: nir_{form.kind}, {', '.join(options)})"

    def _connections(self, name: str, folder: Path) -> list[str]:
        import numpy as np

        lines = []
        for number, one in enumerate(found for origin in self.before[name] for found in self._maps(origin, ())):
            if one.weight.shape[0] != self._size(name):
                raise NetworkError(
                    f"node {name!r} has {self._size(name)} neurons, {one.weight.shape[0]} values arrive from {one.origin!r}"
                )
            stem = f"{self.names[one.origin]}_to_{self.names[name]}_{number}"
            square = one.weight.shape[0] == one.weight.shape[1]
            is_diagonal = square and not (one.weight - np.diag(np.diag(one.weight))).any()
            weight, delay = (np.diag(part) if is_diagonal else part.T for part in (one.weight, one.delay))
            steps = np.rint(delay / self.dt) * self.dt
            pattern = "one_to_one" if is_diagonal else "all_to_all"
            options = [f"pattern: {pattern}", f"weight: {_constant_or_file(folder, stem + '_weight', weight, '')}"]
            if steps.any():
                options.append(f"delay: {_constant_or_file(folder, stem + '_delay', steps, 's')}")
            lines.append(f"  connect {self.names[one.origin]} -> {self.names[name]}({', '.join(options)}, target: j)")
        return lines

    def _records(self) -> list[str]:
        lines = []
        for name, node in self.graph.nodes.items():
            if _kind(node) != "Output":
                continue
            for origin in self.before[name]:
                kind = _kind(self.graph.nodes[origin])
                if kind not in BY_KIND:
                    raise NetworkError(
                        f"node {name!r} reads {origin!r}, a {kind}; an Output reads neurons (an LI keeps a weighted sum)"
                    )
                what = "spikes({})" if BY_KIND[kind].spikes else "v({})"
                lines.append("  record " + what.format(self.names[origin]))
        return list(dict.fromkeys(lines))

    def _size(self, name: str) -> int:
        import numpy as np

        node = self.graph.nodes[name]
        field_of_size = next(iter(BY_KIND[_kind(node)].parameters)) if _kind(node) in BY_KIND else None
        if field_of_size is None:
            return _size_of(name, node.input_type["input"])
        return max(1, int(np.prod(np.shape(getattr(node, field_of_size)))))

    def _maps(self, name: str, path: tuple[str, ...]) -> list[_Map]:
        """What comes out of a node, by source."""
        import numpy as np

        node = self.graph.nodes[name]
        kind = _kind(node)
        if kind == "Output":
            raise NetworkError(f"node {name!r} is an Output and feeds another node")
        if kind == "Input" or kind in BY_KIND:
            if kind in BY_KIND and not BY_KIND[kind].spikes:
                raise NetworkError(
                    f"node {name!r} is a {kind}: it does not spike, and the network language connects by spikes only"
                )
            size = self._size(name)
            return [_Map(name, np.eye(size), np.zeros((size, size)))]
        if name in path:
            raise NetworkError(f"node {name!r} feeds itself without a neuron between")
        return [
            self._through(name, node, one) for origin in self.before[name] for one in self._maps(origin, (*path, name))
        ]

    def _through(self, name: str, node: Any, one: _Map) -> _Map:
        import numpy as np

        kind = _kind(node)
        count = one.weight.shape[0]
        if kind == "Flatten":
            return one
        if kind == "Delay":
            delay = _vector(name, "delay", node.delay, count)
            if (delay < 0).any():
                raise NetworkError(f"node {name!r}: delays have to be 0 or more")
            return _Map(one.origin, one.weight, one.delay + delay[:, None])
        if kind == "Scale":
            return _Map(one.origin, one.weight * _vector(name, "scale", node.scale, count)[:, None], one.delay)
        weight = _matrix(name, node, count)
        # After mixing, a value has one delay for each source only if all that is mixed came equally late.
        latest = np.where(one.weight != 0, one.delay, -np.inf).max(axis=0)
        if ((one.weight != 0) & (one.delay != latest)).any():
            raise NetworkError(
                f"node {name!r} mixes values that a Delay before it made differently late; put the Delay behind it"
            )
        arrival = np.where(np.isfinite(latest), latest, 0.0)
        return _Map(one.origin, weight @ one.weight, np.broadcast_to(arrival, (weight.shape[0], arrival.size)).copy())

    def _constant(self, name: str, path: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """The part of a neuron's input that does not depend on spikes: the biases on the way."""
        import numpy as np

        total = np.zeros(self._size(name)) if _kind(self.graph.nodes[name]) in BY_KIND else None
        for origin in self.before[name]:
            node = self.graph.nodes[origin]
            if _kind(node) not in TRANSFORMS:
                continue
            if origin in path:
                raise NetworkError(f"node {origin!r} feeds itself without a neuron between")
            inner = self._constant(origin, (*path, origin))
            count = inner.size
            if _kind(node) in ("Linear", "Affine"):
                weight = _matrix(origin, node, count or None)
                inner = weight @ inner if count else np.zeros(weight.shape[0])
                if _kind(node) == "Affine":
                    inner = inner + _vector(origin, "bias", node.bias, weight.shape[0])
            elif _kind(node) == "Scale" and count:
                inner = inner * _vector(origin, "scale", node.scale, count)
            if total is None or total.size == 0:
                total = inner
            elif inner.size:
                if inner.size != total.size:
                    raise NetworkError(f"node {name!r} takes {total.size} values, {origin!r} gives {inner.size}")
                total = total + inner
        return np.zeros(0) if total is None else total


def _kind(node: Any) -> str:
    return type(node).__name__


def _size_of(name: str, shape: Any) -> int:
    import numpy as np

    if shape is None or not np.size(shape):
        raise NetworkError(f"node {name!r} has no shape")
    return int(np.prod(np.asarray(shape)))


def _vector(name: str, part: str, values: Any, count: int) -> npt.NDArray[np.float64]:
    import numpy as np

    array = np.asarray(values, dtype=np.float64).ravel()
    if array.size not in (1, count) or not np.isfinite(array).all():
        raise NetworkError(
            f"node {name!r}: {part} has {array.size} values or some that are not finite; {count} are needed"
        )
    result: npt.NDArray[np.float64] = np.broadcast_to(array, (count,)).copy()
    return result


def _matrix(name: str, node: Any, count: int | None) -> npt.NDArray[np.float64]:
    import numpy as np

    weight = np.asarray(node.weight, dtype=np.float64)
    if weight.ndim != 2 or not np.isfinite(weight).all():
        raise NetworkError(
            f"node {name!r}: weight has the shape {weight.shape} or values that are not finite; a matrix is needed"
        )
    if count is not None and weight.shape[1] != count:
        raise NetworkError(f"node {name!r}: weight takes {weight.shape[1]} values, {count} arrive")
    return weight


def _fresh(name: str, taken: set[str]) -> str:
    """A name of the language: the node's, where it is one."""
    stem = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "node"
    # Words of the language and names that begin with a digit get a prefix; `nodes` never clash with those.
    stem = f"node_{stem}" if stem[0].isdigit() or stem in _WORDS else stem
    result, number = stem, 2
    while result in taken:
        result, number = f"{stem}_{number}", number + 1
    return result


_WORDS = frozenset(
    (
        "dt",
        "seed",
        "neuron",
        "synapse",
        "population",
        "layer",
        "source",
        "connect",
        "plasticity",
        "reward",
        "record",
        "include",
        "t",
        "pi",
        "xi",
        "and",
        "or",
        "not",
        "if",
    )
)


def _with_unit(number: str, unit: str) -> str:
    return {"s": f"{number}*s", "1/s": f"{number}*Hz"}.get(unit, number)


def _file(folder: Path, name: str, values: npt.NDArray[Any]) -> str:
    import numpy as np

    np.save(folder / f"{name}.npy", np.ravel(values).astype(np.float64))
    return f'file("{name}.npy")'


def _constant_or_file(folder: Path, name: str, values: npt.NDArray[Any], unit: str) -> str:
    first = float(values.flat[0]) if values.size else 0.0
    if (values == first).all():
        return _with_unit(repr(first), unit)
    return _file(folder, name, values)
