"""`amdgpu.telemetry.serve`: the server inside a program."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import LibraryMissingError
from amdgpu.telemetry import attach

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PORT = 4000


def serve(
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    *,
    token: str | None = None,
    allow_anonymous: bool = False,
    allow_execute: bool = False,
    compat: str | None = None,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    certificate: str | None = None,
    key: str | None = None,
) -> Any:
    """Show this program, and all others of the user, in a browser: starts the server in a thread.

    Args:
        host: Address to listen at.
        port: Port; 0 takes a free one.
        token: What clients must show; made up where none is given (`server.token`, and in `server.token_file`).
        allow_anonymous: Ask for no token: every user of this machine can read command lines, kernel sources and figures. Loopback only.
        allow_execute: Let clients run kernels in this process.
        compat: Names at /metrics: "amd" or "dcgm" for those of AMD's or NVIDIA's exporter.
        allowed_hosts: Further names of this server.
        allowed_origins: Web pages that may talk to it.
        certificate: File with a certificate in PEM: the server speaks TLS.
        key: File with its private key, where the certificate's file has none.

    Returns:
        An `amdgpu.server.Server`: `url`, `port`, `token`, `close()`, and a context manager.

    Raises:
        LibraryMissingError: The packages of `amdgpu-framework[server]` are not installed.
        InvalidArgumentError: The port is in use (the message says by whom, and which one is free), or an argument is wrong.
        InvalidTypeError: An argument of another type.

    Example:
        >>> import amdgpu, urllib.request
        >>> with amdgpu.telemetry.serve(port=0) as server:
        ...     with urllib.request.urlopen(f"{server.base_url}api/v1/health?token={server.token}") as answer:
        ...         answer.status
        200
    """
    hosts = arguments.names("serve", "allowed_hosts", allowed_hosts)
    origins = arguments.names("serve", "allowed_origins", allowed_origins)
    # The server stands above this module and needs packages that are not always there: it is looked up when it is wanted.
    try:
        package = importlib.import_module("amdgpu.server")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "amdgpu":
            raise
        raise LibraryMissingError(f"the server needs {error.name}: pip install 'amdgpu-framework[server]'") from None
    settings = package.Settings(
        host=host,
        port=port,
        token=token,
        allow_anonymous=allow_anonymous,
        allow_execute=allow_execute,
        compat=compat,
        allowed_hosts=tuple(hosts),
        allowed_origins=tuple(origins),
        certificate=certificate,
        key=key,
    )
    # This program is watched as all others are; it would listen by itself when it opens a device.
    attach.listen()
    return package.serve(settings)
