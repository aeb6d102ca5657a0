"""Digits learnt without labels by spike-timing-dependent plasticity, 784 inputs to 400 neurons.

After Diehl and Cook 2015, "Unsupervised learning of digit recognition using spike-timing-dependent plasticity": Poisson inputs with rates
of the pixels, neurons with adaptive thresholds that inhibit each other, a rule in which a spike of the target strengthens inputs that just
spiked and weakens all others, and weights that are scaled to one sum for each neuron between images. Inhibition goes from neuron to
neuron without interneurons, and inputs are voltages instead of conductances.

Protocol: the 1,797 digits of 8 x 8 pixels that scikit-learn ships (Alpaydin and Kaynak 1998), enlarged to 28 x 28 by bilinear
interpolation; for each seed 1,437 of them by chance to learn from, in three passes, and 360 to test with. Labels are used only behind
the learning: a neuron counts for the digit at which it spiked most on average over the learning set, which is shown once more while
nothing changes and inhibition is weaker, so that several answer; the answer to a test image is the digit whose neurons spiked most on
average. Chance is 0.1.

`python examples/spiking_learning/stdp_digits.py` prints a line for each seed.
"""

from __future__ import annotations

import gzip
import time
from dataclasses import dataclass
from pathlib import Path

import amdgpu
import numpy as np
import numpy.typing as npt

DATA = Path(__file__).resolve().parents[2] / "tests" / "data" / "digits.csv.gz"
SEEDS = (1, 2, 3, 4, 5)
SIDE = 28
NEURONS = 400
EPOCHS = 3
TRAINING = 1437
SHOWN_SECONDS = 0.25
BRIGHTEST_RATE = 60.0
# Sum of the weights of each neuron.
WEIGHT_SUM = 60.0

LEARNING_RATE = 0.05
THRESHOLD_STEP = 1.0
# While it learns, the first neuron silences all others; when it is asked, several answer.
LEARNING_INHIBITION, ASKING_INHIBITION = 300, 40

Images = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


def text(rate: float, step: float, inhibition: float) -> str:
    """The network; the rate of learning and the step of thresholds are 0 where it is only asked."""
    return f"""
neuralNetwork digits:
  dt = 1.ms
  neuron adaptive:
    params(tau = 50.ms, step = {step})
    variables(theta)
    dv/dt = -v/tau
    threshold: v > 15 + theta
    reset:
      v = 0
      theta += step
    refractory: 5.ms
    target: v
  synapse learning:
    params(tau_x = 20.ms, rate = {rate}, x_target = 0.35)
    variables(w, x)
    dx/dt = -x/tau_x
    on_pre:
      target += w
      x = 1
    on_post:
      w = clip(w + rate*(x - x_target), 0, 1)
  population pixels({SIDE * SIDE}, model: poisson)
  population cells({NEURONS}, model: adaptive)
  connect pixels -> cells(synapse: learning, weight: random(0, 0.15))
  connect cells -> cells(weight: -{inhibition}, autapses: false)
  record spikes(cells)
"""


def digits() -> tuple[Images, Labels]:
    """Images of shape (1797, 784) with values from 0 to 1, and labels."""
    with gzip.open(DATA, "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    small, labels = table[:, :64].reshape(-1, 8, 8) / 16, table[:, 64].astype(np.int64)
    places = np.linspace(0, 7, SIDE)
    spread = np.maximum(0, 1 - np.abs(places[:, None] - np.arange(8)))
    return np.einsum("ar,nrc,bc->nab", spread, small, spread).reshape(len(small), -1).astype(np.float32), labels


@dataclass(frozen=True)
class Outcome:
    """Share of right answers on the images that were held back, and how long learning and asking took."""

    seed: int
    accuracy: float
    seconds: float


class Learner:
    """A network that looks at images."""

    def __init__(self, seed: int) -> None:
        self.net = amdgpu.Network(
            text(LEARNING_RATE, THRESHOLD_STEP, LEARNING_INHIBITION), device="cpu:0", seed=seed, threads=1
        )

    def show(self, image: Images) -> npt.NDArray[np.int64]:
        """Spikes of each neuron at an image, from rest."""
        self.net.states["cells.v"] = 0
        self.net.states["pixels.rate"] = image * BRIGHTEST_RATE
        indices = self.net.run(SHOWN_SECONDS).spikes["cells"].indices
        return np.bincount(indices, minlength=NEURONS)

    def learn(self, images: Images) -> None:
        """Look at images once, with plasticity."""
        for image in images:
            weights = self.net.weights["pixels -> cells"].reshape(-1, NEURONS)
            self.net.weights["pixels -> cells"] = weights * (WEIGHT_SUM / weights.sum(axis=0))
            self.show(image)

    def end(self, seed: int) -> None:
        """From now on nothing changes: weights, and thresholds as they are."""
        asked = amdgpu.Network(text(0, 0, ASKING_INHIBITION), device="cpu:0", seed=seed, threads=1)
        asked.weights["pixels -> cells"] = self.net.weights["pixels -> cells"]
        asked.states["cells.theta"] = self.net.states["cells.theta"]
        self.net = asked

    def spikes(self, images: Images) -> npt.NDArray[np.int64]:
        """Spikes of each neuron at each image."""
        return np.array([self.show(image) for image in images])


def run(seed: int, epochs: int = EPOCHS, training: int = TRAINING, testing: int = 360) -> Outcome:
    """Learn, give labels to neurons, answer."""
    began = time.perf_counter()
    images, labels = digits()
    draw = np.random.default_rng(seed)
    order = draw.permutation(len(images))
    known, unknown = order[:training], order[TRAINING : TRAINING + testing]
    learner = Learner(seed)
    for _ in range(epochs):
        learner.learn(images[draw.permutation(known)])
    learner.end(seed)
    spikes = learner.spikes(images[known])
    means = np.array([spikes[labels[known] == digit].mean(axis=0) for digit in range(10)])
    owner = means.argmax(axis=0)
    owner[means.max(axis=0) == 0] = -1
    answers = learner.spikes(images[unknown])
    votes = np.array([answers[:, owner == digit].sum(axis=1) / max(1, (owner == digit).sum()) for digit in range(10)])
    accuracy = float((votes.argmax(axis=0) == labels[unknown]).mean())
    return Outcome(seed, accuracy, time.perf_counter() - began)


def main() -> None:
    """All seeds."""
    found = []
    for seed in SEEDS:
        outcome = run(seed)
        found.append(outcome.accuracy)
        print(f"seed {seed}: {outcome.accuracy:.4f} in {outcome.seconds:.0f} s", flush=True)
    print(f"mean {np.mean(found):.4f}, least {min(found):.4f} (chance 0.1)")


if __name__ == "__main__":
    main()
