"""`./x bench` and `./x docs`: discovery, examples, API reference, records."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from x import (
    api_reference,
    array_functions,
    bench,
    docs,
    test_counts,
    virtual_environment,
)
from x.console import Console
from x.failure import Failure
from x.paths import ROOT


def test_benchmarks_are_found_with_their_summaries(tmp_path: Path) -> None:
    (tmp_path / "frame.py").write_text('"""Not a benchmark."""\n')
    (tmp_path / "matmul.py").write_text('"""Matrix products.\n\nMore.\n"""\n')
    assert bench.available(tmp_path) == {"matmul": "Matrix products."}


def test_benchmark_names_may_be_shortened_when_unique() -> None:
    assert bench.resolve("mat", ["matmul", "launch"]) == "matmul"
    with pytest.raises(Failure, match="no benchmark"):
        bench.resolve("x", ["matmul"])
    with pytest.raises(Failure, match="no benchmark"):
        bench.resolve("l", ["launch", "load"])


def test_python_blocks_are_examples_unless_marked_and_keep_their_lines() -> None:
    page = "# t\n```python not-run\nnot run\n```\n```python\na = 1\n```\ntext\n```python\nassert a == 1\n```\n"
    blocks = docs.examples(page)
    assert [(block.line, block.code) for block in blocks] == [(6, "a = 1"), (10, "assert a == 1")]
    assert docs.program(blocks).splitlines()[9] == "assert a == 1"


def test_block_that_never_ends_is_an_error() -> None:
    with pytest.raises(Failure, match="line 1 is never closed"):
        docs.examples("```python\na = 1\n")


SOURCE = '''"""Module."""


def documented(a: int, *, b: str = "x") -> float:
    """Adds."""


def bare() -> None: ...


def _private() -> None: ...


class Thing(Base):
    """A thing."""

    @property
    def size(self) -> int:
        """Its size."""

    @size.setter
    def size(self, value: int) -> None: ...

    async def wait(self) -> None:
        """Waits."""
'''


def test_api_reference_lists_public_names_and_counts_bare_ones(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text('"""Package."""\n__all__ = ["documented"]\n')
    (tmp_path / "things.py").write_text(SOURCE)
    (tmp_path / "_hidden.py").write_text("def f(): ...\n")
    modules = api_reference.read_package(tmp_path, "pkg")
    text = api_reference.render(modules, api_reference.exported_names(tmp_path / "__init__.py"))
    assert "def documented(a: int, *, b: str='x') -> float" in text
    assert "- [`documented`](#pkgthingsdocumented)" in text
    assert "async def wait(self) -> None" in text
    assert "_private" not in text
    documented, total, bare = api_reference.coverage(modules)
    assert (documented, total) == (6, 7)
    assert bare == ["pkg.things.bare"]


def test_versions_that_stand_in_two_places_agree() -> None:
    pins = virtual_environment.pinned_versions((ROOT / "tools" / "x" / "requirements-dev.txt").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    for name in ("maturin", "ziglang"):
        assert f'"{name}=={pins[name]}"' in project


def bench_frame() -> ModuleType:
    specification = importlib.util.spec_from_file_location("bench_frame", ROOT / "tools" / "bench" / "frame.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["bench_frame"] = module
    specification.loader.exec_module(module)
    return module


def test_ratio_above_one_is_always_in_our_favour(capsys: pytest.CaptureFixture[str]) -> None:
    report = bench_frame().Report("name", "peer")
    report.add("time", "us", 2.0, 4.0)
    report.add("speed", "GFLOP/s", 50.0, 100.0, higher_is_better=True)
    report.add("alone", "us", 1.0, None)
    assert [row.ratio for row in report.rows] == [2.0, 0.5, None]
    assert "2.00" in capsys.readouterr().out


def test_record_of_a_benchmark_says_where_and_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = bench_frame()
    monkeypatch.setattr(frame, "ROOT", tmp_path)
    monkeypatch.setattr(frame, "RESULTS", tmp_path / "results")
    report = frame.Report("matmul", "peer")
    report.add("case", "us", 1.0, 2.0)
    record = json.loads(report.write().read_text())
    assert record["schema"] == frame.SCHEMA
    assert record["rows"][0]["ratio"] == 2.0
    assert {"processor", "cores", "commit"} <= set(record["machine"])
    assert record["command"].startswith("./x bench")


def test_names_exported_from_the_native_module_are_read_from_its_stub(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text(
        '"""Package."""\nfrom pkg._native import Array\n__all__ = ["Array", "math"]\n'
    )
    (tmp_path / "math.py").write_text('"""Math."""\n')
    (tmp_path / "_native.pyi").write_text(
        'class Array:\n    """Memory."""\n    def free(self) -> None: ...\nclass math: ...\nclass Hidden: ...\n'
    )
    modules = api_reference.read_package(tmp_path, "pkg")
    assert [member.name for member in modules[0].members] == ["Array"]
    assert api_reference.coverage(modules)[2] == ["pkg.Array.free"]
    modules = api_reference.read_package(tmp_path, "pkg", {"Array.free": "Gives the memory back."})
    assert api_reference.coverage(modules)[2] == []
    assert "Gives the memory back." in api_reference.render(modules, ["Array"])


def test_counts_of_tests_are_read_off_the_sources(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_a.py").write_text(
        "def test_one(): ...\nclass TestB:\n    async def test_two(self): ...\ndef helps(): ...\n"
    )
    (folder / "a.rs").write_text("#[test]\nfn a() {}\nsuite! {\n    memory::fills needs Results;\n}\n")
    (folder / "b.test.ts").write_text('test("x", () => {});\n  it("y", f);\nlatest("z");\n')
    (folder / "c.zig").write_text('test "a" {}\n// test "b"\n')
    text = "`tests/test_a.py` (9 tests: x), `tests/a.rs` (1 test), `tests/*.test.ts` (0 tests), `tests/c.zig` (5 tests)"
    wanted = (
        "`tests/test_a.py` (2 tests: x), `tests/a.rs` (2 tests), `tests/*.test.ts` (2 tests), `tests/c.zig` (1 test)"
    )
    assert test_counts.updated(text, tmp_path) == wanted
    assert test_counts.uncounted(wanted) == []
    assert test_counts.uncounted("12 unit tests and 7 tests") == ["12 unit tests", "7 tests"]
    with pytest.raises(Failure, match="none"):
        test_counts.updated("`tests/gone.py` (1 test)", tmp_path)


def test_old_and_stray_counts_fail_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "status.md"
    monkeypatch.setattr(test_counts, "PAGE", page)
    here = "tests/tools/test_x_documents.py"
    page.write_text(test_counts.updated(f"`{here}` (1 test)\n"))
    stream = io.StringIO()
    assert test_counts.check(Console(stream, {}))
    page.write_text(f"`{here}` (1 test) and 5 tests more\n")
    assert not test_counts.check(Console(stream, {}))
    assert "old counts" in stream.getvalue()
    assert '"5 tests" stands behind no file' in stream.getvalue()


def test_every_count_of_the_status_page_stands_behind_its_files() -> None:
    assert test_counts.uncounted(test_counts.PAGE.read_text()) == []


def test_the_table_of_functions_tells_who_has_which() -> None:
    facts = {
        "standard": {"Statistics": "sum mean"},
        "numpy": {"names": "vstack ptp"},
        "cupy": {"names": "sum vstack"},
        "torch": {"same": "sum", "other": {"vstack": "cat"}},
    }
    page = array_functions.render(facts, {"amdgpu": ["sum", "ptp"], "numpy": ["sum", "mean", "vstack"]})
    assert "## The standard: statistics\n\n1 of 2 are here." in page
    assert "| `sum` | yes | yes | yes | yes |" in page
    assert "| `mean` |  | yes |  |  |" in page
    assert "| `vstack` |  | yes | yes | `cat` |" in page
    assert "| `ptp` | yes |  |  |  |" in page


def test_facts_about_other_libraries_are_about_functions_of_the_table() -> None:
    facts = array_functions.read()
    names = [name for part in array_functions.groups(facts).values() for name in part]
    assert len(set(names)) == len(names)
    torchs = [*facts["torch"]["same"].split(), *facts["torch"]["other"]]
    assert len(set(torchs)) == len(torchs)
    assert {*torchs, *facts["cupy"]["names"].split()} <= set(names)
