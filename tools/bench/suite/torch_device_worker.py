"""Measures the PyTorch device rdna beside torch's CPU: `python torch_device_worker.py`, commanded by JSON lines.

Operators of both alternate in this process; a training step is that of the device which the process was told.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amdgpu.torch  # noqa: F401 - makes the device rdna
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "pytorch"))

ROUNDS, CALLS = 300, 200
# Calls of few numbers: what is measured is the way to the kernel and back.
OPERATORS = (
    "torch.empty(4, device=d)", "a + b", "a.add_(b)", "torch.add(a, b, out=c)", "a * b", "a * 2.0", "a / b", "a.exp()", "torch.relu(a)",
    "torch.sigmoid(a)", "m @ m", "torch.addmm(a, m, m)", "m.sum(1)", "m.mean()", "torch.softmax(m, -1)", "f.layer_norm(m, (4,), a, b)",
    "f.linear(m, m, a)", "a.clone()", "a.zero_()", "m.t().contiguous()", "a < b", "torch.where(t, a, b)", "torch.cat([a, b])",
)  # fmt: skip


def functions(text: str) -> list[Callable[[], Any]]:
    """The expression on rdna and on the CPU."""
    made = []
    for device in ("rdna", "cpu"):
        a, b, m = (torch.linspace(1, 2, 4 * rows, device=device).view(rows, 4).squeeze(0) for rows in (1, 1, 4))
        names = {"a": a, "b": b, "c": torch.empty(4, device=device), "m": m, "t": a < 1.5, "d": device}
        given = ", ".join(f"{name}={name}" for name in names)
        modules = {**names, "torch": torch, "f": torch.nn.functional}
        made.append(eval(f"lambda {given}: {text}", modules))
    return made


def operator(text: str) -> dict[str, float]:
    """Least seconds per call of both, in alternating rounds."""
    both = functions(text)
    if "empty" not in text:
        torch.testing.assert_close(both[0]().cpu(), both[1](), check_stride=False)
    least = [float("inf")] * 2
    for _ in range(ROUNDS):
        for place, function in enumerate(both):
            start = time.perf_counter()
            for _ in range(CALLS):
                function()
            least[place] = min(least[place], (time.perf_counter() - start) / CALLS)
    return {"ours": least[0], "peer": least[1]}


def training(model: str, batch: int, device: str) -> Callable[[], float]:
    """A training step of a network, which returns its loss."""
    torch.manual_seed(1)
    if model == "ResNet-50":
        from resnet50 import ResNet50

        network: Any = ResNet50(1000)
        inputs, classes = torch.randn(batch, 3, 224, 224), torch.arange(batch)
    else:
        from bert import Bert, Size

        network = Bert(Size(dropout=0.0), classes=2)
        inputs, classes = torch.randint(4, 30_000, (batch, 128)), torch.arange(batch) % 2
    network, inputs, classes = network.to(device), inputs.to(device), classes.to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-5, fused=True)

    def step() -> float:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(inputs), classes)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def main() -> None:
    """Answers commands until the pipe is closed."""
    torch.rdna.set_fallback_mode("error")
    print(json.dumps({"about": f"torch {torch.__version__}"}), flush=True)
    step: Callable[[], float] = float
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "operators":
            answer: dict[str, Any] = {"texts": OPERATORS}
        elif command["do"] == "operator":
            answer = operator(command["text"])
        elif command["do"] == "prepare":
            step = training(command["model"], command["batch"], command["device"])
            answer = {"losses": [step() for _ in range(2)]}
        else:
            start = time.perf_counter()
            for _ in range(command["count"]):
                step()
            answer = {"seconds": (time.perf_counter() - start) / command["count"]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
