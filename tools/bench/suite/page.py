"""Puts what a record says into docs/performance.md, between the marks that the page has for it and its machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "bench-results"
PAGE = ROOT / "docs" / "performance.md"


def described(record: dict[str, Any]) -> str:
    """When, where, how, and how busy the machine was."""
    machine = record["machine"]
    load = ", ".join(f"{value:.1f}" for value in machine["load_average"])
    # Interpreters of other environments lie anywhere.
    command = re.sub(r"(--torch[ =])\S+", r"\1PYTHON", record["command"])
    where = machine.get("gpu") or f"{place(record)}, {machine['cores']} cores, load average {load}"
    return f"{record['date'][:16].replace('T', ' ')} UTC, {where}, commit {machine['commit'] or 'unknown'}: `{command}`"


def markdown(lines: list[list[str]]) -> str:
    """A table; the first line is its head."""
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def place(record: dict[str, Any]) -> str:
    """What computed: the GPU, without what follows its name, or the processor, without marks of trade."""
    machine = record["machine"]
    name = machine.get("gpu", "").partition(",")[0] or machine["processor"]
    return " ".join(re.sub(r"\((?:R|TM)\)", "", name).split())


def file_name(record: dict[str, Any], name: str) -> str:
    """The name of a picture of that record: every machine has its own."""
    machine = re.sub(r"[^a-z0-9]+", "_", place(record).lower()).strip("_")
    base, _, ending = name.rpartition(".")
    return f"{base}_{machine}.{ending}"


def put_into_page(name: str, record: dict[str, Any], text: str) -> None:
    """Replaces what the page has under that name for the record's machine; a new machine comes behind the others.

    The page has comments as marks: `name: machine` before and the same with a stroke behind.
    """
    page = PAGE.read_text()
    mark = f"{name}: {place(record)}"
    section = f"<!-- {mark} -->\n{described(record)}\n\n{text}\n<!-- /{mark} -->\n"
    own = re.compile(rf"<!-- {re.escape(mark)} -->\n.*?<!-- /{re.escape(mark)} -->\n", re.DOTALL)
    others = list(re.finditer(rf"<!-- /{re.escape(name)}: [^\n]* -->\n", page))
    found = own.search(page)
    if found:
        page = page[: found.start()] + section + page[found.end() :]
    elif others:
        end = others[-1].end()
        page = f"{page[:end]}\n{section}{page[end:]}"
    else:
        print(f"{PAGE.relative_to(ROOT)} has no marks for {name}; its text would be:\n{section}")
        return
    PAGE.write_text(page)
    print(f"written into {PAGE.relative_to(ROOT)}")


def shown(ratio: float) -> str:
    """Two digits behind the point, three for small ratios."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"
