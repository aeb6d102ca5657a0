"""Sorts, top-k, prefix sums, different values, gathers and segments beside PyTorch, on an NVIDIA GPU: run it as a program.

    python tests/gpu/sort_vs_torch.py [WORD ...]

Words choose the cases that have one of them in their name. Prints one JSON object per line: milliseconds of ours and of PyTorch, and how
many times faster ours is. Ours are copies of the arrays, since launches on memory that another library may look at are waited for. Results
are compared before they are timed. Times are the smallest of mean times of calls that queue up behind each other.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import numpy as np
import torch
from amdgpu import ops

ROUNDS = 5
ROUND_SECONDS = 0.1
ROWS, WIDTH, LOOKED_UP = 50_000, 64, 200_000

Both = tuple[str, Callable[[], Any], Callable[[], Any]]


def best_milliseconds(run: Callable[[], Any], wait: Callable[[], None]) -> float:
    """The smallest mean time of a call."""

    def mean(count: int) -> float:
        wait()
        begin = time.perf_counter()
        for _ in range(count):
            run()
        wait()
        return (time.perf_counter() - begin) / count

    first = min(mean(2) for _ in range(2))
    count = max(3, min(300, int(ROUND_SECONDS / first)))
    return min(mean(count) for _ in range(ROUNDS)) * 1e3


def lines() -> Iterator[Both]:
    """Sorts, top-k and prefix sums."""
    for dtype in (torch.float32, torch.int32, torch.int64, torch.float16):
        for shape in ((10_000,), (1_000_000,), (10_000_000,), (4096, 1024)):
            x = (
                torch.randn(shape, device="cuda")
                if dtype.is_floating_point
                else torch.randint(-(2**31), 2**31, shape, device="cuda")
            )
            x = x.to(dtype)
            own = amdgpu.from_dlpack(x).copy()
            name = f"{str(dtype).removeprefix('torch.')} {'x'.join(map(str, shape))}"
            yield f"sort {name}", lambda a=own: ops.sort(a), lambda a=x: torch.sort(a)[0]
            yield f"argsort {name}", lambda a=own: ops.argsort(a), lambda a=x: torch.sort(a, stable=True)[1]
            if dtype != torch.float16:
                # PyTorch carries sums of float16 in float16: the results have nothing in common after some thousand numbers.
                yield f"cumsum {name}", lambda a=own: ops.cumsum(a, -1), lambda a=x: torch.cumsum(a, -1)
            for k in (10, 100, 1000):
                yield f"top {k} {name}", lambda a=own, k=k: ops.top_k(a, k)[0], lambda a=x, k=k: torch.topk(a, k)[0]


def by_index() -> Iterator[Both]:
    """Different values, gathers and segments."""
    for count in (1000, 1_000_000):
        x = torch.randint(0, count, (10_000_000,), device="cuda", dtype=torch.int32)
        own = amdgpu.from_dlpack(x).copy()
        yield f"unique of {count} int32 10000000", lambda a=own: amdgpu.unique_values(a), lambda a=x: torch.unique(a)
    table = torch.randn(ROWS, WIDTH, device="cuda")
    indices = torch.randint(0, ROWS, (LOOKED_UP,), device="cuda")
    gradient = torch.randn(LOOKED_UP, WIDTH, device="cuda")
    own_table, own_indices, own_gradient = (amdgpu.from_dlpack(x).copy() for x in (table, indices, gradient))
    flat, own_flat = gradient.reshape(-1), own_gradient.reshape(-1)
    mask, own_mask = flat > 0, ops.greater(own_flat, 0)
    yield (
        "index_select",
        lambda: ops.index_select(own_table, 0, own_indices),
        lambda: torch.index_select(table, 0, indices),
    )
    yield "masked_select", lambda: own_flat[own_mask], lambda: flat[mask]
    yield (
        "index_add",
        lambda: ops.index_add(own_table, 0, own_indices, own_gradient),
        lambda: torch.index_add(table, 0, indices, gradient),
    )
    yield (
        "embedding_gradient",
        lambda: ops.embedding_gradient(own_gradient, own_indices, ROWS),
        lambda: torch.ops.aten.embedding_dense_backward(gradient, indices, ROWS, -1, False),
    )
    zeros = torch.zeros(ROWS, device="cuda")
    own_zeros, column = amdgpu.from_dlpack(zeros).copy(), gradient[:, 0].contiguous()
    own_column = amdgpu.from_dlpack(column).copy()
    yield (
        "scatter_reduce amax",
        lambda: ops.scatter_reduce(own_zeros, 0, own_indices, own_column, "amax"),
        lambda: zeros.scatter_reduce(0, indices, column, "amax"),
    )


def main() -> None:
    device = amdgpu.initialize_device("cuda:0")

    def wait() -> None:
        device.synchronize()
        torch.cuda.synchronize()

    for cases in (lines(), by_index()):
        for name, ours, peer in cases:
            if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
                continue
            found, expected = ours().numpy(), peer().cpu().numpy()
            np.testing.assert_allclose(
                found.astype(np.float64), expected.astype(np.float64), rtol=2e-2, atol=2e-2, err_msg=name
            )
            times = best_milliseconds(ours, wait), best_milliseconds(peer, wait)
            row = {
                "case": name,
                "ours_ms": round(times[0], 4),
                "torch_ms": round(times[1], 4),
                "ratio": round(times[1] / times[0], 2),
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
