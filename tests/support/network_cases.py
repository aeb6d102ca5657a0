"""Layered networks that tests of devices share: every activation, several sources of a layer, several outputs, states."""

from __future__ import annotations

import amdgpu
import numpy as np
import numpy.typing as npt
from tolerances import NETWORK_FORWARD

ACTIVATIONS = (
    "identity",
    "relu",
    "leaky_relu",
    "leaky_relu(0.3)",
    "sigmoid",
    "tanh",
    "gelu",
    "silu",
    "softplus",
    "elu",
    "elu(0.7)",
    "softmax",
    "neuromorphic(1.2, 0.3)",
)
TEXTS = {
    "chain": """
layer a(784)
layer b(256, activation: relu, bias: normal(0, 0.1))
layer c(10, activation: softmax)
connect a -> b (weight: random(-0.1, 0.1))
connect b -> c
""",
    "two inputs of a layer": """
layer a(17, activation: tanh, bias: 0.25)
layer b(33, activation: gelu)
layer c(9, activation: sigmoid)
layer d(5, activation: elu(0.5), bias: 0.1)
layer e(4)
connect a -> b
connect a -> c
connect b -> d
connect c -> d
connect c -> e
connect a -> e
""",
    "spiking layers": """
layer a(12)
layer b(40, activation: lif(0.9), bias: 0.2)
layer c(30, activation: lif(0.5, 25))
layer d(6, activation: leaky(0.8))
connect a -> b (weight: random(-0.5, 0.8))
connect b -> c (weight: random(-0.5, 0.8))
connect c -> d
connect a -> d
""",
    "softmax of spikes": """
layer a(8, activation: lif(0.7))
layer b(5, activation: softmax)
layer c(3, activation: leaky(0.9))
connect a -> b
connect a -> c
""",
}
for _name in ACTIVATIONS:
    _first = "identity" if _name == "softmax" else _name
    TEXTS[f"{_name} layer"] = (
        f"layer a(7, activation: {_first})\nlayer b(65, activation: {_name})\nconnect a -> b (weight: random(-2, 2))\n"
    )


def network(name: str, device: int | str | None) -> amdgpu.Network:
    """A network by its name."""
    return amdgpu.Network(TEXTS[name], device=0 if device is None else device)


def inputs(net: amdgpu.Network) -> list[npt.NDArray[np.floating]]:
    """A batch, one sample, and a batch of float64 with gaps."""
    random = np.random.default_rng(7)
    steps = (11,) if net._engine.is_temporal else ()
    batch = random.standard_normal((65, *steps, net.input_size)).astype(np.float32)
    return [batch, batch[3], batch.astype(np.float64)[::2]]


def check(found: npt.NDArray[np.float32], wanted: npt.NDArray[np.float32]) -> None:
    """Within the bound of the forward pass."""
    assert (found.shape, found.dtype) == (wanted.shape, np.float32)
    assert np.abs(found - wanted).max(initial=0) <= NETWORK_FORWARD
