"""A port that is taken: by whom, and which one is free."""

from __future__ import annotations

import socket
from pathlib import Path

LISTENING = "0A"
# Ports looked at after the one that was asked for.
CANDIDATES = 64
MAX_COMMAND = 80


def in_use(host: str, port: int) -> str:
    """A sentence about a port that cannot be taken."""
    found = holder(port)
    who = "" if found is None else f" by process {found[0]} ({found[1]})"
    free = free_port(host, port)
    instead = "" if free is None else f"; port {free} is free: --port {free}"
    return f"port {port} is in use{who}{instead}"


def holder(port: int) -> tuple[int, str] | None:
    """Process id and command of who listens at a TCP port; None when that is not to be found out (another user's)."""
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not sockets:
        return None
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            descriptors = list((folder / "fd").iterdir())
        except OSError:
            continue
        for descriptor in descriptors:
            try:
                target = str(descriptor.readlink())
            except OSError:
                continue
            if target in sockets:
                return int(folder.name), _command(folder)
    return None


def free_port(host: str, after: int) -> int | None:
    """A port behind `after` that can be listened at now."""
    for port in range(after + 1, min(after + 1 + CANDIDATES, 65536)):
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            with socket.socket(family) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        except OSError:
            continue
        return port
    return None


def _listening_inodes(port: int) -> set[str]:
    found = set()
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/net", table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def _command(folder: Path) -> str:
    try:
        text = (folder / "cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        text = ""
    text = text or "command unknown"
    return text if len(text) <= MAX_COMMAND else f"{text[:MAX_COMMAND]}…"
