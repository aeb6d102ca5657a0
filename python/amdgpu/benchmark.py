"""Timing of operations."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from amdgpu._native import Array
from amdgpu.errors import InvalidArgumentError

WARM_UP_ITERATIONS = 3
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
        `matrix_multiply` also `flops_per_second` (2 m n k over the median).

    Raises:
        InvalidArgumentError: No function of that name, or fewer than one iteration.

    Example:
        >>> import amdgpu
        >>> amdgpu.benchmark_operation(sum, [1, 2, 3], iterations=5)["iterations"]
        5
    """
    if iterations < 1:
        raise InvalidArgumentError(f"iterations is {iterations}; it must be at least 1")
    function, name = _find(operation)
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
    if name == "matrix_multiply" and len(args) >= 2:
        import numpy as np

        (m, k), (_, n) = np.shape(args[0]), np.shape(args[1])
        result["flops_per_second"] = 2 * m * n * k / result["median_seconds"]
    return result


def _wait(result: Any) -> None:
    """Operations on arrays of a GPU return before they are done."""
    for one in result if isinstance(result, tuple) else (result,):
        if isinstance(one, Array):
            one.wait()


def _find(operation: str | Callable[..., Any]) -> tuple[Callable[..., Any], str]:
    if callable(operation):
        return operation, getattr(operation, "__name__", repr(operation))
    module = OPERATIONS.get(operation)
    if module is None:
        raise InvalidArgumentError(
            f"no operation is called {operation!r}; pass a function, or one of {', '.join(OPERATIONS)}"
        )
    from importlib import import_module

    return getattr(import_module(module), operation), operation
