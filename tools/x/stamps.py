"""Stamps: a step is done when the content it read and the files it wrote are those of its last success.

Inputs are compared by content, so a fresh checkout or a touched file builds nothing twice; outputs by size and time, so
that a library that something else overwrote is noticed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

IGNORED_FOLDERS = frozenset(
    {"__pycache__", ".zig-cache", "zig-out", "nimcache", "node_modules", "target", "_lib", ".git"}
)
IGNORED_SUFFIXES = frozenset({".pyc", ".so", ".profraw"})


def source_files(inputs: Iterable[Path]) -> Iterator[Path]:
    """The files under `inputs` (files or folders) in a stable order, without caches and build products."""
    for top in inputs:
        if top.is_file():
            yield top
            continue
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(name for name in folders if name not in IGNORED_FOLDERS)
            for name in sorted(names):
                if os.path.splitext(name)[1] not in IGNORED_SUFFIXES:
                    yield Path(folder, name)


def digest(inputs: Iterable[Path], *facts: str) -> str:
    """A hash of the files' names and contents and of `facts` (commands, versions) that the step depends on."""
    state = hashlib.blake2b(digest_size=20)
    for fact in facts:
        state.update(b"fact\0" + fact.encode() + b"\0")
    for path in source_files(inputs):
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            continue
        state.update(b"file\0" + str(path).encode() + b"\0" + str(len(content)).encode() + b"\0" + content)
    return state.hexdigest()


def _identity(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return [status.st_size, status.st_mtime_ns]


class Stamp:
    """The record of a step's last success, kept as one small JSON file."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name}.json"

    def is_fresh(self, inputs_digest: str, outputs: Iterable[Path] = ()) -> bool:
        """Whether the last success read the same inputs and every output is still the file that it wrote."""
        try:
            record = json.loads(self.path.read_text())
            if record["inputs"] != inputs_digest:
                return False
            written = record["outputs"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return all(str(path) in written and written[str(path)] == _identity(path) for path in outputs)

    def write(self, inputs_digest: str, outputs: Iterable[Path] = ()) -> None:
        """Records a success."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        record = {"inputs": inputs_digest, "outputs": {str(path): _identity(path) for path in outputs}}
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(record, indent=1))
        os.replace(temporary, self.path)

    def remove(self) -> None:
        """Forgets the last success."""
        self.path.unlink(missing_ok=True)
