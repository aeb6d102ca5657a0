"""Graphs of operations, built by hand or from a text: shapes are inferred, operations joined, memory planned, and the whole run as one.

A function of arrays becomes such a graph by itself with `amdgpu.jit`.

    >>> import amdgpu
    >>> graph = amdgpu.graph.Graph()
    >>> x = graph.input((2, 3), "float32", name="x")
    >>> total = graph.add("sum", graph.add("multiply", x, x), axes=[1])
    >>> graph.outputs = [total]
    >>> print(graph)
    %0 = input : float32[2, 3]
    %1 = multiply(%0, %0) : float32[2, 3]
    %2 = sum(%1) {axes = [1]} : float32[2]
    return %2
    >>> run = graph.compile("cpu:0")
    >>> run(amdgpu.array([[1, 2, 3], [4, 5, 6]], dtype="float32"))[0].tolist()
    [14.0, 77.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from amdgpu import _native
from amdgpu.device import AMDGPUDevice, default_device
from amdgpu.errors import InvalidArgumentError


class Node(NamedTuple):
    """A value of a graph: its place in the order of computation, its shape and its dtype."""

    id: int
    shape: tuple[int, ...]
    dtype: str


class Timing(NamedTuple):
    """How long a node took.

    Attributes:
        node: Its place in `Executable.nodes`.
        operation: What it computes; a fused node names its steps.
        seconds: From the call until the device was done.
    """

    node: int
    operation: str
    seconds: float


class Replays(NamedTuple):
    """How runs of a graph were replayed as one graph of its device.

    Attributes:
        replayed: Runs that were replays.
        recordings: Recordings that are kept, one for each set of addresses of arguments and results.
        commands: Launches, copies and fills of one recording.
        held_bytes: Memory beside `Executable.shared_bytes`: of results that are kept to be given again once nobody else holds them, and of
            what operations take for themselves.
        refusal: Why runs are computed step by step; None where they are replayed, or will be.
    """

    replayed: int
    recordings: int
    commands: int
    held_bytes: int
    refusal: str | None


def operations() -> list[str]:
    """Names of the operations that `Graph.add` knows."""
    return _native.graph_operations()


class Graph:
    """Nodes in the order of their computation. Nothing is computed before `compile`."""

    def __init__(self) -> None:
        self._native = _native.Graph()

    @classmethod
    def parse(cls, text: str, constants: Sequence[_native.Array] = ()) -> Graph:
        """The graph of a text as `str(graph)` writes it.

        Args:
            text: A line for each node, and one that names the outputs.
            constants: An array for each constant, in order.

        Raises:
            InvalidArgumentError: The text is no graph; the message names the line.
        """
        graph = cls()
        graph._native = _native.Graph.parse(text, list(constants))
        return graph

    def input(self, shape: Sequence[int], dtype: str = "float32", *, name: str = "") -> Node:
        """Adds an argument.

        Args:
            shape: Its extents.
            dtype: Name of its dtype.
            name: For people.
        """
        return self._node(self._native.input(list(shape), np.dtype(dtype).name if dtype != "bfloat16" else dtype, name))

    def constant(self, array: Any, *, name: str = "") -> Node:
        """Adds an array that is there, which must not change as long as the graph is used.

        Args:
            array: An `amdgpu.Array`, or what `amdgpu.array` makes one of.
            name: For people.
        """
        from amdgpu.array import array as made

        return self._node(self._native.constant(array if isinstance(array, _native.Array) else made(array), name))

    def add(self, operation: str, *inputs: Node | float, **options: Any) -> Node:
        """Adds an operation; shape and dtype of its result follow from its inputs. `result` adds further results, where there are some.

        Args:
            operation: One of `operations()`.
            inputs: Nodes; numbers beside them take their dtype.
            options: Those of the operation of that name in `amdgpu.ops`: `axes`, `keepdims`, `stride`, `activation` and so on.

        Raises:
            InvalidArgumentError: No such operation or option, or another number of inputs.
            ShapeMismatchError: Shapes that do not fit.
            UnsupportedDtypeError: Dtypes that the operation does not take.
        """
        nodes = [one for one in inputs if isinstance(one, Node)]
        if not nodes:
            raise InvalidArgumentError(f"{operation}: at least one input is a node of the graph")
        lent = [one.id if isinstance(one, Node) else (one, nodes[0].dtype) for one in inputs]
        return self._node(self._native.add(operation, lent, options))

    def result(self, operation: Node, index: int) -> Node:
        """Adds another result of an operation that has several; result 0 is the node that `add` gave.

        Args:
            operation: The node of an operation such as `top_k`, whose result 1 are the indices.
            index: The position of the result.

        Raises:
            InvalidArgumentError: The node is no operation, or has no such result.

        Example:
            >>> graph = Graph()
            >>> values = graph.add("top_k", graph.input((2, 5)), k=3)
            >>> graph.result(values, 1)
            Node(id=2, shape=(2, 3), dtype='int64')
        """
        return self._node(self._native.result(operation.id, index))

    def reshape(self, node: Node, shape: Sequence[int]) -> Node:
        """Adds the elements of a node in row-major order under another shape; one extent may be -1."""
        return self._node(self._native.reshape(node.id, list(shape)))

    def permute_dims(self, node: Node, axes: Sequence[int]) -> Node:
        """Adds a node with its axes in another order: axis i of the result is axis `axes[i]` of the node."""
        return self._node(self._native.permute(node.id, list(axes)))

    @property
    def outputs(self) -> list[Node]:
        """The nodes whose values a run gives."""
        return [self._node(one) for one in self._native.outputs]

    @outputs.setter
    def outputs(self, nodes: Sequence[Node]) -> None:
        self._native.outputs = [one.id for one in nodes]

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """One dict per node: `operation`, `name`, `inputs`, `shape`, `dtype`."""
        return self._native.nodes

    def compile(
        self,
        device: str | AMDGPUDevice | None = None,
        *,
        optimize: bool = True,
        replay: bool | None = None,
        name: str = "graph",
    ) -> Executable:
        """The graph for a device: operations joined where that is possible, memory planned.

        Args:
            device: A device or its name; None for the current one.
            optimize: False leaves every operation as it is.
            replay: Whether runs are replayed as one graph of the device, as in `amdgpu.jit`.
            name: What the dashboard calls it.
        """
        opened = device if isinstance(device, AMDGPUDevice) else default_device(device)
        return Executable(self._native.compile(opened.native, optimize=optimize, replay=replay, name=name))

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        return self._native.to_dot()

    def __str__(self) -> str:
        return str(self._native).rstrip("\n")

    def _node(self, number: int) -> Node:
        found = self._native.nodes[number]
        return Node(number, found["shape"], found["dtype"])


class Executable:
    """A graph on a device, with planned memory: call it with arrays of the shapes and dtypes it was made for."""

    def __init__(self, native: _native.ExecutableGraph) -> None:
        self._native = native

    def __call__(self, *arguments: _native.Array) -> list[_native.Array]:
        """The outputs, as new arrays."""
        return self._native.run(list(arguments))

    def profile(self, *arguments: _native.Array) -> tuple[list[_native.Array], list[Timing]]:
        """The outputs, and how long each node took: the device is waited for after each."""
        outputs, timings = self._native.profile(list(arguments))
        names = [_title(node) for node in self._native.nodes]
        return outputs, [Timing(node, names[node], seconds) for node, seconds in timings]

    @property
    def nodes(self) -> list[dict[str, Any]]:
        """One dict per node: `operation`, `name`, `inputs`, `shape`, `dtype`, and `steps` of a fused one."""
        return self._native.nodes

    @property
    def fused_texts(self) -> list[str]:
        """The nodes of joined elementwise steps, each as the text of a graph of its own, which `amdgpu.tuning.fused_of` reads."""
        return self._native.fused_texts

    @property
    def shared_bytes(self) -> int:
        """Bytes of the memory that values within the graph share: its peak, but for arguments, constants and outputs."""
        return self._native.shared_bytes

    @property
    def replays(self) -> Replays:
        """How runs were replayed as one graph of the device, and why they were not."""
        return Replays(*self._native.replays)

    def explain(self) -> str:
        """What runs, what was joined and what was not, how much memory it takes, and whether it is replayed, as text."""
        return self._native.explain()

    def to_dot(self) -> str:
        """The graph in the language of Graphviz."""
        return self._native.to_dot()

    def __str__(self) -> str:
        return str(self._native).rstrip("\n")


def _title(node: dict[str, Any]) -> str:
    return ", ".join(node["steps"]) if "steps" in node else node["operation"]
