"""Timing of operations."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from typing import Any

from amdgpu import arguments
from amdgpu._native import Array
from amdgpu.errors import InvalidArgumentError, InvalidTypeError

WARM_UP_ITERATIONS = 3
# A duration of zero means that the clock did not move.
TIMER_RESOLUTION_SECONDS = 1e-9
OPERATIONS = {
    "matrix_multiply": "amdgpu.ops.matmul",
    "neural_network_forward": "amdgpu.network",
    "allocate_memory": "amdgpu.memory",
    "activation": "amdgpu.math",
    "softmax": "amdgpu.math",
}


def benchmark_operation(
    operation: str | Callable[..., Any], *args: Any, iterations: int = 100, **options: Any
) -> dict[str, Any]:
    """Run an operation many times and say how long it took.

    Args:
        operation: Any callable, or one of the names in `OPERATIONS`, for example `matrix_multiply`.
        args: Its arguments.
        iterations: How often it is timed, after three runs to warm up.
        options: Its keyword arguments.

    Returns:
        `operation`, `iterations`, and in seconds `mean_seconds`, `median_seconds`, `min_seconds`, `p95_seconds`, `max_seconds`; for
        `matrix_multiply` also `flops_per_second`: 2 k for each value of the result, over the median.

    Raises:
        InvalidArgumentError: No function of that name, fewer than one iteration, or other arguments than the named operation takes.
        InvalidTypeError: `iterations` is no integer, or `operation` neither a function nor a name.

    Example:
        >>> import amdgpu
        >>> amdgpu.benchmark_operation(sum, [1, 2, 3], iterations=5)["iterations"]
        5
    """
    iterations = arguments.integer("benchmark_operation", "iterations", iterations)
    if iterations < 1:
        raise InvalidArgumentError(f"iterations must be at least 1, got {iterations}")
    function, name = _find(operation)
    if not callable(operation):
        _check_call(function, name, args, options)
    for _ in range(WARM_UP_ITERATIONS):
        _wait(function(*args, **options))
    seconds = []
    for _ in range(iterations):
        start = time.perf_counter_ns()
        _wait(function(*args, **options))
        seconds.append((time.perf_counter_ns() - start) / 1e9)
    seconds.sort()
    result: dict[str, Any] = {
        "operation": name,
        "iterations": iterations,
        "mean_seconds": sum(seconds) / iterations,
        "median_seconds": seconds[iterations // 2],
        "min_seconds": seconds[0],
        "p95_seconds": seconds[min(iterations - 1, int(iterations * 0.95))],
        "max_seconds": seconds[-1],
    }
    if name == "matrix_multiply":
        median_seconds = max(result["median_seconds"], TIMER_RESOLUTION_SECONDS)
        result["flops_per_second"] = _flops_of_product(function, args, options) / median_seconds
    return result


def _check_call(function: Callable[..., Any], name: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Refuse a call that the operation's signature does not allow, before it is timed."""
    try:
        inspect.signature(function).bind(*args, **options)
    except TypeError as error:
        raise InvalidArgumentError(
            f"{name} cannot be called with these arguments: {error}; "
            f"its signature is {name}{inspect.signature(function)}"
        ) from None


def _flops_of_product(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> int:
    """Multiplications and additions of `matrix_multiply`, of stacks, vectors and transposed operands too."""
    given = inspect.signature(function).bind(*args, **options).arguments
    a, b = _shape(given["a"]), _shape(given["b"])
    if given.get("transpose_a") and len(a) > 1:
        a = (*a[:-2], a[-1], a[-2])
    if given.get("transpose_b") and len(b) > 1:
        b = (*b[:-2], b[-1], b[-2])
    rows = a[-2] if len(a) > 1 else 1
    columns = b[-1] if len(b) > 1 else 1
    import numpy as np

    return 2 * rows * columns * a[-1] * math.prod(np.broadcast_shapes(a[:-2], b[:-2]))


def _shape(x: Any) -> tuple[int, ...]:
    import numpy as np

    return tuple(x.shape) if hasattr(x, "shape") else np.shape(x)


def _wait(result: Any) -> None:
    """Operations on arrays of a GPU return before they are done."""
    for one in result if isinstance(result, tuple) else (result,):
        if isinstance(one, Array):
            one.wait()


def _find(operation: str | Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    if not callable(operation) and not isinstance(operation, str):
        raise InvalidTypeError(f"operation must be a function or a name, got {operation!r}")
    if callable(operation):
        return operation, getattr(operation, "__name__", repr(operation))
    module = OPERATIONS.get(operation)
    if module is None:
        raise InvalidArgumentError(
            f"no operation is called {operation!r}; pass a function, or one of {', '.join(OPERATIONS)}"
        )
    from importlib import import_module

    return getattr(import_module(module), operation), operation
