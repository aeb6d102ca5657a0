"""Modules of a crate depend on each other in one direction: files that use each other in a circle are found.

The graph is read from the paths that begin with `crate::`, `super::` and `self::`, and from `use` of child modules. Names that a module
only hands on (`pub use`) lead to where they are made. What a module needs for its tests alone does not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tidy.accepted import Accepted
from tidy.functions import BRACED, blanked
from tidy.tree import Finding, Tree

RULE = "rust-circle"
TEXT = BRACED[".rs"][0]
TESTS = re.compile(
    r"#\[cfg\((?:all\()?(?:test|any\(test)\b[^\]]*\]\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+\w+\s*(?P<body>\{|;)"
)
USE = re.compile(r"(?P<handed>\bpub(?:\([a-z: ]+\))?\s+)?\buse\s+(?P<tree>[^;]+);")
INLINE = re.compile(r"(?<![\w:])(?P<path>(?:crate|super|self)(?:::\w+)+)")
CHILD = re.compile(r"(?<![\w:.])(?P<path>[a-z]\w*(?:::\w+)+)")

# From a module to the modules that it uses, each with the first line that does.
Graph = dict[str, dict[str, int]]


def module_of(path: str) -> tuple[str, str] | None:
    """`crates/a/src/b/c.rs` -> (`crates/a`, `b::c`); the root of a library is the empty name."""
    parts = path.split("/")
    if len(parts) < 4 or parts[0] != "crates" or parts[2] != "src":
        return None
    name = "::".join([*parts[3:-1], parts[-1].removesuffix(".rs")])
    return "/".join(parts[:2]), "" if name in ("lib", "main") else name


def use_paths(tree: str) -> Iterator[list[str]]:
    """`a::{b, c::{d as e}}` -> [a, b], [a, c, d]."""
    head, brace, rest = tree.partition("{")
    prefix = [part for part in re.split(r"\s*::\s*", head.split(" as ", maxsplit=1)[0].strip()) if part]
    if not brace:
        yield prefix
        return
    depth, begin = 0, 0
    inner = rest[: rest.rfind("}")]
    for index, letter in enumerate([*inner, ","]):
        if letter == "," and depth == 0:
            part = inner[begin:index].strip()
            begin = index + 1
            if part:
                for path in use_paths(part):
                    yield [*prefix, *path]
        depth += (letter == "{") - (letter == "}")


def without_tests(source: str) -> str:
    """The code of a file with strings, comments and `#[cfg(test)]` modules emptied."""
    code = blanked(source, TEXT)
    while found := TESTS.search(code):
        end = found.end()
        if found["body"] == "{":
            depth = 1
            while depth and end < len(code):
                depth += (code[end] == "{") - (code[end] == "}")
                end += 1
        code = code[: found.start()] + re.sub(r"[^\n]", " ", code[found.start() : end]) + code[end:]
    return code


class _Crate:
    """The modules of one crate and what they use."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.codes = {module: without_tests(source) for module, source in sources.items()}
        # By module: names that it hands on, and the path where each is made.
        self.handed: dict[str, dict[str, list[str]]] = {}
        for module, code in self.codes.items():
            names = self.handed.setdefault(module, {})
            for found in USE.finditer(code):
                if found["handed"]:
                    for path in use_paths(found["tree"]):
                        names[path[-1]] = path

    def target(self, module: str, path: list[str], depth: int = 0) -> str | None:
        """The module that a path inside `module` leads to; None for other crates and for the root of this one."""
        base, rest = self._base(module, path)
        if base is None or depth > 8:
            return None
        while rest:
            child = "::".join(filter(None, [base, rest[0]]))
            if child in self.codes:
                base, rest = child, rest[1:]
                continue
            made = self.handed.get(base, {}).get(rest[0])
            if made and made != path:
                return self.target(base, made, depth + 1) or base
            if base == "" and "*" in self.handed.get("", {}):
                return None
            break
        return base or None

    def _base(self, module: str, path: list[str]) -> tuple[str | None, list[str]]:
        parts = module.split("::") if module else []
        if path[0] == "crate":
            return "", path[1:]
        if path[0] == "self":
            return module, path[1:]
        rest = path
        while rest and rest[0] == "super":
            if not parts:
                return None, []
            parts, rest = parts[:-1], rest[1:]
        if rest is not path:
            return "::".join(parts), rest
        child = "::".join([*parts, path[0]])
        return (module, path) if child in self.codes else (None, [])

    def graph(self) -> Graph:
        """What each module uses."""
        found: Graph = {module: {} for module in self.codes}
        for module, code in self.codes.items():
            for position, path in self._paths(code):
                target = self.target(module, path)
                if target is not None and target != module and module:
                    found[module].setdefault(target, code.count("\n", 0, position) + 1)
        return found

    @staticmethod
    def _paths(code: str) -> Iterator[tuple[int, list[str]]]:
        for use in USE.finditer(code):
            if not use["handed"]:
                for path in use_paths(use["tree"]):
                    yield use.start(), path
        rest = USE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)
        for pattern in (INLINE, CHILD):
            for found in pattern.finditer(rest):
                yield found.start(), found["path"].split("::")


def circles(graph: Graph) -> list[list[str]]:
    """Modules that reach each other, as sorted groups (Tarjan's strongly connected components of more than one module)."""
    numbers: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(module: str) -> None:
        numbers[module] = lowest[module] = len(numbers)
        stack.append(module)
        for target in graph.get(module, {}):
            if target not in numbers:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], numbers[target])
        if lowest[module] == numbers[module]:
            place = stack.index(module)
            group = sorted(stack[place:])
            del stack[place:]
            if len(group) > 1:
                groups.append(group)

    for module in sorted(graph):
        if module not in numbers:
            visit(module)
    return sorted(groups)


def crate_graphs(tree: Tree) -> dict[str, Graph]:
    """The graph of every crate, by its folder."""
    crates: dict[str, dict[str, str]] = {}
    for path in tree.with_suffix(".rs"):
        place = module_of(path)
        if place and not tree.is_generated(path) and place[1].rsplit("::", maxsplit=1)[-1] != "tests":
            crates.setdefault(place[0], {})[place[1]] = tree.text(path)
    return {crate: _Crate(sources).graph() for crate, sources in crates.items()}


def check(tree: Tree) -> Iterator[Finding]:
    """Every circle lies within one of the list, whose entries name no module that left its circle."""
    accepted = Accepted(tree, "circles")
    yield from breaches(tree, accepted)
    yield from accepted.left_over(RULE)


def breaches(tree: Tree, accepted: Accepted) -> Iterator[Finding]:
    """What is in no entry of the list."""
    for crate, graph in crate_graphs(tree).items():
        for group in circles(graph):
            known = next((entry for entry in accepted.names(crate) if set(group) <= set(entry.split())), None)
            # A circle that has become smaller, or two of one, asks for a shorter entry.
            accepted.takes(crate, known if known and known.split() == group else " ".join(group))
            if known:
                continue
            module = group[0]
            target = min(set(graph[module]) & set(group))
            path = f"{crate}/src/{module.replace('::', '/')}.rs"
            yield Finding(path, graph[module][target], RULE, f"modules use each other in a circle: {', '.join(group)}")
