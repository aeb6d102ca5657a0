"""docs/one_call.md names places as `path::name`; each of them is there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidy.tree import Finding, Tree

RULE = "anchor"
PAGE = "docs/one_call.md"
ANCHOR = re.compile(r"`(?P<path>[\w./-]+\.\w+)::(?P<name>[\w!:.]+)`")

# How each language says that something is defined; {name} stands for the name.
DEFINITIONS: dict[str, tuple[str, ...]] = {
    ".rs": (r"\b(?:fn|struct|enum|union|trait|type|const|static|mod)\s+{name}\b", r"\bmacro_rules!\s+{name}\b"),
    ".py": (r"^\s*(?:async\s+)?def\s+{name}\b", r"^\s*class\s+{name}\b", r"^{name}\s*(?::[^=]+)?="),
    ".pyi": (r"^\s*(?:async\s+)?def\s+{name}\b", r"^\s*class\s+{name}\b"),
    ".zig": (r"\b(?:fn|const|var)\s+{name}\b",),
    ".nim": (
        r"\b(?:proc|func|template|macro|iterator|method|converter)\s+`?{name}`?\W",
        r"^\s*{name}\*?\s*(?:\{{[^}}]*\}}\s*)?=",
    ),
    ".jl": (
        r"\b(?:function|struct|macro|const)\s+{name}(?!\w)",
        r"^\s*(?:@\w+\s+)*{name}\([^=]*\)\s*(?:::\s*\w+\s*)?=",
    ),
    ".h": (r"\b{name}\s*\(", r"\}}\s*{name}\s*;", r"#define\s+{name}\b", r"\(\*{name}\)"),
    ".ts": (
        r"\b(?:function|class|const|let|interface|type|enum)\s+{name}\b",
        r"^\s*(?:public\s+|async\s+)*{name}\s*\(",
    ),
    ".toml": (r"\b{name}\b",),
}


def is_defined(source: str, suffix: str, name: str) -> bool:
    """Whether `source` defines `name`; of `Type::method` the type must be mentioned and the method defined."""
    *outer, last = re.split(r"::|\.", name.rstrip("!") if suffix == ".rs" else name)
    if not all(re.search(rf"\b{re.escape(part)}\b", source) for part in outer):
        return False
    patterns = DEFINITIONS.get(suffix, (r"\b{name}\b",))
    return any(re.search(pattern.format(name=re.escape(last)), source, re.MULTILINE) for pattern in patterns)


def check(tree: Tree) -> Iterator[Finding]:
    """Follows every anchor of the page."""
    if not tree.exists(PAGE):
        yield Finding(PAGE, 1, RULE, "the page is missing: it follows one call through every layer")
        return
    count = 0
    for number, line in enumerate(tree.lines(PAGE), start=1):
        for anchor in ANCHOR.finditer(line):
            count += 1
            path, name = anchor["path"], anchor["name"]
            if not tree.exists(path):
                yield Finding(PAGE, number, RULE, f"`{anchor[0].strip('`')}`: there is no file {path}")
            elif not is_defined(tree.text(path), "." + path.rsplit(".", maxsplit=1)[-1], name):
                yield Finding(PAGE, number, RULE, f"`{anchor[0].strip('`')}`: {path} defines no {name}")
    if not count:
        yield Finding(PAGE, 1, RULE, "the page has no anchors of the form `path::name`")
