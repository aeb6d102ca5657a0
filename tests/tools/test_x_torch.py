"""`./x test torch`: which Python, which variables, which files."""

from __future__ import annotations

import dataclasses
import io
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from x import process, suites, torch_suite
from x.console import Console
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
    assert "torch" not in suites.NAMES
    suites.validate(["torch"], ["-k", "streams"])
    with pytest.raises(Failure, match="there is no suite `torches`"):
        suites.validate(["torches"], [])


def test_a_python_that_is_named_is_taken_and_nothing_is_installed_into_it() -> None:
    machine = Machine("torch", "pytest", "pytest_timeout", "expecttest")
    assert torch_suite.interpreter(sys.executable, machine) == sys.executable
    assert torch_suite.tools_folder(sys.executable, machine) is None
    assert not [command for command in machine.commands if "install" in command]
    with pytest.raises(Failure, match="is no program"):
        torch_suite.interpreter("/no/such/python", machine)


def test_a_python_without_pytest_borrows_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch_suite, "STATE", tmp_path)
    machine = Machine("torch")
    folder = torch_suite.tools_folder(sys.executable, machine)
    assert folder is not None
    (install,) = [command for command in machine.commands if "install" in command]
    assert install[install.index("--target") + 1] == str(folder)
    assert str(folder) in torch_suite.environment(folder, poison=False)["PYTHONPATH"]


def test_an_environment_of_its_own_is_made_where_none_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch_suite, "ENVIRONMENT", tmp_path / "torch")
    machine = Machine()
    assert torch_suite.interpreter("", machine) == str(tmp_path / "torch" / "bin" / "python")
    assert [command for command in machine.commands if "venv" in command]
    assert [command for command in machine.commands if "torch>=2.10" in command]


def test_stubs_take_the_place_of_libraries_that_torch_does_not_start_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch_suite, "ENVIRONMENT", tmp_path / "torch")
    libraries = tmp_path / "torch" / "lib" / "python3.11" / "site-packages" / "torch" / "lib"
    libraries.mkdir(parents=True)
    asked: list[Path] = []
    monkeypatch.setattr(torch_suite, "write_stubs", asked.append)
    machine = Machine()
    torch_suite.interpreter("", machine)
    (install,) = [command for command in machine.commands if "torch>=2.10" in command]
    assert "--no-deps" in install
    assert asked == [libraries]


class WithoutNetwork(Machine):
    """One whose pip fails."""

    def __call__(self, command: Sequence[str], name: str) -> process.Finished:
        done = super().__call__(command, name)
        return dataclasses.replace(done, exit_code=1) if "install" in command else done


def test_the_suite_is_skipped_with_the_reason_where_torch_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(torch_suite, "ENVIRONMENT", tmp_path / "torch")
    with pytest.raises(Failure, match="needs the network") as refused:
        torch_suite.available(WithoutNetwork())
    ctx = suites.Context(Console(io.StringIO(), {}), (), verbose=False, is_optional=True)

    def refuse(run: torch_suite.Run) -> str:
        raise refused.value

    monkeypatch.setattr(torch_suite, "available", refuse)
    counts = suites.SUITES["torch"].run(ctx)
    assert (counts.failed, counts.skipped) == (0, 1)
    assert "needs the network" in counts.skips[0][1]


def test_the_host_cannot_read_memory_in_the_second_run() -> None:
    assert torch_suite.environment(None, poison=True)["AMDGPU_TORCH_POISON"] == "1"
    assert torch_suite.environment(None, poison=False)["AMDGPU_TORCH_POISON"] == "0"


def test_files_that_are_named_are_run_instead_of_all() -> None:
    assert torch_suite.test_command("python", [])[-1] == "tests/torch"
    named = torch_suite.test_command("python", ["tests/torch/test_device.py", "-x"])
    assert "tests/torch" not in named
    assert torch_suite.test_command("python", ["-k", "streams"])[-3:] == ["tests/torch", "-k", "streams"]
