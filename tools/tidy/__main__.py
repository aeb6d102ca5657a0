"""`python tools/tidy [FOLDER]`: prints every breach of the house rules as file:line, and fails if there is one.

`--list` writes the list of accepted breaches as this tree needs it, for whoever joined branches that moved what it names. A diff in
which it grows needs a reason for each new entry.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tidy import (
    accepted,
    anchors,
    crate_arrows,
    docstrings,
    functions,
    privates,
    python_arrows,
    rust_circles,
    safety,
    text,
)
from tidy.tree import Finding, Tree

RULES = (
    crate_arrows.check,
    python_arrows.check,
    text.check,
    safety.check,
    docstrings.check,
    anchors.check,
    functions.check,
    privates.check,
    rust_circles.check,
)


def findings_of(tree: Tree) -> list[Finding]:
    """Every breach of every rule, in the order of files and lines."""
    return sorted(finding for rule in RULES for finding in rule(tree))


def write_list(tree: Tree) -> None:
    """Writes what the rules ask for, with the reasons that are known."""
    parts = [accepted.HEADING]
    for section, rule, reason in (
        ("functions", functions, "to be split"),
        ("privates", privates, "to be mended"),
        ("circles", rust_circles, "to be split"),
    ):
        entries = accepted.Accepted(tree, section)
        for _ in rule.breaches(tree, entries):
            pass
        parts.append("\n".join([f"[{section}]", *entries.rewritten(reason)]))
    (tree.root / accepted.LIST).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Checks the repository, or the folder that is given; 0 when it is tidy."""
    folders = [argument for argument in arguments if argument != "--list"]
    tree = Tree(Path(folders[0]) if folders else Path(__file__).resolve().parents[2])
    if "--list" in arguments:
        write_list(tree)
        return 0
    findings = findings_of(tree)
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings in {len({finding.path for finding in findings})} of {len(tree.paths)} files")
        return 1
    print(f"{len(tree.paths)} files are tidy")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
