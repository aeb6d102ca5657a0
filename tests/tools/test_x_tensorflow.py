"""`./x test tensorflow`: which Python, which variables, which files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from x import process, suites, tensorflow_suite
from x.failure import Failure


class Machine:
    """Answers commands as a machine would on which these modules are installed."""

    def __init__(self, *modules: str) -> None:
        self.modules = modules
        self.commands: list[tuple[str, ...]] = []

    def __call__(self, command: Sequence[str], name: str) -> process.Finished:
        self.commands.append(tuple(command))
        probe = command[-1].removeprefix("import ").split(", ")
        is_missing = command[1] == "-c" and not set(probe) <= set(self.modules)
        return process.Finished(tuple(command), int(is_missing), f"{name}\n", 0.0, Path("log"))


def test_the_suite_runs_when_it_is_named_only() -> None:
    assert "tensorflow" not in suites.NAMES
    suites.validate(["tensorflow"], ["-k", "streams"])


def test_a_python_that_is_named_is_taken_and_nothing_is_installed_into_it() -> None:
    machine = Machine("tensorflow", "pytest", "pytest_timeout", "hypothesis")
    assert tensorflow_suite.interpreter(sys.executable, machine) == sys.executable
    assert tensorflow_suite.tools_folder(sys.executable, machine) is None
    assert not [command for command in machine.commands if "install" in command]
    with pytest.raises(Failure, match="is no program") as refused:
        tensorflow_suite.interpreter("/no/such/python", machine)
    assert "PYTHON_WITH_TENSORFLOW" in refused.value.fix


def test_an_environment_is_made_where_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tensorflow_suite, "ENVIRONMENT", tmp_path / "tensorflow")
    machine = Machine()
    assert tensorflow_suite.interpreter("", machine) == str(tmp_path / "tensorflow" / "bin" / "python")
    assert [command for command in machine.commands if "tensorflow-cpu>=2.18.1" in command]


def test_memory_is_poisoned_the_second_time() -> None:
    assert tensorflow_suite.environment(None, poison=True)["AMDGPU_TENSORFLOW_POISON"] == "1"
    assert tensorflow_suite.environment(None, poison=False)["AMDGPU_TENSORFLOW_POISON"] == "0"


def test_all_tests_run_unless_a_file_is_named() -> None:
    assert tensorflow_suite.test_command("python", [])[-1] == "tests/tensorflow"
    assert "tests/tensorflow" not in tensorflow_suite.test_command("python", ["tests/tensorflow/test_device.py"])
