"""The search itself."""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, NetworkError
from amdgpu.layered_network import LayeredNetwork
from amdgpu.network import Network
from amdgpu.search.evaluate import Evaluator, Request, trained
from amdgpu.search.journal import Journal
from amdgpu.search.marks import find_marks
from amdgpu.search.result import Candidate, SearchProgress, SearchResult, best_of
from amdgpu.search.strategies import Budget, Outcome, evolution, quantum_inspired, successive_halving
from amdgpu.training.train import samples_of

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from amdgpu.search.marks import Mark
    from amdgpu.search.strategies import Strategy

STRATEGIES = {
    "evolution": evolution,
    "successive_halving": successive_halving,
    "quantum_inspired": quantum_inspired,
}

# Selection compares every two candidates of a generation.
LARGEST_POPULATION = 1_000_000

TRAIN_OPTIONS = frozenset(inspect.signature(LayeredNetwork.train).parameters) - {"self", "x", "y"}

Progress = bool | Callable[[SearchProgress], None]


def architecture(
    text: str,
    x: npt.ArrayLike | None = None,
    y: npt.ArrayLike | None = None,
    *,
    strategy: str = "evolution",
    population: int = 16,
    generations: int = 8,
    epochs: int = 10,
    validation_split: float = 0.2,
    validation_data: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    train_options: Mapping[str, Any] | None = None,
    evaluate: Callable[[Network, int], float] | None = None,
    seed: int = 0,
    device: int | str | None = None,
    workers: int | None = None,
    journal: str | Path | None = None,
    progress: Progress = False,
) -> SearchResult:
    """Search over the marked ranges of a network text.

    `choice(a, b, …)` stands for one of its parts, `range(low, high)` for a number between (whole if both are), `range(low, high, step)`,
    `range(low, high, log)`; they may stand wherever the text has a value. The same seed tries the same candidates.

    Args:
        text: Network text with marked ranges.
        x: Samples, as `LayeredNetwork.train` takes them; not with `evaluate`.
        y: Targets, as `LayeredNetwork.train` takes them.
        strategy: evolution (fronts of score and size as in NSGA-II, Deb et al. 2002), successive_halving (Jamieson and Talwalkar 2016)
            or quantum_inspired (probability amplitudes and rotation gates, Han and Kim 2002).
        population: Candidates of a generation; of successive halving those of the first rung.
        generations: Generations; rungs of successive halving, each with half the candidates and twice the epochs.
        epochs: Epochs of a training; of successive halving those of the last rung.
        validation_split: As of `LayeredNetwork.train`; the score is the validation accuracy, or minus the loss without classes.
        validation_data: As of `LayeredNetwork.train`.
        train_options: More arguments of `LayeredNetwork.train`.
        evaluate: Instead of x and y: takes a network and the epochs, gives a score to be made large. It runs in several threads.
        seed: Of the choices.
        device: Index in `list_devices()` or a name; None means the current device.
        workers: Candidates trained at a time; None takes one for each core.
        journal: File that remembers what was tried: the same call goes on where it ended. A new one is begun if it does not exist.
        progress: True draws a bar on standard error; a function gets a `SearchProgress` after every candidate.

    Returns:
        All candidates, the best one, and the front of score against size. A candidate that failed has `error`.

    Raises:
        InvalidArgumentError: No marked range, a wrong one, an option out of range, the journal of another search.
        InvalidTypeError: An option of another type; samples that are no numbers.
        NetworkError: Every candidate of the first generation failed; the message is the first one's.

    Example:
        >>> import amdgpu, numpy
        >>> x = numpy.random.default_rng(0).standard_normal((200, 2))
        >>> result = amdgpu.search.architecture('''
        ... layer input(2)
        ... layer hidden(range(2, 16), activation: choice(relu, tanh))
        ... layer output(2, activation: softmax)
        ... connect input -> hidden
        ... connect hidden -> output
        ... ''', x, (x[:, 0] * x[:, 1] > 0).astype(int), population=4, generations=2, epochs=5)
        >>> "choice" in result.best.text
        False
    """
    import numpy as np

    marks = find_marks(text)
    if not marks:
        raise InvalidArgumentError(
            "the text has no marked range: write choice(relu, tanh) or range(16, 256) where the search may choose"
        )
    arguments.choice("search", "strategy", strategy, tuple(STRATEGIES))
    budget = Budget(
        arguments.count("search", "population", population, 1, LARGEST_POPULATION),
        arguments.count("search", "generations", generations, 1),
        arguments.count("search", "epochs", epochs, 1),
    )
    seed = arguments.count("search", "seed", seed)
    count = os.cpu_count() or 1 if workers is None else arguments.count("search", "workers", workers, 1)
    progress = arguments.progress("search", progress)
    about: dict[str, Any] = {
        "text": text,
        "strategy": strategy,
        "budget": [budget.population, budget.generations, budget.epochs],
        "seed": seed,
    }
    is_stopped = threading.Event()
    # A training that ended early, or put its best weights back, is not one that more epochs can be added to.
    options = _options(train_options, validation_split, validation_data)
    goes_on = evaluate is None and strategy == "successive_halving" and "patience" not in options
    if evaluate is None:
        inputs, targets = _samples(x, y)
        about |= _about(inputs, targets, options)
        evaluate = trained(inputs, targets, options, is_stopped)
    else:
        arguments.function("search", "evaluate", evaluate)
        if x is not None or y is not None:
            raise InvalidArgumentError("x and y are not used with `evaluate`: leave them out")
    tell = _bar if progress is True else progress or None
    show = (lambda tried: _tell(tell, tried, _total(strategy, budget))) if tell is not None else None
    plan = STRATEGIES[strategy](marks, budget, np.random.Generator(np.random.Philox(seed)))
    with Journal(journal, about) as memory:
        evaluator = Evaluator(evaluate, device, count, is_stopped, keeps_networks=goes_on)
        candidates = _follow(plan, text, marks, evaluator=evaluator, memory=memory, show=show)
    if progress is True:
        print(file=sys.stderr)
    return SearchResult(candidates, strategy, seed)


def _follow(
    plan: Strategy,
    text: str,
    marks: list[Mark],
    *,
    evaluator: Evaluator,
    memory: Journal,
    show: Callable[[list[Candidate]], None] | None,
) -> list[Candidate]:
    """Try what the strategy asks for until it ends; every candidate once."""
    candidates: dict[tuple[str, int], Candidate] = {}
    requests = next(plan)
    while True:
        tried = dict(candidates)

        def finished(candidate: Candidate, tried: dict[tuple[str, int], Candidate] = tried) -> None:
            tried[candidate.text, candidate.epochs] = candidate
            if show is not None:
                show(list(tried.values()))

        group = evaluator.run(
            [Request.of(text, marks, levels, epochs) for levels, epochs in requests], memory, finished
        )
        for one in group:
            candidates.setdefault((one.text, one.epochs), one)
        if all(one.score is None for one in candidates.values()):
            raise NetworkError(f"no candidate could be trained; the first says: {group[0].error}")
        outcomes = [Outcome(-math.inf if one.score is None else one.score, one.parameters) for one in group]
        try:
            requests = plan.send(outcomes)
        except StopIteration:
            return list(candidates.values())


def _options(
    given: Mapping[str, Any] | None, split: float, data: tuple[npt.ArrayLike, npt.ArrayLike] | None
) -> dict[str, Any]:
    options = (
        {}
        if given is None
        else dict(arguments.mapping("search", "train_options", given, "arguments of LayeredNetwork.train"))
    )
    unknown = sorted(repr(name) for name in options if name not in TRAIN_OPTIONS)
    if unknown:
        raise InvalidArgumentError(
            f"train_options holds {', '.join(unknown)}, which LayeredNetwork.train does not take"
        )
    reserved = sorted({"epochs", "progress", "resume"} & set(options))
    if reserved:
        raise InvalidArgumentError(f"train_options holds {', '.join(reserved)}, which the search sets itself")
    if data is None:
        return options | {"validation_split": arguments.share("search", "validation_split", split)}
    return options | {"validation_data": arguments.two("search", "validation_data", data, "(x, y)")}


def _samples(x: npt.ArrayLike | None, y: npt.ArrayLike | None) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    if x is None or y is None:
        raise InvalidArgumentError("a search needs x and y to train with, or a function `evaluate`")
    return samples_of(x, y, "search")


def _about(inputs: npt.NDArray[Any], targets: npt.NDArray[Any], options: dict[str, Any]) -> dict[str, Any]:
    """What a journal of the training must agree with."""
    held_back = [arguments.values("search", "validation_data", part) for part in options.get("validation_data", ())]
    return {
        "data": [_digest(values) for values in (inputs, targets, *held_back)],
        "options": {name: repr(value) for name, value in options.items() if name != "validation_data"},
    }


def _tell(tell: Callable[[SearchProgress], None], tried: list[Candidate], total: int) -> None:
    good = [one for one in tried if one.score is not None]
    tell(SearchProgress(len(tried), total, best_of(good) if good else None))


def _total(strategy: str, budget: Budget) -> int:
    """Trainings at most; candidates that come up again are not trained again."""
    if strategy != "successive_halving":
        return budget.population * budget.generations
    return sum(max(1, budget.population >> rung) for rung in range(budget.generations))


def _digest(values: npt.NDArray[Any]) -> str:
    import numpy as np

    contiguous = np.ascontiguousarray(values)
    return hashlib.sha256(f"{contiguous.dtype} {contiguous.shape}".encode() + contiguous.tobytes()).hexdigest()


def _bar(at: SearchProgress) -> None:
    """A line on standard error that is written over."""
    filled = min(at.done * 24 // max(at.total, 1), 24)
    best = "" if at.best is None else f"  best {at.best.score:.4g} with {at.best.parameters} parameters"
    line = f"\r[{'#' * filled}{'.' * (24 - filled)}] {at.done} of at most {at.total}{best}"
    print(line, end="", file=sys.stderr, flush=True)
