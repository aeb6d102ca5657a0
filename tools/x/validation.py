"""`./x validate`: networks beside the simulators that others wrote (tests/neuro_validation)."""

from __future__ import annotations

from collections.abc import Sequence

from x.paths import ROOT, VENV_PYTHON


def command(passed_on: Sequence[str]) -> list[str]:
    """The pytest run; `-s` so that one sees environments being made."""
    folder = str(ROOT / "tests" / "neuro_validation")
    return [str(VENV_PYTHON), "-m", "pytest", folder, "-m", "validation", "-v", "-s", "--durations=0", *passed_on]
