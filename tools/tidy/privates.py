"""Tests use what users use: they do not reach for names with an underscore in front that belong to something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tidy.accepted import Accepted
from tidy.tree import Finding, Tree

RULE = "test-privates"
FOLDER = "tests/"
# Names that their owners made public in spite of the underscore.
PUBLIC = frozenset(
    {"_replace", "_asdict", "_fields", "_make", "_exit", "_getframe", "_current_frames", "_fields_", "_pack_"}
)


def private_names(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of every `x._name` whose owner is not the object itself, and of every `from x import _name`."""
    try:
        module = ast.parse(source)
    except SyntaxError:
        return
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            if not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")):
                yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if _is_private(alias.name):
                    yield node.lineno, alias.name


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def check(tree: Tree) -> Iterator[Finding]:
    """Looks at every Python file of tests/."""
    accepted = Accepted(tree, "privates")
    yield from breaches(tree, accepted)
    yield from accepted.left_over(RULE)


def breaches(tree: Tree, accepted: Accepted) -> Iterator[Finding]:
    """What is in no entry of the list."""
    for path in tree.with_suffix(".py"):
        if not path.startswith(FOLDER):
            continue
        for line, name in private_names(tree.text(path)):
            if not accepted.takes(path, name):
                yield Finding(
                    path, line, RULE, f"a test reaches for {name}, which is private; test what users can call"
                )
