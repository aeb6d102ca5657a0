"""`./x mutate [AREA ...]`."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from x.console import Console
from x.failure import Failure
from x.mutation import cargo, report, rust_area, text_area, working_copy
from x.mutation.areas import AREAS, RustArea, TextArea
from x.mutation.faults import Fault, drawn
from x.mutation.report import Result

DEFAULT_COUNT = 30


def validate(names: Sequence[str], count: int) -> None:
    """Refuses areas that do not exist."""
    for name in names:
        if name not in AREAS:
            raise Failure(f"there is no area `{name}`", fix=f"some of: {', '.join(AREAS)}")
    if count < 1:
        raise Failure(f"--count must be at least 1, got {count}")


@dataclass(frozen=True)
class Wanted:
    """Which faults of an area are tried, and against which tests."""

    count: int = DEFAULT_COUNT
    seed: int = 0
    within: str = ""
    only: tuple[str, ...] = ()
    near: bool = False


def run(console: Console, names: Sequence[str], wanted: Wanted) -> int:
    """Mutates the areas. The exit code says whether the run worked, not whether faults survived."""
    chosen = list(names or AREAS)
    with working_copy.exclusive(console):
        rust = [name for name in chosen if isinstance(AREAS[name], RustArea)]
        results = _run_rust(console, rust, wanted) if rust else []
        results += [_run_text(console, name, wanted) for name in chosen if name not in rust]
        report.conclude(console, results)
    return 0


def needs_products(names: Sequence[str]) -> bool:
    """Whether some area's tests run the extension and the dashboard of the tree; Rust's build their own in the copy."""
    return any(isinstance(AREAS[name], TextArea) for name in names or AREAS)


def made_up_seed() -> int:
    """A seed that is short enough to be typed again."""
    return secrets.randbelow(1 << 20)


def _run_rust(console: Console, names: Sequence[str], wanted: Wanted) -> list[Result]:
    """The faults of all these areas are compiled in together, which takes most of the time."""
    draws = []
    candidates = []
    for name in names:
        area = AREAS[name]
        assert isinstance(area, RustArea)
        everything = cargo.list_faults(console, area.crates)
        chosen, count = _chosen(console, name, everything, wanted)
        draws.append((name, area, chosen, count))
        candidates.append(_within(everything, wanted))
    tried = rust_area.run(console, rust_area.numbered(draws), python=not wanted.near)
    return [
        Result(name, wanted.seed, len(possible), one.refused, one.verdicts, one.seconds)
        for name, possible, one in zip(names, candidates, tried, strict=True)
    ]


def _run_text(console: Console, name: str, wanted: Wanted) -> Result:
    started = time.monotonic()
    area = AREAS[name]
    assert isinstance(area, TextArea)
    everything = text_area.list_faults(area)
    chosen, count = _chosen(console, name, everything, wanted)
    runner = text_area.Runner(console, area)
    verdicts = runner.run(chosen, count)
    possible = len(_within(everything, wanted))
    return Result(name, wanted.seed, possible, runner.refused, verdicts, time.monotonic() - started)


def _within(everything: Sequence[Fault], wanted: Wanted) -> list[Fault]:
    return [fault for fault in everything if wanted.within in fault.file]


def _chosen(console: Console, name: str, everything: Sequence[Fault], wanted: Wanted) -> tuple[list[Fault], int]:
    """The faults in the order in which they are tried, and how many are."""
    console.line(f"== {name}, seed {wanted.seed}", "bold")
    candidates = _within(everything, wanted)
    chosen = _named(candidates, wanted.only) if wanted.only else drawn(candidates, wanted.seed)
    if not chosen:
        place = f" in files with `{wanted.within}` in their path" if wanted.within else ""
        raise Failure(f"nothing can be mutated in {name}{place}")
    console.line(f"  {len(candidates)} possible faults on {len({(f.file, f.line) for f in candidates})} lines")
    return chosen, min(len(wanted.only) or wanted.count, len(chosen))


def _named(candidates: Sequence[Fault], only: Sequence[str]) -> list[Fault]:
    by_name = {fault.name: fault for fault in candidates}
    missing = [name for name in only if name not in by_name]
    if missing:
        raise Failure(f"no fault is called {', '.join(missing)} now", fix="its function may have changed; draw anew")
    return [by_name[name] for name in only]
