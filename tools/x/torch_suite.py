"""`./x test torch`: tests of the PyTorch device rdna, with an interpreter that has torch.

torch is large and no dependency of ours, so the suite is not part of plain `./x test`. It takes an interpreter that has torch
already (`--python PATH`), into which it installs nothing, or makes `.x/torch` with torch from the package index: the wheel
alone, which is a gigabyte, with stand-ins for the libraries of NVIDIA that it does not start without (`x/stand_ins.py`). Tests
run over the CPU device.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from x import process
from x.failure import Failure
from x.paths import ROOT, STATE, shown
from x.stand_ins import stand_in
from x.virtual_environment import python_version_of

ENVIRONMENT = STATE / "torch"
TESTS = ROOT / "tests" / "torch"
TORCH = "torch>=2.10"
# What torch needs beside NVIDIA's libraries, and as much of the development environment as the tests need.
PACKAGES = (
    "filelock",
    "fsspec",
    "jinja2",
    "networkx",
    "sympy",
    "typing_extensions",
    "numpy>=1.26",
    "llvmlite>=0.50",
    "rich>=13",
    "ml_dtypes",
    "pytest>=8",
    "pytest-timeout",
    "expecttest",
)
TOOLS = ("pytest>=8", "pytest-timeout", "expecttest")

# Runs a command under a name for its log.
Run = Callable[[Sequence[str], str], process.Finished]


def interpreter(named: str, run: Run) -> str:
    """The Python with torch: the one that was named, or that of `.x/torch`, which is made where it is missing.

    Raises:
        Failure: There is none, or torch cannot be installed.
    """
    if named:
        if not os.access(named, os.X_OK):
            raise Failure(f"{named} is no program", fix="./x test torch --python PATH_OF_A_PYTHON_WITH_TORCH")
        return named
    python = ENVIRONMENT / "bin" / "python"
    if not _has(run, str(python), "torch, pytest, pytest_timeout, expecttest"):
        _make(str(python), run)
    return str(python)


def _make(python: str, run: Run) -> None:
    _require(run([sys.executable, "-m", "venv", "--clear", str(ENVIRONMENT)], "torch-venv"), "cannot make .x/torch")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar", "off"]
    for packages in (PACKAGES, ("--no-deps", TORCH)):
        _require(run([*pip, *packages], "torch-pip"), "pip could not install torch, which needs the network")
    libraries = next(ENVIRONMENT.glob("lib/python*/site-packages/torch/lib"), None)
    if libraries is not None and not _has(run, python, "torch"):
        stand_in(libraries)


def available(run: Run) -> str:
    """A Python with torch where one can be had without an error: that of `.x/torch`, made where it is missing, else the one on PATH.

    Raises:
        Failure: There is neither; the sentence says why.
    """
    try:
        return interpreter("", run)
    except Failure:
        found = shutil.which("python3")
        if found is None or not _has(run, found, "torch"):
            raise
        return found


def tools_folder(python: str, run: Run) -> Path | None:
    """A folder with pytest for an interpreter that has none; None where it has it."""
    if _has(run, python, "pytest, pytest_timeout, expecttest"):
        return None
    folder = STATE / "torch-tools" / (python_version_of(python) or "unknown")
    if not (folder / "expecttest").is_dir():
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--target", str(folder), *TOOLS]
        _require(run(pip, "torch-tools-pip"), "pip could not install pytest, which needs the network")
    return folder


def environment(tools: Path | None, *, poison: bool) -> dict[str, str]:
    """Variables of the tests: two devices over the CPU device, whose memory the host cannot read with `poison`."""
    folders = [ROOT / "python", TESTS, *([tools] if tools else [])]
    return {
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "AMDGPU_CACHE_DIR": str(STATE / "torch-cache"),
        "AMDGPU_TORCH_DEVICE": os.environ.get("AMDGPU_TORCH_DEVICE", "cpu,cpu"),
        "AMDGPU_TORCH_POISON": "1" if poison else "0",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


def build_command(python: str) -> list[str]:
    """Compiles the shim for the torch of the interpreter."""
    return [python, "-m", "amdgpu.torch.build"]


def test_command(python: str, passed_on: Sequence[str]) -> list[str]:
    """The tests: of the settings of the other suites those that do not need their packages."""
    configuration = ["-c", str(TESTS / "pytest.ini"), f"--rootdir={ROOT}", f"--confcutdir={TESTS}"]
    files = (
        [] if any(not argument.startswith("-") and "test_" in argument for argument in passed_on) else [shown(TESTS)]
    )
    return [python, "-m", "pytest", "-q", "-r", "fEsx", "--tb=short", *configuration, *files, *passed_on]


def _has(run: Run, python: str, modules: str) -> bool:
    return Path(python).exists() and run([python, "-c", f"import {modules}"], "torch-probe").exit_code == 0


def _require(done: process.Finished, sentence: str) -> None:
    if done.exit_code:
        raise Failure(sentence, fix="./x test torch --python PATH_OF_A_PYTHON_WITH_TORCH", detail=done.tail(8))
