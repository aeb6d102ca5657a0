"""A layer of spiking neurons in PyTorch whose steps are kernels of amdgpu, trained with surrogate gradients.

`Lif` is the activation `lif` of the network language (docs/training.md) as a `torch.nn.Module`: leaky integrate-and-fire
neurons, u <- decay (u - last spike) + x, that spike where u > 1. Two kernels in HIP-C compute all steps of a neuron,
forwards and backwards; torch calls them through an `autograd.Function` on the memory of its tensors. The step of a spike
has no slope; that of a fast sigmoid stands in for it (SuperSpike, Zenke and Ganguli 2018).

The task is which of two groups of channels spiked first, which only time tells: chance is 0.5.
`python examples/pytorch/spiking_layer.py --small` prints the loss and how many unseen samples were answered right.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any

import amdgpu
import torch
from command_line import conclude, introduce, options_of
from torch import Tensor, nn
from torch.nn import functional

SOURCE = """
// A thread for each neuron of each sample; x, u and spikes have shape (samples, steps, size).
__global__ void lif_forward(const float* x, float* u, float* spikes, float decay, int steps, int size, int neurons) {
    int neuron = blockIdx.x * blockDim.x + threadIdx.x;
    if (neuron >= neurons) return;
    long place = (long)(neuron / size) * steps * size + neuron % size;
    float potential = 0.0f, spike = 0.0f;
    for (int step = 0; step < steps; ++step, place += size) {
        potential = decay * (potential - spike) + x[place];
        spike = potential > 1.0f ? 1.0f : 0.0f;
        u[place] = potential;
        spikes[place] = spike;
    }
}

// From the gradient by the spikes to that by x, from the last step to the first.
__global__ void lif_backward(const float* u, const float* by_spikes, float* by_x, float decay, float slope, int steps, int size,
                             int neurons) {
    int neuron = blockIdx.x * blockDim.x + threadIdx.x;
    if (neuron >= neurons) return;
    long place = ((long)(neuron / size) * steps + steps - 1) * size + neuron % size;
    float later = 0.0f;
    for (int step = steps; step > 0; --step, place -= size) {
        float root = 1.0f + slope * fabsf(u[place] - 1.0f);
        float surrogate = 1.0f / (root * root);
        later = by_spikes[place] * surrogate + later * decay * (1.0f - surrogate);
        by_x[place] = later;
    }
}
"""
BLOCK = 128


@functools.cache
def kernel(name: str, device_name: str) -> Any:
    """A kernel of `SOURCE` on a device of amdgpu."""
    return amdgpu.initialize_device(device_name).compile_kernel(SOURCE, name=name)


def launch(name: str, tensors: Sequence[Tensor], *numbers: float) -> None:
    """Runs a kernel on the memory of tensors of shape (samples, steps, size), a thread for each neuron of each sample."""
    samples, steps, size = tensors[0].shape
    device_name = torch.rdna.get_device_properties(tensors[0].device).amdgpu_name
    arrays = [torch.rdna.as_array(tensor.detach()) for tensor in tensors]
    neurons = samples * size
    kernel(name, device_name)[-(-neurons // BLOCK), BLOCK](*arrays, *numbers, steps, size, neurons)


class _LifSteps(torch.autograd.Function):
    """Spikes of all steps, with the surrogate gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, decay: float, slope: float) -> Tensor:
        x = x.contiguous()
        potentials, spikes = torch.empty_like(x), torch.empty_like(x)
        launch("lif_forward", (x, potentials, spikes), decay)
        ctx.save_for_backward(potentials)
        ctx.decay, ctx.slope = decay, slope
        return spikes

    @staticmethod
    def backward(ctx: Any, *by_results: Tensor) -> tuple[Tensor, None, None]:
        (potentials,) = ctx.saved_tensors
        by_x = torch.empty_like(potentials)
        launch("lif_backward", (potentials, by_results[0].contiguous(), by_x), ctx.decay, ctx.slope)
        return by_x, None, None


class Lif(nn.Module):
    """Leaky integrate-and-fire neurons without weights.

    Args:
        decay: What is left of a potential in the next step.
        slope: How steep the fast sigmoid is that stands in for the step of a spike in gradients.
    """

    def __init__(self, decay: float = 0.9, slope: float = 10.0) -> None:
        super().__init__()
        self.decay, self.slope = decay, slope

    def forward(self, x: Tensor) -> Tensor:
        """What arrives in each step to spikes, 0 or 1: float32 on rdna, both of shape (samples, steps, size)."""
        return _LifSteps.apply(x, self.decay, self.slope)


class SpikingNetwork(nn.Module):
    """Channels to spiking neurons to classes, whose scores are the means over all steps."""

    def __init__(self, channels: int, size: int, classes: int) -> None:
        super().__init__()
        self.inner, self.neurons, self.classes = nn.Linear(channels, size), Lif(), nn.Linear(size, classes)
        nn.init.uniform_(self.inner.weight, -0.1, 0.3)

    def forward(self, spikes: Tensor) -> Tensor:
        """Spikes of shape (samples, steps, channels) to scores of shape (samples, classes)."""
        return self.classes(self.neurons(self.inner(spikes))).mean(1)


def bursts(count: int, channels: int, steps: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Spikes of shape (count, steps, channels), of which each half has one burst of three steps, and which half was first."""
    first = torch.randint(2, (count,), device=device)
    gap = torch.randint(4, 9, (count,), device=device)
    start = (torch.rand(count, device=device) * (steps - gap - 3)).long()
    half = (torch.arange(channels, device=device) >= channels // 2).long()
    begins = start[:, None] + gap[:, None] * (half != first[:, None])
    since = torch.arange(steps, device=device)[None, :, None] - begins[:, None, :]
    chance = torch.rand(count, steps, channels, device=device)
    return ((since >= 0) & (since < 3) & (chance < 0.7)).float(), first


def main(arguments: Sequence[str] | None = None) -> float:
    """Trains, and returns the share of unseen samples that were answered right."""
    options = options_of(__doc__, arguments, steps=150, batch=64, channels=20)
    device = torch.device(options.device)
    if device.type != "rdna":
        raise SystemExit(
            "the neurons are kernels of amdgpu: --device rdna; AMDGPU_TORCH_DEVICE=cpu takes the CPU for it"
        )
    torch.manual_seed(options.seed)
    model = SpikingNetwork(options.channels, 40 if options.small else 400, 2).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2 if options.small else 3e-3)
    introduce(model, device)
    start_s = time.perf_counter()
    for step in range(options.steps):
        spikes, first = bursts(options.batch, options.channels, 25, device)
        loss = functional.cross_entropy(model(spikes), first)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % max(options.steps // 5, 1) == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    conclude(device, "samples", options.steps * options.batch, start_s)
    with torch.no_grad():
        spikes, first = bursts(400, options.channels, 25, device)
        found = float((model(spikes).argmax(1) == first).float().mean())
    print(f"{found:.1%} of unseen samples answered right")
    return found


if __name__ == "__main__":
    main()
