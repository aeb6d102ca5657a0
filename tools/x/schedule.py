"""Runs pieces of work side by side as far as the processors of the machine allow."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from x import process

# One piece more than there are processors: most wait for disks, linkers or single threads at times.
SPARE_PROCESSORS = 1


@dataclass(frozen=True)
class Piece:
    """A name, the work behind it, how many processors it keeps busy, and the pieces that have to be done before."""

    name: str
    work: Callable[[], None]
    processors: int = 1
    after: tuple[str, ...] = ()


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0))


def run_side_by_side(pieces: Sequence[Piece], *, capacity: int = 0) -> None:
    """Runs every piece, in their order where not all fit at once. What a piece raises is raised once all that had begun have ended.

    `capacity` counts processors; 0 stands for those of the machine and a spare one. A piece that asks for more than there are runs
    alone. Where this thread is interrupted, the commands of the others are ended.
    """
    room = capacity or processors() + SPARE_PROCESSORS
    waiting = list(pieces)
    running: dict[str, int] = {}
    done: set[str] = set()
    errors: list[BaseException] = []
    change = threading.Condition()

    def one(piece: Piece) -> None:
        try:
            piece.work()
        except BaseException as error:  # noqa: BLE001  (the main thread raises it)
            errors.append(error)
        with change:
            del running[piece.name]
            done.add(piece.name)
            change.notify()

    def next_piece() -> Piece | None:
        named = {piece.name for piece in pieces}
        for piece in waiting:
            is_ready = all(name in done for name in piece.after if name in named)
            if is_ready and (not running or sum(running.values()) + piece.processors <= room):
                return piece
        return None

    try:
        with change:
            while (waiting and not errors) or running:
                while not errors and (piece := next_piece()) is not None:
                    waiting.remove(piece)
                    running[piece.name] = piece.processors
                    threading.Thread(target=one, args=(piece,), daemon=True).start()
                change.wait()
    except BaseException:
        process.end_all()
        raise
    if errors:
        raise errors[0]
