"""Frames of Phoenix Channels as a server reads and writes them: V2 in text and binary, V1 in text.

Contract
- `CODECS[version]` has `decode` and the three encoders; version is the number that `negotiate` finds for the client's `vsn`.
- A frame that does not follow the protocol raises `MalformedFrameError`, whatever it is; its text is fit for a close frame.
- Payloads are dicts, or bytes where the frame was binary. A payload that is sent is never null: the official client reads fields of it.
- Nothing here knows channels, sockets or time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

# Lengths in binary frames are one byte; text frames keep to the same, so that every message can be answered in either form.
MAX_NAME_BYTES = 255
PUSH, REPLY, BROADCAST = 0, 1, 2
PUSH_HEADER = struct.Struct("5B")

Payload = dict[str, Any] | bytes

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class MalformedFrameError(ValueError):
    """A frame that is none of the protocol; the text says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Message:
    """What a client sent."""

    join_ref: str | None
    ref: str | None
    topic: str
    event: str
    payload: Payload


class Codec(Protocol):
    """One version of the protocol."""

    version: int

    def decode(self, data: str | bytes) -> Message:
        """Read a frame of the client."""

    def reply(self, join_ref: str | None, ref: str | None, topic: str, status: str, response: Payload) -> str | bytes:
        """The answer to one message."""

    def push(self, join_ref: str | None, topic: str, event: str, payload: Payload) -> str | bytes:
        """A message to one joined client."""

    def closing(self, join_ref: str | None, topic: str, event: str) -> str | bytes:
        """`phx_close` or `phx_error`: its ref is that of the join."""

    def broadcast(self, topic: str, event: str, payload: Payload) -> str | bytes:
        """A message to all who joined the topic."""


def negotiate(vsn: str | None) -> int | None:
    """The version to speak with a client that asks for `vsn`; None for one that is not spoken here."""
    if vsn is None:
        return 1
    parts = vsn.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts) or parts[1] != "0":
        return None
    return {"1": 1, "2": 2}.get(parts[0])


class _V2:
    version = 2

    def decode(self, data: str | bytes) -> Message:
        return _decode_binary(data) if isinstance(data, bytes) else self._decode_text(data)

    def _decode_text(self, text: str) -> Message:
        frame = _json(text)
        if not isinstance(frame, list) or len(frame) < 5:
            raise MalformedFrameError("a frame is [join_ref, ref, topic, event, payload]")
        join_ref, ref, topic, event, payload = frame[:5]
        return _checked(join_ref, ref, topic, event, payload)

    def reply(self, join_ref: str | None, ref: str | None, topic: str, status: str, response: Payload) -> str | bytes:
        if isinstance(response, bytes):
            return _binary(REPLY, (join_ref or "", ref or "", topic, status), response)
        return _text([join_ref, ref, topic, "phx_reply", {"status": status, "response": response}])

    def push(self, join_ref: str | None, topic: str, event: str, payload: Payload) -> str | bytes:
        if isinstance(payload, bytes):
            return _binary(PUSH, (join_ref or "", topic, event), payload)
        return _text([join_ref, None, topic, event, payload])

    def closing(self, join_ref: str | None, topic: str, event: str) -> str | bytes:
        return _text([join_ref, join_ref, topic, event, {}])

    def broadcast(self, topic: str, event: str, payload: Payload) -> str | bytes:
        if isinstance(payload, bytes):
            return _binary(BROADCAST, (topic, event), payload)
        return _text([None, None, topic, event, payload])


class _V1:
    version = 1

    def decode(self, data: str | bytes) -> Message:
        if isinstance(data, bytes):
            raise MalformedFrameError("version 1 of the protocol has no binary frames; connect with vsn=2.0.0")
        frame = _json(data)
        if not isinstance(frame, dict) or not {"topic", "event", "payload"} <= frame.keys():
            raise MalformedFrameError('a frame is {"topic", "event", "payload", "ref"}')
        return _checked(None, frame.get("ref"), frame["topic"], frame["event"], frame["payload"])

    def reply(self, join_ref: str | None, ref: str | None, topic: str, status: str, response: Payload) -> str | bytes:  # noqa: ARG002  (V1 has none)
        return _v1_text(topic, "phx_reply", {"status": status, "response": _dict(response)}, ref)

    def push(self, join_ref: str | None, topic: str, event: str, payload: Payload) -> str | bytes:  # noqa: ARG002  (V1 has none)
        return _v1_text(topic, event, _dict(payload), None)

    def closing(self, join_ref: str | None, topic: str, event: str) -> str | bytes:
        return _v1_text(topic, event, {}, join_ref)

    def broadcast(self, topic: str, event: str, payload: Payload) -> str | bytes:
        return _v1_text(topic, event, _dict(payload), None)


CODECS: dict[int, Codec] = {1: _V1(), 2: _V2()}


def _dict(payload: Payload) -> dict[str, Any]:
    assert not isinstance(payload, bytes), "callers give V1 clients payloads in text"
    return payload


def _text(frame: Any) -> str:
    return _encode(frame).decode()


def _v1_text(topic: str, event: str, payload: dict[str, Any], ref: str | None) -> str:
    return _text({"topic": topic, "event": event, "payload": payload, "ref": ref})


def _json(text: str) -> Any:
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError) as error:
        raise MalformedFrameError(f"not JSON: {error}") from None


def _checked(join_ref: Any, ref: Any, topic: Any, event: Any, payload: Any) -> Message:
    for what, value, is_optional in (
        ("join_ref", join_ref, True),
        ("ref", ref, True),
        ("topic", topic, False),
        ("event", event, False),
    ):
        if value is None and is_optional:
            continue
        if not isinstance(value, str):
            raise MalformedFrameError(f"{what} is no text")
        if len(value.encode()) > MAX_NAME_BYTES:
            raise MalformedFrameError(f"{what} is longer than {MAX_NAME_BYTES} bytes")
    if not isinstance(payload, dict):
        raise MalformedFrameError("the payload is no object")
    return Message(join_ref, ref, topic, event, payload)


def _decode_binary(data: bytes) -> Message:
    """`00, len(join_ref), len(ref), len(topic), len(event)`, the four texts, the payload."""
    if len(data) < PUSH_HEADER.size:
        raise MalformedFrameError("a binary frame has at least five bytes")
    kind, *lengths = PUSH_HEADER.unpack_from(data)
    if kind != PUSH:
        raise MalformedFrameError(f"a binary frame of kind {kind}; clients send kind {PUSH}")
    if len(data) < PUSH_HEADER.size + sum(lengths):
        raise MalformedFrameError("a binary frame that ends before its names do")
    names, start = [], PUSH_HEADER.size
    for length in lengths:
        try:
            names.append(data[start : start + length].decode())
        except UnicodeDecodeError:
            raise MalformedFrameError("a binary frame whose names are not UTF-8") from None
        start += length
    join_ref, ref, topic, event = names
    return Message(join_ref or None, ref or None, topic, event, data[start:])


def _binary(kind: int, names: tuple[str, ...], data: bytes) -> bytes:
    encoded = [name.encode() for name in names]
    return b"".join((bytes((kind, *map(len, encoded))), *encoded, data))
