"""Faults in Rust: one build for all of them, then the near tests, then those that are further away."""

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
class Built:
    """The faults that compiled, by the number that switches them on, and how many did not."""

    faults: dict[int, Fault]
    refused: int
    # What cargo printed about the test programs of the area's own crates.
    output: str = ""


def build(console: Console, area: RustArea, drawn: Sequence[Fault], count: int) -> Built:
    """Puts faults into the copy until `count` of them compile together, and builds the near tests."""
    waiting = list(enumerate(drawn, 1))
    chosen: dict[int, Fault] = {}
    refused = 0
    packages = [argument for crate in area.crates for argument in ("-p", crate)]
    for _ in range(ROUNDS):
        missing = count - len(chosen)
        if missing > 0 and waiting:
            taken = waiting[: max(missing + 2, int(missing * SPARE))]
            del waiting[: len(taken)]
            chosen.update(taken)
        files = write(area, chosen)
        done = cargo.run(console, ["check", "--lib", *packages], "check the faults")
        wrong = cargo.refused(done.output, files) & chosen.keys()
        if done.exit_code == 0 and (len(chosen) >= count or not waiting):
            chosen = dict(sorted(chosen.items())[:count])
            files = write(area, chosen)
            done, wrong = _build_tests(console, area, packages, files)
            if done.exit_code == 0:
                return Built(chosen, refused, done.output)
        elif done.exit_code == 0:
            continue
        if not wrong:
            raise Failure("the copy does not build", fix="mend the sources first", detail=done.tail())
        refused += len(wrong)
        chosen = {number: fault for number, fault in chosen.items() if number not in wrong}
        console.line(f"  {len(wrong)} faults do not compile, others take their place", "dim")
    raise Failure(f"after {ROUNDS} rounds some faults still do not compile")


def _build_tests(
    console: Console, area: RustArea, packages: list[str], files: Mapping[str, Instrumented]
) -> tuple[process.Finished, set[int]]:
    if area.has_rust_tests:
        done = cargo.run(console, ["test", "--no-run", "--lib", "--bins", "--tests", *packages], "build near tests")
    else:
        done = cargo.run(console, ["check", "--lib", *packages], "check the faults")
    return done, cargo.refused(done.output, files)


def write(area: RustArea, chosen: Mapping[int, Fault]) -> dict[str, Instrumented]:
    """Writes the copy with the chosen faults in it."""
    by_file: dict[str, dict[int, Fault]] = {}
    for number, fault in chosen.items():
        by_file.setdefault(fault.file, {})[number] = fault
    files = {name: instrument((ROOT / name).read_bytes(), faults) for name, faults in by_file.items()}
    changed = {name: file.text for name, file in files.items()}
    for crate in area.crates:
        root = f"crates/{crate}/src/lib.rs"
        text = changed.get(root, (ROOT / root).read_bytes())
        changed[root] = text + b"\n#[doc(hidden)]\npub mod mutation_switch;\n"
        changed[f"crates/{crate}/src/mutation_switch.rs"] = SWITCH_MODULE.encode()
    refresh(changed)
    return files


@dataclass
class Stage:
    """A circle of tests around the area; `prepare` builds them when the first fault gets that far."""

    title: str
    prepare: Callable[[], list[Unit]]
    units: list[Unit] = field(default_factory=list)


def stages(console: Console, area: RustArea, built: Built) -> list[Stage]:
    """The area's own tests, those of the crates that use it, and Python's."""

    def further() -> list[Unit]:
        packages = [argument for crate in cargo.dependents(area.crates) for argument in ("-p", crate)]
        if not packages:
            return []
        done = cargo.run(console, ["test", "--no-run", "--lib", "--bins", "--tests", *packages], "build further tests")
        done.require("the tests of the crates that depend on these do not build")
        return cargo.test_programs(done.output)

    circles = []
    if area.has_rust_tests:
        circles.append(Stage("tests of the crates", lambda: cargo.test_programs(built.output)))
        circles.append(Stage("tests of the crates that depend on them", further))
    circles.append(Stage("tests in Python", lambda: python_units(console, area)))
    return circles


def python_units(console: Console, area: RustArea) -> list[Unit]:
    """Builds the extension with the faults in it; one unit for each test file."""
    built = {core_library.LIBRARY_CRATE: CORE_LIBRARY, core_library.EXTENSION_CRATE: EXTENSION}
    done = cargo.run(console, core_library.cargo_arguments(*built), "build the extension")
    done.require("the extension does not build with the faults in it")
    for crate, output in built.items():
        core_library.place(core_library.artifact(done.output, crate), COPY / output.relative_to(ROOT))
    return [pytest_unit(name) for name in area.python_tests if (COPY / name).exists()]


def pytest_unit(name: str) -> Unit:
    """One file of tests as a program that stops at its first failure."""
    return Unit(name, (*pytest_command(), name), COPY, environment())


def run(
    console: Console, area: RustArea, drawn: Sequence[Fault], count: int, *, python: bool
) -> tuple[list[Verdict], int]:
    """Tries the first `count` faults that compile; returns what became of each and how many did not compile."""
    started = time.monotonic()
    built = build(console, area, drawn, count)
    console.line(f"  {len(built.faults)} faults in one build after {seconds_text(time.monotonic() - started)}")
    verdicts = {number: Verdict(fault) for number, fault in built.faults.items()}
    alive = list(verdicts)
    for stage in stages(console, area, built):
        if not alive or (stage.title.endswith("Python") and not python):
            break
        console.line(f"  {len(alive)} faults against the {stage.title}", "bold")
        stage.units = measured(console, stage.prepare())
        alive = [number for number in alive if not _try(console, stage, number, verdicts[number])]
    return list(verdicts.values()), built.refused


def measured(console: Console, units: Sequence[Unit]) -> list[Unit]:
    """The units that pass without a fault, with their times; the others are named, since they cannot notice anything."""
    good = []
    for unit in units:
        console.live(f"without a fault: {unit.name}")
        failed = unit.measure()
        if failed:
            console.line(f"  left out, fails without a fault: {unit.name}: {failed}", "red")
        else:
            good.append(unit)
            console.line(f"  {unit.name} takes {seconds_text(unit.seconds)} without a fault", "dim")
    total = sum(unit.seconds for unit in good)
    console.line(f"  {len(good)} test programs take {seconds_text(total)} without a fault", "dim")
    return good


def _try(console: Console, stage: Stage, number: int, verdict: Verdict) -> bool:
    for unit in nearest(stage.units, number):
        console.live(f"{verdict.fault}: {unit.name}")
        verdict.reached_by.append(unit.name)
        noticed = unit.notices(number)
        if noticed:
            verdict.noticed_by, verdict.unit = noticed, unit.name
            console.line(f"  {verdict.line()}")
            return True
    console.line(f"  {verdict.line()}", "dim")
    return False
