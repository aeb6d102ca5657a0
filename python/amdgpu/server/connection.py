"""One WebSocket: reads its messages, keeps its channels, sends what waits for it.

A reader and a writer share the connection. The reader never waits for the writer: what is to be sent goes into the outbox, and a client
that takes so little that messages which must not be lost pile up is closed. Calls run beside the reader, so that a heartbeat is answered
while a kernel runs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from amdgpu.errors import AmdgpuError, InternalError, LimitExceededError
from amdgpu.server.channel import Channel, describe
from amdgpu.server.outbox import Outbox
from amdgpu.server.settings import Limits
from amdgpu.server.transport import frame
from amdgpu.server.wire import Codec, MalformedFrameError, Message, Payload

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
WriteNow = Callable[[bytes], bool]
ChannelMaker = Callable[["Connection", str, str | None], Channel]

PHOENIX = "phoenix"
CLOSE_NORMAL, CLOSE_GOING_AWAY, CLOSE_MALFORMED, CLOSE_TOO_LARGE, CLOSE_TRY_LATER = 1000, 1001, 1003, 1009, 1013
# The longest text that fits into a close frame.
MAX_REASON_BYTES = 123

log = logging.getLogger("amdgpu.server")


class Broadcast:
    """A message for many: encoded once, and framed once for all that can take it now."""

    __slots__ = ("_framed", "data")

    def __init__(self, data: str | bytes) -> None:
        self.data = data
        self._framed: bytes | None = None

    @property
    def framed(self) -> bytes:
        """The WebSocket frame."""
        if self._framed is None:
            self._framed = frame(self.data)
        return self._framed


class Registry(Protocol):
    """Where topics lead to."""

    def find(self, topic: str) -> ChannelMaker | None:
        """What makes the channel of a topic; None for a topic that does not exist."""

    def joined(self, channel: Channel) -> None:
        """A channel was joined."""

    def left(self, channel: Channel) -> None:
        """A channel was left."""


class Connection:
    """One client."""

    def __init__(
        self, codec: Codec, limits: Limits, registry: Registry, send: Send, write_now: WriteNow | None = None
    ) -> None:
        self.codec = codec
        self.outbox = Outbox(limits)
        self.last_heard = time.monotonic()
        self._limits = limits
        self._registry = registry
        self._send = send
        self._channels: dict[str, Channel] = {}
        self._calls: set[asyncio.Task[None]] = set()
        self._closing: tuple[int, str] | None = None
        self._reader: asyncio.Task[None] | None = None
        self._allowance = limits.messages_per_second
        self._write_now = write_now
        self._is_sending = False

    async def run(self, receive: Receive) -> None:
        """Serve the client until it is gone."""
        self._reader = asyncio.create_task(self._read(receive))
        writer = asyncio.create_task(self._write())
        try:
            await asyncio.wait((self._reader, writer), return_when=asyncio.FIRST_COMPLETED)
            if self._closing is not None:
                await asyncio.wait_for(self._finish(writer), self._limits.close_seconds)
        except (asyncio.TimeoutError, OSError):
            log.info("a client did not take its last messages in %s s", self._limits.close_seconds)
        finally:
            for task in (self._reader, writer, *self._calls):
                task.cancel()
            await asyncio.gather(self._reader, writer, *self._calls, return_exceptions=True)
            for channel in list(self._channels.values()):
                self._drop(channel)

    def tell(self, topic: str, name: str | None, message: Broadcast) -> None:
        """Send what all get: now if nothing is before it, else it waits; without a name it is a batch of events."""
        if (
            self._write_now is not None
            and not self._is_sending
            and self._closing is None
            and self.outbox.is_empty
            and self._write_now(message.framed)
        ):
            return
        if name is None:
            self.outbox.put_event(topic, message.data)
        else:
            self.outbox.put_latest(topic, name, message.data)

    def close(self, code: int, reason: str) -> None:
        """End the connection after what must not be lost was sent, if the client takes it in time."""
        if self._closing is None:
            self._closing = (code, reason.encode()[:MAX_REASON_BYTES].decode("utf-8", "ignore"))
            if self._reader is not None:
                self._reader.cancel()

    def close_if_silent(self) -> None:
        """Close a client that said nothing for too long: it may be gone without a word."""
        if time.monotonic() - self.last_heard > self._limits.idle_seconds:
            self.close(CLOSE_NORMAL, f"nothing was heard for {self._limits.idle_seconds:g} s")

    def end_channel(self, channel: Channel, event: str) -> None:
        """Close a channel from this side: `phx_close`, or `phx_error` after which the client joins again."""
        self._control(self.codec.closing(channel.join_ref, channel.topic, event))
        self._drop(channel)

    async def _finish(self, writer: asyncio.Task[None]) -> None:
        assert self._closing is not None, "called while closing"
        code, reason = self._closing
        # The writer stops by itself when only frames are left.
        if not writer.done():
            self.outbox.stop()
            await writer
        await self._send({"type": "websocket.close", "code": code, "reason": reason})

    async def _write(self) -> None:
        while True:
            data = await self.outbox.take()
            if data is None:
                return
            self._is_sending = True
            await self._send({"type": "websocket.send", "bytes" if isinstance(data, bytes) else "text": data})
            self._is_sending = False

    async def _read(self, receive: Receive) -> None:
        while True:
            event = await receive()
            if event["type"] == "websocket.disconnect":
                return
            await self._pace()
            text = event.get("text")
            if text is not None and len(text) > self._limits.text_bytes:
                self.close(
                    CLOSE_TOO_LARGE, f"text is longer than {self._limits.text_bytes}; send arrays in binary frames"
                )
                return
            try:
                message = self.codec.decode(event["bytes"] if text is None else text)
            except MalformedFrameError as error:
                self.close(CLOSE_MALFORMED, f"malformed frame: {error}")
                return
            await self._handle(message)

    async def _pace(self) -> None:
        """Read no faster than the limit; the client's own system holds back what it sends beyond."""
        now = time.monotonic()
        rate = self._limits.messages_per_second
        self._allowance = min(self._allowance + (now - self.last_heard) * rate, rate) - 1
        self.last_heard = now
        if self._allowance < 0:
            await asyncio.sleep(-self._allowance / rate)

    async def _handle(self, message: Message) -> None:
        if message.topic == PHOENIX:
            known = message.event == "heartbeat"
            self._reply(message, None, "ok" if known else "error", {} if known else {"reason": "unmatched topic"})
            return
        channel = self._channels.get(message.topic)
        if message.event == "phx_join":
            await self._join(message, channel)
        elif channel is None:
            is_leave = message.event == "phx_leave"
            self._reply(message, None, "ok" if is_leave else "error", {} if is_leave else {"reason": "unmatched topic"})
        elif message.join_ref is not None and message.join_ref != channel.join_ref:
            # Sent before the client knew that this channel is another now.
            return
        elif message.event == "phx_leave":
            self._reply(message, channel.join_ref, "ok", {})
            if self.codec.version == 1:
                # Without a join_ref a client that joins again at once would take a `phx_close` for that of its new channel.
                self._drop(channel)
            else:
                self.end_channel(channel, "phx_close")
        elif channel.is_concurrent:
            self._start_call(channel, message)
        else:
            await self._answer(channel, message)

    async def _join(self, message: Message, old: Channel | None) -> None:
        join_ref = message.join_ref if message.join_ref is not None else message.ref
        if old is not None:
            self.end_channel(old, "phx_close")
        make = self._registry.find(message.topic)
        if make is None:
            self._reply(message, join_ref, "error", {"reason": "unmatched topic"})
            return
        if len(self._channels) >= self._limits.channels:
            self._reply(message, join_ref, "error", {"reason": "too many channels joined"})
            return
        channel = make(self, message.topic, join_ref)
        try:
            response = await channel.join(message.payload)
        except AmdgpuError as error:
            self._reply(message, join_ref, "error", describe(error))
            return
        except Exception:
            log.exception("a join of %s failed", message.topic)
            reason = InternalError("the server could not open this channel; its log says why")
            self._reply(message, join_ref, "error", describe(reason))
            return
        self._channels[message.topic] = channel
        self._reply(message, join_ref, "ok", response)
        self._registry.joined(channel)

    def _start_call(self, channel: Channel, message: Message) -> None:
        if len(self._calls) >= self._limits.calls_in_flight:
            text = f"{len(self._calls)} calls of this socket are not answered yet; wait for one of them"
            self._reply(message, channel.join_ref, "error", describe(LimitExceededError(text)))
            return
        task = asyncio.create_task(self._answer(channel, message))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _answer(self, channel: Channel, message: Message) -> None:
        status: str = "ok"
        try:
            response = await channel.handle(message.event, message.payload)
        except AmdgpuError as error:
            status, response = "error", describe(error)
        except Exception:
            log.exception("%s of %s failed", message.event, message.topic)
            if self._channels.get(channel.topic) is channel:
                self.end_channel(channel, "phx_error")
            return
        if message.ref is not None and self._channels.get(channel.topic) is channel:
            self._reply(message, channel.join_ref, status, response)

    def _drop(self, channel: Channel) -> None:
        if self._channels.get(channel.topic) is channel:
            del self._channels[channel.topic]
            self.outbox.forget(channel.topic)
            self._registry.left(channel)
            channel.left()

    def _reply(self, message: Message, join_ref: str | None, status: str, response: Payload) -> None:
        self._control(self.codec.reply(join_ref, message.ref, message.topic, status, response))

    def _control(self, data: str | bytes) -> None:
        if not self.outbox.put_control(data):
            self.close(CLOSE_TRY_LATER, "too many answers wait to be read")
