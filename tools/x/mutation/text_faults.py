"""Faults of sources that are not Rust, found by looking at tokens and lines.

The tokens of a fault must stand as the formatters write them: a binary operator between blanks. So pointers, generics and
types keep their signs without a parser for each language; what still comes out wrong is refused by the compiler.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from x.mutation.faults import Fault

OPERATORS = {
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "%": ("*",),
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "===": ("!==",),
    "!==": ("===",),
    "+=": ("-=",),
    "-=": ("+=",),
    "*=": ("+=",),
    "|=": ("&=",),
    "&&": ("||",),
    "||": ("&&",),
    "<<": (">>",),
    ">>": ("<<",),
    "and": ("or",),
    "or": ("and",),
    "shl": ("shr",),
    "shr": ("shl",),
    "div": ("mod",),
    "mod": ("div",),
}
WORDS = {
    "true": "false",
    "false": "true",
    "True": "False",
    "False": "True",
    "min": "max",
    "max": "min",
    "continue": "break",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}
OPERATOR = re.compile(
    r"(?<=[ ])(" + "|".join(re.escape(text) for text in sorted(OPERATORS, key=len, reverse=True)) + r")(?=[ \n])"
)
WORD = re.compile(r"(?<![\w.'\"])@?(" + "|".join(WORDS) + r")\b(?!['\"=:])|(?<=\.)(" + "|".join(WORDS) + r")(?=\()")
NUMBER = re.compile(r"(?<![\w.#'])(\d+\.\d+|\d+)(?![\w.'])")
NOT_A_STATEMENT = (
    r"(?!(?:const|var|let|return|raise|if|elif|else|for|while|import|from|export|type|def|fn|pub|proc|func|template|case"
    r"|switch|when|include|using|struct|function|macro|assert|del|global|yield|await|static|declare|new)\b)"
)
STATEMENT = re.compile(
    r"^[ \t]+"
    + NOT_A_STATEMENT
    # A call, a change in place, or an assignment to a part of something: the first assignment of a name would be missed by anyone.
    + r"(?P<all>(?:try )?(?:[\w.\[\]@]+!?\(.*\)|[\w.\[\]]+ (?:[-+*/|&]=) .+|\w+[.\[][\w\].\[]+ = .*[\w)\]\"'}]);?)$",
    re.MULTILINE,
)
BRACKETS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class Language:
    """How comments, strings, empty statements and negations are written; `hidden` gives ranges to stay out of."""

    skipped: re.Pattern[str]
    nothing: str
    negated: str
    condition: re.Pattern[str]
    hidden: Callable[[str], list[tuple[int, int]]] | None = None


def _zig_tests(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r'^test (?:"[^"\n]*" )?\{\n.*?^\}', text, re.MULTILINE | re.DOTALL)]


def _python_hidden(text: str) -> list[tuple[int, int]]:
    """Annotations: they are not run."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines(keepends=True)

    def place(line: int, column: int) -> int:
        # The columns of `ast` count bytes.
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode()) if line <= len(lines) else len(text)

    found = []
    for node in ast.walk(ast.parse(text)):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(part, ast.expr) and part.end_lineno is not None and part.end_col_offset is not None:
                found.append((place(part.lineno, part.col_offset), place(part.end_lineno, part.end_col_offset)))
    return found


STRING = r'"(?:\\.|[^"\\\n])*"'
INDENTED_CONDITION = re.compile(r"^[ \t]*(?:if|elif|while) (?P<condition>.+):[ ]*$", re.MULTILINE)
LANGUAGES = {
    "python": Language(
        re.compile(r"\w?\"\"\".*?\"\"\"|#[^\n]*|" + STRING + r"|'(?:\\.|[^'\\\n])*'", re.DOTALL),
        "pass",
        "not ({})",
        INDENTED_CONDITION,
        _python_hidden,
    ),
    "zig": Language(
        re.compile(r"//[^\n]*|\\\\[^\n]*|'(?:\\.|[^'\\\n])+'|" + STRING),
        "{}",
        "!({})",
        re.compile(r"\b(?:if|while) \((?P<condition>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)(?! \|)"),
        _zig_tests,
    ),
    "nim": Language(
        re.compile(r'"""[\s\S]*?"""|#\[[\s\S]*?\]#|#[^\n]*|\'(?:\\.|[^\'\\\n])+\'|' + STRING),
        "discard",
        "not ({})",
        INDENTED_CONDITION,
    ),
    "julia": Language(
        re.compile(r'"""[\s\S]*?"""|#=[\s\S]*?=#|#[^\n]*|' + STRING),
        "nothing",
        "!({})",
        re.compile(r"^[ \t]*(?:if|elseif|while) (?P<condition>.+)$", re.MULTILINE),
    ),
    "typescript": Language(
        re.compile(
            r"//[^\n]*|/\*[\s\S]*?\*/|`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'|^(?:import|export type)[^;]*;|" + STRING,
            re.MULTILINE,
        ),
        "{}",
        "!({})",
        re.compile(r"\b(?:if|while) \((?P<condition>[^()\n]*(?:\([^()\n]*\)[^()\n]*)*)\)"),
    ),
}


def faults_of_text(name: str, content: bytes, language: Language) -> list[Fault]:
    """Every fault of one file."""
    text = content.decode()
    hidden = [match.span() for match in language.skipped.finditer(text)]
    visible = _blanked(text, hidden + (language.hidden(text) if language.hidden else []))
    found = []
    for operator, start, end, after in _edits(text, visible, language):
        edit = (len(text[:start].encode()), len(text[:end].encode()))
        line = text.count("\n", 0, start) + 1
        found.append(Fault(name, line, "", operator, text[start:end], after, edit))
    return found


def _blanked(text: str, hidden: list[tuple[int, int]]) -> str:
    """The text with a sign that matches nothing in every hidden place, so that offsets stay."""
    characters = list(text)
    for start, end in hidden:
        for place in range(start, end):
            if characters[place] != "\n":
                characters[place] = "\x00"
    return "".join(characters)


def _edits(text: str, visible: str, language: Language) -> Iterator[tuple[str, int, int, str]]:
    for match in OPERATOR.finditer(visible):
        for after in OPERATORS[match[1]]:
            yield "operator", match.start(1), match.end(1), after
    for match in WORD.finditer(visible):
        group = 1 if match[1] else 2
        yield "word", match.start(group), match.end(group), WORDS[match[group]]
    for match in NUMBER.finditer(visible):
        for after in _neighbours(match[1]):
            yield "constant", match.start(1), match.end(1), after
    for match in STATEMENT.finditer(visible):
        if _balanced(match["all"]):
            yield "statement", match.start("all"), match.end("all"), language.nothing
    for match in language.condition.finditer(visible):
        condition = match["condition"].split("\x00")[0].rstrip()
        if condition and _balanced(condition) and "\x00" not in match["condition"]:
            start = match.start("condition")
            end = start + len(condition)
            yield "condition", start, end, language.negated.format(text[start:end])


def _neighbours(number: str) -> list[str]:
    if "." in number:
        return [f"({number} + 1.0)"]
    value = int(number)
    return [str(value + 1), *([str(value - 1)] if value else [])]


def _balanced(code: str) -> bool:
    """Whether the code opens and closes all of its brackets itself."""
    open_brackets: list[str] = []
    for character in code:
        if character in BRACKETS.values():
            open_brackets.append(character)
        elif character in BRACKETS and (not open_brackets or open_brackets.pop() != BRACKETS[character]):
            return False
    return not open_brackets
