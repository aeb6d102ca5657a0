"""Digits from spikes: a layer of leaky integrate-and-fire neurons trained by back-propagation through time.

The 1,797 digits of 8 x 8 pixels that scikit-learn ships; each pixel is a channel that spikes in each of 20 steps with a chance of its
brightness, drawn once for each seed. 1,437 images to learn from, 360 to test with, by the seed. The slope of a spike is that of SuperSpike
(Zenke and Ganguli 2018; see Neftci, Mostafa and Zenke 2019, "Surrogate gradient learning in spiking neural networks"). Chance is 0.1.

`python examples/spiking_learning/surrogate_digits.py` prints a line for each seed.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import amdgpu
import numpy as np

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "digits.csv.gz"
SEEDS = (1, 2, 3, 4, 5)
STEPS = 20
TESTED = 360

TEXT = """
neuralNetwork digits:
  layer pixels(64)
  layer hidden(128, activation: lif(0.9))
  layer digit(10, activation: softmax)
  connect pixels -> hidden (weight: random(-0.2, 0.25))
  connect hidden -> digit
"""


def run(seed: int, epochs: int = 25) -> float:
    """Share of right answers on the images that were held back."""
    with gzip.open(DATA, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    draw = np.random.default_rng(seed)
    chances = table[:, None, :64] / 16
    spikes = (draw.random((len(table), STEPS, 64)) < chances).astype(np.float32)
    labels = table[:, 64].astype(int)
    order = draw.permutation(len(table))
    known, unknown = order[TESTED:], order[:TESTED]
    net = amdgpu.Network(TEXT, seed=seed)
    net.train(spikes[known], labels[known], epochs=epochs, batch_size=32, learning_rate=2e-3)
    return float((net.forward(spikes[unknown]).argmax(axis=1) == labels[unknown]).mean())


def main() -> None:
    """All seeds."""
    found = []
    for seed in SEEDS:
        found.append(run(seed))
        print(f"seed {seed}: {found[-1]:.4f}")
    print(f"mean {np.mean(found):.4f}, least {min(found):.4f}")


if __name__ == "__main__":
    main()
