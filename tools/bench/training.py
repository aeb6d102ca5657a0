"""Training of an MLP 784-256-10 with batches of 64 on the CPU, against PyTorch: microseconds a step of SGD and Adam.

`--torch PYTHON` names an interpreter that has torch (default: this one); `--threads N,…` is for both. The two take turns in every round,
each in a process of its own; the least of the rounds counts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from frame import Report
from suite.contender import Contender

PEER = "PyTorch on the CPU"
WORKER = Path(__file__).with_name("suite") / "training_worker.py"
ROUNDS = 9
STEPS = 100


def run(report: Report, arguments: list[str]) -> None:
    """Starts both contenders and lets them take turns."""
    parser = argparse.ArgumentParser(prog="./x bench training --", description=__doc__)
    parser.add_argument("--torch", default=sys.executable, metavar="PYTHON", help="an interpreter that has torch")
    parser.add_argument("--threads", default="1,2", metavar="N,…", help="numbers of threads (default: 1,2)")
    options = parser.parse_args(arguments)
    for threads in map(int, options.threads.split(",")):
        ours = Contender.start("ours", "ours", [sys.executable, str(WORKER), "ours"], threads)
        torch = Contender.start("torch", "PyTorch", [options.torch, str(WORKER), "torch"], threads)
        try:
            for optimizer in ("sgd", "adam"):
                least = [float("inf")] * 2
                for contender in (ours, torch):
                    contender.ask(do="prepare", optimizer=optimizer, steps=STEPS)
                for _ in range(ROUNDS):
                    for place, contender in enumerate((ours, torch)):
                        least[place] = min(least[place], contender.seconds(1) / STEPS)
                report.add(f"{optimizer}, {threads} threads", "us/step", least[0] * 1e6, least[1] * 1e6)
        finally:
            ours.end()
            torch.end()
