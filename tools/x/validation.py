"""`./x validate`: what others wrote, beside ours: simulators of networks, and the test suite of the array API standard."""

from __future__ import annotations

from collections.abc import Sequence

from x.failure import Failure
from x.paths import ROOT, VENV_PYTHON

NETWORKS, ARRAY_API = "networks", "array-api"


def command(what: Sequence[str], passed_on: Sequence[str]) -> list[str]:
    """The run: networks by pytest (tests/neuro_validation; `-s` shows environments being made), the suite by tools/array_api.

    Raises:
        Failure: Something else is named, or no folder for the suite.
    """
    name, *rest = what or [NETWORKS]
    if name == NETWORKS and not rest:
        folder = str(ROOT / "tests" / "neuro_validation")
        return [str(VENV_PYTHON), "-m", "pytest", folder, "-m", "validation", "-v", "-s", "--durations=0", *passed_on]
    if name == ARRAY_API and len(rest) == 1:
        return [str(VENV_PYTHON), str(ROOT / "tools" / "array_api"), rest[0], *passed_on]
    raise Failure(
        f"`./x validate {' '.join(what)}` is not understood",
        fix="./x validate, or ./x validate array-api FOLDER [-- --device cpu --max-examples 50 --skip-complex]",
    )
