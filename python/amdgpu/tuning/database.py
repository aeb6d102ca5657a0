"""The measurements of an architecture, in memory and in a file of the cache folder; those that come with the package lie below them.

Several processes may write: each reads the file again, adds its own entries and replaces the file as a whole, under a lock. A file that
cannot be understood is set aside under another name, and said.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from amdgpu import _native, arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.tuning.entries import Entry, Product, check_architecture, dump, parse

# Larger files are not ours.
_MAX_FILE_BYTES = 64 << 20
# A measurement speaks for products whose extents differ from its own by less than this factor.
_NEAR_FACTOR = 2.0
# Damaged files that are kept for a look; the last name is used again and again.
_MAX_SET_ASIDE = 10

# Counts what changed in any database of the process, so that choices made before are made again.
changes = 0

_SHIPPED = Path(__file__).resolve().parent / "shipped"


def cache_folder() -> Path | None:
    """Where databases are kept; None when `AMDGPU_CACHE_DIR` is off or there is no home."""
    chosen = os.environ.get("AMDGPU_CACHE_DIR", "")
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen) / "tuning"
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = os.environ.get("HOME", "")
    if not base and not home:
        return None
    return (Path(base) if base else Path(home) / ".cache") / "amdgpu" / "tuning"


class Database:
    """The measurements of one architecture.

    Attributes:
        architecture: For example sm_90.
    """

    def __init__(self, architecture: str) -> None:
        self.architecture = check_architecture(architecture)
        self._shipped = {entry.product: entry for entry in self._read(_SHIPPED / self._file_name, is_ours=False)}
        self._own: dict[Product, Entry] = {}
        path = self.path
        if path is not None:
            self._own = {entry.product: entry for entry in self._read(path, is_ours=True)}
        self._classes: dict[tuple[object, ...], list[Entry]] = {}
        self._index()

    @property
    def _file_name(self) -> str:
        return f"{self.architecture}.json"

    @property
    def path(self) -> Path | None:
        """The file; None when nothing is kept."""
        folder = cache_folder()
        return folder and folder / self._file_name

    def entries(self) -> list[Entry]:
        """All measurements, own ones before those that came with the package."""
        return list({**self._shipped, **self._own}.values())

    def exact(self, product: Product) -> Entry | None:
        """The measurement of this very product."""
        return self._own.get(product) or self._shipped.get(product)

    def find(self, product: Product) -> Entry | None:
        """The measurement of a product, or of the one nearest to it of the same formats and layout, if any is near enough.

        What follows the sums changes little about which kernel is best, so a plain product stands in for one with an epilogue.
        """
        found = self.exact(product)
        if found is not None:
            return found
        plain = product._replace(epilogue="")
        return self.exact(plain) or self._nearest(product) or self._nearest(plain)

    def add(self, entries: Iterable[Entry], *, is_newest: bool = True) -> int:
        """Take measurements in and write them; tells how many changed.

        Args:
            entries: What to add.
            is_newest: They count more than what is there; without it the later measurement of a product counts.

        Raises:
            OSError: The file cannot be written; the measurements count in this process all the same.
        """
        given = list(entries)
        path = self.path
        if path is None:
            return self._merge(given, is_newest=is_newest)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(path):
                # What others wrote since.
                self._merge(self._read(path, is_ours=True), is_newest=False)
                changed = self._merge(given, is_newest=is_newest)
                _replace(path, dump(self.architecture, list(self._own.values())))
        except OSError:
            self._merge(given, is_newest=is_newest)
            raise
        return changed

    def _merge(self, entries: list[Entry], *, is_newest: bool) -> int:
        changed = 0
        for entry in entries:
            known = self.exact(entry.product)
            if known == entry or (known is not None and not is_newest and entry.measured <= known.measured):
                continue
            self._own[entry.product] = entry
            changed += 1
        if changed:
            self._index()
            global changes
            changes += 1
        return changed

    def _index(self) -> None:
        classes: dict[tuple[object, ...], list[Entry]] = {}
        for entry in self.entries():
            classes.setdefault(entry.product[4:], []).append(entry)
        self._classes = classes

    def _nearest(self, product: Product) -> Entry | None:
        limit = math.log(_NEAR_FACTOR)
        best: tuple[float, Entry] | None = None
        for entry in self._classes.get(product[4:], ()):
            steps = [
                abs(math.log(max(wanted, 1) / known))
                for wanted, known in zip(product[:4], entry.product[:4], strict=True)
            ]
            distance = sum(steps)
            if max(steps) < limit and (best is None or distance < best[0]):
                best = distance, entry
        return best and best[1]

    def _read(self, path: Path, *, is_ours: bool) -> list[Entry]:
        try:
            return parse(_text(path), self.architecture)[1]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, UnicodeDecodeError, InvalidArgumentError) as error:
            moved = _set_aside(path) if is_ours else None
            reason = f"{path} is not used ({_first_line(error)})" + (f"; it is now {moved.name}" if moved else "")
            _native.record_fallback("tuning", reason)
            return []


def _text(path: Path) -> str:
    if path.stat().st_size > _MAX_FILE_BYTES:
        raise InvalidArgumentError(f"it is larger than {_MAX_FILE_BYTES} bytes")
    return path.read_text(encoding="utf-8")


def _first_line(error: BaseException) -> str:
    """The sentence without the hint."""
    return str(error).split("\n", maxsplit=1)[0]


def _set_aside(path: Path) -> Path | None:
    """Gives a damaged file another name, so that a new one can take its place."""
    names = [path.with_name(f"{path.name}.damaged-{number}") for number in range(_MAX_SET_ASIDE)]
    target = next((name for name in names if not name.exists()), names[-1])
    try:
        path.rename(target)
    except OSError:
        return None
    return target


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one thread of one process at a time is between reading a file and replacing it."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _replace(path: Path, text: str) -> None:
    """No reader ever sees half a file."""
    descriptor, draft = tempfile.mkstemp(prefix=path.name, suffix=".draft", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


_databases: dict[tuple[str, Path | None], Database] = {}


def database_of(architecture: str) -> Database:
    """The database of an architecture; read once for each cache folder."""
    key = (check_architecture(architecture), cache_folder())
    found = _databases.get(key)
    if found is None:
        # Of threads that come together one wins; a lock would stay taken in a child of `fork()`.
        found = _databases.setdefault(key, Database(architecture))
    return found


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
            f"there are no measurements of {architecture}; there are some of {', '.join(_measured()) or 'no architecture'}. "
            "amdgpu tune measures the GPU of this machine, amdgpu tune --import FILE takes in what was measured elsewhere"
        )
    target.write_text(dump(check_architecture(architecture), entries), encoding="utf-8")
    return len(entries)


def _measured() -> list[str]:
    """Architectures that have a file, shipped or own, sorted."""
    folders = [_SHIPPED, cache_folder()]
    return sorted({path.stem for folder in folders if folder is not None for path in folder.glob("*.json")})


def import_database(path: str | os.PathLike[str]) -> tuple[str, int]:
    """Merge the measurements of a file into the database of its architecture; of two measurements of a product the later one counts.

    Returns:
        The architecture, and how many products changed.

    Raises:
        InvalidArgumentError: The file is not a tuning database of this version; nothing was changed.
        OSError: The file cannot be read, or the database cannot be written.
    """
    source = arguments.path("import_database", "path", path)
    try:
        architecture, entries = parse(_text(source))
    except (InvalidArgumentError, UnicodeDecodeError) as error:
        raise InvalidArgumentError(f"{path} is not imported: {_first_line(error)}") from None
    return architecture, database_of(architecture).add(entries, is_newest=False)
