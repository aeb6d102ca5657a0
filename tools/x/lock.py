"""One `./x` at a time per working tree: two builds beside each other would only wait for, or undo, one another."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from x.console import Console
from x.paths import STATE


@contextmanager
def exclusive(console: Console) -> Iterator[None]:
    """Holds the tree's lock; says so when it has to wait."""
    STATE.mkdir(parents=True, exist_ok=True)
    with (STATE / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.line("waiting for another ./x in this working tree")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
