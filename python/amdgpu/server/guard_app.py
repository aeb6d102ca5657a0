"""The outermost ASGI layer: refuses what `security` refuses, and turns refusals and failures into answers."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from amdgpu.errors import AmdgpuError, InternalError
from amdgpu.server.channel import describe
from amdgpu.server.connection import Receive, Send
from amdgpu.server.security import Guard, Refused

Application = Callable[[Any, Receive, Send], Awaitable[None]]

# Paths whose answers tell something of this machine. Everything else is the files of the dashboard, which are the same everywhere.
SOCKETS = "/socket/"
GUARDED = ("/api/", "/metrics", SOCKETS)
METHODS = ("GET", "HEAD")
HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]
# What HTTP calls the errors of calls.
STATUS_BY_REASON = {
    "invalid-argument": 400,
    "device-not-found": 404,
    "process-gone": 404,
    "kernel-not-found": 404,
    "invalid-handle": 404,
    "not-permitted": 403,
    "request-timeout": 504,
    # A process that does not listen is not there for who asks.
    "connection-failed": 404,
    "limit-exceeded": 503,
}

log = logging.getLogger("amdgpu.server")
# A flood of refused requests must not become a flood of log lines.
LOG_SECONDS = 1.0


class GuardedApplication:
    """Checks each request before the application sees it."""

    def __init__(self, application: Application, guard: Guard) -> None:
        self._application = application
        self._guard = guard
        self._refusals = RefusalLog()

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer one request, or serve one socket."""
        if scope["type"] in ("http", "websocket"):
            await self._serve(scope, receive, send)
        else:
            await self._application(scope, receive, send)

    async def _serve(self, scope: Any, receive: Receive, send: Send) -> None:
        started = False

        async def watched(message: Any) -> None:
            nonlocal started
            if message["type"] in ("http.response.start", "websocket.accept"):
                started = True
                if scope["type"] == "http":
                    message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        try:
            self._check(scope)
            await self._application(scope, receive, watched)
        except Refused as error:
            self._refusals.note(scope, error)
            # The official client knows 403 for every refusal of a socket.
            is_socket = scope["type"] == "websocket"
            status = 403 if is_socket and error.status in (401, 429) else error.status
            content = {"reason": error.reason, "message": str(error), "hint": None}
            await _answer(scope, send, status, content, retry_seconds=error.retry_seconds)
        except Exception as error:
            if started:
                raise
            if not isinstance(error, AmdgpuError):
                log.exception("%a failed", scope["path"])
                error = InternalError("the server failed at this; its log says why")
            await _answer(scope, send, STATUS_BY_REASON.get(error.name, 500), describe(error))

    def _check(self, scope: Any) -> None:
        self._guard.check_form(scope)
        self._guard.check_source(scope)
        path = scope["path"]
        if scope["type"] == "http" and scope["method"] not in METHODS and not path.startswith(SOCKETS):
            known = " and ".join(METHODS)
            raise Refused(405, "invalid-message", f"nothing is changed by HTTP here: {known} are answered")
        if path.startswith(GUARDED):
            self._guard.check_token(scope)


class RefusalLog:
    """Says in the log that requests are refused: at most one line in `LOG_SECONDS`, with the number of those that it stands for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = -math.inf
        self._count = 0

    def note(self, scope: Any, error: Refused) -> None:
        """One more was refused."""
        self._count += 1
        now = self._clock()
        if now - self._last < LOG_SECONDS:
            return
        address = (scope.get("client") or ("?", 0))[0]
        what = "1 request" if self._count == 1 else f"{self._count} requests"
        # Without the query, which may hold a token.
        log.warning("refused %s; the last, from %s for %a: %s", what, address, scope["path"], error)
        self._last, self._count = now, 0


async def _answer(
    scope: Any, send: Send, status: int, content: dict[str, Any], *, retry_seconds: float | None = None
) -> None:
    body = msgspec.json.encode(content)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *HEADERS]
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="amdgpu"'))
    if retry_seconds is not None:
        headers.append((b"retry-after", str(math.ceil(retry_seconds)).encode()))
    if status == 405:
        headers.append((b"allow", ", ".join(METHODS).encode()))
    kind = "websocket.http.response" if scope["type"] == "websocket" else "http.response"
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": b"" if scope.get("method") == "HEAD" else body})
