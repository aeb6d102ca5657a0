"""What breaks a rule for a reason, in one list (`accepted.txt`). It can only shrink: an entry that nothing needs is a finding.

A section for each rule, under `[functions]`, `[privates]` or `[circles]`; a line is `PATH NAME: REASON`. Entries that wait for somebody to
do the work have the reason `to be split` or `to be mended`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tidy.tree import Finding, Tree

LIST = "tools/tidy/accepted.txt"
HEADING = "# What breaks a rule of tidy, and why. Entries only leave this list; tools/tidy/accepted.py says how it is written."


class Accepted:
    """The entries of one rule; asking for one marks it as needed."""

    def __init__(self, tree: Tree, section: str) -> None:
        self._entries: dict[tuple[str, str], int] = {}
        self._wrong: list[Finding] = []
        self._needed: dict[tuple[str, str], None] = {}
        self._reasons: dict[tuple[str, str], str] = {}
        inside = False
        for number, line in enumerate(tree.lines(LIST), start=1):
            text = line.strip()
            if text.startswith("["):
                inside = text == f"[{section}]"
            elif inside and text and not text.startswith("#"):
                entry, _, reason = text.partition(": ")
                path, _, name = entry.partition(" ")
                if not (name and reason.strip()):
                    self._wrong.append(Finding(LIST, number, section, "an entry is `PATH NAME: REASON`"))
                self._entries[path, name] = number
                self._reasons[path, name] = reason.strip()

    def takes(self, path: str, name: str) -> bool:
        """Whether the list has an entry for this."""
        self._needed[path, name] = None
        return (path, name) in self._entries

    def names(self, path: str) -> list[str]:
        """What the list has of a path, without asking for it."""
        return [name for owner, name in self._entries if owner == path]

    def rewritten(self, reason: str) -> list[str]:
        """The entries that were asked for, each with its reason in the list or else with the given one."""
        return [f"{path} {name}: {self._reasons.get((path, name), reason)}" for path, name in sorted(self._needed)]

    def left_over(self, rule: str) -> Iterator[Finding]:
        """Entries without a reason, and those that nothing needed."""
        yield from self._wrong
        for (path, name), number in self._entries.items():
            if (path, name) not in self._needed:
                yield Finding(
                    LIST, number, rule, f"{path} {name} is no exception any more: delete or shorten the entry"
                )
