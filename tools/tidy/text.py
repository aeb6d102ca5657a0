"""Rules that look at lines: length of files, left-over notes, banners, dead code, addresses of machines and registries, white space."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tidy.tree import Finding, Tree

# style.md: past this a file is split; tables and generated files excepted.
MAX_LINES = 800

CODE = (".rs", ".zig", ".nim", ".nims", ".jl", ".py", ".pyi", ".ts", ".tsx", ".js", ".c", ".h", ".hip")
SLASHES = (".rs", ".zig", ".ts", ".tsx", ".js", ".c", ".h", ".hip")
# Markdown ends a line with two spaces to break it; nothing else does.
SPACES_MATTER = (".md",)
# Samples for tests are as they are on purpose.
SAMPLE_FOLDERS = frozenset({"golden", "fixtures", "samples", "corpus"})
# This folder spells out what it forbids, and its tests are samples of it.
OWN_FOLDER = "tools/tidy/"

NOTE = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
STUB = re.compile(r"\b(?:todo|unimplemented)!\s*[(\[{]")
# Folders that exist on one developer's machine only.
MACHINE_PATH = re.compile(r"""(?<![\w.~$}/-])/(?:work|root|Users/\w+|home/\w+)(?:/[\w.-]|(?=["'`\s)]|$))""")
# Numbers of tickets, which readers of the tree do not have. Those of other projects are addresses.
TICKET = re.compile(r"\b[Ii]ssue #?\d+\b")
REGISTRY = re.compile(
    r"""(?:index-url|extra-index-url|registry-url|replace-with)\s*=
      | https?://[^\s"'`)>]*(?:pypi|pythonhosted|crates\.io/api|static\.crates|index\.crates|registry\.npmjs
      | proxy\.golang|pkg\.julialang|nimble\.directory|artifactory|nexus)""",
    re.VERBOSE,
)
# A rule across the page, alone or around a title.
BANNER = re.compile(r"^\s*(?://+|#+|/\*+|\*)\s*(?:[-=*#~_+]{4,}|[\u2500-\u257f]{4,})")
SLASH_CODE = re.compile(
    r"^\s*//\s*(?:(?:let|const|var|pub|fn|use|return|if|for|while|match|import|export)\b.*[;{]|[\w.\[\]]+\s*[-+*/]?=\s.*;|[\w.:]+\(.*\);|\}+)\s*$"
)
HASH_CODE = re.compile(
    r"^\s*#\s*(?:(?:proc|func|template|function)\s+\w+\s*\(.*|(?:let|var|const)\s+\w+(?:\s*:\s*\w+)?\s*=.*|return\s+\w+\(.*\)|[\w.]+!?\(.*\)\s*$|echo\s+\w+|end)\s*$"
)


def check(tree: Tree) -> Iterator[Finding]:
    """Looks at every text file; rules about code only at code."""
    for path in tree.paths:
        lines = tree.lines(path)
        if path.rsplit("/", maxsplit=1)[-1] == "mod.rs":
            yield Finding(
                path, 1, "no-mod-rs", "a module `foo` stands in foo.rs beside the folder foo/, not in foo/mod.rs"
            )
        if not SAMPLE_FOLDERS.intersection(path.split("/")[:-1]):
            yield from _white_space(path, lines)
        if tree.is_generated(path) or path.startswith(OWN_FOLDER):
            continue
        yield from _addresses(path, lines)
        if path.endswith(CODE):
            # A stub belongs to one module, however much that has.
            if not path.endswith(".pyi"):
                yield from _length(path, lines)
            yield from _comments(path, lines)


def _white_space(path: str, lines: list[str]) -> Iterator[Finding]:
    if not path.endswith(SPACES_MATTER):
        for number, line in enumerate(lines, start=1):
            if line != line.rstrip():
                yield Finding(path, number, "white-space", "white space at the end of the line")
    if lines[-1] and lines != [""]:
        yield Finding(path, len(lines), "white-space", "no newline at the end of the file")
    elif len(lines) > 2 and not lines[-2]:
        yield Finding(path, len(lines) - 1, "white-space", "empty line at the end of the file")


def _addresses(path: str, lines: list[str]) -> Iterator[Finding]:
    for number, line in enumerate(lines, start=1):
        machine = MACHINE_PATH.search(line)
        if machine:
            yield Finding(path, number, "machine-path", f"`{machine[0]}` is a path of one machine")
        ticket = TICKET.search(line)
        if ticket:
            yield Finding(
                path, number, "ticket", f"`{ticket[0]}` says where the work was ordered; say what holds, or why"
            )
        registry = REGISTRY.search(line)
        if registry:
            yield Finding(
                path, number, "registry", f"`{registry[0]}` names a package registry; the user's own settings do that"
            )


def _length(path: str, lines: list[str]) -> Iterator[Finding]:
    count = len(lines) - 1
    if count > MAX_LINES:
        yield Finding(path, MAX_LINES + 1, "file-length", f"{count} lines; past {MAX_LINES} a file is split")


def _comments(path: str, lines: list[str]) -> Iterator[Finding]:
    slashes = path.endswith(SLASHES)
    for number, line in enumerate(lines, start=1):
        note = NOTE.search(line)
        if note:
            yield Finding(path, number, "left-over", f"`{note[0]}`: write an issue, or do it")
        if slashes and STUB.search(line):
            yield Finding(path, number, "left-over", "a stub is not an implementation")
        if BANNER.match(line):
            yield Finding(path, number, "banner", "a banner; split the file where it needs one")
        # Python's is found by ruff (ERA).
        dead = SLASH_CODE if slashes else HASH_CODE
        if not path.endswith((".py", ".pyi")) and dead.match(line):
            yield Finding(path, number, "dead-code", "commented-out code; git remembers it")
