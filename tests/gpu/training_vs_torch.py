"""Training of layered networks on the first GPU beside PyTorch on the same GPU and this machine's cores: microseconds of a step.

    python tests/gpu/training_vs_torch.py

Prints one line of JSON for each network: the least of five epochs, taken in turns. PyTorch is written as its tutorials write it, with all
samples on the GPU; products take fp32 in both.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import torch

CASES = (((784, 256, 10), 64), ((784, 256, 10), 1024), ((784, 2048, 2048, 10), 1024), ((4096, 4096, 4096, 10), 4096))
STEPS = 30
ROUNDS = 5
RATE = 1e-3


def samples(sizes: tuple[int, ...], batch: int) -> tuple[Any, Any]:
    """Inputs and labels of all steps."""
    rng = np.random.default_rng(0)
    x = rng.random((batch * STEPS, sizes[0]), dtype=np.float32)
    return x, rng.integers(0, sizes[-1], len(x))


def ours(device: Any, optimizer: str, sizes: tuple[int, ...], batch: int, x: Any, y: Any) -> Callable[[], float]:
    """An epoch of `LayeredNetwork.train` on a device; gives the loss."""
    text = "".join(
        f"layer l{number}({size}{', activation: ' + ('softmax' if size == sizes[-1] else 'relu') if number else ''})\n"
        for number, size in enumerate(sizes)
    )
    text += "".join(f"connect l{number} -> l{number + 1}\n" for number in range(len(sizes) - 1))
    net = amdgpu.Network(text, device=device)

    def epoch() -> float:
        return float(net.train(x, y, epochs=1, batch_size=batch, optimizer=optimizer, learning_rate=RATE).loss[-1])

    return epoch


def peer(optimizer: str, sizes: tuple[int, ...], batch: int, x: Any, y: Any) -> Callable[[], float]:
    """An epoch of PyTorch on the GPU; gives the last loss."""
    layers: list[Any] = []
    for before, size in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(before, size), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1]).cuda()
    steps = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimizer](net.parameters(), lr=RATE)
    loss = torch.nn.CrossEntropyLoss()
    inputs, labels = torch.from_numpy(x).cuda(), torch.from_numpy(y).cuda()

    def epoch() -> float:
        order = torch.randperm(len(inputs), device="cuda")
        for first in range(0, len(inputs), batch):
            chosen = order[first : first + batch]
            steps.zero_grad()
            found = loss(net(inputs[chosen]), labels[chosen])
            found.backward()
            steps.step()
        return float(found)

    return epoch


def main() -> None:
    """All of it."""
    gpu = next((info.device for info in amdgpu.list_devices() if info.kind in ("cuda", "hip")), None)
    if gpu is None:
        sys.exit("there is no GPU")
    for sizes, batch in CASES:
        x, y = samples(sizes, batch)
        for optimizer in ("sgd", "adam"):
            ways = {
                "gpu": ours(gpu, optimizer, sizes, batch, x, y),
                "torch": peer(optimizer, sizes, batch, x, y),
                **({"cpu": ours("cpu:0", optimizer, sizes, batch, x, y)} if sizes[0] < 1000 else {}),
            }
            line: dict[str, Any] = {"layers": sizes, "batch": batch, "optimizer": optimizer}
            line["losses"] = {name: round(way(), 4) for name, way in ways.items()}
            times: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(ROUNDS):
                for name, way in ways.items():
                    begin = time.perf_counter()
                    way()
                    times[name].append((time.perf_counter() - begin) / STEPS * 1e6)
            line |= {f"{name}_us": round(min(found), 1) for name, found in times.items()}
            line["ratio"] = round(line["torch_us"] / line["gpu_us"], 3)
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
