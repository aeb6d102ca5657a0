"""`./x test tensorflow`: tests of the TensorFlow device RDNA, with an interpreter that has TensorFlow (`framework_suite.py`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from x.framework_suite import Framework, Run
from x.paths import STATE

ENVIRONMENT = STATE / "tensorflow"
TENSORFLOW = Framework(
    name="tensorflow",
    title="TensorFlow",
    module="tensorflow",
    # As much of the development environment as the tests need beside TensorFlow.
    packages=(
        "tensorflow-cpu>=2.18.1",
        "llvmlite>=0.50",
        "rich>=13",
        "ml_dtypes",
        "pytest>=8",
        "pytest-timeout",
        "hypothesis>=6.100",
    ),
    tools=("pytest>=8", "pytest-timeout", "hypothesis>=6.100"),
    modules=("pytest", "pytest_timeout", "hypothesis"),
)
TESTS = TENSORFLOW.tests


def interpreter(named: str, run: Run) -> str:
    """The Python with TensorFlow: the one that was named, or that of `.x/tensorflow`, which is made where it is missing.

    Raises:
        Failure: There is none, or TensorFlow cannot be installed.
    """
    return TENSORFLOW.interpreter(named, ENVIRONMENT, run)


def tools_folder(python: str, run: Run) -> Path | None:
    """A folder with pytest for an interpreter that has none; None where it has it."""
    return TENSORFLOW.tools_folder(python, STATE, run)


def environment(tools: Path | None, *, poison: bool) -> dict[str, str]:
    """Variables of the tests: two devices over the CPU device, whose memory the host cannot read with `poison`."""
    return {
        **TENSORFLOW.environment(tools),
        "AMDGPU_TENSORFLOW_DEVICE": os.environ.get("AMDGPU_TENSORFLOW_DEVICE", "cpu,cpu"),
        "AMDGPU_TENSORFLOW_POISON": "1" if poison else "0",
        "TF_CPP_MIN_LOG_LEVEL": "2",
    }


def test_command(python: str, passed_on: Sequence[str]) -> list[str]:
    """The command of the tests."""
    return TENSORFLOW.test_command(python, passed_on)
