"""The measurements of an architecture, which `amdgpu-ops` keeps in memory and in a file of the cache folder.

Those that come with the package lie below them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from amdgpu import _native, arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.tuning.entries import Entry, Product, check_architecture, dump, entry_of, fields_of, parse

# Larger files are not ours.
_MAX_FILE_BYTES = 64 << 20


def cache_folder() -> Path | None:
    """Where databases are kept; None when `AMDGPU_CACHE_DIR` is off or there is no home."""
    folder = _native.tuning_folder()
    return None if folder is None else Path(folder)


class Database:
    """The measurements of one architecture.

    Args:
        architecture: For example sm_90.
        is_fresh: They are read from the files now; otherwise they are those that choices of this process use.

    Attributes:
        architecture: For example sm_90.
    """

    def __init__(self, architecture: str, *, is_fresh: bool = True) -> None:
        self._native = _native.TuningDatabase(check_architecture(architecture), is_fresh=is_fresh)
        self.architecture = self._native.architecture

    @property
    def path(self) -> Path | None:
        """The file; None when nothing is kept."""
        path = self._native.path
        return None if path is None else Path(path)

    def entries(self) -> list[Entry]:
        """All measurements."""
        return [entry_of(fields) for fields in self._native.entries()]

    def exact(self, product: Product) -> Entry | None:
        """The measurement of this very product."""
        found = self._native.exact(tuple(product))
        return found and entry_of(found)

    def find(self, product: Product) -> Entry | None:
        """The measurement of a product, or of the one nearest to it of the same formats and layout, if any is near enough.

        What follows the sums changes little about which kernel is best, so a plain product stands in for one with an epilogue.
        """
        found = self._native.find(tuple(product))
        return found and entry_of(found)

    def add(self, entries: Iterable[Entry], *, is_newest: bool = True) -> int:
        """Take measurements in and write them; tells how many changed.

        Args:
            entries: What to add.
            is_newest: They count more than what is there; without it the later measurement of a product counts.

        Raises:
            OSError: The file cannot be written; the measurements count in this process all the same.
        """
        return self._native.add([fields_of(entry) for entry in entries], is_newest)


def database_of(architecture: str) -> Database:
    """The database of an architecture that choices use; read once for each cache folder."""
    return Database(architecture, is_fresh=False)


def export_database(architecture: str, path: str | os.PathLike[str]) -> int:
    """Write the measurements of an architecture to a file; tells how many.

    Raises:
        InvalidArgumentError: Nothing is known of the architecture; those that are known are listed, and no file is written.
        OSError: The file cannot be written.
    """
    target = arguments.path("export_database", "path", path)
    entries = database_of(architecture).entries()
    if not entries:
        raise InvalidArgumentError(
            f"there are no measurements of {architecture}; there are some of"
            f" {', '.join(_native.tuning_architectures()) or 'no architecture'}. "
            "amdgpu tune measures the GPU of this machine, amdgpu tune --import FILE takes in what was measured elsewhere"
        )
    target.write_text(dump(check_architecture(architecture), entries), encoding="utf-8")
    return len(entries)


def import_database(path: str | os.PathLike[str]) -> tuple[str, int]:
    """Merge the measurements of a file into the database of its architecture; of two measurements of a product the later one counts.

    Returns:
        The architecture, and how many products changed.

    Raises:
        InvalidArgumentError: The file is not a tuning database of this version; nothing was changed.
        OSError: The file cannot be read, or the database cannot be written.
    """
    source = arguments.path("import_database", "path", path)
    if source.stat().st_size > _MAX_FILE_BYTES:
        raise InvalidArgumentError(f"{path} is not imported: it is larger than {_MAX_FILE_BYTES} bytes")
    try:
        architecture, entries = parse(source.read_text(encoding="utf-8"))
    except (InvalidArgumentError, UnicodeDecodeError) as error:
        # The sentence without the hint.
        reason = str(error).split("\n", maxsplit=1)[0]
        raise InvalidArgumentError(f"{path} is not imported: {reason}") from None
    return architecture, database_of(architecture).add(entries, is_newest=False)
