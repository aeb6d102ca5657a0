"""The page with all functions of the C interface, from the headers in `crates/amdgpu-capi/include/amdgpu`."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A comment, if one stands right in front, and a prototype or the head of an inline function.
_FUNCTION = re.compile(
    r"(?:/\*(?P<comment>(?:(?!\*/).)*)\*/\n)?"
    r"^(?P<prototype>(?:static inline \w+ |const char \*|uint32_t |bool |agpu_status )(?P<name>agpu_\w+)\([^;{)]*\))(?:;| \{)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Function:
    """A function of a header: its name, its prototype in one line, and what its comment says."""

    name: str
    prototype: str
    comment: str


def functions(header: str) -> list[Function]:
    """The functions that a header declares, in its order.

    Raises:
        ValueError: One has no comment.
    """
    found = []
    for match in _FUNCTION.finditer(header):
        name, comment = match["name"], match["comment"]
        if comment is None:
            raise ValueError(f"{name} has no comment in front of it, which docs/c_api_functions.md needs")
        text = " ".join(line.strip().removeprefix("* ").removeprefix("*") for line in comment.strip().splitlines())
        found.append(Function(name, " ".join(match["prototype"].split()), text))
    return found


def emit(headers: dict[str, str]) -> str:
    """The page; `headers` are the texts by file name."""
    lines = [
        "<!-- Generated from crates/amdgpu-capi/include by ./x generate. Do not edit. -->",
        "# Functions of the C interface",
        "",
        "What holds for all of them (statuses, ownership, threads, versions) stands in [c_api.md](c_api.md). Every function is called by a program",
        "in C and by one in C++ in `tests/c_api`.",
    ]
    for name, text in headers.items():
        all_functions = functions(text)
        if not all_functions:
            continue
        link = f"../crates/amdgpu-capi/include/amdgpu/{name}"
        lines += ["", f"## [`amdgpu/{name}`]({link})", "", "| function | what |", "| --- | --- |"]
        lines += [f"| `{one.prototype}` | {_cell(one.comment)} |" for one in all_functions]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace(">", "&gt;")
