"""What a run prints, and the record that it keeps."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from x.console import Console, seconds_text
from x.mutation.faults import Fault
from x.paths import BENCH_RESULTS, shown
from x.process import capture

RESULTS = BENCH_RESULTS / "mutation"


@dataclass
class Verdict:
    """What became of one fault."""

    fault: Fault
    # The test that noticed it, or the way the program died; empty when all tests passed.
    noticed_by: str = ""
    # The test program in which that happened.
    unit: str = ""
    # Test programs that reach the fault; where there are none, no test can notice it.
    reached_by: list[str] = field(default_factory=list)

    def line(self) -> str:
        """One line for the console."""
        if self.noticed_by:
            return f"killed    {self.fault}  [{self.fault.name}] by {self.noticed_by} ({self.unit})"
        where = f"{len(self.reached_by)} test programs reach it" if self.reached_by else "no test reaches it"
        return f"survived  {self.fault}  [{self.fault.name}] {where}"


@dataclass
class Result:
    """One area's run."""

    area: str
    seed: int
    candidates: int
    refused: int
    verdicts: list[Verdict]
    seconds: float = 0.0

    @property
    def killed(self) -> int:
        """How many faults the tests noticed."""
        return sum(bool(verdict.noticed_by) for verdict in self.verdicts)

    def row(self) -> tuple[str, ...]:
        """A row of the table."""
        count = len(self.verdicts)
        share = f"{100 * self.killed / count:.0f} %" if count else "-"
        return (
            self.area,
            str(self.seed),
            str(self.candidates),
            str(count),
            str(self.killed),
            str(count - self.killed),
            share,
            seconds_text(self.seconds),
        )

    def as_json(self) -> dict[str, object]:
        """The record."""
        return {
            "area": self.area,
            "seed": self.seed,
            "candidates": self.candidates,
            "refused_by_the_compiler": self.refused,
            "killed": self.killed,
            "seconds": round(self.seconds, 1),
            "machine": platform.machine(),
            "commit": capture(["git", "rev-parse", "--short", "HEAD"]) or "",
            "faults": [
                {
                    "name": verdict.fault.name,
                    "file": verdict.fault.file,
                    "line": verdict.fault.line,
                    "function": verdict.fault.function,
                    "operator": verdict.fault.operator,
                    "before": verdict.fault.before,
                    "after": verdict.fault.after,
                    "killed_by": verdict.noticed_by,
                    "test_program": verdict.unit,
                    "reached_by": verdict.reached_by,
                }
                for verdict in self.verdicts
            ],
        }


def write(result: Result, folder: Path = RESULTS) -> Path:
    """Keeps the record; a run with the same seed replaces the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.area}-{result.seed}.json"
    path.write_text(json.dumps(result.as_json(), indent=1) + "\n")
    return path


def conclude(console: Console, results: Sequence[Result]) -> None:
    """Survivors once more, since they scrolled away, and the table of areas."""
    for result in results:
        console.line()
        survivors = [verdict for verdict in result.verdicts if not verdict.noticed_by]
        if survivors:
            console.line(f"survivors of {result.area}:", "yellow")
            for verdict in survivors:
                console.line(f"  {verdict.line()}")
        console.line(f"kept in {shown(write(result))}", "dim")
    console.line()
    header = ("area", "seed", "candidates", "faults", "killed", "survived", "share", "time")
    console.table(header, [result.row() for result in results], right=(1, 2, 3, 4, 5, 6, 7))
