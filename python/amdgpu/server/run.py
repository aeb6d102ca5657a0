"""Running the server: in this thread until it is stopped, or in a thread beside a program."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

import uvicorn

from amdgpu.errors import AmdgpuError, InvalidArgumentError
from amdgpu.server import addresses, ports, token_file, transport
from amdgpu.server.app import create_app
from amdgpu.server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

BACKLOG = 128
# Connections besides the sockets: requests for files, REST, /metrics.
OTHER_CONNECTIONS = 128
START_SECONDS = 30.0
STOP_SECONDS = 10.0
# How old the date of an answer may be.
DATE_SECONDS = 1.0


class Server:
    """A running server; `amdgpu.telemetry.serve` returns one.

    Attributes:
        settings: What it runs with; `settings.token` is the token it asks for.
        host: Address it listens at.
        port: Port it listens at.
        token_file: File with the token, which this user alone may read; None without a token or a private folder.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings.with_token()
        self._socket = _listen(self.settings)
        self.host = self.settings.host
        self.port: int = self._socket.getsockname()[1]
        try:
            self._uvicorn = _Uvicorn(_configuration(self.settings), self._forget_token)
        except BaseException:
            self._socket.close()
            raise
        self._thread: threading.Thread | None = None
        self.token_file = None if self.token is None else token_file.write(self.port, self.token, self.base_url)

    @property
    def token(self) -> str | None:
        """What clients must show, or None."""
        return self.settings.token

    @property
    def base_url(self) -> str:
        """Address of the server, without the token."""
        return self._addressed(addresses.hosts(self.host)[0])

    @property
    def other_urls(self) -> list[str]:
        """Addresses of the dashboard from other machines, where the server listens at all addresses of this one; with the token."""
        return [self._with_token(self._addressed(host)) for host in addresses.hosts(self.host)[1:]]

    @property
    def url(self) -> str:
        """Address of the dashboard, with the token if there is one."""
        return self._with_token(self.base_url)

    def _addressed(self, host: str) -> str:
        return f"{self.settings.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def _with_token(self, url: str) -> str:
        return url if self.token is None else f"{url}?token={self.token}"

    def start(self) -> Self:
        """Serve in a thread; returns when requests are answered."""
        self._thread = threading.Thread(target=self.run, name="amdgpu-server", daemon=True)
        ready = threading.Event()
        self._thread_ready(ready.set)
        self._thread.start()
        ready.wait(START_SECONDS)
        if not self._uvicorn.started:
            raise AmdgpuError("the server did not start; its log says why")
        return self

    def run(self) -> None:
        """Serve in this thread until `close` or a signal."""
        try:
            self._uvicorn.run(sockets=[self._socket])
        finally:
            self._socket.close()

    def on_started(self, function: Callable[[], None]) -> None:
        """Have `function` called once requests are answered."""
        self._thread_ready(function)

    def close(self) -> None:
        """Stop serving; clients are told. Closing a closed server changes nothing."""
        self._uvicorn.end()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_SECONDS)
        # A server that was never run has ended as well.
        self._forget_token()

    def _forget_token(self) -> None:
        if self.token_file is not None and self.token is not None:
            token_file.remove(self.token_file, self.token)

    def _thread_ready(self, function: Callable[[], None]) -> None:
        startup = self._uvicorn.startup

        async def started(sockets: list[socket.socket] | None = None) -> None:
            try:
                await startup(sockets)
            finally:
                function()

        self._uvicorn.startup = started  # type: ignore[method-assign]  # uvicorn has no other way to say that it is ready

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Uvicorn(uvicorn.Server):
    """Uvicorn's server, which looks whether it has to end when somebody says so, instead of ten times a second."""

    def __init__(self, config: uvicorn.Config, on_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_end = on_end
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_told = asyncio.Event()

    def end(self) -> None:
        """Have the server end; called in any thread, and by signals."""
        self.should_exit = True
        if self._loop is not None:
            # A loop that is closed already has nothing to end.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._is_told.set)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asks the server to end."""
        super().handle_exit(sig, frame)
        self.end()

    async def main_loop(self) -> None:
        """Serve until it has to end."""
        loop = self._loop = asyncio.get_running_loop()
        # At a multiple of ten the date is brought up to date that answers carry.
        while not await self.on_tick(0):
            timer = loop.call_later(DATE_SECONDS, self._is_told.set)
            await self._is_told.wait()
            self._is_told.clear()
            timer.cancel()
        # Not after `run`: uvicorn ends that by raising the signal again, which may be the end of the process.
        self._on_end()


def serve(settings: Settings) -> Server:
    """Start a server in a thread of this process."""
    return Server(settings).start()


def run(settings: Settings, *, on_started: Callable[[Server], None] | None = None) -> None:
    """Serve until a signal ends it."""
    server = Server(settings)
    if on_started is not None:
        server.on_started(lambda: on_started(server))
    server.run()


def _configuration(settings: Settings) -> uvicorn.Config:
    limits = settings.limits
    return uvicorn.Config(
        create_app(settings),
        log_config=None,
        # Requests carry tokens; they are in no log.
        access_log=False,
        log_level="warning",
        lifespan="on",
        ws_max_size=limits.frame_bytes,
        # Frames are small, and their numbers do not compress: it would only cost time and 300 KiB a socket.
        ws_per_message_deflate=False,
        # Clients send a heartbeat; `Limits.idle_seconds` finds those that are gone.
        ws_ping_interval=None,
        limit_concurrency=limits.sockets + OTHER_CONNECTIONS,
        timeout_graceful_shutdown=int(limits.close_seconds),
        proxy_headers=False,
        server_header=False,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        **transport.options(),
    )


def _listen(settings: Settings) -> socket.socket:
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except OSError as error:
        raise InvalidArgumentError(f"{settings.host!r} is no address of this machine: {error.strerror}") from None
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        transport.prepare_listener(listener)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise InvalidArgumentError(ports.in_use(settings.host, settings.port)) from None
        if error.errno == errno.EACCES:
            raise InvalidArgumentError(f"port {settings.port} may be used by root only; take one from 1024") from None
        raise InvalidArgumentError(f"cannot listen at {settings.host}:{settings.port}: {error.strerror}") from None
    return listener
