"""Functions fit a screen: where each begins and ends, in Rust, Zig, TypeScript, Nim and Python, and which are too long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tidy.accepted import Accepted
from tidy.tree import Finding, Tree

RULE = "function-length"
# style.md: functions fit a screen. From the line with the name to the line that closes the body.
MAX_LINES = 70

# Comments, texts and single characters; what they hold is no code. A quote before a lifetime of Rust opens nothing.
RUST_TEXT = (
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hashes>\#+)".*?"(?P=hashes)|b?r"[^"]*"|b?"(?:[^"\\]|\\.)*\""""
    r"""|b?'(?:[^'\\\n]|\\(?:u\{\w+\}|x\w\w|.))'"""
)
ZIG_TEXT = r"""//[^\n]*|\\\\[^\n]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\[^'\n]*.)'"""
TYPESCRIPT_TEXT = (
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""
    r"""|(?<=[=(,:!&|?;{}\n])\s*/(?![*/])(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/"""
)
BRACED = {
    ".rs": (re.compile(RUST_TEXT, re.DOTALL | re.VERBOSE), re.compile(r"\bfn\s+(?P<name>\w+)")),
    ".zig": (re.compile(ZIG_TEXT), re.compile(r'\bfn\s+(?P<name>\w+|@"[^"]+")\s*\(')),
    ".ts": (
        re.compile(TYPESCRIPT_TEXT, re.DOTALL),
        re.compile(
            r"\bfunction\s*\*?\s*(?P<name>\w+)\s*[<(]"
            r"|^\s*(?:(?:public|private|protected|static|async|override|get|set)\s+)*\*?(?P<method>\#?\w+)\s*(?:<[^>\n]*>)?\((?=[^;]*?\{)"
            r"|\b(?:const|let)\s+(?P<arrow>\w+)\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:\([^;{}]*?\)|\w+)\s*(?::[^=;{}]+)?=>\s*\{",
            re.MULTILINE,
        ),
    ),
}
WORDS_OF_TYPESCRIPT = frozenset(
    {"if", "for", "while", "switch", "catch", "return", "function", "super", "await", "with", "new"}
)
NIM = re.compile(r"^(?P<indent>\s*)(?:proc|func|template|macro|iterator|converter|method)\s+(?P<name>`[^`]+`|\w+)")


@dataclass(frozen=True)
class Function:
    """A function and the lines that it takes."""

    name: str
    line: int
    lines: int


def functions(path: str, text: str) -> list[Function]:
    """Every function of a file, those inside others included."""
    if path.endswith(".py"):
        return list(_python(text))
    if path.endswith((".nim", ".nims")):
        return list(_nim(text))
    suffix = path[path.rfind(".") :]
    return list(_braced(text, *BRACED[suffix])) if suffix in BRACED else []


def _python(text: str) -> Iterator[Function]:
    try:
        module = ast.parse(text)
    except SyntaxError:
        # The rule of the arrows says so.
        return
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Function(node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1)


def blanked(text: str, what: re.Pattern[str]) -> str:
    """The text with comments and strings emptied; every line stays where it is."""
    return what.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def _braced(text: str, what: re.Pattern[str], heading: re.Pattern[str]) -> Iterator[Function]:
    code = blanked(text, what)
    for found in heading.finditer(code):
        name = next(group for group in found.groups() if group is not None)
        if name in WORDS_OF_TYPESCRIPT:
            continue
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        end = _end_of_body(code, found.start(found.lastgroup or 0))
        if end is None or _makes_a_type(code, found.end(), end):
            continue
        yield Function(name, code.count("\n", 0, start) + 1, code.count("\n", start, end) + 1)


def _end_of_body(code: str, start: int) -> int | None:
    """The brace that closes the body of the function whose name stands at `start`; None where it has no body."""
    depth = parentheses = 0
    for index in range(start, len(code)):
        letter = code[index]
        if letter in "([":
            parentheses += 1
        elif letter in ")]":
            parentheses -= 1
            if parentheses < 0:
                return None
        elif letter == ";" and not depth and not parentheses:
            return None
        elif letter == "{" and not parentheses:
            depth += 1
        elif letter == "}" and not parentheses:
            depth -= 1
            if depth <= 0:
                return index
    return None


def _makes_a_type(code: str, start: int, end: int) -> bool:
    """Zig's generic types are functions; the functions inside them are measured by themselves."""
    return re.search(r"\)\s*type\s*\{", code[start - 1 : end].split("\n{", maxsplit=1)[0][:400]) is not None


def _nim(text: str) -> Iterator[Function]:
    lines = text.split("\n")
    for index, line in enumerate(lines):
        found = NIM.match(line)
        if not found:
            continue
        indent = len(found["indent"])
        last = index
        for place in range(index + 1, len(lines)):
            inner = lines[place]
            if not inner.strip():
                continue
            if len(inner) - len(inner.lstrip()) <= indent and not inner.lstrip().startswith((")", "]", "}")):
                break
            last = place
        yield Function(found["name"].strip("`"), index + 1, last - index + 1)


def too_long(tree: Tree) -> Iterator[tuple[str, Function]]:
    """Every function past the limit that a person wrote, with its file."""
    for path in tree.paths:
        if tree.is_generated(path):
            continue
        for function in functions(path, tree.text(path)):
            if function.lines > MAX_LINES:
                yield path, function


def check(tree: Tree) -> Iterator[Finding]:
    """Functions past the limit have a reason in the list, and the list has no others."""
    accepted = Accepted(tree, "functions")
    yield from breaches(tree, accepted)
    yield from accepted.left_over(RULE)


def breaches(tree: Tree, accepted: Accepted) -> Iterator[Finding]:
    """What is in no entry of the list."""
    for path, function in too_long(tree):
        if not accepted.takes(path, function.name):
            message = f"{function.name} has {function.lines} lines; past {MAX_LINES} a function is split"
            yield Finding(path, function.line, RULE, message)
