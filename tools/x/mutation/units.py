"""A test program, how long it takes, and what it reaches; and running faults against many of them, near ones first."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from x.mutation import trial
from x.mutation.schemata import ACTIVE_VARIABLE, REACHED_VARIABLE

# A fault that makes a program slower than this has been noticed; other work on the machine must not look like one.
LIMIT_FACTOR = 6.0
LIMIT_LEAST_S = 30.0
BASELINE_LIMIT_S = 900.0
# More names than this are not put on a command line: the whole program runs instead.
NAMES_ON_A_LINE = 400


@dataclass
class Unit:
    """One test program, for example one of cargo's or one file of pytest."""

    name: str
    command: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    # Arguments that make the program run nothing but the named tests; None where it cannot.
    only: Callable[[Sequence[str]], list[str]] | None = None
    seconds: float = 0.0
    # For each fault, the names of the threads that reached it; libtest names a thread after its test.
    reached: dict[int, set[str]] = field(default_factory=dict)

    @property
    def limit_s(self) -> float:
        """How long a fault may keep the program busy."""
        return max(LIMIT_LEAST_S, LIMIT_FACTOR * self.seconds)

    def measure(self) -> str:
        """Runs the program without a fault, notes its time and what it reaches; returns what failed, or nothing."""
        with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
            record = Path(folder) / "reached"
            variables = {**self.environment, REACHED_VARIABLE: str(record)}
            outcome = trial.run(
                self.command, cwd=self.cwd, environment=variables, limit_s=BASELINE_LIMIT_S, stop_early=False
            )
            self.seconds = outcome.seconds
            lines = record.read_text(errors="replace").splitlines() if record.exists() else []
        for line in lines:
            number, _, thread = line.partition("\t")
            if number.isdigit():
                self.reached.setdefault(int(number), set()).add(thread)
        return outcome.noticed_by

    def notices(self, number: int) -> str:
        """What this program fails with when the fault is switched on: the tests that reach it first, then all of them."""
        variables = {**self.environment, ACTIVE_VARIABLE: str(number)}
        names = sorted(name for name in self.reached.get(number, ()) if name not in ("", "main"))
        if self.only is not None and 0 < len(names) <= NAMES_ON_A_LINE:
            outcome = trial.run(
                [*self.command, *self.only(names)], cwd=self.cwd, environment=variables, limit_s=self.limit_s
            )
            started = re.search(r"^running (\d+) tests?$", outcome.output, re.MULTILINE)
            all_are_tests = started is not None and int(started[1]) == len(self.reached[number])
            # A thread that is not a test's own, say of a pool, hides which test it works for; then all of them run.
            if outcome.noticed_by or all_are_tests:
                return outcome.noticed_by
        return trial.run(self.command, cwd=self.cwd, environment=variables, limit_s=self.limit_s).noticed_by


def nearest(units: Sequence[Unit], number: int) -> list[Unit]:
    """The programs that reach the fault, the quickest first."""
    return sorted((unit for unit in units if number in unit.reached), key=lambda unit: unit.seconds)
