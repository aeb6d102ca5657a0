"""Products and networks of remote callers: `matrix:multiply` and `network:…`.

No code of the client's runs, so no permission is needed.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from typing import Any

import numpy as np

from amdgpu import Network, matrix_multiply
from amdgpu.errors import InvalidArgumentError, InvalidHandleError, LimitExceededError
from amdgpu.server import arrays
from amdgpu.server.execution import Request
from amdgpu.server.settings import Limits
from amdgpu.server.workers import Workers

# Widths of layers; together with `Limits.call_bytes` this bounds what a network may take.
MAX_LAYERS = 64


class MultiplyRequest(Request):
    """`matrix:multiply`."""

    a: Any
    b: Any
    device_id: int | str = 0
    precision: str | None = None
    bias: Any = None
    activation: str | None = None


class CreateRequest(Request):
    """`network:create`."""

    architecture: list[int]
    activation: str = "relu"
    output_activation: str | None = None
    seed: int | None = None
    device_id: int | str = 0
    weights: list[Any] | None = None
    biases: list[Any] | None = None


class ForwardRequest(Request):
    """`network:forward`."""

    network_handle: str
    input: Any


class CloseRequest(Request):
    """`network:close`."""

    network_handle: str


class Operations:
    """What `gpu:api` multiplies and steps."""

    def __init__(self, limits: Limits, workers: Workers) -> None:
        self._limits = limits
        self._workers = workers
        self._networks: OrderedDict[str, tuple[Network, threading.Lock]] = OrderedDict()
        self._sizes: dict[str, int] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    async def multiply(self, request: MultiplyRequest) -> dict[str, Any]:
        """The product of two matrices."""
        return await self._workers.run(lambda: self._multiply(request), self._limits.execution_seconds, "multiplying")

    async def create(self, request: CreateRequest) -> dict[str, Any]:
        """Make a network and keep it."""
        return await self._workers.run(
            lambda: self._create(request), self._limits.compile_seconds, "making the network"
        )

    async def forward(self, request: ForwardRequest) -> dict[str, Any]:
        """Run a network forward."""
        return await self._workers.run(
            lambda: self._forward(request), self._limits.execution_seconds, "running the network"
        )

    async def drop(self, request: CloseRequest) -> dict[str, Any]:
        """Forget a network."""
        with self._lock:
            if self._networks.pop(request.network_handle, None) is None:
                raise _unknown(request.network_handle)
            del self._sizes[request.network_handle]
        return {}

    def close(self) -> None:
        """Forget all networks."""
        with self._lock:
            self._networks.clear()
            self._sizes.clear()

    def _multiply(self, request: MultiplyRequest) -> dict[str, Any]:
        a, b = _operand(request.a, "a"), _operand(request.b, "b")
        bias = None if request.bias is None else _operand(request.bias, "bias")
        self._check_product(a, b)
        started = time.perf_counter()
        output = matrix_multiply(a, b, request.device_id, request.precision, bias=bias, activation=request.activation)
        return {"output": output, "executionTimeSeconds": time.perf_counter() - started}

    def _check_product(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> None:
        """Thin operands can have a product as large as one likes."""
        rows = a.shape[-2] if a.ndim > 1 else 1
        columns = b.shape[-1] if b.ndim > 1 else 1
        stack = max((np.prod(x.shape[:-2], dtype=object) if x.ndim > 2 else 1) for x in (a, b))
        if int(rows) * int(columns) * int(stack) * 8 > self._limits.call_bytes:
            raise LimitExceededError(
                f"the product of {a.shape} and {b.shape} is larger than the {self._limits.call_bytes} bytes of one call"
            )

    def _create(self, request: CreateRequest) -> dict[str, Any]:
        widths = request.architecture
        if not 2 <= len(widths) <= MAX_LAYERS or min(widths) < 1:
            raise InvalidArgumentError(f"architecture must be 2 to {MAX_LAYERS} widths of at least 1, got {widths[:8]}")
        parameters = sum(first * second + second for first, second in itertools.pairwise(widths))
        if parameters * 4 > self._limits.call_bytes:
            raise LimitExceededError(
                f"the network has {parameters} parameters; {self._limits.call_bytes // 4} are the most"
            )
        config: dict[str, Any] = {"architecture": widths, "activation": request.activation}
        if request.output_activation is not None:
            config["output_activation"] = request.output_activation
        if request.seed is not None:
            config["seed"] = request.seed
        network = Network(config, device=request.device_id)
        _fill(network.weights, request.weights, "weights")
        _fill(network.biases, request.biases, "biases")
        with self._lock:
            handle = f"network:{next(self._numbers)}"
            self._networks[handle] = (network, threading.Lock())
            self._sizes[handle] = parameters * 4
            self._make_room()
        return {"networkHandle": handle, "parameterCount": parameters}

    def _make_room(self) -> None:
        """Forget networks until the others keep the limits; the newest stays."""
        limits = self._limits
        while len(self._networks) > 1 and (
            len(self._networks) > limits.kernels or sum(self._sizes.values()) > limits.network_bytes
        ):
            oldest, _ = self._networks.popitem(last=False)
            del self._sizes[oldest]

    def _forward(self, request: ForwardRequest) -> dict[str, Any]:
        with self._lock:
            entry = self._networks.get(request.network_handle)
            if entry is None:
                raise _unknown(request.network_handle)
            self._networks.move_to_end(request.network_handle)
        network, turn = entry
        with turn:
            return {"output": network.forward(_operand(request.input, "input", np.float32))}


def _fill(target: Any, values: list[Any] | None, what: str) -> None:
    """Take the client's weights or biases, in the order of the layers."""
    if values is None:
        return
    names = list(target)
    if len(values) != len(names):
        raise InvalidArgumentError(f"{what} has {len(values)} arrays; the network has {len(names)}: {', '.join(names)}")
    for name, value in zip(names, values, strict=True):
        target[name] = _operand(value, f"{what} of {name}", np.float32)


def _operand(value: Any, what: str, dtype: Any = None) -> np.ndarray[Any, Any]:
    if isinstance(value, dict) and "$base64" in value:
        return arrays.from_text(value, what)
    if isinstance(value, np.ndarray):
        return value if dtype is None else value.astype(dtype, copy=False)
    if isinstance(value, list):
        try:
            return np.array(value, dtype=dtype or np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidArgumentError(f"{what} is no array of numbers: {error}") from None
    raise InvalidArgumentError(f"{what} must be an array, got {type(value).__name__}")


def _unknown(handle: str) -> InvalidHandleError:
    return InvalidHandleError(f"network {handle!r} is not known here; create it again")
