"""`torch.compile(backend="amdgpu")`: graphs of torch run as graphs of amdgpu.

torch traces the program and its gradients into graphs of ATen operators (AOTAutograd). Parts of them whose operators all have a function
in `graph_operators` become one traced function of `amdgpu.jit` each, so that elementwise chains are joined, products and convolutions take
up what follows them, and a GPU replays the whole as one graph of the device. Everything else runs operator by operator, as without
torch.compile.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from amdgpu._native import Array
from amdgpu.torch import graph_operators
from amdgpu.torch.exchange import as_array, as_tensor
from amdgpu.traced_function import jit

# Operators that were said to run one by one.
told: set[str] = set()


class _Support(OperatorSupportBase):  # type: ignore[misc]  # types are checked without torch
    """Which nodes can be part of a graph of ours."""

    def is_node_supported(self, submodules: Any, node: fx.Node) -> bool:
        """Whether it is computed by amdgpu.ops, on rdna, in dtypes and with shapes that are known."""
        del submodules
        if node.op != "call_function":
            return False
        if node.target is operator.getitem:
            source = node.args[0]
            return isinstance(source, fx.Node) and self.is_node_supported({}, source)
        return graph_operators.takes(node) and all(map(_is_plain, (node, *node.all_input_nodes)))


def _is_plain(node: fx.Node) -> bool:
    value = node.meta.get("val")
    tensors = value if isinstance(value, tuple | list) else (value,)
    return all(
        isinstance(one, torch.Tensor)
        and one.device.type == "rdna"
        and one.dtype in graph_operators.DTYPES
        and all(isinstance(extent, int) for extent in one.shape)
        for one in tensors
    )


class Part(torch.nn.Module):  # type: ignore[misc]  # types are checked without torch
    """A part of a graph of torch that runs as one graph of amdgpu."""

    def __init__(self, module: fx.GraphModule) -> None:
        super().__init__()
        self._nodes = list(module.graph.nodes)
        (output,) = self._nodes[-1].args
        self._is_single = isinstance(output, fx.Node)
        self._outputs: list[Any] = [output] if isinstance(output, fx.Node) else list(output)
        self.traced = jit(self._compute)

    def forward(self, *tensors: torch.Tensor) -> Any:
        """The results of the part, with the strides that torch expects of them."""
        arrays = self.traced(*(as_array(tensor.detach()) for tensor in tensors))
        results = [
            _with_strides(as_tensor(array, tensors[0].device), node.meta["val"])
            for array, node in zip(arrays, self._outputs, strict=True)
        ]
        return results[0] if self._is_single else tuple(results)

    def _compute(self, *arrays: Array) -> tuple[Array, ...]:
        values: dict[fx.Node, Any] = {}
        given = iter(arrays)
        for node in self._nodes:
            if node.op == "placeholder":
                values[node] = next(given)
            elif node.op == "call_function":
                args, keywords = (fx.map_arg(one, values.__getitem__) for one in (node.args, node.kwargs))
                if node.target is operator.getitem:
                    values[node] = args[0][args[1]]
                    continue
                found = graph_operators.TABLE[node.target](_dtype(node), *args, **keywords)
                values[node] = found if isinstance(found, tuple) else graph_operators.as_dtype(found, _dtype(node))
        return tuple(values[node] for node in self._outputs)


def _dtype(node: fx.Node) -> torch.dtype:
    value = node.meta["val"]
    dtype: torch.dtype = (value[0] if isinstance(value, tuple | list) else value).dtype
    return dtype


def _with_strides(tensor: torch.Tensor, expected: torch.Tensor) -> torch.Tensor:
    shape, strides = expected.shape, expected.stride()
    if tensor.stride() == strides:
        return tensor
    # Where a stride is 0, all elements along the axis are one.
    once = [1 if stride == 0 else extent for extent, stride in zip(shape, strides, strict=True)]
    made = torch.empty_strided(once, strides, dtype=expected.dtype, device=tensor.device)
    made.copy_(tensor[tuple(slice(extent) for extent in once)])
    return made.expand(shape)


def compile_parts(module: fx.GraphModule) -> fx.GraphModule:
    """The graph with the parts that amdgpu computes replaced by graphs of ours.

    Args:
        module: Of ATen operators without writes in place, whose nodes know shapes and dtypes.

    Returns:
        A module that gives the same results.
    """
    partitioner = CapabilityBasedPartitioner(module, _Support(), allows_single_node_partition=False)
    fused = partitioner.partition_and_fuse()
    for name, part in list(fused.named_children()):
        if name.startswith("fused_") and isinstance(part, fx.GraphModule):
            setattr(fused, name, Part(part))
    _tell(fused)
    fused.recompile()
    return fused


def _tell(module: fx.GraphModule) -> None:
    """Says once of each operator that it stays outside of graphs."""
    outside = {
        str(node.target)
        for node in module.graph.nodes
        if node.op == "call_function"
        and node.target is not operator.getitem
        and node.target not in graph_operators.TABLE
    }
    if unknown := sorted(outside - told):
        told.update(unknown)
        names = ", ".join(unknown)
        warnings.warn(f"operators that run one by one beside graphs of amdgpu: {names}", UserWarning, stacklevel=2)


def _compile(module: fx.GraphModule, examples: Sequence[Any]) -> Callable[..., Any]:
    del examples
    return make_boxed_func(compile_parts(module))  # type: ignore[no-any-return]


def amdgpu_backend(module: fx.GraphModule, examples: Sequence[Any], **options: Any) -> Callable[..., Any]:
    """The backend: `torch.compile(model, backend="amdgpu")`, or this function itself where amdgpu is no installed package.

    Args:
        module: What torch traced.
        examples: Its arguments.
        options: Not used.

    Returns:
        The compiled function.
    """
    del options
    compiled = aot_autograd(fw_compiler=_compile, bw_compiler=_compile, decompositions=_decompositions())
    return compiled(module, examples)  # type: ignore[no-any-return]


def _decompositions() -> dict[Any, Any]:
    """Everything that torch can write by core operators, but for what is one operation here."""
    known = core_aten_decompositions()
    kept = graph_operators.TABLE.keys()
    return {overload: function for overload, function in known.items() if overload not in kept}
