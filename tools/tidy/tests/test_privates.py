"""Rule: tests use what users use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidy import privates
from tidy.accepted import LIST
from tidy.tests.tidy_samples import found

GOOD = ["self._x", "cls._x", "x.__dict__", "row._replace(a=1)", "sys._getframe()", "x.name", "'a._b'"]
BAD = ["net._plan", "a.b._c", "f()._x", "from amdgpu import _native"]


@pytest.mark.parametrize("source", GOOD)
def test_own_and_public_names_pass(tmp_path: Path, source: str) -> None:
    assert found(privates.check, tmp_path, {"tests/a/test_b.py": f"def f(self):\n    {source}\n"}) == []


@pytest.mark.parametrize("source", BAD)
def test_private_names_of_others_are_found(tmp_path: Path, source: str) -> None:
    files = {"tests/a/test_b.py": f"{source}\n", "python/amdgpu/a.py": f"{source}\n"}
    assert found(privates.check, tmp_path, files) == ["tests/a/test_b.py:1 test-privates"]


def test_what_the_list_names_passes(tmp_path: Path) -> None:
    files = {"tests/a/test_b.py": "net._plan\n", LIST: "[privates]\ntests/a/test_b.py _plan: to be mended\n"}
    assert found(privates.check, tmp_path, files) == []
