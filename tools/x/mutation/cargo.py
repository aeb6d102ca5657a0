"""Cargo in the copy: the list of faults, builds, who is to blame for an error, the test programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from x import process, rust
from x.console import Console
from x.failure import Failure
from x.mutation.faults import Fault, numbered
from x.mutation.schemata import Instrumented
from x.mutation.units import Unit
from x.mutation.working_copy import COPY, FOLDER, TARGET, environment
from x.paths import ROOT

LISTER = ROOT / "tools" / "mutate"
BUILD_VARIABLES = {
    "CARGO_TARGET_DIR": str(TARGET),
    "CARGO_INCREMENTAL": "1",
    # The tests run dozens of times, those in Python too, so that optimising a little pays; checks for overflow stay.
    "CARGO_PROFILE_DEV_OPT_LEVEL": "1",
    "CARGO_PROFILE_DEV_DEBUG": "false",
    # Functions that stand there twice bring warnings by the thousand.
    "RUSTFLAGS": "--cap-lints=allow",
}


def list_faults(console: Console, crates: Sequence[str]) -> list[Fault]:
    """Every fault that the lister of tools/mutate sees in the crates."""
    target = FOLDER / "tools"
    command = [rust.cargo_command(), "build", "--release", "--manifest-path", str(LISTER / "Cargo.toml")]
    variables = {**rust.cargo_environment(), "CARGO_TARGET_DIR": str(target)}
    done = process.run(
        command, console=console, label="build the lister", log_name="mutate-lister", environment=variables
    )
    done.require("the lister of tools/mutate does not build")
    roots = [f"crates/{crate}/src/lib.rs" for crate in crates]
    done = process.run(
        [str(target / "release" / "mutate"), *roots], console=console, label="list faults", log_name="mutate-list"
    )
    done.require("the faults cannot be listed")
    return numbered(_fault(entry) for entry in json.loads(done.output))


def _fault(entry: Mapping[str, Any]) -> Fault:
    return Fault(**{**entry, "edit": tuple(entry["edit"]), "body": tuple(entry["body"])})


def with_messages(arguments: Sequence[str]) -> list[str]:
    """The arguments, with JSON messages unless they ask for another form of them."""
    form = "--message-format"
    return [*arguments, *([] if any(one.startswith(form) for one in arguments) else [f"{form}=json"])]


def run(
    console: Console,
    arguments: Sequence[str],
    label: str,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> process.Finished:
    """One call of cargo in the copy, with JSON messages."""
    return process.run(
        [rust.cargo_command(), *with_messages(arguments)],
        console=console,
        label=label,
        log_name=f"mutate-{label.replace(' ', '-')}",
        cwd=COPY,
        environment={**rust.cargo_environment(), **BUILD_VARIABLES, **variables},
    )


def messages(output: str) -> Iterator[dict[str, Any]]:
    """The JSON messages among what cargo printed."""
    for line in output.splitlines():
        if line.startswith('{"reason"'):
            yield json.loads(line)


def refused(output: str, files: Mapping[str, Instrumented]) -> set[int]:
    """The faults that do not compile. Raises `Failure` for an error that none of them has caused."""
    numbers: set[int] = set()
    for message in messages(output):
        if message["reason"] != "compiler-message" or not message["message"]["level"].startswith("error"):
            continue
        diagnostic = message["message"]
        if not diagnostic["spans"] and not diagnostic["code"]:
            continue  # "aborting due to 3 previous errors"
        suspects = {number for place in _places(diagnostic) for number in _suspects(place, files)}
        if not suspects:
            raise Failure("the copy does not compile, and no fault is to blame", detail=diagnostic["rendered"] or "")
        numbers |= suspects
    return numbers


def _suspects(place: tuple[str, int], files: Mapping[str, Instrumented]) -> tuple[int, ...]:
    name, line = place
    return files[name].suspects(line) if name in files else ()


def _places(diagnostic: Mapping[str, Any]) -> list[tuple[str, int]]:
    """The lines that an error points at: its primary ones, or the others when those say nothing."""
    spans = [span for span in diagnostic["spans"] if span["is_primary"]] or diagnostic["spans"]
    places = []
    for outermost in spans:
        span = outermost
        while span is not None:
            places.append((span["file_name"], span["line_start"]))
            span = (span["expansion"] or {}).get("span")
    return places


def test_programs(output: str) -> list[Unit]:
    """The test programs that cargo has built."""
    units = []
    for message in messages(output):
        if message["reason"] != "compiler-artifact" or not message["executable"] or not message["profile"]["test"]:
            continue
        crate = Path(message["manifest_path"]).parent
        target = message["target"]
        kind = "lib" if "lib" in target["kind"] or "cdylib" in target["kind"] else target["name"]
        has_harness = target["name"] not in programs_without_harness(crate / "Cargo.toml")
        units.append(
            Unit(
                f"{crate.name} {kind}",
                # With one thread, libtest runs tests on the main thread, whose name says nothing.
                (message["executable"], *(("--test-threads=2",) if has_harness else ())),
                crate,
                {**environment(), "CARGO_MANIFEST_DIR": str(crate)},
                (lambda names: ["--exact", *names]) if has_harness else None,
            )
        )
    return units


def programs_without_harness(manifest: Path) -> set[str]:
    """Tests with `harness = false`: programs of their own that take no names of tests."""
    tests = [section for title, section in _sections(manifest) if title == "[test]"]
    names = {re.search(r'^name = "([^"]+)"', test, re.MULTILINE) for test in tests if "harness = false" in test}
    return {name[1] for name in names if name is not None}


def _sections(manifest: Path) -> list[tuple[str, str]]:
    """Titles and texts of a manifest's sections; Python 3.10, which must do for `./x`, has no reader of TOML."""
    parts = re.split(r"^\[(.+)\]$", manifest.read_text(), flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def dependents(crates: Sequence[str], root: Path = ROOT) -> list[str]:
    """Crates of the workspace that depend on these, directly or not, without the extension module."""
    arrows = {
        manifest.parent.name: {
            name
            for title, section in _sections(manifest)
            if title == "dependencies"
            for name in re.findall(r"^([\w-]+)", section, re.MULTILINE)
        }
        for manifest in (root / "crates").glob("*/Cargo.toml")
    }
    reached = set(crates)
    while True:
        more = {crate for crate, below in arrows.items() if below & reached} - reached
        if not more:
            return sorted(reached - set(crates) - {"amdgpu-python"})
        reached |= more
