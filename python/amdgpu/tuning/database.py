"""The measurements of an architecture, which `amdgpu-ops` keeps in memory and in a file of the cache folder.

Those that come with the package lie below them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from amdgpu import _native, arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.tuning.entries import Entry, Product, Record, check_architecture, entry_of, fields_of


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
        return None if found is None else entry_of(found)

    def find(self, product: Product) -> Entry | None:
        """The measurement of a product, or of the one nearest to it of the same formats and layout, if any is near enough.

        What follows the sums changes little about which kernel is best, so a plain product stands in for one with an epilogue.
        """
        found = self._native.find(tuple(product))
        return None if found is None else entry_of(found)

    def add(self, entries: Iterable[Entry], *, is_newest: bool = True) -> int:
        """Take measurements in and write them; tells how many changed.

        Args:
            entries: What to add.
            is_newest: They count more than what is there; without it the later measurement of a product counts.

        Raises:
            OSError: The file cannot be written; the measurements count in this process all the same.
        """
        return self._native.add([fields_of(entry) for entry in entries], is_newest)

    @property
    def has_records(self) -> bool:
        """Whether there are measurements of subjects that are no products."""
        return self._native.has_records

    def records(self) -> list[Record]:
        """All measurements of subjects that are no products, such as kernels of users."""
        return [Record(*fields) for fields in self._native.records()]

    def record(self, subject: str) -> Record | None:
        """The measurement of a subject; not counted."""
        found = self._native.record(subject)
        return None if found is None else Record(*found)

    def find_record(self, subject: str) -> Record | None:
        """The measurement of a subject, counted as a hit or a miss."""
        found = self._native.find_record(subject)
        return None if found is None else Record(*found)

    def add_record(self, record: Record) -> None:
        """Take the measurement of a subject in, in the place of an earlier one, and write it.

        Raises:
            InvalidArgumentError: The name of the subject or of a way is not one line of text.
            OSError: The file cannot be written; the measurement counts in this process all the same.
        """
        self._native.add_record((record.subject, record.seconds, record.failed, record.device, record.measured))

    def statistics(self) -> tuple[int, int, int, int]:
        """Hits, misses, entries of its own and shipped ones; `amdgpu.tuning.stats` names them."""
        return self._native.statistics()

    def export(self, path: Path) -> int:
        """Write everything that is known to a file; tells how many measurements.

        Raises:
            OSError: The file cannot be written.
        """
        return self._native.export(path)

    def clear(self) -> int:
        """Forget what was measured or imported here; tells how many measurements that were.

        Raises:
            OSError: The file cannot be written; in this process the measurements are forgotten all the same.
        """
        return self._native.clear()


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
    database = database_of(architecture)
    if not database.entries() and not database.records():
        raise InvalidArgumentError(
            f"there are no measurements of {architecture}; there are some of"
            f" {', '.join(_native.tuning_architectures()) or 'no architecture'}. "
            "amdgpu tune measures the GPU of this machine, amdgpu tune --import FILE takes in what was measured elsewhere"
        )
    return database.export(target)


def import_database(path: str | os.PathLike[str]) -> tuple[str, int]:
    """Merge the measurements of a file into the database of its architecture; of two measurements of a product the later one counts.

    Returns:
        The architecture, and how many measurements changed.

    Raises:
        InvalidArgumentError: The file is not a tuning database of this version; nothing was changed.
        OSError: The file cannot be read, or the database cannot be written.
    """
    return _native.tuning_import(arguments.path("import_database", "path", path))
