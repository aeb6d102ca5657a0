"""Faults in other languages than Rust: written into the copy one after the other, each with a build of its own where there is one."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import PurePosixPath

from x.console import Console, seconds_text
from x.failure import Failure
from x.mutation import trial
from x.mutation.areas import TextArea
from x.mutation.faults import Fault, numbered
from x.mutation.report import Verdict
from x.mutation.text_faults import LANGUAGES, faults_of_text
from x.mutation.units import Unit
from x.mutation.working_copy import COPY, FOLDER, environment, refresh, source_names
from x.native import zig_environment
from x.paths import EXTENSION, ROOT, VENV_PYTHON
from x.rust import find_program
from x.system import julia_executable

# What compilers print about a text that they do not accept; such a fault is replaced by another.
REFUSED = {
    "python": re.compile(r"\b(?:SyntaxError|IndentationError)\b"),
    "zig": re.compile(r"\.zig:\d+:\d+: error: "),
    "nim": re.compile(r"\.nim\(\d+, \d+\) Error: "),
    "julia": re.compile(r"\bsyntax: "),
    "typescript": re.compile(r"error TS\d+: "),
}
# Tests of the SDK that need the package built, or a browser.
NEEDS_PACKAGE = "browser|catalogue|examples"
NEEDS_SERVER = "server|watching"
SDK_SETTINGS = "tsconfig.mutate.json"
SDK_FILES = {
    "extends": "./tsconfig.test.json",
    "include": ["src", "tests"],
    "exclude": [f"tests/{name}.test.ts" for name in NEEDS_PACKAGE.split("|")],
}
# A fault in Python meets no more files of tests than this.
PYTHON_FILES = 10
# Areas whose tests do not run here: they need a GPU, or the simulators that others wrote.
ELSEWHERE = ("gpu", "neuro_validation")


def list_faults(area: TextArea) -> list[Fault]:
    """Every fault of the area's files."""
    language = LANGUAGES[area.language]
    found: list[Fault] = []
    for name in source_names():
        path = PurePosixPath(name)
        if any(path.match(pattern) for pattern in area.files) and not any(path.match(text) for text in area.without):
            found += faults_of_text(name, (ROOT / name).read_bytes(), language)
    return numbered(found)


def units_for(area: TextArea, fault: Fault) -> list[Unit]:
    """The programs that can notice the fault, the nearest first."""
    return {"python": _pytest, "zig": _zig, "nim": _nim, "julia": _julia, "typescript": _node}[area.language](fault)


def _pytest(fault: Fault) -> list[Unit]:
    return [
        Unit(name, (*pytest_command(), name), COPY, environment())
        for name in near_python_tests(fault.file)[:PYTHON_FILES]
    ]


def pytest_command() -> tuple[str, ...]:
    """pytest that stops at the first failure and says no more than its name."""
    return (str(VENV_PYTHON), "-m", "pytest", "-x", "-q", "--tb=line", "-rfE", "-p", "no:cacheprovider")


def near_python_tests(file: str) -> list[str]:
    """Files of tests whose path shares words with that of a module, most first; then those that speak of it in their text."""
    words = _words(file.removeprefix("python/amdgpu/").removesuffix(".py"))
    ranked = []
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        name = path.relative_to(ROOT / "tests").as_posix()
        shared = len(words & _words(name.removesuffix(".py")))
        said = path.read_text().count(PurePosixPath(file).stem)
        if path.parent.name not in ELSEWHERE and (shared or said):
            ranked.append((-shared, -said, f"tests/{name}"))
    return [name for _, _, name in sorted(ranked)]


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.split(r"[/_]", text)} - {"test", "", "init", "amdgpu"}


def _zig(_: Fault) -> list[Unit]:
    command = (str(VENV_PYTHON), str(COPY / "zig" / "compile.py"), "test")
    return [Unit("zig test", command, COPY, {**environment(), **zig_environment(FOLDER)})]


def _nim(fault: Fault) -> list[Unit]:
    nim = find_program("nim") or "nim"
    words = _words(fault.file.removeprefix("nim/src/").removesuffix(".nim"))
    files = sorted(
        (COPY / "nim" / "tests").glob("t*.nim"), key=lambda file: (-len(words & _words(file.stem)), file.stat().st_size)
    )
    programs = FOLDER / "nim"
    programs.mkdir(parents=True, exist_ok=True)
    return [
        Unit(
            f"nim/tests/{file.name}",
            (
                *(
                    nim,
                    "c",
                    "-r",
                    "--mm:arc",
                    "-d:useMalloc",
                    "--threads:on",
                    "--hints:off",
                    "--colors:off",
                    "--warnings:off",
                ),
                *(f"--path:{COPY / 'nim' / 'src'}", f"--nimcache:{programs / (file.stem + '-cache')}"),
                *(f"-o:{programs / file.stem}", str(file)),
            ),
            COPY,
            environment(),
        )
        for file in files
    ]


def _julia(_: Fault) -> list[Unit]:
    executable = julia_executable()
    if executable is None:
        raise Failure("faults in Julia need Julia", fix="./x doctor")
    command = (executable, "--startup-file=no", "--color=no", str(COPY / "julia" / "test" / "runtests.jl"))
    return [Unit("julia/test/runtests.jl", command, COPY, environment())]


def _node(_: Fault) -> list[Unit]:
    sdk = COPY / "js" / "sdk"
    variables = {**environment(), "PYTHONPATH": str(ROOT / "python"), "AMDGPU_PYTHON": str(VENV_PYTHON)}
    tests = [f"build/tests/{file.stem}.js" for file in sorted((sdk / "tests").glob("*.test.ts"))]
    usable = [name for name in tests if not re.search(NEEDS_PACKAGE, name)]
    served = [name for name in usable if re.search(NEEDS_SERVER, name)]
    near = [name for name in usable if name not in served]
    compiler = f"node ../node_modules/typescript/bin/tsc -p {SDK_SETTINGS}"
    runner = "node --test --test-reporter=tap"
    return [
        Unit(title, ("sh", "-c", f"{compiler} && {runner} {' '.join(names)}"), sdk, variables)
        for title, names in (("sdk alone", near), ("sdk with a server", served))
    ]


class Runner:
    """Tries faults one after the other; what the programs do without a fault is measured once."""

    def __init__(self, console: Console, area: TextArea) -> None:
        self.console = console
        self.area = area
        self.measured: dict[str, Unit | None] = {}
        self.refused = 0

    def run(self, drawn: Sequence[Fault], count: int) -> list[Verdict]:
        """The verdicts of the first `count` faults that compile."""
        refresh({f"js/sdk/{SDK_SETTINGS}": json.dumps(SDK_FILES).encode()})
        if EXTENSION.exists():
            copy = COPY / EXTENSION.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(EXTENSION, copy)
        verdicts: list[Verdict] = []
        for fault in drawn:
            if len(verdicts) >= count:
                break
            verdict = self._try(fault)
            if verdict is None:
                self.refused += 1
                continue
            verdicts.append(verdict)
            self.console.line(f"  {verdict.line()}", *(() if verdict.noticed_by else ("yellow",)))
        return verdicts

    def _try(self, fault: Fault) -> Verdict | None:
        """What became of the fault; None when its text is refused."""
        units = [unit for unit in (self._baseline(unit) for unit in units_for(self.area, fault)) if unit is not None]
        if not units:
            raise Failure(
                f"no test program near {fault.file} passes without a fault", fix="./x test says which and why"
            )
        verdict = Verdict(fault)
        path = COPY / fault.file
        original = path.read_bytes()
        changed = original[: fault.edit[0]] + fault.after.encode() + original[fault.edit[1] :]
        if self.area.language == "python" and not _is_python(changed):
            return None
        path.write_bytes(changed)
        try:
            for unit in units:
                self.console.live(f"{fault}: {unit.name}")
                verdict.reached_by.append(unit.name)
                outcome = trial.run(unit.command, cwd=unit.cwd, environment=unit.environment, limit_s=unit.limit_s)
                if outcome.noticed_by and REFUSED[self.area.language].search(outcome.output):
                    return None
                if outcome.noticed_by:
                    verdict.noticed_by, verdict.unit = outcome.noticed_by, unit.name
                    break
        finally:
            path.write_bytes(original)
        return verdict

    def _baseline(self, unit: Unit) -> Unit | None:
        if unit.name not in self.measured:
            self.console.live(f"without a fault: {unit.name}")
            failed = unit.measure()
            self.measured[unit.name] = None if failed else unit
            if failed:
                self.console.line(f"  left out, fails without a fault: {unit.name}: {failed}", "red")
            else:
                self.console.line(f"  {unit.name} takes {seconds_text(unit.seconds)} without a fault", "dim")
        return self.measured[unit.name]


def _is_python(content: bytes) -> bool:
    try:
        compile(content, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
