"""Python modules import downwards only, and never round in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tidy.tree import Finding, Tree

RULE = "python-arrows"
CIRCLE = "python-circle"
PACKAGE = "amdgpu"
FOLDER = f"python/{PACKAGE}"

# From bottom to top. A module that is not named here belongs to the API.
LEVELS: tuple[tuple[str, frozenset[str]], ...] = (
    ("native", frozenset({"_native", "_generated"})),
    ("facts", frozenset({"errors", "types"})),
    ("arguments", frozenset({"arguments"})),
    ("codegen", frozenset({"codegen"})),
    ("dispatch", frozenset({"dispatch"})),
    ("api", frozenset()),
    ("facade", frozenset({""})),
    ("programs", frozenset({"cli", "server", "__main__"})),
)
API = next(number for number, (name, _) in enumerate(LEVELS) if name == "api")


@dataclass(frozen=True)
class Import:
    """One import inside the package. `when_loaded`: it runs when the module is loaded, not when a function is called."""

    line: int
    target: str
    when_loaded: bool


def level(module: str) -> int:
    """How high a module of the package stands; `module` is without the package's name, empty for the package itself."""
    head = module.split(".", maxsplit=1)[0]
    return next((number for number, (_, heads) in enumerate(LEVELS) if head in heads), API)


def module_of(path: str) -> str:
    """`python/amdgpu/ops/matmul.py` -> `ops.matmul`."""
    name = path.removeprefix(f"{FOLDER}/").removesuffix(".py").replace("/", ".")
    return "" if name == "__init__" else name.removesuffix(".__init__")


class _Imports(ast.NodeVisitor):
    def __init__(self, path: str, modules: frozenset[str]) -> None:
        own = module_of(path)
        is_package = path.endswith("/__init__.py")
        self.package = own if is_package else own.rpartition(".")[0]
        self.modules = modules
        self.found: list[Import] = []
        self.depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815  (ast's name)

    def visit_If(self, node: ast.If) -> None:
        condition = node.test
        name = condition.attr if isinstance(condition, ast.Attribute) else getattr(condition, "id", "")
        # Names for annotations only; nothing is imported.
        for child in node.orelse if name == "TYPE_CHECKING" else [*node.body, *node.orelse]:
            self.visit(child)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name == PACKAGE or alias.name.startswith(f"{PACKAGE}."):
                self._add(node.lineno, alias.name.removeprefix(PACKAGE).removeprefix("."))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        source = node.module or ""
        if node.level:
            parts = self.package.split(".") if self.package else []
            base = parts[: len(parts) - (node.level - 1)]
            source = ".".join([*base, source] if source else base)
        elif source == PACKAGE or source.startswith(f"{PACKAGE}."):
            source = source.removeprefix(PACKAGE).removeprefix(".")
        else:
            return
        for alias in node.names:
            full = f"{source}.{alias.name}" if source else alias.name
            self._add(node.lineno, full if full in self.modules else source)

    def _add(self, line: int, target: str) -> None:
        self.found.append(Import(line, target, self.depth == 0))


def imports(path: str, source: str, modules: frozenset[str]) -> list[Import]:
    """What a module imports from its own package. `modules`: the modules there are."""
    visitor = _Imports(path, modules)
    visitor.visit(ast.parse(source))
    return visitor.found


def check(tree: Tree) -> Iterator[Finding]:
    """Looks at every module of python/amdgpu."""
    paths = {module_of(path): path for path in tree.with_suffix(".py") if path.startswith(f"{FOLDER}/")}
    modules = frozenset(paths) | {"_native"}
    loads: dict[str, list[Import]] = {}
    for module, path in paths.items():
        try:
            found = imports(path, tree.text(path), modules)
        except SyntaxError as error:
            yield Finding(path, error.lineno or 1, RULE, f"cannot be parsed: {error.msg}")
            continue
        loads[module] = [each for each in found if each.when_loaded]
        own = level(module)
        for each in found:
            other = level(each.target)
            if other > own:
                shown = f"{PACKAGE}.{each.target}" if each.target else f"the package {PACKAGE} itself"
                yield Finding(
                    path,
                    each.line,
                    RULE,
                    f"a module of level {LEVELS[own][0]} imports {shown}, which is of level {LEVELS[other][0]}",
                )
    yield from _circles(paths, loads)


def _circles(paths: dict[str, str], loads: dict[str, list[Import]]) -> Iterator[Finding]:
    """Modules that need each other while they are loaded; each circle once, at its first module."""
    done: set[str] = set()
    for start in sorted(loads):
        for circle in _walk(start, [], done, loads):
            first = min(circle)
            index = circle.index(first)
            names = [*circle[index:], *circle[:index], first]
            line = next(each.line for each in loads[first] if each.target == names[1])
            path = " -> ".join(name or PACKAGE for name in names)
            yield Finding(paths[first], line, CIRCLE, f"modules import each other in a circle: {path}")


def _walk(module: str, trail: list[str], done: set[str], loads: dict[str, list[Import]]) -> Iterator[list[str]]:
    """Follows the imports of a module in depth; yields the part of the trail that closes into a circle."""
    if module in trail:
        yield trail[trail.index(module) :]
        return
    if module in done:
        return
    for target in sorted({each.target for each in loads.get(module, ())} - {module}):
        yield from _walk(target, [*trail, module], done, loads)
    done.add(module)
