"""Graphs of `amdgpu.jit` on an NVIDIA GPU beside PyTorch eager and `torch.compile`: run it as a program.

    python tests/gpu/graphs_vs_torch.py [--dtype float32] [--only BERT] [--no-compile]

ResNet-50 and BERT-base with random weights (the networks of tools/bench/suite/graph_networks_worker.py), float16 unless asked otherwise;
then ten elementwise operations as one graph beside one negation, and a graph of one addition beside the addition. Prints one JSON object
per line. Results are compared before anything is timed; times are the smallest of mean times of calls that queue up behind each other.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import torch
from sort_vs_torch import best_milliseconds

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench" / "suite"))

import graph_networks_worker as worker

DEVICE = "cuda:0"
LENGTHS = (1 << 22, 1 << 26)
# Largest difference of results by the largest value: through 50 layers in the dtype.
TOLERANCES = {"float16": 3e-2, "float32": 2e-2}


def contenders(model: str, batch: int, dtype: str, with_compile: bool) -> dict[str, Callable[[], Any]]:
    """Calls of the network."""
    build = worker.MODELS[model]
    ours, own_arguments = build(worker.ours(DEVICE, dtype), batch)
    theirs, arguments = build(worker.torch("cuda", dtype), batch)
    graph = amdgpu.jit(ours)
    calls: dict[str, Callable[[], Any]] = {
        "graph": lambda: graph(*own_arguments),
        "one_by_one": lambda: ours(*own_arguments),
        "torch_eager": lambda: theirs(*arguments),
    }
    if with_compile:
        compiled = torch.compile(theirs)
        calls["torch_compile"] = lambda: compiled(*arguments)
        replayed = torch.compile(theirs, mode="reduce-overhead")
        calls["torch_compile_graphs"] = lambda: replayed(*arguments)
    return calls


def values(result: Any) -> np.ndarray:
    return (result.numpy() if isinstance(result, amdgpu.Array) else result.float().cpu().numpy()).astype(np.float64)


def network(model: str, batch: int, dtype: str, with_compile: bool, wait: Callable[[], None]) -> dict[str, Any]:
    """Milliseconds of a call, by contender; `first_call_s` is the time until the graph's first result."""
    line: dict[str, Any] = {"case": f"{model} batch {batch} {dtype}"}
    calls = contenders(model, batch, dtype, with_compile)
    begin = time.perf_counter()
    expected = values(calls["graph"]())
    line["first_call_s"] = round(time.perf_counter() - begin, 2)
    for name, call in calls.items():
        try:
            found = values(call())
        except (RuntimeError, TypeError) as error:  # A contender that cannot run is told in its line.
            line[name] = f"{type(error).__name__}: {str(error)[:200]}"
            continue
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        if not difference < TOLERANCES[dtype]:
            line[name] = f"differs by {difference:.2e}"
            continue
        line[name] = round(best_milliseconds(call, wait), 3)
    return line


def steps(x: amdgpu.Array) -> amdgpu.Array:
    """Ten elementwise operations of one array."""
    y = amdgpu.maximum(x * 1.5 + 0.5, 0.0)
    y = (y * y - x) * 0.25
    return (amdgpu.abs(amdgpu.minimum(y, 6.0)) + x) * 0.9


def chain(length: int, dtype: str, wait: Callable[[], None]) -> dict[str, Any]:
    """The chain beside a copy within the device by PyTorch, which reads and writes as many bytes."""
    x = amdgpu.array(np.random.default_rng(0).standard_normal(length).astype(dtype), device=DEVICE)
    joined = amdgpu.jit(steps)
    if joined(x).numpy().tobytes() != steps(x).numpy().tobytes():
        raise SystemExit("the chain as a graph has other bits than its operations one by one")
    source = torch.empty(length, dtype=getattr(torch, dtype), device="cuda")
    target = torch.empty_like(source)
    line: dict[str, Any] = {"case": f"chain of ten, {length:,} {dtype}"}
    line["graph"] = round(best_milliseconds(lambda: joined(x), wait), 4)
    line["one_by_one"] = round(best_milliseconds(lambda: steps(x), wait), 4)
    line["torch_copy"] = round(best_milliseconds(lambda: target.copy_(source), wait), 4)
    line["of_memory_bound"] = round(line["torch_copy"] / line["graph"], 2)
    return line


def call(wait: Callable[[], None]) -> dict[str, Any]:
    """Host microseconds of a graph of one addition and of the addition."""
    x = amdgpu.array(np.arange(8, dtype=np.float32), device=DEVICE)
    added = amdgpu.jit(lambda x: x + x)
    added(x)
    found = {
        name: round(1e3 * best_milliseconds(run, wait), 2)
        for name, run in (("graph", lambda: added(x)), ("addition", lambda: x + x))
    }
    return {"case": "call of a graph of one addition, us", **found}


def main() -> None:
    """Prints a line per case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="float16", choices=sorted(TOLERANCES))
    parser.add_argument("--only", default="", help="part of the names of cases")
    parser.add_argument(
        "--no-compile", action="store_true", help="without torch.compile, which takes a minute a network"
    )
    options = parser.parse_args()
    with amdgpu.initialize_device(DEVICE) as device:

        def wait() -> None:
            device.synchronize()
            torch.cuda.synchronize()

        for model in worker.MODELS:
            for batch in (1, 16):
                if options.only in f"{model} batch {batch}":
                    print(json.dumps(network(model, batch, options.dtype, not options.no_compile, wait)), flush=True)
        if options.only in "chain":
            for length in LENGTHS:
                print(json.dumps(chain(length, options.dtype, wait)), flush=True)
        if options.only in "call":
            print(json.dumps(call(wait)), flush=True)


if __name__ == "__main__":
    main()
