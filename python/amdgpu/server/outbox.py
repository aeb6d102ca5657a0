"""What waits to be sent to one client.

Three kinds of messages, sent in this order:
- control (replies, joins, closes): never lost. When too much of it waits, `put_control` says so and the client is to be closed.
- events (batches): the oldest goes when too many wait.
- latest (frames, samples): one per key, the newest wins.
"""

from __future__ import annotations

import asyncio
from collections import deque

from amdgpu.server.settings import Limits

Data = str | bytes


class Outbox:
    """The bounded queue of a client; used by one event loop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._control: deque[Data] = deque()
        self._control_bytes = 0
        self._events: deque[tuple[str, Data]] = deque()
        self._latest: dict[tuple[str, str], Data] = {}
        self._wake = asyncio.Event()
        self._is_stopped = False
        self.events_dropped = 0
        self.frames_replaced = 0

    def put_control(self, data: Data) -> bool:
        """Add what must not be lost; False when it does not fit, and then it is not added."""
        too_many = len(self._control) >= self._limits.control_messages
        # One message alone may be as large as it is: an answer with arrays has its own limit.
        too_large = bool(self._control) and self._control_bytes + len(data) > self._limits.control_bytes
        if too_many or too_large:
            return False
        self._control.append(data)
        self._control_bytes += len(data)
        self._wake.set()
        return True

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not (self._control or self._events or self._latest)

    def put_event(self, topic: str, data: Data) -> None:
        """Add a batch of events of a topic."""
        if len(self._events) >= self._limits.event_messages:
            self._events.popleft()
            self.events_dropped += 1
        self._events.append((topic, data))
        self._wake.set()

    def put_latest(self, topic: str, name: str, data: Data) -> None:
        """Add a message that takes the place of the one of the same topic and name that waits."""
        key = (topic, name)
        if key in self._latest:
            self.frames_replaced += 1
        self._latest[key] = data
        self._wake.set()

    def forget(self, topic: str) -> None:
        """Drop events and frames of a topic that was left."""
        self._events = deque(entry for entry in self._events if entry[0] != topic)
        for key in [key for key in self._latest if key[0] == topic]:
            del self._latest[key]

    def stop(self) -> None:
        """Let `take` end once all control messages are taken."""
        self._is_stopped = True
        self._wake.set()

    async def take(self) -> Data | None:
        """The next message; waits while there is none. None after `stop`, when no control message is left."""
        while True:
            if self._control:
                data = self._control.popleft()
                self._control_bytes -= len(data)
                return data
            if self._is_stopped:
                return None
            if self._events:
                return self._events.popleft()[1]
            if self._latest:
                return self._latest.pop(next(iter(self._latest)))
            self._wake.clear()
            await self._wake.wait()
