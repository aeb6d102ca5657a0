"""tests/support/file_order.py: files that took longest come first."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import file_order
import pytest


def items(*names: str) -> list[SimpleNamespace]:
    return [SimpleNamespace(nodeid=name) for name in names]


def test_unknown_files_come_first_then_the_longest_and_tests_keep_their_order(tmp_path: Path) -> None:
    record = tmp_path / "seconds.json"
    record.write_text(json.dumps({"a.py": 1.5, "b.py": 30.0}))
    found = items("a.py::two", "a.py::one", "new.py::x", "b.py::C::m[1]", "a.py::three")
    file_order.sort(found, record)
    assert [item.nodeid for item in found] == ["new.py::x", "b.py::C::m[1]", "a.py::two", "a.py::one", "a.py::three"]


@pytest.mark.parametrize("content", [None, "", "[]", '{"a.py": '])
def test_without_a_record_the_longest_come_first_and_the_order_of_others_stays(
    content: str | None, tmp_path: Path
) -> None:
    record = tmp_path / "seconds.json"
    if content is not None:
        record.write_text(content)
    second, first = (f"{name}::z" for name in (file_order.LONGEST[1], file_order.LONGEST[0]))
    found = items("b.py::x", second, "a.py::y", first)
    file_order.sort(found, record)
    assert [item.nodeid for item in found] == [first, second, "b.py::x", "a.py::y"]


def test_the_longest_files_are_there() -> None:
    assert [name for name in file_order.LONGEST if not (Path(__file__).resolve().parents[2] / name).is_file()] == []


def test_what_was_counted_is_kept_beside_what_other_files_took(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = tmp_path / ".x" / "seconds.json"
    monkeypatch.setattr(file_order, "_seconds", file_order.defaultdict(float))
    file_order.count(SimpleNamespace(nodeid="a.py::one", duration=1.25))
    file_order.count(SimpleNamespace(nodeid="a.py::two", duration=0.5))
    file_order.keep(record)
    assert file_order.known(record) == {"a.py": 1.75}
    file_order.count(SimpleNamespace(nodeid="b.py::one", duration=3.0))
    file_order.keep(record)
    assert file_order.known(record) == {"a.py": 1.75, "b.py": 3.0}
