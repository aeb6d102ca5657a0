"""Training of candidates, several at a time."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.errors import NetworkError, OutOfMemoryError, WeightsNotFiniteError
from amdgpu.network import Network
from amdgpu.search.marks import substitute
from amdgpu.search.result import Candidate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amdgpu.search.journal import Journal
    from amdgpu.search.marks import Mark
    from amdgpu.training.history import History

Evaluate = Callable[[Network, int], float]
# What a candidate may fail of without ending the search; anything else is an error of the search itself.
FAILURES = (NetworkError, OutOfMemoryError, WeightsNotFiniteError)


@dataclass(frozen=True, slots=True)
class Request:
    """A candidate to be tried."""

    text: str
    values: tuple[str, ...]
    levels: tuple[int, ...]
    epochs: int

    @classmethod
    def of(cls, text: str, marks: Sequence[Mark], levels: tuple[int, ...], epochs: int) -> Request:
        """The candidate that has these levels of the marks."""
        values = tuple(mark.levels[level] for mark, level in zip(marks, levels, strict=True))
        return cls(substitute(text, marks, levels), values, levels, epochs)


class Stopped(Exception):
    """A training ends since the search does."""


class Evaluator:
    """Builds and trains candidates in threads: the trainers leave the interpreter, and small networks leave cores idle."""

    def __init__(
        self,
        evaluate: Evaluate,
        device: int | str | None,
        workers: int,
        is_stopped: threading.Event,
        *,
        keeps_networks: bool = False,
    ) -> None:
        """`keeps_networks`: a text that is asked for again, with more epochs, comes to `evaluate` with the network of the time before."""
        self._evaluate = evaluate
        # The threads that evaluate have current devices of their own.
        self._device = _native.current_device() if device is None else device
        self._workers = workers
        self._is_stopped = is_stopped
        self._keeps_networks = keeps_networks
        self._networks: dict[str, Network] = {}

    def run(
        self, requests: Sequence[Request], journal: Journal, finished: Callable[[Candidate], None]
    ) -> list[Candidate]:
        """Candidates in the order of the requests; each is written to the journal when it is done.

        `finished` is called in this thread, in any order.
        """
        new = {(one.text, one.epochs): one for one in requests if journal.get(one.text, one.epochs) is None}
        asked_again = {one.text for one in requests}
        self._networks = {text: net for text, net in self._networks.items() if text in asked_again}
        pool = ThreadPoolExecutor(self._workers, thread_name_prefix="amdgpu-search")
        try:
            for future in as_completed([pool.submit(self._one, one) for one in new.values()]):
                candidate = future.result()
                journal.add(candidate)
                finished(candidate)
        except BaseException:
            self._is_stopped.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        found = [journal.get(one.text, one.epochs) for one in requests]
        return [candidate for candidate in found if candidate is not None]

    def _one(self, request: Request) -> Candidate:
        start = time.perf_counter()
        score, error, parameters = None, None, 0
        try:
            net = self._networks.pop(request.text, None) or Network(request.text, device=self._device)
            parameters = net.parameter_count
            score = arguments.number("search", "the score of a candidate", self._evaluate(net, request.epochs))
            if math.isnan(score):
                score, error = None, "the score is NaN"
            elif self._keeps_networks:
                self._networks[request.text] = net
        except FAILURES as failure:
            error = str(failure)
        seconds = time.perf_counter() - start
        return Candidate(
            request.text, request.values, request.levels, request.epochs, parameters, score, error, seconds
        )


def trained(x: Any, y: Any, options: dict[str, Any], is_stopped: threading.Event) -> Evaluate:
    """Train with `LayeredNetwork.train`, or go on with the training that the network holds, and score the last epoch's validation."""

    def look(_: object) -> None:
        if is_stopped.is_set():
            raise Stopped

    def evaluate(net: Network, epochs: int) -> float:
        history: History = net.train(x, y, epochs=epochs, progress=look, resume=net.history is not None, **options)
        last = -1 if history.best_epoch is None or options.get("patience") is None else history.best_epoch
        accuracy, loss = history.validation_accuracy[last], history.validation_loss[last]
        if accuracy is not None:
            return accuracy
        return -(loss if loss is not None else history.loss[last])

    return evaluate
