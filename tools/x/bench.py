"""`./x bench`: finds the benchmarks of tools/bench by name; each runs in its own process (tools/bench/__main__.py)."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from x.console import Console
from x.failure import Failure
from x.paths import ROOT

FOLDER = ROOT / "tools" / "bench"
FRAME_FILES = frozenset({"__main__", "__init__", "frame"})


def available(folder: Path = FOLDER) -> dict[str, str]:
    """Names and summaries: every file of tools/bench but the frame, with the first line of its docstring."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        if path.stem not in FRAME_FILES:
            docstring = ast.get_docstring(ast.parse(path.read_text())) or "no summary"
            found[path.stem] = docstring.splitlines()[0]
    return found


def resolve(name: str, known: Sequence[str]) -> str:
    """The benchmark called `name`, or the only one that starts so."""
    if name in known:
        return name
    matches = [candidate for candidate in known if candidate.startswith(name)]
    if len(matches) != 1:
        raise Failure(f"there is no benchmark `{name}`", fix=f"one of: {', '.join(known) or 'none yet'}")
    return matches[0]


def choose(console: Console, names: Sequence[str], *, everything: bool) -> list[str]:
    """The benchmarks to run; none, with the list printed, when none was named."""
    known = available()
    if everything:
        return list(known)
    if not names:
        console.table(("benchmark", "what it measures"), list(known.items()))
        console.line("run one with `./x bench NAME`, all with `./x bench --all`")
    return [resolve(name, list(known)) for name in names]
