"""`gpu:api`: calls with answers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from amdgpu.server import arrays
from amdgpu.server.channel import Channel

if TYPE_CHECKING:
    from amdgpu.server.api import Api
    from amdgpu.server.connection import Connection
    from amdgpu.server.wire import Payload

TOPIC = "gpu:api"


class ApiChannel(Channel):
    """One client that calls. A binary message gets a binary answer, a text message one in text."""

    is_concurrent = True

    def __init__(self, connection: Connection, topic: str, join_ref: str | None, api: Api) -> None:
        super().__init__(connection, topic, join_ref)
        self._api = api

    async def join(self, payload: Payload) -> dict[str, Any]:  # noqa: ARG002  (nothing is asked of who joins)
        """What can be called."""
        return {"events": sorted(self._api.calls), "allowExecute": self._api.allow_execute}

    async def handle(self, event: str, payload: Payload) -> Payload:
        """Answer a call."""
        if isinstance(payload, bytes):
            answer = await self._api.call(event, arrays.unpack(payload))
            # Copies what may be megabytes.
            return await asyncio.to_thread(arrays.pack, answer)
        return await asyncio.to_thread(arrays.to_text, await self._api.call(event, payload))
