"""What a layered network consists of, and its numbers in the memory of a device, uploaded again only after they changed."""

from __future__ import annotations

import json
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.array import array

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Activations whose layers have a state.
SPIKING, LEAKY = "lif", "leaky"


@dataclass(frozen=True)
class Layer:
    """A layer.

    Attributes:
        size: Values.
        activation: Name in the language.
        alpha: Its first number.
        beta: Its second number.
        sources: Positions of the layers that it reads, in the order of its weights' rows.
    """

    size: int
    activation: str
    alpha: float
    beta: float
    sources: tuple[int, ...]

    @property
    def has_state(self) -> bool:
        """Whether values of a step depend on those before."""
        return self.activation in (SPIKING, LEAKY)


@dataclass(frozen=True)
class Structure:
    """A network without its numbers.

    Attributes:
        layers: As the plan lists them.
        order: Positions, in the order of the computation.
        inputs: Position of the input layer.
        outputs: Positions of the layers whose values the network gives, side by side.
    """

    layers: tuple[Layer, ...]
    order: tuple[int, ...]
    inputs: int
    outputs: tuple[int, ...]

    @property
    def is_temporal(self) -> bool:
        """Whether samples have steps."""
        return any(layer.has_state for layer in self.layers)

    def is_pooled(self, layer: int) -> bool:
        """Whether the softmax of an output layer is taken of the mean over the steps."""
        return self.is_temporal and layer in self.outputs and self.layers[layer].activation == "softmax"


@dataclass(frozen=True)
class Numbers:
    """Weights and biases on a device, by layer; None for what a layer does not have."""

    version: int
    weights: tuple[_native.Array | None, ...]
    biases: tuple[_native.Array | None, ...]


def structure_of(plan: dict[str, Any]) -> Structure:
    """Read a checked plan."""
    place = {layer["name"]: number for number, layer in enumerate(plan["layers"])}
    sources: list[list[int]] = [[] for _ in place]
    for connection in plan["connections"]:
        sources[place[connection["to"]]].append(place[connection["from"]])
    layers = (
        Layer(
            layer["size"],
            layer["activation"]["kind"],
            layer["activation"]["alpha"],
            layer["activation"]["beta"],
            tuple(own),
        )
        for layer, own in zip(plan["layers"], sources, strict=True)
    )
    return Structure(
        layers=tuple(layers),
        order=tuple(place[name] for name in plan["order"]),
        inputs=place[plan["input"]],
        outputs=tuple(place[name] for name in plan["outputs"]),
    )


class PlacedNetworks(weakref.WeakKeyDictionary["_native.LayeredNetwork", "tuple[Structure, Numbers]"]):
    """Networks on a device, for as long as somebody holds them."""


def placed(device: AMDGPUDevice, network: _native.LayeredNetwork) -> tuple[Structure, Numbers]:
    """A network's structure, and its numbers as they are now, on a device."""
    kept = device.native.cache(PlacedNetworks)
    found = kept.get(network)
    if found is not None and found[1].version == network.version:
        return found
    structure = structure_of(json.loads(network.plan.json)) if found is None else found[0]
    version, layers = network.layer_numbers()
    upload = (tuple(None if one is None else array(one, device=device) for one in layer) for layer in layers)
    weights, biases = zip(*upload, strict=True)
    kept[network] = structure, Numbers(version, weights, biases)
    return kept[network]
