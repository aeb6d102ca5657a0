"""Suites whose tests need a framework that is large and no dependency of ours: `./x test torch`, `./x test tensorflow`.

They are not part of plain `./x test`. A suite makes an environment of its own with the framework from the package index, or takes an
interpreter that has it already (`--python PATH`), into which it installs nothing.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from x import process
from x.failure import Failure
from x.paths import ROOT, STATE, shown
from x.virtual_environment import python_version_of

# Runs a command under a name for its log.
Run = Callable[[Sequence[str], str], process.Finished]


@dataclass(frozen=True)
class Framework:
    """A framework with a suite.

    Attributes:
        name: Of the suite, the folder of its tests and its environment.
        title: What people call it.
        module: What programs import.
        packages: What its environment has.
        tools: What the tests need beside the framework.
        modules: What is imported to see whether an interpreter has these tools.
        alone: What its environment has without the packages that these ask for.
        complete: Is given a new environment in which the framework cannot be imported yet.
    """

    name: str
    title: str
    module: str
    packages: tuple[str, ...]
    tools: tuple[str, ...]
    modules: tuple[str, ...]
    alone: tuple[str, ...] = ()
    complete: Callable[[Path], None] | None = None

    @property
    def tests(self) -> Path:
        """The folder of the tests."""
        return ROOT / "tests" / self.name

    @property
    def _fix(self) -> str:
        return f"./x test {self.name} --python PATH_OF_A_PYTHON_WITH_{self.name.upper()}"

    def interpreter(self, named: str, environment: Path, run: Run) -> str:
        """The Python with the framework: the one that was named, or that of `environment`, which is made where it is missing.

        Raises:
            Failure: There is none, or the framework cannot be installed.
        """
        if named:
            if not os.access(named, os.X_OK):
                raise Failure(f"{named} is no program", fix=self._fix)
            return named
        python = environment / "bin" / "python"
        if not self._has(run, str(python), (self.module, *self.modules)):
            self._make(environment, run)
        return str(python)

    def _make(self, environment: Path, run: Run) -> None:
        python = str(environment / "bin" / "python")
        made = run([sys.executable, "-m", "venv", "--clear", str(environment)], f"{self.name}-venv")
        self._require(made, f"cannot make {shown(environment)}")
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
        sentence = f"pip could not install {self.title}, which needs the network"
        for packages in (self.packages, ("--no-deps", *self.alone) if self.alone else ()):
            if packages:
                self._require(run([*pip, *packages], f"{self.name}-pip"), sentence)
        if self.complete is not None and not self._has(run, python, (self.module,)):
            self.complete(environment)

    def available(self, environment: Path, run: Run) -> str:
        """A Python with the framework where one can be had: that of `environment`, made where it is missing, else the one on PATH.

        Raises:
            Failure: There is neither; the sentence says why.
        """
        try:
            return self.interpreter("", environment, run)
        except Failure:
            found = shutil.which("python3")
            if found is None or not self._has(run, found, (self.module,)):
                raise
            return found

    def tools_folder(self, python: str, state: Path, run: Run) -> Path | None:
        """A folder with pytest for an interpreter that has none; None where it has it."""
        if self._has(run, python, self.modules):
            return None
        folder = state / f"{self.name}-tools" / (python_version_of(python) or "unknown")
        last = self.modules[-1]
        if not (folder / last).is_dir() and not (folder / f"{last}.py").exists():
            pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--target", str(folder)]
            done = run([*pip, *self.tools], f"{self.name}-tools-pip")
            self._require(done, "pip could not install pytest, which needs the network")
        return folder

    def environment(self, tools: Path | None) -> dict[str, str]:
        """Variables of the tests that every framework has."""
        folders = [ROOT / "python", self.tests, *([tools] if tools else [])]
        return {
            "PYTHONPATH": os.pathsep.join(map(str, folders)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "AMDGPU_CACHE_DIR": str(STATE / f"{self.name}-cache"),
        }

    def test_command(self, python: str, passed_on: Sequence[str]) -> list[str]:
        """The tests: of the settings of the other suites those that do not need their packages."""
        configuration = ["-c", str(self.tests / "pytest.ini"), f"--rootdir={ROOT}", f"--confcutdir={self.tests}"]
        is_named = any(not argument.startswith("-") and "test_" in argument for argument in passed_on)
        files = [] if is_named else [shown(self.tests)]
        return [python, "-m", "pytest", "-q", "-r", "fEsx", "--tb=short", *configuration, *files, *passed_on]

    def _has(self, run: Run, python: str, modules: Sequence[str]) -> bool:
        command = [python, "-c", f"import {', '.join(modules)}"]
        return Path(python).exists() and run(command, f"{self.name}-probe").exit_code == 0

    def _require(self, done: process.Finished, sentence: str) -> None:
        if done.exit_code:
            raise Failure(sentence, fix=self._fix, detail=done.tail(8))
