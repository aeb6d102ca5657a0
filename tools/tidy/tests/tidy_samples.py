"""Makes a folder with given files, and says what a rule finds in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tidy.tree import Finding, Tree

Rule = Callable[[Tree], Iterator[Finding]]


def tree_of(folder: Path, files: Mapping[str, str]) -> Tree:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return Tree(folder)


def found(rule: Rule, folder: Path, files: Mapping[str, str]) -> list[str]:
    """`path:line rule` of every finding."""
    findings = sorted(rule(tree_of(folder, files)))
    assert all(finding.message for finding in findings)
    return [f"{finding.path}:{finding.line} {finding.rule}" for finding in findings]
