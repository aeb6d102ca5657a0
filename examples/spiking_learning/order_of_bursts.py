"""Which of two groups of inputs spiked first: a task that only time tells, learnt by back-propagation through spiking neurons.

Two groups of ten channels have one burst each, at random places in 25 steps and four to eight steps apart. Both groups spike equally
often whatever the class, so a network without a state in its hidden layer stays at chance, 0.5. The slope of a spike is that of
SuperSpike (Zenke and Ganguli 2018, "SuperSpike: supervised learning in multilayer spiking neural networks").

`python examples/spiking_learning/order_of_bursts.py` prints a line for each seed.
"""

from __future__ import annotations

import amdgpu
import numpy as np
import numpy.typing as npt

SEEDS = (1, 2, 3, 4, 5)
STEPS, GROUP = 25, 10
# Share of the channels of a group that spike in a step of its burst, which has three.
BURST_SHARE, BURST_STEPS = 0.7, 3

TEXT = f"""
neuralNetwork order:
  layer channels({2 * GROUP})
  layer hidden(40, activation: lif(0.85))
  layer answer(2, activation: softmax)
  connect channels -> hidden (weight: random(-0.1, 0.3))
  connect hidden -> answer
"""
RATE_TEXT = TEXT.replace("lif(0.85)", "lif(0)")


def samples(count: int, seed: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Spikes of shape (count, 25, 20), and which group was first."""
    draw = np.random.default_rng(seed)
    x = np.zeros((count, STEPS, 2 * GROUP), np.float32)
    first = draw.integers(2, size=count)
    for sample, group in enumerate(first):
        gap = int(draw.integers(4, 9))
        start = int(draw.integers(STEPS - gap - BURST_STEPS))
        for burst, owner in ((start, group), (start + gap, 1 - group)):
            spikes = draw.random((BURST_STEPS, GROUP)) < BURST_SHARE
            x[sample, burst : burst + BURST_STEPS, owner * GROUP : (owner + 1) * GROUP] = spikes
    return x, first


def run(seed: int, text: str = TEXT) -> float:
    """Share of right answers on 400 samples that the network did not see."""
    net = amdgpu.Network(text, seed=seed)
    x, first = samples(600, seed)
    net.train(x, first, epochs=40, batch_size=32, learning_rate=0.01)
    unseen, wanted = samples(400, seed + 1000)
    return float((net.forward(unseen).argmax(axis=1) == wanted).mean())


def main() -> None:
    """All seeds, and what is left without a state."""
    for seed in SEEDS:
        print(f"seed {seed}: {run(seed):.3f}, without a state {run(seed, RATE_TEXT):.3f}")


if __name__ == "__main__":
    main()
