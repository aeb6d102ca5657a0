"""What a channel is: the server's side of one topic for one client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.errors import AmdgpuError
from amdgpu.server.wire import Payload

if TYPE_CHECKING:
    from amdgpu.server.connection import Connection


def describe(error: AmdgpuError) -> dict[str, Any]:
    """An error as clients are told: `reason` is for programs, the rest for people."""
    message = str(error).removesuffix(f"\n  hint: {error.hint}")
    return {"reason": error.name, "message": message, "hint": error.hint or None}


class Channel:
    """One topic of one client. Methods run in the server's event loop and must not block it."""

    # Whether messages of this channel are handled side by side: for calls that take a while.
    is_concurrent = False

    def __init__(self, connection: Connection, topic: str, join_ref: str | None) -> None:
        self.connection = connection
        self.topic = topic
        self.join_ref = join_ref

    async def join(self, payload: Payload) -> dict[str, Any]:
        """Answer a join; what is returned is the response.

        Raises:
            AmdgpuError: The join is refused.
        """
        raise NotImplementedError

    async def handle(self, event: str, payload: Payload) -> Payload:
        """Answer a message; what is returned is the response of an ok reply.

        Raises:
            AmdgpuError: It is answered with an error.
        """
        raise NotImplementedError

    def left(self) -> None:
        """The client has left, or is gone."""
