"""Faults in Rust: one build for those of all areas, then the near tests of each, then those that are further away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from x import core_library, process
from x.console import Console, seconds_text
from x.failure import Failure
from x.mutation import cargo
from x.mutation.areas import RustArea
from x.mutation.faults import Fault
from x.mutation.report import Verdict
from x.mutation.schemata import SWITCH_MODULE, Instrumented, instrument
from x.mutation.text_area import pytest_command
from x.mutation.units import Unit, nearest
from x.mutation.working_copy import COPY, environment, refresh
from x.paths import CORE_LIBRARY, EXTENSION, ROOT

# Some of those drawn do not compile; this many more are put in, so that one round of building is usually enough.
SPARE = 1.35
ROUNDS = 40


@dataclass
class Draw:
    """Faults of an area in the order in which they are tried, by the number that switches each on, and what became of them."""

    name: str
    area: RustArea
    waiting: list[tuple[int, Fault]]
    count: int
    # Those that are put in: in the end as many as are wanted, all of which compile.
    chosen: dict[int, Fault] = field(default_factory=dict)
    refused: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether no more faults can or need be put in."""
        return len(self.chosen) >= self.count or not self.waiting

    def take(self) -> None:
        """Puts in what is missing, and some more."""
        missing = self.count - len(self.chosen)
        if missing > 0 and self.waiting:
            taken = self.waiting[: max(missing + 2, int(missing * SPARE))]
            del self.waiting[: len(taken)]
            self.chosen.update(taken)

    def trim(self) -> None:
        """Leaves out those beyond the count."""
        self.chosen = dict(sorted(self.chosen.items())[: self.count])

    def drop(self, wrong: set[int]) -> None:
        """Takes out faults that do not compile."""
        self.refused += len(wrong & self.chosen.keys())
        self.chosen = {number: fault for number, fault in self.chosen.items() if number not in wrong}


def numbered(draws: Sequence[tuple[str, RustArea, Sequence[Fault], int]]) -> list[Draw]:
    """Draws whose faults have numbers that no other fault has."""
    result = []
    first = 1
    for name, area, faults, count in draws:
        result.append(Draw(name, area, list(enumerate(faults, first)), count))
        first += len(faults)
    return result


def packages_of(crates: Sequence[str]) -> list[str]:
    """Arguments of cargo that name these crates."""
    return [argument for crate in crates for argument in ("-p", crate)]


def build(console: Console, draws: Sequence[Draw]) -> str:
    """Puts faults into the copy until those of all draws compile together, and builds the near tests; returns what cargo printed."""
    packages = packages_of([crate for draw in draws for crate in draw.area.crates])
    for _ in range(ROUNDS):
        for draw in draws:
            draw.take()
        files = write(draws)
        done = cargo.run(console, ["check", "--lib", "--keep-going", *packages], "check the faults")
        wrong = cargo.refused(done.output, files)
        if done.exit_code == 0 and all(draw.is_complete for draw in draws):
            for draw in draws:
                draw.trim()
            files = write(draws)
            done, wrong = _build_tests(console, draws, files)
            if done.exit_code == 0:
                return done.output
        elif done.exit_code == 0:
            continue
        if not wrong:
            raise Failure("the copy does not build", fix="mend the sources first", detail=done.tail())
        for draw in draws:
            draw.drop(wrong)
        console.line(f"  {len(wrong)} faults do not compile, others take their place", "dim")
    raise Failure(f"after {ROUNDS} rounds some faults still do not compile")


def _build_tests(
    console: Console, draws: Sequence[Draw], files: Mapping[str, Instrumented]
) -> tuple[process.Finished, set[int]]:
    tested = packages_of([crate for draw in draws if draw.area.has_rust_tests for crate in draw.area.crates])
    if tested:
        done = cargo.run(console, ["test", "--no-run", "--lib", "--bins", "--tests", *tested], "build near tests")
    else:
        packages = packages_of([crate for draw in draws for crate in draw.area.crates])
        done = cargo.run(console, ["check", "--lib", *packages], "check the faults")
    return done, cargo.refused(done.output, files)


def write(draws: Sequence[Draw]) -> dict[str, Instrumented]:
    """Writes the copy with the chosen faults in it."""
    by_file: dict[str, dict[int, Fault]] = {}
    for draw in draws:
        for number, fault in draw.chosen.items():
            by_file.setdefault(fault.file, {})[number] = fault
    files = {name: instrument((ROOT / name).read_bytes(), faults) for name, faults in by_file.items()}
    changed = {name: file.text for name, file in files.items()}
    for crate in (crate for draw in draws for crate in draw.area.crates):
        root = f"crates/{crate}/src/lib.rs"
        text = changed.get(root, (ROOT / root).read_bytes())
        changed[root] = text + b"\n#[doc(hidden)]\npub mod mutation_switch;\n"
        changed[f"crates/{crate}/src/mutation_switch.rs"] = SWITCH_MODULE.encode()
    refresh(changed)
    return files


@dataclass
class Stage:
    """A circle of tests around an area; `prepare` builds them when the first fault gets that far."""

    title: str
    prepare: Callable[[], list[Unit]]


class Workshop:
    """The test programs of the areas: each is built, and run without a fault, when it is needed for the first time."""

    def __init__(self, console: Console, output: str) -> None:
        self._console = console
        # What cargo printed about the test programs of the areas' own crates.
        self._output = output
        self._measured: dict[str, Unit | None] = {}
        self._is_extension_built = False

    def stages(self, area: RustArea) -> list[Stage]:
        """The area's own tests, those of the crates that use it, and Python's."""
        circles = []
        if area.has_rust_tests:
            circles.append(Stage("tests of the crates", lambda: self._own(area)))
            circles.append(Stage("tests of the crates that depend on them", lambda: self._further(area)))
        circles.append(Stage("tests in Python", lambda: self._python(area)))
        return circles

    def _own(self, area: RustArea) -> list[Unit]:
        return [unit for unit in cargo.test_programs(self._output) if unit.cwd.name in area.crates]

    def _further(self, area: RustArea) -> list[Unit]:
        packages = packages_of(cargo.dependents(area.crates))
        if not packages:
            return []
        command = ["test", "--no-run", "--lib", "--bins", "--tests", *packages]
        done = cargo.run(self._console, command, "build further tests")
        done.require("the tests of the crates that depend on these do not build")
        return cargo.test_programs(done.output)

    def _python(self, area: RustArea) -> list[Unit]:
        if not self._is_extension_built:
            build_extension(self._console)
            self._is_extension_built = True
        return [pytest_unit(name) for name in area.python_tests if (COPY / name).exists()]

    def measured(self, units: Sequence[Unit]) -> list[Unit]:
        """The units that pass without a fault, with their times; the others are named, since they cannot notice anything."""
        known = self._measured
        for unit in units:
            if unit.name not in known:
                known[unit.name] = unit if self._passes(unit) else None
        good = [measured for unit in units if (measured := known[unit.name]) is not None]
        total = sum(unit.seconds for unit in good)
        self._console.line(f"  {len(good)} test programs take {seconds_text(total)} without a fault", "dim")
        return good

    def _passes(self, unit: Unit) -> bool:
        self._console.live(f"without a fault: {unit.name}")
        failed = unit.measure()
        if failed:
            self._console.line(f"  left out, fails without a fault: {unit.name}: {failed}", "red")
        else:
            self._console.line(f"  {unit.name} takes {seconds_text(unit.seconds)} without a fault", "dim")
        return not failed


def build_extension(console: Console) -> None:
    """Builds the extension with the faults in it, into the copy: with the profile of the tests, whose crates are built already."""
    built = {core_library.LIBRARY_CRATE: CORE_LIBRARY, core_library.EXTENSION_CRATE: EXTENSION}
    arguments = core_library.cargo_arguments(*built, profile="dev")
    done = cargo.run(console, arguments, "build the extension", core_library.ENVIRONMENT)
    done.require("the extension does not build with the faults in it")
    for crate, output in built.items():
        core_library.place(core_library.artifact(done.output, crate), COPY / output.relative_to(ROOT))


def pytest_unit(name: str) -> Unit:
    """One file of tests as a program that stops at its first failure."""
    return Unit(name, (*pytest_command(), name), COPY, environment())


@dataclass
class Tried:
    """An area's faults, and what became of each."""

    verdicts: list[Verdict]
    refused: int
    seconds: float


def run(console: Console, draws: Sequence[Draw], *, python: bool) -> list[Tried]:
    """Tries the first faults of each draw that compile, as many as it wants."""
    started = time.monotonic()
    workshop = Workshop(console, build(console, draws))
    built_s = time.monotonic() - started
    count = sum(len(draw.chosen) for draw in draws)
    console.line(f"  {count} faults in one build after {seconds_text(built_s)}")
    tried = []
    for draw in draws:
        begun = time.monotonic()
        verdicts = _run_draw(console, workshop, draw, python=python)
        tried.append(Tried(verdicts, draw.refused, time.monotonic() - begun + built_s / len(draws)))
    return tried


def _run_draw(console: Console, workshop: Workshop, draw: Draw, *, python: bool) -> list[Verdict]:
    verdicts = {number: Verdict(fault) for number, fault in draw.chosen.items()}
    alive = list(verdicts)
    for stage in workshop.stages(draw.area):
        if not alive or (stage.title.endswith("Python") and not python):
            break
        console.line(f"  {len(alive)} faults of {draw.name} against the {stage.title}", "bold")
        units = workshop.measured(stage.prepare())
        alive = [number for number in alive if not _try(console, units, number, verdicts[number])]
    return list(verdicts.values())


def _try(console: Console, units: Sequence[Unit], number: int, verdict: Verdict) -> bool:
    for unit in nearest(units, number):
        console.live(f"{verdict.fault}: {unit.name}")
        verdict.reached_by.append(unit.name)
        noticed = unit.notices(number)
        if noticed:
            verdict.noticed_by, verdict.unit = noticed, unit.name
            console.line(f"  {verdict.line()}")
            return True
    console.line(f"  {verdict.line()}", "dim")
    return False
