"""ONNX models of dense layers as layered networks (operators: https://onnx.ai/onnx/operators)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidTypeError, LibraryMissingError, NetworkError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu.network import Network

# Activations without parameters; those with some are in _activation.
PLAIN = {"Relu": "relu", "Sigmoid": "sigmoid", "Tanh": "tanh", "Softplus": "softplus"}
# What leaves the values of a row as they are when a model answers.
PASSED = ("Identity", "Dropout", "Flatten")
LAYERS = ("Gemm", "MatMul", "Add")


@dataclass
class _Layer:
    weight: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32] | None = None
    activation: str | None = None


def from_onnx(model: Any, *, device: int | str | None = None) -> Network:
    """A layered network of an ONNX model whose nodes form one chain of dense layers.

    Gemm, MatMul and Add with constant weights, Relu, LeakyRelu, Elu, Sigmoid, Tanh, Gelu (exact form), Softplus, Softmax (over the
    values of a row), Flatten, Identity and Dropout. Layers are called input, layer1, layer2, ... in the order of the chain.

    Args:
        model: An `onnx.ModelProto`, or the path of one.
        device: As in `Network`.

    Raises:
        NetworkError: A node does not fit; the message names it.
        InvalidTypeError: Neither a model nor a path.
        OSError: The file cannot be read.
        LibraryMissingError: The package `onnx` is not installed.
    """
    from amdgpu.network import Network

    onnx = _load_onnx()
    if isinstance(model, str | os.PathLike):
        path = arguments.path("from_onnx", "model", model)
        path.stat()
        try:
            model = onnx.load(path)
        except Exception as error:  # noqa: BLE001 - protobuf raises whatever a damaged file leads it to
            raise NetworkError(f"{path} is no ONNX model: {error}") from None
    if not isinstance(model, onnx.ModelProto):
        raise InvalidTypeError(
            f"from_onnx: model is {shortened(model)}; an `onnx.ModelProto` or the path of one is expected"
        )
    layers = _chain(onnx, model.graph)
    sizes = [layers[0].weight.shape[0], *(layer.weight.shape[1] for layer in layers)]
    names = ["input", *(f"layer{number + 1}" for number in range(len(layers)))]
    lines = [f"layer input({sizes[0]})"]
    for name, size, layer in zip(names[1:], sizes[1:], layers, strict=True):
        bias = ", bias: none" if layer.bias is None else ""
        lines.append(f"layer {name}({size}, activation: {layer.activation or 'identity'}{bias})")
    lines += [f"connect {one} -> {two}" for one, two in zip(names, names[1:], strict=False)]
    network = Network("\n".join(lines) + "\n", device=device)
    for one, two, layer in zip(names, names[1:], layers, strict=False):
        network.weights[f"{one} -> {two}"] = layer.weight
        if layer.bias is not None:
            network.biases[two] = layer.bias
    return network


def _load_onnx() -> Any:
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError as error:
        raise LibraryMissingError(
            f"ONNX models need the package onnx, which cannot be imported ({error}): pip install onnx"
        ) from None
    return onnx


def _chain(onnx: Any, graph: Any) -> list[_Layer]:
    """Layers from the model's input to its output."""
    constants = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant":
            found = _attributes(onnx, node).get("value")
            if found is not None:
                constants[node.output[0]] = onnx.numpy_helper.to_array(found)
    inputs = [one.name for one in graph.input if one.name not in constants]
    if len(inputs) != 1 or len(graph.output) != 1:
        raise NetworkError(f"the model has {len(inputs)} inputs and {len(graph.output)} outputs; one of each is needed")
    current = inputs[0]
    layers: list[_Layer] = []
    left = [node for node in graph.node if node.op_type != "Constant"]
    while current != graph.output[0].name:
        users = [node for node in left if current in node.input]
        if len(users) != 1:
            readers = ", ".join(_named(node) for node in users) or "none"
            raise NetworkError(
                f"the value {current!r} is read by {len(users)} nodes ({readers}); only a chain is a layered network"
            )
        _take(onnx, users[0], current, constants, layers)
        left.remove(users[0])
        current = users[0].output[0]
    if not layers:
        raise NetworkError("the model has no dense layer (Gemm or MatMul)")
    return layers


def _take(onnx: Any, node: Any, current: str, constants: dict[str, Any], layers: list[_Layer]) -> None:
    """Add what a node computes to the layers."""
    attributes = _attributes(onnx, node)
    if node.op_type in PASSED:
        if node.op_type == "Flatten" and attributes.get("axis", 1) != 1:
            raise NetworkError(f"{_named(node)}: axis is {attributes['axis']}; rows are samples, so it has to be 1")
        return
    if node.op_type not in LAYERS:
        activation = _activation(node, attributes)
        if not layers or layers[-1].activation is not None:
            raise NetworkError(
                f"{_named(node)} follows no dense layer of its own; an activation stands behind Gemm, MatMul or Add"
            )
        layers[-1].activation = activation
        return
    others = [constants.get(name) for name in node.input if name and name != current]
    if not others or any(other is None for other in others):
        raise NetworkError(f"{_named(node)} takes something besides {current!r} that is no constant")
    if node.op_type == "Add":
        _add_bias(node, others[0], layers)
        return
    _add_layer(node, attributes, others, layers, is_left=node.input[0] == current)


def _add_layer(
    node: Any, attributes: dict[str, Any], constants: list[Any], layers: list[_Layer], *, is_left: bool
) -> None:
    if not is_left:
        raise NetworkError(f"{_named(node)}: the values have to stand left of the weights")
    if attributes.get("transA", 0):
        raise NetworkError(f"{_named(node)}: transA turns the samples around")
    weight = _numbers(node, constants[0], 2)
    weight = (weight.T if attributes.get("transB", 0) else weight) * attributes.get("alpha", 1.0)
    if layers and layers[-1].weight.shape[1] != weight.shape[0]:
        raise NetworkError(f"{_named(node)} takes {weight.shape[0]} values, {layers[-1].weight.shape[1]} arrive")
    layers.append(_Layer(weight))
    if len(constants) > 1:
        _add_bias(node, constants[1] * attributes.get("beta", 1.0), layers)


def _add_bias(node: Any, values: Any, layers: list[_Layer]) -> None:
    import numpy as np

    if not layers or layers[-1].activation is not None:
        raise NetworkError(f"{_named(node)} adds to values that no Gemm or MatMul has made")
    size = layers[-1].weight.shape[1]
    flat = _numbers(node, values, None).ravel()
    if flat.size not in (1, size):
        raise NetworkError(f"{_named(node)} adds {flat.size} values to {size}")
    bias = np.broadcast_to(flat, (size,))
    known = layers[-1].bias
    layers[-1].bias = bias.copy() if known is None else known + bias


def _numbers(node: Any, values: Any, dimensions: int | None) -> npt.NDArray[np.float32]:
    import numpy as np

    array = np.asarray(values, dtype=np.float32)
    if (dimensions is not None and array.ndim != dimensions) or not np.isfinite(array).all():
        raise NetworkError(f"{_named(node)}: its constant has the shape {array.shape}, or values that are not finite")
    return array


def _activation(node: Any, attributes: dict[str, Any]) -> str:
    kind = node.op_type
    if kind in PLAIN:
        return PLAIN[kind]
    if kind == "LeakyRelu":
        return f"leaky_relu({attributes.get('alpha', 0.01):.9g})"
    if kind == "Elu":
        return f"elu({attributes.get('alpha', 1.0):.9g})"
    if kind == "Softmax" and attributes.get("axis", -1) in (-1, 1):
        return "softmax"
    if kind == "Gelu" and attributes.get("approximate", b"none") == b"none":
        return "gelu"
    known = ", ".join([*LAYERS, *PLAIN, "LeakyRelu", "Elu", "Softmax (last axis)", "Gelu (exact)", *PASSED])
    raise NetworkError(f"{_named(node)} does not fit into a layered network; known are {known}")


def _attributes(onnx: Any, node: Any) -> dict[str, Any]:
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}


def _named(node: Any) -> str:
    return f"node {node.name or node.output[0]!r} ({node.op_type})"
