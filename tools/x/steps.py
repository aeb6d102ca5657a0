"""Numbered steps with elapsed seconds."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from x import process, schedule
from x.console import Console, seconds_text
from x.failure import Failure
from x.paths import ROOT

NAME_WIDTH = 22


class Reporter:
    """What a step uses to speak and to run commands."""

    def __init__(self, console: Console, name: str, position: str) -> None:
        self.console = console
        self.name = name
        self.position = position
        self._announced = False

    def say(self, text: str) -> None:
        """Says what is about to happen, before it happens."""
        self._announce()
        self.console.line(f"      {text}")

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path = ROOT,
        environment: Mapping[str, str] | None = None,
        log_name: str = "",
        doing: str = "",
    ) -> process.Finished:
        """Runs a command with a live line, which shows `doing` until the command says something itself."""
        return process.run(
            command,
            console=self.console,
            label=f"{self.position} {self.name}",
            log_name=log_name or self.name.replace(" ", "-"),
            cwd=cwd,
            environment=environment,
            doing=doing,
        )

    def _announce(self) -> None:
        if not self._announced:
            self._announced = True
            self.console.line(f"{self.position} {self.name}")


@dataclass(frozen=True)
class Step:
    """A name, the work behind it, which returns what came out of it in a few words, and the steps that have to be done before."""

    name: str
    work: Callable[[Reporter], str]
    after: tuple[str, ...] = ()


def perform(
    steps: Sequence[Step], console: Console, *, keep_going: bool = False, side_by_side: bool = False
) -> list[tuple[str, Failure]]:
    """Does the steps in order, or those that do not wait for each other side by side.

    Raises the first `Failure`, or with `keep_going` returns all of them.
    """
    failures: list[tuple[str, Failure]] = []

    def work(number: int, step: Step) -> None:
        reporter = Reporter(console, step.name, f"[{number}/{len(steps)}]")
        started = time.monotonic()
        try:
            outcome = step.work(reporter)
        except Failure as failure:
            _report(console, reporter, console.paint("failed", "red"), time.monotonic() - started)
            if not keep_going:
                raise
            console.line(failure.text())
            failures.append((step.name, failure))
        else:
            _report(console, reporter, outcome, time.monotonic() - started)

    pieces = [
        schedule.Piece(step.name, functools.partial(work, number, step), after=step.after)
        for number, step in enumerate(steps, 1)
    ]
    schedule.run_side_by_side(pieces, capacity=0 if side_by_side else 1)
    return failures


def _report(console: Console, reporter: Reporter, outcome: str, seconds: float) -> None:
    console.line(f"{reporter.position} {reporter.name.ljust(NAME_WIDTH)} {seconds_text(seconds):>12}  {outcome}")
