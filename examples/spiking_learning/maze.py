"""A maze: spiking neurons learn the way to a goal from rewards that come when they get there.

Each place of the maze has place neurons of its own, which spike while the animal is there; four populations of action neurons, one for
each direction, inhibit each other, and the one that spikes most within 100 ms is where the animal goes. Into a wall it stays where it is.
The synapses in between learn by `r_stdp` (Florian 2007); the reward they get is the error of temporal differences, as of dopamine neurons
(Schultz, Dayan and Montague 1997): reward + 0.9 · value of the new place - value of the old one. The values are a table; action neurons
with such a critic are the model of Frémaux, Sprekeler and Gerstner 2013, "Reinforcement learning using a continuous time actor-critic
framework with spiking neurons". Chance is the same network without rewards.

`python examples/spiking_learning/maze.py` prints a line for each seed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import amdgpu
import numpy as np

SEEDS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
MAZE = (
    "S.#.",
    "..#.",
    ".#..",
    "...G",
)
ROWS, COLUMNS = len(MAZE), len(MAZE[0])
MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))
PLACE_NEURONS = 6
PLACE_RATE = 80.0
DECISION_SECONDS = 0.1
MOST_MOVES = 100
DISCOUNT = 0.9
VALUE_RATE = 0.2

TEXT = f"""
neuralNetwork maze:
  dt = 1.ms
  neuron cell:
    params(tau = 20.ms)
    dv/dt = -v/tau
    threshold: v > 15.mV
    reset: v = 0.mV
    refractory: 4.ms
    target: v
  population place({ROWS * COLUMNS * PLACE_NEURONS}, model: poisson)
  population up(8, model: cell)
  population down(8, model: cell)
  population left(8, model: cell)
  population right(8, model: cell)
  source noise(poisson(rate: 400.Hz), target: [up.v, down.v, left.v, right.v], weight: 1.mV)
  connect place -> [up, down, left, right](weight: random(0.4.mV, 0.8.mV))
  plasticity r_stdp(tau_c: 100.ms, a_minus: 0.002, learning_rate: 4, w_max: 2.5.mV, on: place -> [up, down, left, right])
  connect up -> [down, left, right](weight: -1.mV)
  connect down -> [up, left, right](weight: -1.mV)
  connect left -> [up, down, right](weight: -1.mV)
  connect right -> [up, down, left](weight: -1.mV)
"""
ACTIONS = ("up", "down", "left", "right")


@dataclass(frozen=True)
class Outcome:
    """Moves to the goal: their mean over the last episodes, the fewest that are possible, and all of them."""

    seed: int
    moves: float
    fewest: int
    course: list[int]


def find(letter: str) -> tuple[int, int]:
    """Where the letter stands."""
    return next((row, text.index(letter)) for row, text in enumerate(MAZE) if letter in text)


def moved(place: tuple[int, int], action: int) -> tuple[int, int]:
    """Where an action leads from a place."""
    row, column = place[0] + MOVES[action][0], place[1] + MOVES[action][1]
    is_free = 0 <= row < ROWS and 0 <= column < COLUMNS and MAZE[row][column] != "#"
    return (row, column) if is_free else place


def fewest_moves() -> int:
    """The length of the shortest way."""
    distances = {find("S"): 0}
    places = deque(distances)
    while places:
        place = places.popleft()
        for action in range(len(MOVES)):
            following = moved(place, action)
            if following not in distances:
                distances[following] = distances[place] + 1
                places.append(following)
    return distances[find("G")]


def run(seed: int, episodes: int = 80, counted: int = 20, *, is_rewarded: bool = True) -> Outcome:
    """Let one network run through the maze; `counted` episodes at the end are what `moves` is the mean of."""
    net = amdgpu.Network(TEXT, device="cpu:0", seed=seed, threads=1)
    draw = np.random.default_rng(seed)
    values = np.zeros((ROWS, COLUMNS))
    course = []
    for _ in range(episodes):
        place, moves = find("S"), 0
        while MAZE[place[0]][place[1]] != "G" and moves < MOST_MOVES:
            rates = np.zeros((ROWS, COLUMNS, PLACE_NEURONS))
            rates[place] = PLACE_RATE
            net.states["place.rate"] = rates.ravel()
            counts = net.run(DECISION_SECONDS).counts
            spikes = np.array([counts[name] for name in ACTIONS])
            action = int(draw.choice(np.flatnonzero(spikes == spikes.max())))
            following = moved(place, action)
            reward = float(MAZE[following[0]][following[1]] == "G")
            error = reward + DISCOUNT * values[following] - values[place]
            values[place] += VALUE_RATE * error
            if is_rewarded:
                net.reward(error)
            place, moves = following, moves + 1
        course.append(moves)
    return Outcome(seed, float(np.mean(course[-counted:])), fewest_moves(), course)


def main() -> None:
    """All seeds, and the same without rewards."""
    print(f"the shortest way has {fewest_moves()} moves; an episode ends after {MOST_MOVES}")
    print("seed  learnt  without rewards   moves of the episodes with rewards")
    pairs = [(run(seed), run(seed, is_rewarded=False)) for seed in SEEDS]
    for learnt, chance in pairs:
        print(f"{learnt.seed:4d}  {learnt.moves:6.1f}  {chance.moves:15.1f}   " + " ".join(map(str, learnt.course)))
    print(
        f"mean {np.mean([learnt.moves for learnt, _ in pairs]):.1f}, most {max(learnt.moves for learnt, _ in pairs):.1f}; "
        f"without rewards {np.mean([chance.moves for _, chance in pairs]):.1f}"
    )


if __name__ == "__main__":
    main()
