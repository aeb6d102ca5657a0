"""The WebSocket endpoint: handshake, then a connection."""

from __future__ import annotations

from typing import Any

from amdgpu.server.connection import Connection, Receive, Send
from amdgpu.server.hub import Hub
from amdgpu.server.security import SUB_PROTOCOL, Refused, offered_protocols, query
from amdgpu.server.settings import Limits
from amdgpu.server.transport import WRITE_NOW
from amdgpu.server.wire import CODECS, negotiate


class SocketEndpoint:
    """An ASGI application for `/socket/websocket`; who may come in was decided before."""

    def __init__(self, hub: Hub, limits: Limits) -> None:
        self._hub = hub
        self._limits = limits

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one socket."""
        if scope["type"] != "websocket":
            await _answer_without_upgrade(scope, send)
            return
        await receive()
        try:
            version = negotiate(query(scope).get("vsn"))
        except ValueError:
            version = None
        if version is None:
            raise Refused(403, "invalid-message", "vsn names no version that is spoken here; 1.0.0 and 2.0.0 are")
        write_now = scope.get("extensions", {}).get(WRITE_NOW)
        connection = Connection(CODECS[version], self._limits, self._hub, send, write_now)
        if not self._hub.add(connection):
            raise Refused(503, "limit-exceeded", f"{self._limits.sockets} sockets are open; close one of them")
        try:
            offered = SUB_PROTOCOL in offered_protocols(scope)
            await send({"type": "websocket.accept", "subprotocol": SUB_PROTOCOL if offered else None})
            await connection.run(receive)
        finally:
            self._hub.remove(connection)


async def _answer_without_upgrade(scope: dict[str, Any], send: Send) -> None:
    what = "asks for no upgrade" if scope["method"] == "GET" else f"is {scope['method']}, not GET"
    body = f"this is a WebSocket endpoint; the request {what}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 400, "headers": headers})
    await send({"type": "http.response.body", "body": body})
