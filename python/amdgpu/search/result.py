"""What a search gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from amdgpu.network import Network


@dataclass(frozen=True, slots=True)
class Candidate:
    """One network that was tried.

    Attributes:
        text: The network text, with every marked range replaced.
        values: What they were replaced with, in the order of the text.
        levels: The same as numbers of the levels.
        epochs: Epochs of its training.
        parameters: Weights and biases; 0 if the network could not be built.
        score: What is made large: validation accuracy, without classes the negative validation loss, or what `evaluate` gave; None where
            building or training failed.
        error: Why it failed.
        seconds: How long it took.
    """

    text: str
    values: tuple[str, ...]
    levels: tuple[int, ...]
    epochs: int
    parameters: int
    score: float | None
    error: str | None
    seconds: float

    def network(self, *, device: int | str | None = None) -> Network:
        """The network, freshly initialised."""
        from amdgpu.network import Network

        return Network(self.text, device=device)


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far a search is, after each candidate."""

    done: int
    total: int
    best: Candidate | None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """All candidates of a search.

    Attributes:
        candidates: In the order they were tried; one that was trained for longer later stands there again.
        strategy: How they were chosen.
        seed: Of the random numbers.
    """

    candidates: list[Candidate]
    strategy: str
    seed: int

    @property
    def best(self) -> Candidate:
        """The candidate with the largest score; of equals the smallest, then the first."""
        return best_of(self.candidates)

    @property
    def pareto(self) -> list[Candidate]:
        """Candidates that no other one beats in score and size, from small to large."""
        good = [candidate for candidate in self.candidates if candidate.score is not None]
        front: list[Candidate] = []
        for candidate in sorted(good, key=lambda one: (one.parameters, -(one.score or 0.0))):
            if not front or (candidate.score or 0.0) > (front[-1].score or 0.0):
                front.append(candidate)
        return front

    def plot(self, path: str | Path) -> None:
        """Draw score against size, with the Pareto front; needs matplotlib.

        Raises:
            LibraryMissingError: matplotlib is not installed.
        """
        from amdgpu.plotting.canvas import check_ending, figure

        check_ending(path)
        drawing, (axis,) = figure(1)
        good = [candidate for candidate in self.candidates if candidate.score is not None]
        axis.scatter([one.parameters for one in good], [one.score for one in good], s=12, alpha=0.5, label="candidates")
        front = self.pareto
        axis.plot(
            [one.parameters for one in front], [one.score for one in front], "o-", color="C1", label="Pareto front"
        )
        axis.set_xscale("log")
        axis.set_xlabel("weights and biases")
        axis.set_ylabel("score")
        axis.legend()
        drawing.savefig(path)


def best_of(candidates: list[Candidate]) -> Candidate:
    """See `SearchResult.best`."""
    good = [candidate for candidate in candidates if candidate.score is not None]
    return max(good, key=lambda one: (one.score or 0.0, -one.parameters))
