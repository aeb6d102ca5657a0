"""A small real program to watch: two kernels, matrix products, a spiking and a learning network, allocations.

    python tests/support/telemetry_program.py --seconds 5 --rate 100

Prints one JSON line when it is set up (`{"ready": true, "pid": ...}`) and one at its end (`{"rounds": ..., "launches": ...}`).
"""

from __future__ import annotations

import argparse
import json
import os
import time

import amdgpu
import numpy as np

SAXPY = """
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
BLOCK_SUM = """
extern "C" __global__ void block_sum(const float* x, float* sums, int n) {
    __shared__ float part[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int step = 128; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}
"""
SPIKING = """
neuralNetwork watched:
  neuron cell:
    params(tau = 20.ms, tau_e = 5.ms, tau_i = 10.ms, v_threshold = -50.mV, v_reset = -60.mV, rest = -49.mV)
    dv/dt = (ge + gi - (v - rest)) / tau
    dge/dt = -ge/tau_e
    dgi/dt = -gi/tau_i
    threshold: v > v_threshold
    reset: v = v_reset
    refractory: 5.ms
  population exc(400, model: cell, v: random(-60.mV, -50.mV))
  population inh(100, model: cell, v: random(-60.mV, -50.mV))
  connect exc -> [exc, inh](pattern: probability(0.1), weight: 1.3.mV, delay: 0.5.ms, target: ge)
  connect inh -> [exc, inh](pattern: probability(0.1), weight: -7.mV, delay: 0.5.ms, target: gi)
  record spikes(exc)
"""
LEARNING = """
neuralNetwork learner:
  layer input(4)
  layer hidden(8, activation: tanh)
  layer output(2, activation: softmax)
  connect input -> hidden (weight: random(-0.5, 0.5))
  connect hidden -> output (weight: random(-0.5, 0.5))
"""
USUAL_PARTS = ("kernels", "products", "spiking", "learning", "memory")
PARTS = (*USUAL_PARTS, "checked", "graphs")
COUNT = 1 << 14
BLOCK_THREADS = 256
GRID_BLOCKS = COUNT // BLOCK_THREADS
# Checked launches run item by item; one block is enough to see its lanes.
CHECKED_COUNT = 200


def layer(x: amdgpu.Array, residual: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
    """A function whose graph has joined operations, a view, a product and two results of one operation."""
    product = amdgpu.ops.softmax(amdgpu.tanh(x + residual) * 2.0) @ residual.T
    values, indices = amdgpu.ops.top_k(product, 3)
    return values, indices


class Program:
    """Everything that a round uses, made once."""

    def __init__(self, device: str, parts: list[str]) -> None:
        self.parts = parts
        self.name = device
        self.device = amdgpu.initialize_device(device, ["aura", "matrix", "neuromorphic"])
        self.x = amdgpu.array(np.arange(COUNT, dtype="float32"), device=device)
        self.y = amdgpu.zeros(COUNT, "float32", device=device)
        self.sums = amdgpu.zeros(GRID_BLOCKS, "float32", device=device)
        self.saxpy = self.device.compile_kernel(SAXPY, name="saxpy")
        self.block_sum = self.device.compile_kernel(BLOCK_SUM, name="block_sum")
        self.image = amdgpu.array(np.linspace(-1, 1, 64 * 32, dtype="float32").reshape(64, 32), device=device)
        self.left = np.full((96, 96), 0.5, dtype="float32")
        checked = self.device.compile_kernel(BLOCK_SUM, name="block_sum", checked=True) if "checked" in parts else None
        self.checked = checked
        self.spiking = amdgpu.Network(SPIKING, device=device) if "spiking" in parts else None
        self.learner = amdgpu.Network(LEARNING, device=device) if "learning" in parts else None
        self.scratch = np.ones(1 << 16, dtype="float32")
        self.samples = np.random.default_rng(0).random((32, 4), dtype=np.float32)
        self.labels = (self.samples.sum(axis=1) > 2).astype("int64")
        self.layer = amdgpu.jit(layer) if "graphs" in parts else None
        self.launches = 0

    def round(self) -> None:
        """A little of every part."""
        if "kernels" in self.parts:
            self.saxpy[GRID_BLOCKS, BLOCK_THREADS](self.x, self.y, 0.5, COUNT)
            self.block_sum[GRID_BLOCKS, BLOCK_THREADS](self.y, self.sums, COUNT)
            self.launches += 2
        if "products" in self.parts:
            amdgpu.matrix_multiply(self.left, self.left)
        if self.spiking is not None:
            self.spiking.run(0.01)
        if self.learner is not None:
            self.learner.train(self.samples, self.labels, epochs=1, batch_size=16)
        if self.checked is not None:
            self.checked[1, BLOCK_THREADS](self.y, self.sums, CHECKED_COUNT)
            self.launches += 1
        if self.layer is not None:
            self.layer(self.image, self.image)
        if "memory" in self.parts:
            amdgpu.array(self.scratch, device=self.name).free()


def main() -> None:
    """Rounds at a rate until the time is over."""
    parser = argparse.ArgumentParser(description="a program to watch")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=float, default=100.0, help="rounds a second; 0 means as many as go")
    parser.add_argument("--device", default="cpu:0")
    parser.add_argument("--parts", default=",".join(USUAL_PARTS), help=f"some of {', '.join(PARTS)}")
    options = parser.parse_args()
    parts = options.parts.split(",")
    unknown = set(parts) - set(PARTS)
    if unknown:
        parser.error(f"unknown parts {', '.join(sorted(unknown))}; known are {', '.join(PARTS)}")
    program = Program(options.device, parts)
    program.round()
    print(json.dumps({"ready": True, "pid": os.getpid()}), flush=True)
    start = time.monotonic()
    rounds = 1
    while time.monotonic() - start < options.seconds:
        program.round()
        rounds += 1
        if options.rate > 0:
            due = start + rounds / options.rate
            time.sleep(max(0.0, due - time.monotonic()))
    print(json.dumps({"rounds": rounds, "launches": program.launches}), flush=True)


if __name__ == "__main__":
    main()
