"""`amdgpu serve`: the dashboard, REST, Prometheus and WebSocket server."""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output

if TYPE_CHECKING:
    from amdgpu.server import Server

SCHEMA = "amdgpu.serve/1"
DEFAULT_PORT = 4000
# How long after the last client was told the process may take to end.
LEAVE_SECONDS = 3.0
MAX_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen at; 0.0.0.0 and :: are all of this machine (default: %(default)s)",
    )
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help="port; 0 takes a free one (default: %(default)s)"
    )
    parser.add_argument("--token", help="what clients must show; made up where none is given")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="the token is the first line of a file")
    parser.add_argument(
        "--no-token",
        action="store_true",
        help="ask for no token: every user of this machine can read command lines, kernel sources and figures",
    )
    parser.add_argument(
        "--list", action="store_true", help="print the addresses of your running servers, with their tokens"
    )
    parser.add_argument(
        "--allow-execute", action="store_true", help="let clients run kernels: for those you would give a shell"
    )
    parser.add_argument(
        "--compat", choices=("amd", "dcgm"), help="names at /metrics: those of AMD's or NVIDIA's exporter"
    )
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME", help="a further name of this server"
    )
    parser.add_argument(
        "--allow-origin", action="append", default=[], metavar="URL", help="a web page that may talk to this server"
    )
    parser.add_argument(
        "--certificate", metavar="FILE", help="speak TLS (https, wss) with the certificate of a PEM file"
    )
    parser.add_argument("--key", metavar="FILE", help="private key of the certificate, where its file has none")
    parser.add_argument(
        "--history-hours",
        type=float,
        default=6.0,
        metavar="H",
        help="how long the history is kept in files, with the extra `history`; 0 writes none (default: %(default)s)",
    )
    parser.add_argument(
        "--histogram-series",
        type=int,
        default=32,
        metavar="N",
        help="series that each histogram of /metrics names; further ones are counted as `other` (default: %(default)s)",
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open the dashboard")
    output.add_json_option(parser)


def _port(text: str) -> int:
    try:
        port = int(text)
    except ValueError:
        port = -1
    if not 0 <= port <= MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; ports are numbers from 0 to {MAX_PORT}")
    return port


def run(options: argparse.Namespace) -> int:
    """Serve until interrupted."""
    server = _import_server()
    if options.list:
        return _list(options)
    settings = server.Settings(
        host=options.host,
        port=options.port,
        token=_token(options),
        allow_anonymous=options.no_token,
        allow_execute=options.allow_execute,
        compat=options.compat,
        allowed_hosts=tuple(options.allow_host),
        allowed_origins=tuple(options.allow_origin),
        certificate=options.certificate,
        key=options.key,
        history_hours=options.history_hours,
        histogram_series=options.histogram_series,
    )
    # Control-C is the usual way to end it.
    with contextlib.suppress(KeyboardInterrupt):
        server.run(settings, on_started=lambda running: _say(options, running))
    _leave_soon()
    return 0


def _leave_soon() -> None:
    """End this process even when a client's kernel that cannot be stopped still holds a thread."""

    def leave() -> None:
        output.say("amdgpu serve: a kernel of a client is still running and is abandoned", file=sys.stderr, flush=True)
        os._exit(0)

    timer = threading.Timer(LEAVE_SECONDS, leave)
    timer.daemon = True
    timer.start()
    # Should even the end of the interpreter wait for that thread, the system ends the process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(2 * LEAVE_SECONDS))


def _say(options: argparse.Namespace, running: Server) -> None:
    if options.json:
        facts = {
            "url": running.url,
            "base_url": running.base_url,
            "other_urls": running.other_urls,
            "host": running.host,
            "port": running.port,
            "token": running.token,
            "token_file": None if running.token_file is None else str(running.token_file),
        }
        # One line, so that a program that starts the server can wait for it.
        print(json.dumps({"schema": SCHEMA, **facts, "pid": os.getpid()}), flush=True)
        return
    output.say(f"amdgpu serve: {running.url}", flush=True)
    for url in running.other_urls:
        output.say(f"  from other machines: {url}")
    for line in _warnings(running):
        output.say(f"  {output.paint('warning:', 'yellow')} {line}")
    if running.token_file is not None:
        output.say(f"  token file: {running.token_file}")
    output.say(
        f"  metrics for Prometheus: {running.base_url}metrics   description of REST: {running.base_url}api/v1/openapi.json"
    )
    if options.allow_execute:
        output.say("  clients that show the token may run kernels (--allow-execute)")
    output.say("  Ctrl-C ends it", flush=True)
    if not options.no_browser and sys.stdout.isatty() and _has_display():
        import webbrowser

        webbrowser.open(running.url)


def _warnings(running: Server) -> list[str]:
    """What the user should know about how open this server is."""
    from amdgpu.server.settings import is_loopback

    found = []
    if running.token is None:
        found.append("no token: every user of this machine can read command lines, kernel sources and figures")
    if running.settings.scheme == "http" and not is_loopback(running.host):
        found.append(
            "nothing is encrypted, the token neither: who can listen in on the network can use it; --certificate FILE speaks TLS"
        )
    return found


def _list(options: argparse.Namespace) -> int:
    """The running servers of this user."""
    from amdgpu.server import token_file

    found = token_file.servers()
    if options.json:
        output.print_json("amdgpu.servers/1", {"servers": found})
    else:
        output.say("\n".join(one["url"] for one in found) or "no server of yours is running, or none with a token")
    return 0


def _token(options: argparse.Namespace) -> str | None:
    if options.token_file is None:
        given: str | None = options.token
        return given
    # Arguments of a program are seen by all users of a machine; a file need not be.
    text: str = options.token_file.read_text(encoding="utf-8")
    return text.partition("\n")[0].strip()


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _import_server() -> Any:
    """The server's package, or an error that says how to have it."""
    try:
        from amdgpu import server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "amdgpu":
            raise
        from amdgpu.errors import LibraryMissingError

        raise LibraryMissingError(f"the server needs {error.name}: pip install 'amdgpu-framework[server]'") from None
    return server
