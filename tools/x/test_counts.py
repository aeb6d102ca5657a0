"""The counts of tests in docs/status.md: written by `./x docs`, compared by `./x check`.

A count stands behind the files that it is of, as in "`tests/aura/test_graphs.py` (12 tests". Tests are counted as they are written:
one that runs with many parameters is one. So a count is read off the sources in milliseconds, on machines too where the tests are skipped.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

from x.console import Console
from x.failure import Failure
from x.paths import ROOT, shown

PAGE = ROOT / "docs" / "status.md"
# The files, as a path or a pattern, and the number that is written.
COUNT = re.compile(r"`(?P<files>[\w./*-]+/[\w.*-]+)` \((?P<number>\d+) tests?\b")
# How tests begin in a line of each language.
BEGINNINGS = {
    ".rs": re.compile(r"^\s*#\[test\]|^\s+\w+::\w+ needs \w+;", re.MULTILINE),
    ".ts": re.compile(r"^\s*(?:void )?(?:test|it)\(", re.MULTILINE),
    ".zig": re.compile(r'^test "', re.MULTILINE),
    ".nim": re.compile(r'^\s*test "', re.MULTILINE),
}


def count(path: Path) -> int:
    """How many tests a file has.

    Raises:
        Failure: Tests of such files are not counted.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return sum(
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
            for node in ast.walk(ast.parse(text))
        )
    if path.suffix not in BEGINNINGS:
        raise Failure(
            f"{shown(path)}: tests of {path.suffix} files are not counted", fix="add it to tools/x/test_counts.py"
        )
    return len(BEGINNINGS[path.suffix].findall(text))


def updated(text: str, root: Path = ROOT) -> str:
    """The page with the counts of today.

    Raises:
        Failure: It names files that are not there, or that have no tests.
    """

    def replace(found: re.Match[str]) -> str:
        total = sum(count(path) for path in sorted(root.glob(found["files"])))
        if total == 0:
            raise Failure(f"{shown(PAGE)} counts the tests of {found['files']}, which has none")
        return f"`{found['files']}` ({total} test{'' if total == 1 else 's'}"

    return COUNT.sub(replace, text)


def check(console: Console) -> bool:
    """Whether the page has the counts of today, each behind the files that it is of."""
    text = PAGE.read_text(encoding="utf-8")
    is_fresh = updated(text) == text
    if not is_fresh:
        console.line(f"{shown(PAGE)} has old counts of tests: run ./x docs")
    for stray in (strays := uncounted(text)):
        console.line(f'{shown(PAGE)}: "{stray}" stands behind no file; write `FILES` (N tests')
    return is_fresh and not strays


def uncounted(text: str) -> list[str]:
    """Counts of tests that stand behind no file, so that nobody would notice when they change."""
    return [found.group() for found in re.finditer(r"\b\d+ (?:\w+ )?tests?\b", COUNT.sub("", text))]


if __name__ == "__main__":
    sys.exit(0 if check(Console()) else 1)
