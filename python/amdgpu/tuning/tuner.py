"""Measures the ways to compute a product, or forms of another kernel, within a budget, and puts what it finds into the database."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

from amdgpu import _native
from amdgpu.tuning.convolutions import Convolution
from amdgpu.tuning.database import Database
from amdgpu.tuning.entries import Entry, Product, Record
from amdgpu.tuning.fused import Fused
from amdgpu.tuning.process import Worker, WorkerLostError
from amdgpu.tuning.reductions import Reduction

# One way to compute a product takes milliseconds; a child that says nothing for so long hangs.
CANDIDATE_SECONDS = 10.0
# Imports, the start of the driver and the operands of a new product come on top.
START_SECONDS = 30.0
# The reason of ways that are tried again when there is time.
NO_TIME = "no time was left"

# What has several ways to be computed.
Tunable = Product | Convolution | Reduction | Fused
# The field of a question that says what is measured.
FIELDS = {Product: "product", Convolution: "convolution", Reduction: "reduction", Fused: "fused"}
# What is measured, way, seconds or why there are none, done so far, in all.
Progress = Callable[[Tunable, str, "float | str", int, int], None]


def moment() -> str:
    """This moment as measurements have it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Budget:
    """What questions to the child may take together.

    Args:
        left_seconds: What is left.
        now: Gives seconds.
    """

    def __init__(self, left_seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self.left_seconds = left_seconds
        self._now = now

    def measure(self, worker: Worker, question: dict[str, Any], *, is_new: bool) -> float | str:
        """The seconds that the child answers, or why there are none.

        Args:
            worker: The child.
            question: What it is asked.
            is_new: The child has nothing of an earlier question that it could use again.
        """
        if self.left_seconds <= 0:
            return NO_TIME
        wanted = CANDIDATE_SECONDS + (START_SECONDS if is_new else 0.0)
        limit = min(wanted, self.left_seconds)
        begin = self._now()
        try:
            answer = worker.ask(question, limit_seconds=limit)
        except WorkerLostError as error:
            # The way is not to blame when the time of all was over.
            return NO_TIME if limit < wanted and self._now() - begin >= limit else str(error)
        finally:
            self.left_seconds = max(0.0, self.left_seconds - (self._now() - begin))
        seconds = answer.get("seconds")
        if isinstance(seconds, float) and 0 < seconds < float("inf"):
            # More digits than a clock and a GPU's changing frequency can tell would only fill files.
            return float(f"{seconds:.4g}")
        return str(answer.get("failed", "no answer"))[:200]


class Tuner:
    """Fills the database of a device within a budget.

    Args:
        device: Name of the device, for example cuda:0.
        product_name: What the device calls itself.
        database: Takes the results.
        budget_seconds: What all calls together may take.
        worker: The child that measures; None makes one.
        now: Gives seconds.
        progress: Called after each way that was tried.
        is_fresh: Nothing of an earlier measurement is kept.
    """

    def __init__(
        self,
        device: str,
        product_name: str,
        database: Database,
        *,
        budget_seconds: float,
        worker: Worker | None = None,
        now: Callable[[], float] = time.monotonic,
        progress: Progress | None = None,
        is_fresh: bool = False,
    ) -> None:
        self._device = device
        self._product_name = product_name
        self._database = database
        self._budget = Budget(budget_seconds, now)
        self._worker = worker if worker is not None else Worker(now=now)
        self._progress = progress
        self._is_fresh = is_fresh
        self._started: Tunable | None = None
        # The child answers one question at a time.
        self._lock = threading.Lock()

    @property
    def left_seconds(self) -> float:
        """What is left of the budget."""
        return self._budget.left_seconds

    def close(self) -> None:
        """End the child."""
        self._worker.close()

    def tune(self, product: Product, candidates: Sequence[str]) -> Entry | None:
        """Measure every way to compute a product; what was not measured for want of time is measured next time.

        Returns:
            The measurements; None when no way was right in time.
        """
        with self._lock:
            measured = self._measured(product, candidates, None if self._is_fresh else self._database.exact(product))
            if measured is None:
                return None
            entry = Entry(product, *measured, self._product_name, moment())
            self._keep(lambda: self._database.add([entry]))
            return entry

    def tune_subject(self, what: Tunable, subject: str, candidates: Sequence[str]) -> Record | None:
        """The same of what is no product; the database calls it `subject`."""
        with self._lock:
            known = None if self._is_fresh else self._database.record(subject)
            measured = self._measured(what, candidates, known)
            if measured is None:
                return None
            record = Record(subject, *measured, self._product_name, moment())
            self._keep(lambda: self._database.add_record(record))
            return record

    def _keep(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as error:
            _native.record_fallback("tuning", f"measurements are not kept: {error.strerror}")

    def _measured(
        self, product: Tunable, candidates: Sequence[str], known: Entry | Record | None
    ) -> tuple[dict[str, float], dict[str, str]] | None:
        """Seconds, and reasons why there are none, of all ways; None where no way has a time."""
        seconds: dict[str, float] = {}
        failed: dict[str, str] = {}
        if known is not None and NO_TIME in known.failed.values():
            seconds = {name: value for name, value in known.seconds.items() if name in candidates}
            failed = {name: reason for name, reason in known.failed.items() if reason != NO_TIME}
        waiting = [name for name in candidates if name not in seconds and name not in failed]
        for done, name in enumerate(waiting, start=1):
            answer = self._measure(product, name)
            if isinstance(answer, float):
                seconds[name] = answer
            else:
                failed[name] = answer
            if self._progress is not None:
                self._progress(product, name, answer, done, len(waiting))
        return (seconds, failed) if seconds else None

    def _measure(self, product: Tunable, name: str) -> float | str:
        """Seconds, or why there are none."""
        is_new = self._started != product or not self._worker.is_running
        field = FIELDS[type(product)]
        question: dict[str, Any] = {"device": self._device, field: product._asdict(), "candidate": name}
        answer = self._budget.measure(self._worker, question, is_new=is_new)
        if self._worker.is_running:
            self._started = product
        return answer
