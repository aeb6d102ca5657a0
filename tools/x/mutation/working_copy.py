"""The copy of the tree in which faults are put; the tree itself is never changed."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from x.console import Console
from x.failure import Failure
from x.paths import LIBRARIES, ROOT, STATE

FOLDER = STATE / "mutate"
COPY = FOLDER / "tree"
TARGET = FOLDER / "target"
# Built by `./x build` in the tree and used from there, since no fault of Rust or Python changes them.
LINKED = ("js/node_modules",)
# The same for each entry of this folder but one: the core's library, which faults of Rust change, replaces its link.
LINKED_ENTRIES = "python/amdgpu/_lib"


def source_names(root: Path = ROOT) -> list[str]:
    """Every file that git tracks or would track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=root, capture_output=True, check=False)
    if done.returncode:
        raise Failure("the list of source files comes from git, which fails here", detail=done.stderr.decode())
    names = [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    return [name for name in names if (root / name).is_file()]


def refresh(changed: Mapping[str, bytes], root: Path = ROOT, copy: Path = COPY) -> None:
    """Brings the copy up to date, with the files of `changed` as given there.

    A file that is right already is left alone, since compilers go by its time.
    """
    wanted = {*source_names(root), *changed}
    for name in sorted(wanted):
        source, target = root / name, copy / name
        content = changed[name] if name in changed else source.read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            if source.is_file():
                target.chmod(source.stat().st_mode)
    _remove_others(wanted, copy)
    for name in LINKED:
        _link(root / name, copy / name)
    libraries = copy / LINKED_ENTRIES
    if libraries.is_symlink():
        # As earlier versions had it; through the link, those of the tree would be replaced.
        libraries.unlink()
    for entry in (root / LINKED_ENTRIES).glob("*"):
        _link(entry, libraries / entry.name)


def _link(target: Path, link: Path) -> None:
    """Links to a file or folder of the tree, in place of what was built into the copy."""
    if target.exists() and not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def _remove_others(wanted: set[str], copy: Path) -> None:
    """Removes sources that the tree has no more; what builds and tests left behind is ignored by git and stays."""
    kept_list = copy / ".mutate-files"
    known = set(kept_list.read_text().splitlines()) if kept_list.exists() else set()
    for name in known - wanted:
        (copy / name).unlink(missing_ok=True)
    kept_list.write_text("\n".join(sorted(wanted)))


@contextmanager
def exclusive(console: Console) -> Iterator[None]:
    """Holds the copy; a run takes long, so it must not hold up `./x build` and the like."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.line("waiting for another ./x mutate in this working tree")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def environment() -> dict[str, str]:
    """What programs in the copy need to find the native libraries and the Python sources of the copy."""
    return {
        "AMDGPU_LIBRARY_PATH": str(LIBRARIES),
        "PYTHONPATH": str(COPY / "python"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "RUST_BACKTRACE": "0",
        # A fault is met by every case of a test, not by those that are drawn.
        "AMDGPU_TEST_SEED": "all",
        "NO_COLOR": "1",
    }
