"""Puts what a record says into docs/performance.md, between the marks that the page has for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "bench-results"
PAGE = ROOT / "docs" / "performance.md"


def described(record: dict[str, Any]) -> str:
    """When, where, how, and how busy the machine was."""
    machine = record["machine"]
    load = ", ".join(f"{value:.1f}" for value in machine["load_average"])
    place = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores, load average {load}"
    return f"{record['date'][:16].replace('T', ' ')} UTC, {place}, commit {machine['commit'] or 'unknown'}: `{record['command']}`"


def markdown(lines: list[list[str]]) -> str:
    """A table; the first line is its head."""
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def put_into_page(name: str, text: str) -> None:
    """Replaces what stands between the page's marks of that name."""
    page = PAGE.read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->\n"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        print(f"{PAGE.relative_to(ROOT)} has no marks for {name}; its text would be:\n{text}")
        return
    PAGE.write_text(f"{before}{begin}{text}\n{end}{after}")
    print(f"written into {PAGE.relative_to(ROOT)}")


def shown(ratio: float) -> str:
    """Two digits behind the point, three for small ratios."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.3f}"
