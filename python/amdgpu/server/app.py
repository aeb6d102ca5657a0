"""The application: everything the server answers, put together."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route, WebSocketRoute

from amdgpu.errors import InvalidArgumentError
from amdgpu.server import openapi, rest
from amdgpu.server.api import Api
from amdgpu.server.guard_app import GuardedApplication
from amdgpu.server.hub import Hub
from amdgpu.server.metrics_endpoint import MetricsEndpoint
from amdgpu.server.security import Guard, Refused
from amdgpu.server.settings import Settings
from amdgpu.server.socket_endpoint import SocketEndpoint
from amdgpu.server.source import Source
from amdgpu.server.static_files import Dashboard

SOCKET_PATH = "/socket/websocket"


def create_app(settings: Settings) -> Starlette:
    """The server as an ASGI application.

    Args:
        settings: How to run.

    Raises:
        InvalidArgumentError: The settings have no token and do not say that none is wanted.
    """
    if settings.token is None and not settings.allow_anonymous:
        raise InvalidArgumentError(
            "the server needs a token: Settings(token=…), settings.with_token() to have one made, "
            "or Settings(allow_anonymous=True) to let every user of this machine look"
        )
    source = Source(settings.history_hours)
    api = Api(settings, source)
    hub = Hub(settings, source, api)
    endpoint = SocketEndpoint(hub, settings.limits)
    metrics = MetricsEndpoint(settings, source, api)
    description = openapi.describe(has_token=settings.token is not None)

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        hub.start()
        try:
            yield
        finally:
            await hub.stop()
            metrics.close()
            api.close()

    async def describe(_: Request) -> Response:
        return rest.json_response(description)

    return Starlette(
        routes=[
            WebSocketRoute(SOCKET_PATH, endpoint),
            Route(SOCKET_PATH, endpoint),
            Route(f"{rest.PREFIX}/openapi.json", describe, methods=["GET"]),
            *rest.routes(api),
            Route("/metrics", metrics.answer, methods=["GET"]),
            Mount(rest.API, unknown),
            Mount("/", Dashboard()),
        ],
        middleware=[Middleware(GuardedApplication, guard=Guard(settings))],
        lifespan=lifespan,
    )


async def unknown(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  (as ASGI has it)
    """What is not there below /api."""
    raise Refused(404, "invalid-argument", f"there is no {scope['path']}; {rest.PREFIX}/openapi.json lists what is")
