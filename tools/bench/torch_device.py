"""The PyTorch device `rdna` over the CPU device beside torch's own CPU: calls of operators, and training steps of networks.

ResNet-50 (224 x 224 images) and BERT-base (128 words) of examples/pytorch with AdamW in float32; both devices have processes
of their own, which take turns, and the least of the rounds counts. Losses are compared before anything is timed. An operator
that has no kernel is an error.

`--python PATH` names an interpreter that has torch; without it that of `./x test torch` is taken. `--only TEXT` takes the
rows whose name holds the text, `--batch N` so many images and texts at once.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path

from frame import Report
from suite.contender import Contender
from suite.peers import Absent
from x import torch_suite

PEER = "torch's CPU device, in eager mode"
WORKER = Path(__file__).with_name("suite") / "torch_device_worker.py"
MODELS = ("ResNet-50", "BERT-base")
ROUNDS = 5
# Of losses: sums of some thousand float32 products in another order, after one step of an optimizer that divides by small gradients.
TOLERANCE = 1e-2


def run(report: Report, arguments: list[str]) -> None:
    """Operators, then networks."""
    parser = argparse.ArgumentParser(prog="./x bench torch_device --", description=__doc__)
    parser.add_argument("--python", default="", help="an interpreter with torch")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name holds the text")
    parser.add_argument("--batch", type=int, default=4, metavar="N", help="images and texts at once (default: 4)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="of both (default: all)")
    options = parser.parse_args(arguments)
    python = options.python or str(torch_suite.ENVIRONMENT / "bin" / "python")
    if not Path(python).exists():
        raise Absent(f"{python} is not there; ./x test torch makes it, --python names another Python with torch")
    os.environ.update(torch_suite.environment(None, poison=False))
    # Compiled once for each version of torch.
    subprocess.run(torch_suite.build_command(python), check=True)
    operators(report, python, options.only)
    for model in MODELS:
        if options.only in model:
            train(report, model, options.batch, python, options.threads)


def worker(python: str, name: str, threads: int) -> Contender:
    """A process that measures."""
    return Contender.start(name, name, [python, str(WORKER)], threads)


def operators(report: Report, python: str, only: str) -> None:
    """Each operator of few numbers on both devices, in one process with one thread."""
    measured = worker(python, "operators", 1)
    try:
        for text in measured.ask(do="operators")["texts"]:
            if only in text:
                seconds = measured.ask(do="operator", text=text)
                report.add(text, "us", seconds["ours"] * 1e6, seconds["peer"] * 1e6)
    finally:
        measured.end()


def train(report: Report, model: str, batch: int, python: str, threads: int) -> None:
    """Steps of one network on both devices."""
    contenders = {device: worker(python, device, threads) for device in ("rdna", "cpu")}
    try:
        losses = [
            contender.ask(do="prepare", model=model, batch=batch, device=device)["losses"]
            for device, contender in contenders.items()
        ]
        if not all(abs(one - other) <= TOLERANCE * max(1.0, abs(other)) for one, other in zip(*losses, strict=True)):
            raise SystemExit(f"{model}: losses differ: {losses[0]} on rdna, {losses[1]} on the CPU")
        least = dict.fromkeys(contenders, float("inf"))
        for _ in range(ROUNDS):
            for device, contender in contenders.items():
                least[device] = min(least[device], contender.ask(do="time", count=1)["seconds"])
    finally:
        for contender in contenders.values():
            contender.end()
    report.add(f"{model}, training step of {batch}", "ms", least["rdna"] * 1e3, least["cpu"] * 1e3)
