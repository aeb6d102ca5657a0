"""Random numbers on an NVIDIA GPU beside PyTorch: run it as a program.

    python tests/gpu/random_vs_torch.py

Prints one JSON object per line: billion numbers a second, ours and PyTorch's, and their ratio. Times are the smallest of five mean times of
launches that queue up behind each other; both sides fill memory that is there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import torch
from operations_vs_torch import best_seconds

COUNT = 1 << 26
SMALL = 1 << 22


def cases(device: str) -> Iterator[tuple[str, int, Callable[[], Any], Callable[[], Any]]]:
    """Name, count, ours, PyTorch's."""
    rng = amdgpu.random.default_rng(1, device=device)
    for dtype, theirs in (("float32", torch.float32), ("float64", torch.float64), ("float16", torch.float16)):
        out, tensor = amdgpu.empty(COUNT, dtype, device=device), torch.empty(COUNT, dtype=theirs, device="cuda")
        yield (
            f"uniform {dtype}",
            COUNT,
            lambda o=out, d=dtype: rng.random(out=o, dtype=d),
            lambda t=tensor: t.uniform_(),
        )
        yield (
            f"normal {dtype}",
            COUNT,
            lambda o=out, d=dtype: rng.standard_normal(out=o, dtype=d),
            lambda t=tensor: t.normal_(),
        )
        yield (
            f"exponential {dtype}",
            COUNT,
            lambda o=out, d=dtype: rng.standard_exponential(out=o, dtype=d),
            lambda t=tensor: t.exponential_(),
        )
        x, y = amdgpu.zeros(COUNT, dtype, device=device), torch.zeros(COUNT, dtype=theirs, device="cuda")
        yield (
            f"dropout {dtype}",
            COUNT,
            lambda x=x, o=out: amdgpu.ops.dropout(x, 0.3, seed=1, out=o),
            lambda y=y: torch.nn.functional.dropout(y, 0.3),
        )
    whole, integers = amdgpu.empty(COUNT, "int64", device=device), torch.empty(COUNT, dtype=torch.int64, device="cuda")
    yield "integers int64", COUNT, lambda: rng.integers(0, 1000, out=whole), lambda: integers.random_(0, 1000)
    mask, tensor = amdgpu.empty(COUNT, "bool", device=device), torch.empty(COUNT, dtype=torch.bool, device="cuda")
    yield "bernoulli", COUNT, lambda: rng.bernoulli(0.3, out=mask), lambda: tensor.bernoulli_(0.3)
    means = torch.full((SMALL,), 4.0, device="cuda")
    counts = amdgpu.empty(SMALL, "int64", device=device)
    yield "poisson", SMALL, lambda: rng.poisson(4.0, out=counts), lambda: torch.poisson(means)
    gamma, values = torch.distributions.Gamma(means / 2, means / 4), amdgpu.empty(SMALL, "float32", device=device)
    yield (
        "gamma float32",
        SMALL,
        lambda: rng.standard_gamma(2.0, out=values, dtype="float32"),
        gamma.sample,
    )
    yield "permutation", SMALL, lambda: rng.permutation(SMALL), lambda: torch.randperm(SMALL, device="cuda")


def main() -> None:
    device = next(info.device for info in amdgpu.list_devices() if info.kind == "cuda")
    for name, count, ours, theirs in cases(device):
        own = best_seconds(ours, lambda: amdgpu.synchronize(device))
        peer = best_seconds(theirs, torch.cuda.synchronize)
        row = {
            "case": name,
            "unit": "G numbers/s",
            "ours": round(count / own / 1e9, 2),
            "torch": round(count / peer / 1e9, 2),
            "ratio": round(peer / own, 3),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
