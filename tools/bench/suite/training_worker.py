"""The process of one contender of `./x bench training`: `python training_worker.py ours|torch`, commanded by JSON lines on standard input.

It needs nothing of this project when it is PyTorch's.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 64
RATE = 1e-3


def ours(optimizer: str, x: Any, y: Any) -> Callable[[], Any]:
    """An epoch of `LayeredNetwork.train`."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))
    import amdgpu

    net = amdgpu.Network(
        "layer a(784)\nlayer b(256, activation: relu)\nlayer c(10, activation: softmax)\nconnect a -> b\nconnect b -> c\n"
    )
    return lambda: net.train(x, y, epochs=1, batch_size=BATCH, optimizer=optimizer, learning_rate=RATE)


def torch(optimizer: str, x: Any, y: Any) -> Callable[[], Any]:
    """An epoch as PyTorch's tutorials write it, over tensors."""
    import torch as library

    library.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    net = library.nn.Sequential(library.nn.Linear(784, 256), library.nn.ReLU(), library.nn.Linear(256, 10))
    steps = {"sgd": library.optim.SGD, "adam": library.optim.Adam}[optimizer](net.parameters(), lr=RATE)
    loss = library.nn.CrossEntropyLoss()
    inputs, labels = library.from_numpy(x), library.from_numpy(y)

    def epoch() -> None:
        order = library.randperm(len(inputs))
        for first in range(0, len(inputs), BATCH):
            chosen = order[first : first + BATCH]
            steps.zero_grad()
            loss(net(inputs[chosen]), labels[chosen]).backward()
            steps.step()

    return epoch


def main(contender: str) -> None:
    """Answers commands until the input ends."""
    make = {"ours": ours, "torch": torch}[contender]
    print(json.dumps({"about": contender}), flush=True)
    epoch: Callable[[], Any] = lambda: None  # noqa: E731  (replaced by the first command)
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, Any] = {}
        if command["do"] == "prepare":
            rng = np.random.default_rng(0)
            x = rng.random((BATCH * command["steps"], 784), dtype=np.float32)
            epoch = make(command["optimizer"], x, rng.integers(0, 10, len(x)))
            epoch()
        else:
            start = time.perf_counter()
            epoch()
            answer["seconds"] = time.perf_counter() - start
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
