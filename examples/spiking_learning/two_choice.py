"""Two-choice conditioning: spiking neurons learn from rewards which of two answers a cue asks for.

Each trial shows one of two cues for 200 ms; the answer is the action population that spiked more often. A right answer is rewarded with 1,
a wrong one with 0. The network gets the reward less its mean over the trials of that cue, which is what keeps
reward-modulated plasticity from drifting (Frémaux, Sprekeler and Gerstner 2010, "Functional requirements for reward-modulated
spike-timing-dependent plasticity"); the rule is `r_stdp` (Florian 2007). Half way through the answers are exchanged, so that what
was learnt has to be unlearnt. Chance is 0.5.

`python examples/spiking_learning/two_choice.py` prints a line for each seed.
"""

from __future__ import annotations

from dataclasses import dataclass

import amdgpu
import numpy as np

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
CUE_NEURONS = 20
CUE_RATE = 40.0
CUE_SECONDS, PAUSE_SECONDS = 0.2, 0.3
# Share of a new reward in the mean that is expected of a cue.
EXPECTATION_RATE = 0.1

TEXT = f"""
neuralNetwork two_choice:
  dt = 1.ms
  neuron cell:
    params(tau = 20.ms)
    dv/dt = -v/tau
    threshold: v > 15.mV
    reset: v = 0.mV
    refractory: 4.ms
    target: v
  population cue({2 * CUE_NEURONS}, model: poisson)
  population left(10, model: cell)
  population right(10, model: cell)
  source noise(poisson(rate: 400.Hz), target: [left.v, right.v], weight: 1.mV)
  connect cue -> [left, right](weight: random(0.3.mV, 0.7.mV))
  connect left -> right(weight: -1.mV)
  connect right -> left(weight: -1.mV)
  plasticity r_stdp(tau_c: 200.ms, a_minus: 0.002, learning_rate: 1.5, w_max: 1.5.mV, on: cue -> [left, right])
"""


@dataclass(frozen=True)
class Outcome:
    """Share of right answers over the last trials of each half, and of all trials in blocks of 25."""

    seed: int
    learnt: float
    relearnt: float
    course: list[float]


def run(seed: int, trials: int = 400, counted: int = 100, *, is_rewarded: bool = True) -> Outcome:
    """Train one network; `counted` trials at the end of each half are what `learnt` and `relearnt` say."""
    net = amdgpu.Network(TEXT, device="cpu:0", seed=seed, threads=1)
    draw = np.random.default_rng(seed)
    expected = np.zeros(2)
    is_right = np.zeros(trials)
    for trial in range(trials):
        cue = int(draw.integers(2))
        rates = np.zeros(2 * CUE_NEURONS)
        rates[cue * CUE_NEURONS : (cue + 1) * CUE_NEURONS] = CUE_RATE
        net.states["cue.rate"] = rates
        counts = net.run(CUE_SECONDS).counts
        difference = counts["right"] - counts["left"]
        answer = int(difference > 0) if difference else int(draw.integers(2))
        wanted = cue if trial < trials // 2 else 1 - cue
        reward = float(answer == wanted)
        if is_rewarded:
            net.reward(reward - expected[cue])
        expected[cue] += EXPECTATION_RATE * (reward - expected[cue])
        is_right[trial] = reward
        net.states["cue.rate"] = 0
        net.run(PAUSE_SECONDS)
    half = trials // 2
    blocks = [float(block.mean()) for block in np.array_split(is_right, max(1, trials // 25))]
    return Outcome(seed, float(is_right[half - counted : half].mean()), float(is_right[-counted:].mean()), blocks)


def main() -> None:
    """All seeds."""
    print("seed  learnt  relearnt   share of right answers in blocks of 25 trials")
    outcomes = [run(seed) for seed in SEEDS]
    for one in outcomes:
        print(
            f"{one.seed:4d}  {one.learnt:6.2f}  {one.relearnt:8.2f}   "
            + " ".join(f"{share:.2f}" for share in one.course)
        )
    for name in ("learnt", "relearnt"):
        values = [getattr(one, name) for one in outcomes]
        print(f"{name}: mean {np.mean(values):.3f}, least {min(values):.2f} (chance 0.5)")


if __name__ == "__main__":
    main()
