"""`gpu:telemetry` and `gpu:telemetry:<device>`: frames, samples of a core type, and what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from amdgpu.errors import InvalidArgumentError, InvalidMessageError, UnknownCoreTypeError
from amdgpu.server.channel import Channel
from amdgpu.types import CORE_TYPES

if TYPE_CHECKING:
    from amdgpu.server.connection import Connection
    from amdgpu.server.hub import Hub
    from amdgpu.server.wire import Payload

TOPIC = "gpu:telemetry"


class SubscribeRequest(msgspec.Struct, rename="camel"):
    """`subscribe` and `unsubscribe`; None means all core types."""

    core_type: str | None = None


class TelemetryChannel(Channel):
    """One client that watches all devices, or one of them."""

    def __init__(self, connection: Connection, topic: str, join_ref: str | None, hub: Hub) -> None:
        super().__init__(connection, topic, join_ref)
        self._hub = hub
        suffix = topic.removeprefix(TOPIC)
        self.device: str | None = suffix[1:] or None
        # Core types whose samples this client asked for.
        self.core_types: set[str] = set()

    async def join(self, payload: Payload) -> dict[str, Any]:  # noqa: ARG002  (nothing is asked of who joins)
        """The schema of the frames that follow."""
        self.device = self._hub.device_name(self.device)
        return await self._hub.schema(self.device)

    async def handle(self, event: str, payload: Payload) -> Payload:
        """`subscribe` and `unsubscribe` to `telemetry_update`."""
        if event not in ("subscribe", "unsubscribe"):
            raise InvalidMessageError(f"{TOPIC} has no event {event!r}; known are subscribe and unsubscribe")
        wanted = self._core_types(payload)
        if event == "subscribe":
            self.core_types |= wanted
        else:
            self.core_types -= wanted
        return {"coreTypes": sorted(self.core_types)}

    def _core_types(self, payload: Payload) -> set[str]:
        try:
            request = msgspec.convert(payload, SubscribeRequest)
        except msgspec.ValidationError as error:
            raise InvalidArgumentError(str(error)) from None
        if request.core_type is None:
            return set(CORE_TYPES)
        if request.core_type not in CORE_TYPES:
            raise UnknownCoreTypeError(f"coreType must be one of {', '.join(CORE_TYPES)}, got {request.core_type!r}")
        return {request.core_type}
