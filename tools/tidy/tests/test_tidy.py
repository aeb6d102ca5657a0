"""The command as a whole, and the list of files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tidy.__main__ import RULES, findings_of
from tidy.tests.tidy_samples import tree_of
from tidy.tree import Finding, Tree

TIDY = Path(__file__).resolve().parents[1]
PAGE = {"docs/one_call.md": "`a.rs::f`\n", "a.rs": "fn f() {}\n"}


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TIDY), str(folder)], capture_output=True, text=True, check=False)


def test_a_tidy_folder_passes(tmp_path: Path) -> None:
    tree_of(tmp_path, PAGE)
    done = run(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2 files are tidy\n", "")


def test_findings_are_printed_with_file_and_line_and_fail(tmp_path: Path) -> None:
    tree_of(tmp_path, {**PAGE, "b.rs": "\n// TODO\n", "a.rs": "fn f() {} \n"})
    done = run(tmp_path)
    assert done.returncode == 1
    first, second, last = done.stdout.splitlines()
    assert first.startswith("a.rs:1: white space")
    assert second.startswith("b.rs:2: `TODO`")
    assert last == "2 findings in 2 of 3 files"


def test_every_rule_is_run(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        {
            "crates/new/Cargo.toml": "[package]\n",
            "crates/new/src/lib.rs": "fn f() { unsafe { g() } }\nmod a;\nmod b;\n",
            "crates/new/src/a.rs": "use crate::b::B;\nfn long() {\n" + "    g();\n" * 80 + "}\n",
            "crates/new/src/b.rs": "use crate::a::A;\n",
            "tests/a/test_b.py": "x._y\n",
            "python/amdgpu/errors.py": "import amdgpu.cli\n",
            "a/mod.rs": "x\n",
        },
    )
    assert len({finding.rule for finding in findings_of(tree)}) == len(RULES)


def test_what_git_ignores_and_what_is_no_text_is_left_out(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {".gitignore": "out/\n", "a.rs": "x\n", "out/b.rs": "x\n", "é ü.md": "x\n"})
    (tmp_path / "c.bin").write_bytes(b"\0\1\2")
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert tree.paths == [".gitignore", "a.rs", "é ü.md"]


def test_without_git_folders_of_products_are_left_out(tmp_path: Path) -> None:
    assert tree_of(tmp_path, {"a.rs": "x\n", "target/b.rs": "x\n"}).paths == ["a.rs"]


def test_a_file_that_is_gone_is_left_out(tmp_path: Path) -> None:
    assert Tree(tmp_path).text("nothing.rs") == ""


def test_findings_are_ordered_by_file_and_line() -> None:
    findings = [Finding("b", 1, "r", "m"), Finding("a", 10, "r", "m"), Finding("a", 9, "r", "m")]
    assert [str(finding) for finding in sorted(findings)] == ["a:9: m [r]", "a:10: m [r]", "b:1: m [r]"]
