"""What was tried so far, in a file: JSON lines, one candidate each, behind a header that says which search it is.

A line is written in one piece and brought to the disk before the search goes on; a last line that a crash cut off is dropped. One
process at a time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.search.result import Candidate

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

SCHEMA = "amdgpu.search_journal"
VERSION = 1


class Journal:
    """The file, open and locked; without a path candidates are only remembered."""

    def __init__(self, path: str | Path | None, about: dict[str, Any]) -> None:
        """Open or begin a journal of the search that `about` describes.

        Raises:
            InvalidArgumentError: The file is of another search, or another process uses it.
            OSError: It cannot be opened.
        """
        self._known: dict[tuple[str, int], Candidate] = {}
        self._file = None
        if path is None:
            return
        path = arguments.path("search", "journal", path)
        digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
        header = {"schema": SCHEMA, "version": VERSION, "search": digest}
        self._file = path.open("a+b")
        try:
            self._begin(path, header)
        except BaseException:
            self.close()
            raise

    def _begin(self, path: str | Path, header: dict[str, Any]) -> None:
        assert self._file is not None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InvalidArgumentError(f"another process searches with the journal {path}") from None
        self._file.seek(0)
        content = self._file.read()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.splitlines()
        if not lines:
            if content and not json.dumps(header).encode().startswith(content):
                raise InvalidArgumentError(f"{path} is no journal of a search")
            self._file.truncate(0)
            self._write(header)
            return
        self._read(path, header, lines)
        self._file.truncate(len(whole))

    def _read(self, path: str | Path, header: dict[str, Any], lines: list[bytes]) -> None:
        try:
            found = json.loads(lines[0])
            entries = [json.loads(line) for line in lines[1:]]
            candidates = [
                Candidate(**{**entry, "values": tuple(entry["values"]), "levels": tuple(entry["levels"])})
                for entry in entries
            ]
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidArgumentError(f"{path} is no journal of a search, or is damaged: {error}") from None
        if found != header:
            raise InvalidArgumentError(
                f"{path} is the journal of another search: text, data, strategy and options must be those it was begun with; "
                "take another file for another search"
            )
        for candidate in candidates:
            self._known[candidate.text, candidate.epochs] = candidate

    def get(self, text: str, epochs: int) -> Candidate | None:
        """A candidate that was tried before."""
        return self._known.get((text, epochs))

    def add(self, candidate: Candidate) -> None:
        """Remember a candidate, on the disk too."""
        self._known[candidate.text, candidate.epochs] = candidate
        if self._file is not None:
            self._write(asdict(candidate))

    def _write(self, entry: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(entry).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
