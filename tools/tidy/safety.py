"""Every unsafe block and unsafe impl of Rust has a `// SAFETY:` comment above it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidy.tree import Finding, Tree

RULE = "safety"
UNSAFE = re.compile(r"\bunsafe\s*(?:\{|impl\b)|\bunsafe\s*$")
# Text and comments hold the word too.
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|//.*$')
# A statement that is formatted over more lines than this before its unsafe block hides its comment from the reader.
MAX_STATEMENT_LINES = 12


def check(tree: Tree) -> Iterator[Finding]:
    """Looks at every Rust file."""
    for path in tree.with_suffix(".rs"):
        lines = tree.lines(path)
        for index, line in enumerate(lines):
            if UNSAFE.search(TEXT.sub("", line)) and not _is_explained(lines, index):
                yield Finding(path, index + 1, RULE, "an unsafe block without a `// SAFETY:` comment above it")


def _is_explained(lines: list[str], index: int) -> bool:
    """Whether the comment right above the line, or above the statement it belongs to, gives the reason."""
    if "SAFETY:" in lines[index]:
        return True
    above = index - 1
    in_comment = False
    while above >= 0 and index - above <= MAX_STATEMENT_LINES:
        line = lines[above].strip()
        if line.startswith("//"):
            if "SAFETY:" in line:
                return True
            in_comment = True
        elif in_comment or (not line.startswith("#[") and (not line or line.endswith((";", "{", "}")))):
            return False
        above -= 1
    return False
