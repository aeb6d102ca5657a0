"""The token of a running server in a file that its user alone may read: `serve-PORT.token` in the folder of amdgpu's sockets.

It holds the token and nothing else, as Prometheus wants its `credentials_file`. Beside it `serve-PORT.url` holds the address;
`amdgpu serve --list` shows both together.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from amdgpu import _native
from amdgpu.errors import AmdgpuError

PREFIX, TOKEN, URL = "serve-", ".token", ".url"
# A token or an address; more is not ours.
MAX_BYTES = 4096


def write(port: int, token: str, url: str) -> Path | None:
    """Keep a token.

    Returns:
        The file, or None where there is no folder that is this user's alone.
    """
    folder = _folder()
    if folder is None:
        return None
    path = folder / f"{PREFIX}{port}{TOKEN}"
    try:
        _write_private(path.with_suffix(URL), url)
        _write_private(path, token)
    except OSError:
        return None
    return path


def remove(path: Path, token: str) -> None:
    """Forget the token of a server that ends, unless another server at its port has written its own meanwhile."""
    with contextlib.suppress(OSError):
        if _content(path) == token:
            path.unlink()
            path.with_suffix(URL).unlink()


def servers() -> list[dict[str, str]]:
    """`url` and `token_file` of each server of this user that left a token here; one that was killed may still be among them."""
    folder = _folder()
    found = []
    for path in sorted(folder.glob(f"{PREFIX}*{TOKEN}")) if folder is not None else ():
        with contextlib.suppress(OSError, UnicodeDecodeError):
            found.append({"url": f"{_content(path.with_suffix(URL))}?token={_content(path)}", "token_file": str(path)})
    return found


def _write_private(path: Path, text: str) -> None:
    """Replace a file by one that was never there with more rights than it ends with; a link is replaced, not followed."""
    draft = path.with_suffix(f"{path.suffix}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        draft.unlink()
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(f"{text}\n")
    draft.replace(path)


def _content(path: Path) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), encoding="ascii") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise PermissionError(f"{path} is not this user's alone")
        return file.read(MAX_BYTES).rstrip("\n")


def _folder() -> Path | None:
    try:
        return Path(_native.attach_folder())
    except (AmdgpuError, OSError):
        return None
