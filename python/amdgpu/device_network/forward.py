"""The forward pass of a layered network on a GPU: products of the Matrix core, activations behind their sums, layer after layer.

Results are within the bounds of `amdgpu.matrix_multiply`; they are not the CPU's bits, because sums have another order.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.array import array
from amdgpu.device_network.kernels import side_by_side, with_state
from amdgpu.device_network.structure import Layer, Numbers, Structure, placed
from amdgpu.device_ops import elementwise
from amdgpu.device_ops.elementwise_source import Body
from amdgpu.device_ops.operand import Operand, of_array
from amdgpu.device_ops.transpose import dense
from amdgpu.errors import CodeGenerationError, CompileError, NoImplementationError, UnsupportedFeatureError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Activations that products compute behind their sums.
ACTIVATIONS = ("identity", "relu", "leaky_relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "elu")
# Numbers of activations that products have behind their sums; others are computed by a kernel of their own.
_EPILOGUE_NUMBERS = {"leaky_relu": 0.01, "elu": 1.0}
_NEUROMORPHIC = Body(
    "neuromorphic", "const C bell = y * x * F(exp)(-(x * x)); const C wave = F(tanh)(alpha * x); return wave + bell;"
)


def forward(network: _native.LayeredNetwork, x: Any, *, device: AMDGPUDevice) -> Any:
    """What `LayeredNetwork.forward` computes, on a device.

    Raises:
        As `LayeredNetwork.forward`.
    """
    start_ns = time.perf_counter_ns()
    is_there = isinstance(x, _native.Array) and x.device == device.name
    if is_there and x.dtype == "float32":
        samples, steps, lead = network.input_samples(x.shape)
        rows = dense(device, of_array(x)).reshape(samples * steps, network.input_size)
        are_finite = _native.elementwise_on_device("isfinite", (rows,), device=device)
        if rows.size and not bool(_native.reduce_on_device("all", are_finite, device=device).numpy()):
            network.checked_input(x.numpy())
    else:
        values = network.checked_input(x.numpy() if isinstance(x, _native.Array) and not x.is_on_host else x)
        samples, steps, lead = network.input_samples(values.shape)
        rows = array(values, device=device).reshape(samples * steps, network.input_size)
    shape = (*lead, network.output_size)
    structure, numbers = placed(device, network)
    if samples:
        try:
            layers = propagate(device, structure, numbers, rows, steps)
            out = outputs_of(device, structure, layers, samples, steps).reshape(*shape)
        except (NoImplementationError, CompileError, CodeGenerationError, UnsupportedFeatureError) as error:
            _native.record_fallback("dense_forward", f"the CPU computes what {device.name} does not: {error}")
            made = network.forward(rows.numpy().reshape(*x.shape) if is_there else values, "matrix")
            return array(made, device=device) if is_there else made
    else:
        out = device.native.empty(shape, "float32")
    result = out if is_there else out.numpy()
    network.count_step(device.native.name, samples, time.perf_counter_ns() - start_ns)
    return result


def propagate(
    device: AMDGPUDevice, structure: Structure, numbers: Numbers, x: _native.Array, steps: int
) -> dict[int, _native.Array]:
    """Values of every layer, `(samples * steps, size)`, by position."""
    values: dict[int, _native.Array] = {}
    for place in structure.order:
        layer, bias = structure.layers[place], numbers.biases[place]
        if place == structure.inputs:
            sums = x if bias is None else _native.elementwise_on_device("add", (x, bias), device=device)
            # What arrives is the caller's: layers with a state write potentials over their sums.
            own = (
                _native.elementwise_on_device("identity", (sums,), device=device)
                if layer.has_state and sums is x
                else sums
            )
            values[place] = activated(device, layer, own, steps)
            continue
        inputs = side_by_side(device, [values[source] for source in layer.sources])
        weights = numbers.weights[place]
        assert weights is not None
        is_behind = layer.activation in ACTIVATIONS and (
            _EPILOGUE_NUMBERS.get(layer.activation, layer.alpha) == layer.alpha
        )
        if is_behind or structure.is_pooled(place):
            activation = layer.activation if is_behind and layer.activation != "identity" else None
            values[place] = _native.matmul_on_device(
                inputs, weights, device=device, precision="fp32", bias=bias, activation=activation
            )
        else:
            sums = _native.matmul_on_device(inputs, weights, device=device, precision="fp32", bias=bias)
            values[place] = activated(device, layer, sums, steps)
    return values


def activated(device: AMDGPUDevice, layer: Layer, sums: _native.Array, steps: int) -> _native.Array:
    """Values of a layer from its sums; of a layer with a state these become its potentials."""
    if layer.activation == "identity":
        return sums
    if layer.has_state:
        return with_state(device, layer, sums, steps)
    if layer.activation == "softmax":
        soft: _native.Array = _native.normalize_on_device("softmax", sums, (), (1,), device=device)
        return soft
    if layer.activation == "neuromorphic":
        made = device.native.empty(sums.shape, "float32")
        operands = (of_array(sums), Operand("float32", (), (), None, layer.beta))
        elementwise.compute(device, _NEUROMORPHIC, operands, of_array(made), "float32", alpha=layer.alpha)
        return made
    result: _native.Array = _native.elementwise_on_device(layer.activation, (sums,), alpha=layer.alpha, device=device)
    return result


def outputs_of(
    device: AMDGPUDevice, structure: Structure, values: dict[int, _native.Array], samples: int, steps: int
) -> _native.Array:
    """What the network gives, `(samples, outputs)`: the values of its outputs side by side, of several steps their mean."""
    parts = []
    for place in structure.outputs:
        part = values[place]
        if structure.is_temporal:
            steps_of_units = part.reshape(samples, steps, structure.layers[place].size)
            part = _native.reduce_on_device("mean", steps_of_units, (1,), device=device)
        if structure.is_pooled(place):
            part = _native.normalize_on_device("softmax", part, (), (1,), device=device)
        parts.append(part)
    return side_by_side(device, parts)
