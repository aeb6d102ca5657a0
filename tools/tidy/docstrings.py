"""Every public function and class of the Python package says in one line what it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tidy.tree import Finding, Tree

RULE = "docstring"
FOLDER = "python/amdgpu/"
Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def check(tree: Tree) -> Iterator[Finding]:
    """Looks at every module of the package that a person wrote."""
    for path in tree.with_suffix(".py"):
        if not path.startswith(FOLDER) or tree.is_generated(path):
            continue
        try:
            module = ast.parse(tree.text(path))
        except SyntaxError:
            # The rule of the arrows says so.
            continue
        if not ast.get_docstring(module):
            yield Finding(path, 1, RULE, "the module has no docstring")
        for node, name in _public(module.body, ""):
            problem = _problem(ast.get_docstring(node))
            if problem:
                yield Finding(path, node.lineno, RULE, f"{name} {problem}")


def _problem(docstring: str | None) -> str:
    if not docstring:
        return "has no docstring"
    summary, _, rest = docstring.partition("\n")
    if not summary.strip():
        return "has a docstring whose first line is empty"
    if not summary.rstrip().endswith((".", "?", "!", ":", "`")):
        return f"has a summary that does not end as a sentence: {summary.strip()!r}"
    if rest and rest.split("\n", maxsplit=1)[0].strip():
        return "has a summary of more than one line"
    return ""


def _public(body: list[ast.stmt], prefix: str) -> Iterator[tuple[Documented, str]]:
    for node in body:
        if not isinstance(node, Documented) or node.name.startswith("_") or _needs_none(node):
            continue
        name = f"{prefix}{node.name}"
        yield node, name
        if isinstance(node, ast.ClassDef):
            yield from _public(node.body, f"{name}.")


def _needs_none(node: Documented) -> bool:
    """Overloads and setters are documented by what they belong to."""
    for decorator in node.decorator_list:
        name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
        if name in ("overload", "setter", "deleter"):
            return True
    return False
