"""Graphs of `amdgpu.jit` on the CPU: networks beside PyTorch, a chain of elementwise operations, and what a call costs.

ResNet-50 and BERT-base in float32, random weights, beside our operations one by one, PyTorch eager and `torch.compile`; ten elementwise
operations of one array beside one negation, which reads and writes as much; a graph of one addition beside the addition.

`--python PATH` names an interpreter that has torch; without it an environment is made under .x/bench. `--only BERT` takes the rows whose
name holds the text, `--batch 1` one of the two batches. Each contender has a process of its own; they take turns, the least of the rounds
counts, and results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import amdgpu
import numpy as np
from frame import Report, in_turns
from suite import torch_peer
from suite.contender import Contender

PEER = "PyTorch on the CPU, and what each row names"
WORKER = Path(__file__).with_name("suite") / "graph_networks_worker.py"
MODELS = ("ResNet-50", "BERT-base")
ROUNDS = 3
# Largest difference of results, by the largest value: sums of some thousand float32 products, through 50 layers.
TOLERANCE = 1e-4
# Elements of the chain: arrays that the last cache holds, and such that it does not.
LENGTHS = (4_000_000, 64_000_000)


def run(report: Report, arguments: list[str]) -> None:
    """Networks, then the chain, then an empty graph."""
    parser = argparse.ArgumentParser(prog="./x bench graph_networks --", description=__doc__)
    parser.add_argument("--python", default="", help="an interpreter with torch and numpy")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds the text")
    parser.add_argument("--batch", default="1,16", metavar="N,…", help="images and texts at once (default: 1,16)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of both (default: all)")
    options = parser.parse_args(arguments)
    models = [model for model in MODELS if options.only in model]
    if models:
        python = options.python or str(torch_peer.torch_python())
        for batch in map(int, options.batch.split(",")):
            for model in models:
                compare(report, model, batch, python, options.threads)
    if options.only in "chain":
        for length in LENGTHS:
            chain(report, length)
    if options.only in "call":
        call(report)


def compare(report: Report, model: str, batch: int, python: str, threads: int) -> None:
    """One network of all contenders: ours as a graph beside the three others."""
    interpreters = {"jit": sys.executable, "eager": sys.executable, "torch": python, "compile": python}
    titles = {"eager": "our operations one by one", "torch": "PyTorch eager", "compile": "torch.compile"}
    contenders = [
        Contender.start(name, name, [interpreter, str(WORKER), name], threads)
        for name, interpreter in interpreters.items()
    ]
    try:
        with tempfile.TemporaryDirectory() as folder:
            results = []
            for contender in contenders:
                path = Path(folder) / f"{contender.name}.npy"
                contender.ask(do="prepare", model=model, batch=batch, result=str(path))
                results.append(np.load(path))
        for contender, result in zip(contenders, results, strict=True):
            difference = np.abs(result - results[0]).max() / np.abs(results[0]).max()
            if not difference < TOLERANCE:
                raise SystemExit(f"{model}: results of {contender.name} and of our graph differ by {difference:.2e}")
        least = {contender.name: float("inf") for contender in contenders}
        for _ in range(ROUNDS):
            for contender in contenders:
                least[contender.name] = min(least[contender.name], contender.seconds(5 if batch == 1 else 2))
    finally:
        for contender in contenders:
            contender.end()
    for name, title in titles.items():
        report.add(f"{model}, batch {batch}: {title}", "ms", least["jit"] * 1e3, least[name] * 1e3)


def steps(x: amdgpu.Array) -> amdgpu.Array:
    """Ten elementwise operations of one array."""
    y = amdgpu.maximum(x * 1.5 + 0.5, 0.0)
    y = (y * y - x) * 0.25
    return (amdgpu.abs(amdgpu.minimum(y, 6.0)) + x) * 0.9


def chain(report: Report, length: int) -> None:
    """The chain beside a negation, which reads and writes as many bytes."""
    x = amdgpu.array(np.random.default_rng(0).standard_normal(length, dtype=np.float32), device="cpu:0")
    joined = amdgpu.jit(steps)
    if joined(x).numpy().tobytes() != steps(x).numpy().tobytes():
        raise SystemExit("the chain as a graph has other bits than its operations one by one")
    seconds = in_turns([lambda: joined(x), lambda: -x], rounds=9, round_seconds=0.05)
    report.add(f"chain of ten, {length:,} numbers: one negation", "ms", *(1e3 * min(one) for one in seconds))


def call(report: Report) -> None:
    """A graph of one addition of few numbers beside the addition itself: the difference is what a graph costs."""
    x = amdgpu.array(np.arange(8, dtype=np.float32), device="cpu:0")
    added = amdgpu.jit(lambda x: x + x)
    seconds = in_turns([lambda: added(x), lambda: x + x])
    report.add("call of a graph of one addition of 8 numbers: the addition", "us", *(1e6 * min(one) for one in seconds))
