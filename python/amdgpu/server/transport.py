"""Uvicorn's protocols with the bounds that a hostile client makes necessary."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from typing import Any, cast

from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request
from websockets.protocol import State

# A client that reads slowly shall get new frames, not those of half a minute ago: little is left to the system's buffers.
UNSENT_BYTES = 16 << 10
# Name of the extension of ASGI with which a message that is the same for all is framed once, and written without a task.
WRITE_NOW = "amdgpu.write_now"
# After so long without a sign of the other machine the system gives the connection up.
DEAD_PEER_MS = 60_000
# A connection on which no whole request arrives in this time is closed.
REQUEST_SECONDS = 20.0
# Longest head of a request: a page's address and headers take a few hundred bytes, cookies of a proxy some thousand.
MAX_REQUEST_BYTES = 64 << 10
# How long a client may take to answer the end of its socket.
CLOSE_SECONDS = 2.0


def prepare_listener(listener: socket.socket) -> None:
    """Options that accepted sockets inherit."""
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_PEER_MS)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)


class HttpProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]  # a class that is chosen when the module is loaded
    """HTTP whose connections must ask for something soon."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A connection: it has `REQUEST_SECONDS` for its first request."""
        super().connection_made(transport)
        self._waiting_bytes = 0
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._deadline.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request: of one that is not complete yet, only so many are kept."""
        before = self.cycle
        super().data_received(data)
        self._waiting_bytes = self._waiting_bytes + len(data) if self.cycle is before else 0
        is_answered = before is None or before.response_complete
        if is_answered and self._waiting_bytes > MAX_REQUEST_BYTES:
            cast(asyncio.Transport, self.transport).abort()

    def _give_up(self) -> None:
        if self in self.connections and self.cycle is None:
            cast(asyncio.Transport, self.transport).abort()


class SocketProtocol(WebSocketsSansIOProtocol):
    """WebSockets that hold back little, and owe no pongs to a client that does not read them."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The handshake was read."""
        super().connection_made(transport)
        self.close_timeout = CLOSE_SECONDS
        self.transport.set_write_buffer_limits(high=UNSENT_BYTES)

    def handle_connect(self, event: Request) -> None:
        """Offer the application `WRITE_NOW` beside what ASGI has."""
        super().handle_connect(event)
        if not self.close_sent:
            # The application starts when this method is done.
            self.scope["extensions"][WRITE_NOW] = self.write_now  # type: ignore[assignment]

    def write_now(self, framed: bytes) -> bool:
        """Write a whole WebSocket frame; False when the client has to be waited for, or is going."""
        if not self.writable.is_set() or self.close_sent or self.disconnected or self.conn.state is not State.OPEN:
            return False
        self.transport.write(framed)
        return True

    def handle_ping(self) -> None:
        """Answer a ping, unless earlier answers still wait to be read."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()


def frame(data: str | bytes) -> bytes:
    """A message as one WebSocket frame of a server (RFC 6455, section 5.2), the same for every client."""
    opcode, body = (0x82, data) if isinstance(data, bytes) else (0x81, data.encode())
    length = len(body)
    if length < 126:
        return bytes((opcode, length)) + body
    if length < 1 << 16:
        return struct.pack(">BBH", opcode, 126, length) + body
    return struct.pack(">BBQ", opcode, 127, length) + body


def options() -> dict[str, Any]:
    """How uvicorn is told."""
    # uvloop loaded after Julia would call Julia's libuv (see `amdgpu.math`).
    too_late = "juliacall" in sys.modules and "uvloop" not in sys.modules
    return {"http": HttpProtocol, "ws": SocketProtocol, "loop": "asyncio" if too_late else "auto"}
