"""A program that keeps books: it does what a plan says, counts it itself, and times it with a clock that telemetry knows nothing of.

    python tests/support/ledger_program.py '[["launch", "add", 500], ["product", 64, 20]]'

Prints a line of JSON when it is set up; does the plan when a line comes in, prints its ledger, and stays until its input ends.
The kernels `fold_sum` and `fold_scale` of plans are both called `fold`.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np

COUNT = 4096
PLACE = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n)"
SOURCES = {
    "add": f"__global__ void add(float* x, int n) {{ {PLACE} x[i] += 1; }}",
    "fold_sum": f"__global__ void fold(float* x, int n) {{ {PLACE} x[i] += x[n - 1 - i]; }}",
    "fold_scale": f"__global__ void fold(float* x, float by, int n) {{ {PLACE} x[i] *= by; }}",
    "slow": """__global__ void slow(float* x, int n) {
        float sum = 0;
        for (int i = 0; i < 100000; ++i) sum = sum * 0.999f + x[i & 7];
        x[blockIdx.x] = sum;
    }""",
}
CELLS = 5000
SPIKING = f"""
neuralNetwork books:
  neuron cell:
    params(tau = 20.ms)
    dv/dt = -v / tau
    threshold: v > 1
    reset: v = 0
  population cells({CELLS}, model: cell, v: random(0.0, 0.9))
"""
LAYERED = """
neuralNetwork learner:
  layer input(4)
  layer hidden(8, activation: tanh)
  layer output(2, activation: softmax)
  connect input -> hidden (weight: random(-0.5, 0.5))
  connect hidden -> output (weight: random(-0.5, 0.5))
"""
# What a spiking network takes for a step.
STEP_SECONDS = 1e-4


class Program:
    """Does the steps of a plan and enters them in a ledger."""

    def __init__(self) -> None:
        self.device = amdgpu.initialize_device("cpu:0")
        self.kernels = {name: self.device.compile_kernel(source) for name, source in SOURCES.items()}
        self.x = np.ones(COUNT, "float32")
        self.spiking = amdgpu.Network(SPIKING, device="cpu:0")
        self.layered = amdgpu.Network(LAYERED, device="cpu:0")
        self.calls: Counter[str] = Counter()
        self.products = 0
        self.flops = 0
        self.steps: Counter[str] = Counter()
        self.copied_bytes = 0
        self.seconds: Counter[str] = Counter()

    def launch(self, name: str, times: int) -> None:
        """One kernel, again and again."""
        kernel, blocks = self.kernels[name], 1 if name == "slow" else COUNT // 256
        arguments = (self.x, 0.5, COUNT) if name == "fold_scale" else (self.x, COUNT)
        for _ in range(times):
            kernel[blocks, 1 if name == "slow" else 256](*arguments)
        self.calls[name] += times

    def first(self, kind: str, call: Callable[[], Any]) -> None:
        """The first call of its kind, which also loads what it needs: timed beside the others."""
        if not self.seconds[f"first {kind}"]:
            start = time.perf_counter()
            call()
            self.seconds[f"first {kind}"] = time.perf_counter() - start

    def product(self, size: int, times: int) -> None:
        """Matrix products of NumPy arrays."""
        left = np.ones((size, size), "float32")
        self.first("product", lambda: amdgpu.matrix_multiply(left, left))
        for _ in range(times - (self.products == 0)):
            amdgpu.matrix_multiply(left, left)
        self.products += times
        self.flops += 2 * size**3 * times

    def network(self, steps: int) -> None:
        """Steps of a spiking network."""
        self.first("network", lambda: self.spiking.run(STEP_SECONDS))
        if not self.steps["books"]:
            # The random potentials that it begins with, a float32 each.
            self.copied_bytes += 4 * CELLS
        left = steps - (self.steps["books"] == 0)
        if left:
            self.spiking.run(left * STEP_SECONDS)
        self.steps["books"] += steps

    def forward(self, times: int) -> None:
        """Forward passes of a layered network."""
        samples = np.ones((8, 4), "float32")
        for _ in range(times):
            self.layered.forward(samples)
        self.steps["learner"] += times

    def copy(self, count: int, times: int) -> None:
        """Copies into memory of the device."""
        values = np.ones(count, "float32")
        for _ in range(times):
            amdgpu.array(values, device="cpu:0").free()
        self.copied_bytes += values.nbytes * times

    def run(self, plan: list[list[Any]]) -> dict[str, Any]:
        """The ledger of a plan."""
        begin = time.perf_counter()
        for kind, *arguments in plan:
            start = time.perf_counter()
            getattr(self, kind)(*arguments)
            self.seconds[f"{kind} {arguments[0]}" if kind == "launch" else kind] += time.perf_counter() - start
        ids = {name: str(kernel).rpartition(":")[2] for name, kernel in self.kernels.items()}
        return {
            "calls": {ids[name]: calls for name, calls in self.calls.items()},
            "names": {ids[name]: name.partition("_")[0] for name in ids},
            "launch_seconds": {ids[name]: self.seconds[f"launch {name}"] for name in ids if self.calls[name]},
            "products": self.products,
            "flops": self.flops,
            "steps": dict(self.steps),
            "copied_bytes": self.copied_bytes,
            "seconds": {kind: self.seconds[kind] for kind in ("product", "network", "forward", "copy")},
            "first_seconds": {kind: self.seconds[f"first {kind}"] for kind in ("product", "network")},
            "all_seconds": time.perf_counter() - begin,
        }


def main() -> None:
    """Set up, wait, work, tell, wait."""
    program = Program()
    if "--at-once" not in sys.argv:
        print(json.dumps({"pid": os.getpid()}), flush=True)
        sys.stdin.readline()
    print(json.dumps(program.run(json.loads(sys.argv[1]))), flush=True)
    if "--at-once" not in sys.argv:
        sys.stdin.read()


if __name__ == "__main__":
    main()
