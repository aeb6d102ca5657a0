"""What is told to all who watch: frames, launches, samples, totals.

One timer in the event loop ticks while somebody watches: at `Settings.rate_hz` while programs have something to tell, which they say
themselves, and at `Settings.idle_rate_hz`, as often as sensors are read, while they have not. A tick asks the source for what is cheap,
encodes each message once, and puts it into the outboxes; it waits for nobody. What takes longer (totals, processes) is read in a
thread, twice a second, and told when it is there.
"""

from __future__ import annotations

import asyncio
import logging
import math
import struct
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np

from amdgpu.errors import DeviceNotFoundError
from amdgpu.server import api_channel, telemetry_channel
from amdgpu.server.api import Api
from amdgpu.server.api_channel import ApiChannel
from amdgpu.server.channel import Channel
from amdgpu.server.connection import CLOSE_GOING_AWAY, Broadcast, ChannelMaker, Connection
from amdgpu.server.samples import SampleMaker
from amdgpu.server.settings import Settings
from amdgpu.server.source import Source
from amdgpu.server.telemetry_channel import TelemetryChannel
from amdgpu.server.wire import CODECS, Payload

FRAME_SCHEMA = "amdgpu.frame/1"
FRAME_HEADER = struct.Struct("<Id")
# As much as a dashboard keeps to rewind.
HISTORY_SECONDS = 300
SAMPLES_PER_SECOND = 10
SUMMARIES_PER_SECOND = 2
SWEEP_SECONDS = 5.0

# Of the protocol, the one that has binary messages.
FRAME_VERSION = 2

log = logging.getLogger("amdgpu.server")


@lru_cache(maxsize=64)
def _frame_prefix(topic: str) -> bytes:
    """What a frame of a topic begins with as a message of the protocol."""
    message = CODECS[FRAME_VERSION].broadcast(topic, "frame", b"")
    assert isinstance(message, bytes), "binary payloads make binary messages"
    return message


@dataclass(slots=True)
class PeriodicMessage:
    """A kind of message that is sent every so many seconds (0: at every tick), and when it is due next."""

    name: str
    every_seconds: float
    tell: Callable[[], None]
    due: float = 0.0


class Hub:
    """The connections of a server, the topics they joined, and what they are told."""

    def __init__(self, settings: Settings, source: Source, api: Api) -> None:
        self._settings = settings
        self._source = source
        self._api = api
        self._samples = SampleMaker(source)
        self._connections: set[Connection] = set()
        self._members: dict[str, set[TelemetryChannel]] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="amdgpu-server-source")
        self._loop: asyncio.AbstractEventLoop
        self._timer: asyncio.TimerHandle | None = None
        self._sweeper: asyncio.TimerHandle | None = None
        self._summary: asyncio.Task[None] | None = None
        self._is_open = False
        self._sequence = 0
        self._batches = 0
        # Records lost on the way here that were not told yet.
        self._dropped = 0
        # Somebody joined who does not know the processes yet.
        self._is_untold = False
        self._next_tick = 0.0
        self._failures: set[str] = set()
        self._period_seconds = 1 / settings.rate_hz
        self._idle_seconds = 1 / min(settings.idle_rate_hz, settings.rate_hz)
        self._last_tick = 0.0
        self._periodic: list[PeriodicMessage] = [
            PeriodicMessage("totals", 1 / SAMPLES_PER_SECOND, self._source.refresh_totals),
            PeriodicMessage("frames", 0.0, self._tell_frames),
            PeriodicMessage("launches", 0.0, self._tell_launches),
            PeriodicMessage("samples", 1 / SAMPLES_PER_SECOND, self._tell_samples),
            PeriodicMessage("summaries", 1 / SUMMARIES_PER_SECOND, self._start_summary),
        ]
        # The descriptor of the source that the event loop waits for.
        self._news: int | None = None

    def start(self) -> None:
        """Begin to look after connections; called in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._thread.submit(self._start_source)
        self._sweep()

    def _start_source(self) -> None:
        try:
            self._source.start()
        except Exception:  # noqa: BLE001  (said in the log; what is asked for later is answered without a past)
            self._failed("sensors and programs of the time before")

    async def stop(self) -> None:
        """Close every connection and the source."""
        for handle in (self._timer, self._sweeper):
            if handle is not None:
                handle.cancel()
        self._timer = self._sweeper = None
        if self._summary is not None:
            self._summary.cancel()
            await asyncio.gather(self._summary, return_exceptions=True)
        for connection in self._connections:
            connection.close(CLOSE_GOING_AWAY, "the server stops")
        self._unsubscribe()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._source.stop)
        self._thread.shutdown(wait=False)

    def add(self, connection: Connection) -> bool:
        """Take a connection; False when there are too many."""
        if len(self._connections) >= self._settings.limits.sockets:
            return False
        self._connections.add(connection)
        self._api.sockets = len(self._connections)
        return True

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._connections.discard(connection)
        self._api.sockets = len(self._connections)

    def find(self, topic: str) -> ChannelMaker | None:
        """What makes the channel of a topic."""
        if topic == api_channel.TOPIC:
            return partial(ApiChannel, api=self._api)
        if topic == telemetry_channel.TOPIC or topic.startswith(f"{telemetry_channel.TOPIC}:"):
            return partial(TelemetryChannel, hub=self)
        return None

    def joined(self, channel: Channel) -> None:
        """A channel was joined: tell it from now on."""
        if isinstance(channel, TelemetryChannel):
            self._members.setdefault(channel.topic, set()).add(channel)
            self._is_untold = True
            if self._timer is None:
                loop = asyncio.get_running_loop()
                self._next_tick = loop.time()
                self._timer = loop.call_at(self._next_tick, self._tick)

    def left(self, channel: Channel) -> None:
        """A channel was left."""
        members = self._members.get(channel.topic)
        if members is not None and isinstance(channel, TelemetryChannel):
            members.discard(channel)
            if not members:
                del self._members[channel.topic]

    def device_name(self, given: str | None) -> str | None:
        """The name of a device that a topic gives by name or by index.

        Raises:
            DeviceNotFoundError: There is none.
        """
        if given is None:
            return None
        names: list[str] = [info["device"] for info in self._api.devices()]
        if given.isascii() and given.isdigit() and int(given) < len(names):
            return names[int(given)]
        if given in names:
            return given
        raise DeviceNotFoundError(f"there is no device {given!r}; known are {', '.join(names)}")

    async def schema(self, device: str | None) -> dict[str, Any]:
        """What the frames of one device, or of all, hold."""
        if not self._is_open:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._source.open)
            self._is_open = True
            self._hear()
        devices = [entry for entry in self._source.devices if device in (None, entry["name"])]
        return {
            "schema": FRAME_SCHEMA,
            "devices": devices,
            "metrics": self._source.metrics,
            "clock": self._source.clock(),
            "rate_hz": self._settings.rate_hz,
            "history_seconds": HISTORY_SECONDS,
        }

    def _tick(self) -> None:
        if not self._members:
            # Nobody watches: the source goes on recording, and launches are not read one by one until somebody comes.
            self._timer = None
            if self._is_open:
                self._is_open = False
                self._unsubscribe()
                self._thread.submit(self._source.close)
            return
        self._sequence = (self._sequence + 1) % 2**32
        loop = self._loop
        now = self._last_tick = loop.time()
        # A tick that comes a moment early does not put off until the next one what is nearly due.
        soon = now + self._period_seconds / 2
        for told in self._periodic:
            if told.due <= soon:
                told.due = max(told.due + told.every_seconds, now)
                try:
                    told.tell()
                except Exception:  # noqa: BLE001  (one kind of message must not stop the others)
                    self._failed(told.name)
        # A late tick is not made up for: there would be nothing new in it.
        self._next_tick = max(self._next_tick + self._idle_seconds, loop.time())
        self._timer = loop.call_at(self._next_tick, self._tick)

    def _hear(self) -> None:
        """Have programs wake this hub when they have something to tell."""
        descriptor = self._source.descriptor
        if descriptor is not None and self._news is None:
            self._loop.add_reader(descriptor, self._heard)
            self._news = descriptor

    def _unsubscribe(self) -> None:
        """Stop waiting for the descriptor of the source; done before it is closed."""
        if self._news is not None:
            self._loop.remove_reader(self._news)
            self._news = None

    def _heard(self) -> None:
        """A program has something to tell: that is told as soon as the rate allows it."""
        self._source.acknowledge()
        sooner = max(self._last_tick + self._period_seconds, self._loop.time())
        if self._timer is not None and sooner < self._next_tick:
            self._timer.cancel()
            self._next_tick = sooner
            self._timer = self._loop.call_at(sooner, self._tick)

    def _tell_frames(self) -> None:
        values = self._source.frame()
        header = FRAME_HEADER.pack(self._sequence, time.monotonic())
        for topic, members in self._members.items():
            device = next(iter(members)).device
            data = header + (values if device is None else self._row(values, device))
            message = Broadcast(_frame_prefix(topic) + data)
            for channel in members:
                connection = channel.connection
                if connection.codec.version == FRAME_VERSION:
                    connection.tell(topic, "frame", message)
                else:
                    self._broadcast(topic, (channel,), "frame", data)

    def _row(self, values: bytes, device: str) -> bytes:
        """The part of a frame of all devices that is one device's."""
        row_bytes = 4 * len(self._source.metrics)
        start = row_bytes * next(i for i, entry in enumerate(self._source.devices) if entry["name"] == device)
        return values[start : start + row_bytes]

    def _tell_launches(self) -> None:
        kernels, networks, dropped = self._source.drain_events()
        self._dropped += dropped
        if not kernels and not networks:
            return
        dropped, self._dropped = self._dropped, 0
        self._samples.note(kernels)
        self._batches += 1
        for topic, members in self._members.items():
            device = next(iter(members)).device
            for event, key, rows in (("kernel_launched", "kernels", kernels), ("neural_update", "networks", networks)):
                chosen = [row for row in rows if device in (None, row["device"])]
                if chosen:
                    payload = {key: chosen, "dropped": dropped, "sequence": self._batches}
                    self._broadcast(topic, members, event, payload, is_event=True)

    def _tell_samples(self) -> None:
        if not any(channel.core_types for members in self._members.values() for channel in members):
            return
        self._samples.begin()
        encoded: dict[tuple[int, str, str, str], Broadcast] = {}
        for topic, members in self._members.items():
            for channel in members:
                for core_type in channel.core_types:
                    for device in [channel.device] if channel.device else [d["name"] for d in self._source.devices]:
                        codec = channel.connection.codec
                        key = (codec.version, topic, device, core_type)
                        if key not in encoded:
                            sample = self._samples.sample(device, core_type)
                            encoded[key] = Broadcast(codec.broadcast(topic, "telemetry_update", sample))
                        channel.connection.tell(topic, f"telemetry_update {device} {core_type}", encoded[key])

    def _start_summary(self) -> None:
        if self._summary is None or self._summary.done():
            self._summary = asyncio.get_running_loop().create_task(self._tell_summary())

    async def _tell_summary(self) -> None:
        loop = asyncio.get_running_loop()
        is_untold, self._is_untold = self._is_untold, False
        try:
            read = partial(self._read_summary, with_processes=is_untold)
            summary = await loop.run_in_executor(self._thread, read)
            if summary is None:
                self._start_anew()
                return
        except Exception:  # noqa: BLE001  (said in the log)
            self._is_untold |= is_untold
            self._failed("summaries")
            return
        profile, processes = summary
        # Nothing is watched yet.
        self._is_untold |= is_untold and processes is None
        for topic, members in self._members.items():
            self._broadcast(topic, members, "profile_update", profile)
            if processes is not None:
                self._broadcast(topic, members, "process_update", {"processes": processes})

    def _read_summary(self, *, with_processes: bool) -> tuple[dict[str, Any], list[dict[str, Any]] | None] | None:
        """What is told twice a second; None when frames have to hold something else."""
        if self._source.read_layout_changed():
            return None
        return self._source.read_summary(with_processes=with_processes)

    def _start_anew(self) -> None:
        """Frames hold something else from now on: clients join again and get the new schema."""
        self._source.lay_out()
        for members in list(self._members.values()):
            for channel in list(members):
                channel.connection.end_channel(channel, "phx_error")

    def _broadcast(
        self, topic: str, members: Iterable[TelemetryChannel], event: str, payload: Payload, *, is_event: bool = False
    ) -> None:
        encoded: dict[int, Broadcast] = {}
        for channel in members:
            version = channel.connection.codec.version
            message = encoded.get(version)
            if message is None:
                fitting = self._frame_text(payload) if version == 1 and isinstance(payload, bytes) else payload
                message = encoded[version] = Broadcast(CODECS[version].broadcast(topic, event, fitting))
            channel.connection.tell(topic, None if is_event else event, message)

    def _frame_text(self, data: bytes) -> dict[str, Any]:
        """A frame for clients of version 1, which have no binary frames."""
        sequence, seconds = FRAME_HEADER.unpack_from(data)
        values = np.frombuffer(data, "<f4", offset=FRAME_HEADER.size).reshape(-1, len(self._source.metrics))
        rows = [[None if math.isnan(value) else value for value in row] for row in values.tolist()]
        return {"sequence": sequence, "time": seconds, "values": rows}

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for connection in self._connections:
            connection.close_if_silent()
        self._sweeper = loop.call_later(min(SWEEP_SECONDS, self._settings.limits.idle_seconds / 4), self._sweep)

    def _failed(self, what: str) -> None:
        """Say once what cannot be told; the rest goes on."""
        if what not in self._failures:
            self._failures.add(what)
            log.exception("%s cannot be sent to those who watch", what)
