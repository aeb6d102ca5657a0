"""Spiking networks as NIR graphs, where NIR has the same equations."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidTypeError, NetworkError
from amdgpu.interchange.forms import FORMS, Form
from amdgpu.interchange.nir_read import load_nir

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu.network import Network
    from amdgpu.spiking_network import SpikingNetwork
    from amdgpu.spiking_result import Synapses

UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "Hz": 1.0, "kHz": 1e3}
NEURON = re.compile(r"^([ ]*)neuron[ ]+(\w+)[ ]*:[ ]*$")
POPULATION = re.compile(r"^[ ]*population[ ]+(\w+)[ ]*\((.*)\)[ ]*$")
VALUE = re.compile(r"^(-?[0-9.]+(?:[eE][-+]?[0-9]+)?)[.*]?([A-Za-z]*)$")


def to_nir(network: Network, path: str | Path | None = None) -> Any:
    """A NIR graph of a spiking network, with the weights that it has now.

    The neurons have to be written as `from_nir` writes them (docs/network_language.md, "Other tools"): one of NIR's equations with
    parameters of NIR's names. Sources become Inputs, recorded populations feed Outputs, connections become Linear nodes, with a Delay
    where they have one; a bias becomes that of an Affine.

    Args:
        network: The network.
        path: Also write the graph to this file, as `nir.write` does.

    Returns:
        The `nir.NIRGraph`.

    Raises:
        NetworkError: A part has no counterpart in NIR; the message names it.
        OSError: The file cannot be written.
        LibraryMissingError: The package `nir` is not installed.
    """
    from amdgpu.network import Network
    from amdgpu.spiking_network import SpikingNetwork

    nir = load_nir()
    if not isinstance(network, Network):
        raise InvalidTypeError(f"to_nir: network is {shortened(network)}; a Network is expected")
    target = None if path is None else arguments.path("to_nir", "path", path)
    if not isinstance(network, SpikingNetwork):
        raise NetworkError(
            f"the network {network.name!r} is layered: NIR has no activations, so only spiking networks can be written"
        )
    graph = _graph(nir, network)
    if target is not None:
        try:
            nir.write(target, graph)
        except OSError as error:
            # HDF5 tells its own flags and not always the file.
            number = error.errno or errno.EIO
            raise OSError(number, os.strerror(number), str(target)) from None
    return graph


def _graph(nir: Any, network: SpikingNetwork) -> Any:
    import numpy as np

    spiking = network.plan["spiking"]
    if spiking["drives"]:
        raise NetworkError(
            f"a source acts on {spiking['drives'][0]['population']!r} without synapses, which NIR does not express"
        )
    forms = _forms(network.source)
    options = _options(network.source)
    nodes: dict[str, Any] = {one["name"]: nir.Input({"input": np.array([one["size"]])}) for one in spiking["sources"]}
    biases: dict[str, npt.NDArray[np.float64]] = {}
    for one in spiking["populations"]:
        model = spiking["groups"][one["group"]]["name"]
        if model not in forms:
            raise NetworkError(
                f"population {one['name']!r}: the model {model!r} is not written as one of NIR's neurons "
                f"({', '.join(form.kind for form in FORMS)}); see docs/network_language.md, Other tools"
            )
        form, defaults = forms[model]
        values = _values(
            one["name"], one["size"], form, {**defaults, **options.get(one["name"], {})}, network.base_directory
        )
        biases[one["name"]] = values.pop("bias")
        nodes[one["name"]] = getattr(nir, form.kind)(**values)
    edges = _connect(nir, network, nodes, biases)
    for one in spiking["records"]:
        name = f"output_{one['population']}"
        if name not in nodes:
            nodes[name] = nir.Output({"output": np.array([network.sizes[one["population"]]])})
            edges.append((one["population"], name))
    return nir.NIRGraph(nodes, edges)


def _connect(
    nir: Any, network: SpikingNetwork, nodes: dict[str, Any], biases: dict[str, npt.NDArray[np.float64]]
) -> list[tuple[str, str]]:
    """Linear, Affine and Delay nodes of every connection, and all edges."""
    import numpy as np

    edges: list[tuple[str, str]] = []
    waiting = {name: bias for name, bias in biases.items() if bias.any()}
    for name, one in zip(network.weights.keys(), network.plan["spiking"]["projections"], strict=True):
        if one["variables"] or one["input"] is None:
            raise NetworkError(f"connection {name!r} has synapses with state of their own, which NIR does not express")
        if one["input"] != "j":
            raise NetworkError(f"connection {name!r} adds to {one['input']!r}; as NIR's input it has to add to j")
        synapses = network.synapses(name)
        shape = network.sizes[one["to"]], network.sizes[one["from"]]
        weight = np.zeros(shape)
        np.add.at(weight, (synapses.targets, synapses.sources), synapses.weights.astype(np.float64))
        bias = waiting.pop(one["to"], None)
        node = nir.Linear(weight) if bias is None else nir.Affine(weight, bias)
        chain = _with_delay(nir, name, node, synapses, shape)
        label = name.replace(" -> ", "_to_").replace(" #", "_")
        chosen = [one["from"]]
        for suffix, part_node in chain:
            nodes[label + suffix] = part_node
            chosen.append(label + suffix)
        chosen.append(one["to"])
        edges += list(zip(chosen, chosen[1:], strict=False))
    if waiting:
        raise NetworkError(
            f"population {next(iter(waiting))!r} has a bias and no connection whose Affine node could hold it"
        )
    return edges


def _with_delay(nir: Any, name: str, node: Any, synapses: Synapses, shape: tuple[int, int]) -> list[tuple[str, Any]]:
    """The node, with a Delay before it where delays belong to sources, behind it where they belong to targets."""
    import numpy as np

    if not synapses.delays.any():
        return [("", node)]
    for index, size, is_before in ((synapses.sources, shape[1], True), (synapses.targets, shape[0], False)):
        delay = np.zeros(size)
        delay[index] = synapses.delays
        if np.array_equal(delay[index], synapses.delays):
            found = ("_delay", nir.Delay(delay))
            return [found, ("", node)] if is_before else [("", node), found]
    raise NetworkError(
        f"connection {name!r} has a delay for each synapse; NIR knows one for each source or each target"
    )


def _forms(text: str) -> dict[str, tuple[Form, dict[str, str]]]:
    """Neurons of the text that are written as one of NIR's, with their defaults."""
    result: dict[str, tuple[Form, dict[str, str]]] = {}
    lines = [line.partition("#")[0].rstrip() for line in text.splitlines()]
    for number, line in enumerate(lines):
        opening = NEURON.match(line)
        if opening is None:
            continue
        body = []
        for inner in lines[number + 1 :]:
            if inner and len(inner) - len(inner.lstrip()) <= len(opening[1]):
                break
            if inner:
                body.append(re.sub(r"\s+", "", inner))
        parameters = [inner for inner in body if inner.startswith("params(") and inner.endswith(")")]
        rest = {inner for inner in body if not inner.startswith("params(")}
        for form in FORMS:
            wanted = {re.sub(r"\s+", "", equation) for equation in form.equations} | {"inputs(j)", "target:j"}
            if rest == wanted and len(parameters) == 1:
                result[opening[2]] = form, _pairs(parameters[0][len("params(") : -1], "=")
    return result


def _options(text: str) -> dict[str, dict[str, str]]:
    found = (POPULATION.match(line.partition("#")[0].rstrip()) for line in text.splitlines())
    return {one[1]: _pairs(one[2], ":") for one in found if one is not None}


def _pairs(text: str, sign: str) -> dict[str, str]:
    pairs = (part.partition(sign) for part in text.split(","))
    return {name.strip(): value.strip() for name, found, value in pairs if found}


def _values(
    population: str, size: int, form: Form, given: dict[str, str], folder: Path
) -> dict[str, npt.NDArray[np.float64]]:
    """Parameters in NIR's units, one for each neuron."""
    import numpy as np

    result = {}
    known = {*form.parameters, "bias", "model"}
    for name in given:
        if name not in known:
            raise NetworkError(f"population {population!r}: {name!r} has no counterpart in NIR's {form.kind}")
    for name in [*form.parameters, "bias"]:
        if name not in given:
            raise NetworkError(f"population {population!r}: the parameter {name!r} of NIR's {form.kind} has no value")
        text = given[name]
        number = VALUE.match(text)
        file = re.match(r'^file\("([^"]+)"\)$', text)
        if number is not None and number[2] in UNITS:
            result[name] = np.full(size, float(number[1].rstrip(".")) * UNITS[number[2]])
        elif file is not None:
            result[name] = np.load(folder / file[1], allow_pickle=False).astype(np.float64).ravel()
        else:
            raise NetworkError(
                f"population {population!r}: {name} is {text!r}; for NIR it has to be a number or a file"
            )
    return result
