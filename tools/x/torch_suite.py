"""`./x test torch`: tests of the PyTorch device rdna, with an interpreter that has torch (`framework_suite.py`).

The environment that is made has the wheel of torch alone, which is a gigabyte, with stubs for the libraries of NVIDIA that it does not
start without (`library_stubs.py`). Tests run over the CPU device.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from x.framework_suite import Framework, Run
from x.library_stubs import write_stubs
from x.paths import STATE

ENVIRONMENT = STATE / "torch"


def _complete(environment: Path) -> None:
    libraries = next(environment.glob("lib/python*/site-packages/torch/lib"), None)
    if libraries is not None:
        write_stubs(libraries)


TORCH = Framework(
    name="torch",
    title="torch",
    module="torch",
    # What torch needs beside NVIDIA's libraries, and as much of the development environment as the tests need.
    packages=(
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
    ),
    tools=("pytest>=8", "pytest-timeout", "expecttest"),
    modules=("pytest", "pytest_timeout", "expecttest"),
    alone=("torch>=2.10",),
    complete=_complete,
)
TESTS = TORCH.tests


def interpreter(named: str, run: Run) -> str:
    """The Python with torch: the one that was named, or that of `.x/torch`, which is made where it is missing.

    Raises:
        Failure: There is none, or torch cannot be installed.
    """
    return TORCH.interpreter(named, ENVIRONMENT, run)


def available(run: Run) -> str:
    """A Python with torch where one can be had without an error: that of `.x/torch`, made where it is missing, else the one on PATH.

    Raises:
        Failure: There is neither; the sentence says why.
    """
    return TORCH.available(ENVIRONMENT, run)


def tools_folder(python: str, run: Run) -> Path | None:
    """A folder with pytest for an interpreter that has none; None where it has it."""
    return TORCH.tools_folder(python, STATE, run)


def environment(tools: Path | None, *, poison: bool) -> dict[str, str]:
    """Variables of the tests: two devices over the CPU device, whose memory the host cannot read with `poison`."""
    return {
        **TORCH.environment(tools),
        "AMDGPU_TORCH_DEVICE": os.environ.get("AMDGPU_TORCH_DEVICE", "cpu,cpu"),
        "AMDGPU_TORCH_POISON": "1" if poison else "0",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


def build_command(python: str) -> list[str]:
    """Compiles the shim for the torch of the interpreter."""
    return [python, "-m", "amdgpu.torch.build"]


def test_command(python: str, passed_on: Sequence[str]) -> list[str]:
    """The command of the tests."""
    return TORCH.test_command(python, passed_on)
