"""One fault, and which of many are tried."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Longer pieces of source are cut in what people read.
SHOWN_CHARACTERS = 48


@dataclass(frozen=True)
class Fault:
    """One edit: the bytes `edit` of `file` become `after`. `body` is the function around it, where faults are switched."""

    file: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    edit: tuple[int, int]
    body: tuple[int, int] = (0, 0)
    # The how-manieth fault of this kind in its function, so that the name survives changes elsewhere in the file.
    occurrence: int = 0

    @property
    def name(self) -> str:
        """Eight hexadecimal digits by which `--only` finds this fault again."""
        parts = (self.file, self.function, self.operator, self.before, self.after, self.occurrence)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}: {self.operator}: {shortened(self.before)} -> {shortened(self.after)}"


def shortened(code: str) -> str:
    """`code` on one line, cut where it is long; nothing left is called that."""
    text = " ".join(code.split())
    if text in ("", "{}"):
        return "(removed)"
    return f"`{text}`" if len(text) <= SHOWN_CHARACTERS else f"`{text[: SHOWN_CHARACTERS - 3]}...`"


def numbered(faults: Iterable[Fault]) -> list[Fault]:
    """The faults, those that would have the same name told apart by their order."""
    seen: dict[tuple[str, ...], int] = {}
    result = []
    for fault in faults:
        key = (fault.file, fault.function, fault.operator, fault.before, fault.after)
        occurrence = seen.get(key, 0)
        seen[key] = occurrence + 1
        result.append(
            Fault(
                fault.file,
                fault.line,
                fault.function,
                fault.operator,
                fault.before,
                fault.after,
                fault.edit,
                fault.body,
                occurrence,
            )
        )
    return result


def drawn(faults: Sequence[Fault], seed: int) -> list[Fault]:
    """One fault of every line that has any, in random order: the first N are a sample of N lines.

    Lines are drawn rather than faults because a line of constants has dozens, which would crowd out the rest.
    """
    lines: dict[tuple[str, int], list[Fault]] = {}
    for fault in faults:
        lines.setdefault((fault.file, fault.line), []).append(fault)
    # The same draw must come out on every machine; nothing here is secret.
    generator = random.Random(seed)
    places = sorted(lines)
    generator.shuffle(places)
    return [generator.choice(lines[place]) for place in places]
