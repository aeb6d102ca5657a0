"""`python tools/tidy [FOLDER]`: prints every breach of the house rules as file:line, and fails if there is one."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tidy import anchors, crate_arrows, docstrings, python_arrows, safety, text
from tidy.tree import Finding, Tree

RULES = (
    crate_arrows.check,
    python_arrows.check,
    text.check,
    safety.check,
    docstrings.check,
    anchors.check,
)


def findings_of(tree: Tree) -> list[Finding]:
    """Every breach of every rule, in the order of files and lines."""
    return sorted(finding for rule in RULES for finding in rule(tree))


def main(arguments: list[str]) -> int:
    """Checks the repository, or the folder that is given; 0 when it is tidy."""
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[2]
    tree = Tree(root)
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
