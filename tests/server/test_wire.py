"""The wire codec of Phoenix Channels: vectors, round trips, and bytes that are no frames."""

import json

import pytest

pytest.importorskip("msgspec")
from amdgpu.server import wire
from hypothesis import given
from hypothesis import strategies as st

V1, V2 = wire.CODECS[1], wire.CODECS[2]
names = (
    st.text(max_size=60).filter(lambda text: len(text.encode("utf-8", "surrogatepass")) <= 255).filter(str.isprintable)
)
refs = st.none() | names
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
payloads = st.dictionaries(names, json_values, max_size=5)


def client_push(join_ref, ref, topic, event, data):
    """A binary push as the official client writes it."""
    encoded = [(name or "").encode() for name in (join_ref, ref, topic, event)]
    return bytes([0, *map(len, encoded)]) + b"".join(encoded) + data


@pytest.mark.parametrize(
    ("frame", "wanted"),
    [
        (V2.push("0", "t", "e", b"\x01"), "00 01 01 01 30 74 65 01"),
        (V2.reply("100", "12", "top", "ok", b"\x01"), "01 03 02 03 02 31 30 30 31 32 74 6f 70 6f 6b 01"),
        (V2.broadcast("top", "some-event", b"\x01"), "02 03 0a 74 6f 70 73 6f 6d 65 2d 65 76 65 6e 74 01"),
    ],
)
def test_binary_frames_are_those_of_the_specification(frame, wanted):
    assert frame == bytes.fromhex(wanted)


def test_a_binary_push_of_the_client_is_read():
    frame = bytes.fromhex("00 01 01 01 01 30 31 74 65 01")
    assert V2.decode(frame) == wire.Message("0", "1", "t", "e", b"\x01")


@given(refs, refs, names, names, payloads)
def test_text_messages_of_version_2_are_read_back(join_ref, ref, topic, event, payload):
    text = json.dumps([join_ref, ref, topic, event, payload, "what follows is ignored"])
    assert V2.decode(text) == wire.Message(join_ref, ref, topic, event, payload)


@given(refs, names, names, payloads)
def test_text_messages_of_version_1_are_read_back(ref, topic, event, payload):
    text = json.dumps({"topic": topic, "event": event, "payload": payload, "ref": ref, "join_ref": "ignored"})
    assert V1.decode(text) == wire.Message(None, ref, topic, event, payload)


@given(refs, refs, names, names, st.binary(max_size=200))
def test_binary_pushes_are_read_back(join_ref, ref, topic, event, data):
    message = V2.decode(client_push(join_ref, ref, topic, event, data))
    assert message == wire.Message(join_ref or None, ref or None, topic, event, data)


@given(refs, refs, names, names, payloads)
def test_what_the_server_sends_has_the_fields_of_its_version(join_ref, ref, topic, event, payload):
    answer = {"status": "ok", "response": payload}
    assert json.loads(V2.reply(join_ref, ref, topic, "ok", payload)) == [join_ref, ref, topic, "phx_reply", answer]
    assert json.loads(V2.push(join_ref, topic, event, payload)) == [join_ref, None, topic, event, payload]
    assert json.loads(V2.broadcast(topic, event, payload)) == [None, None, topic, event, payload]
    assert json.loads(V2.closing(join_ref, topic, "phx_close")) == [join_ref, join_ref, topic, "phx_close", {}]
    in_v1 = {"topic": topic, "event": event, "payload": payload, "ref": None}
    assert json.loads(V1.broadcast(topic, event, payload)) == in_v1
    assert json.loads(V1.push(join_ref, topic, event, payload)) == in_v1
    assert json.loads(V1.reply(None, ref, topic, "error", payload)) == {
        "topic": topic,
        "event": "phx_reply",
        "payload": {"status": "error", "response": payload},
        "ref": ref,
    }


@given(st.binary(max_size=400) | st.text(max_size=400))
def test_any_bytes_are_a_message_or_a_malformed_frame(data):
    for codec in (V1, V2):
        try:
            message = codec.decode(data)
        except wire.MalformedFrameError:
            continue
        else:
            assert isinstance(message.topic, str)
            assert isinstance(message.payload, dict | bytes)


@given(json_values)
def test_any_json_is_a_message_or_a_malformed_frame(value):
    for codec in (V1, V2):
        try:
            message = codec.decode(json.dumps(value))
        except wire.MalformedFrameError:
            continue
        assert isinstance(message.payload, dict)


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "null",
        "[]",
        '["1","1","t","e"]',
        '["1","1","t","e",null]',
        '["1","1","t","e",[]]',
        '[1,"1","t","e",{}]',
        '["1",2,"t","e",{}]',
        '["1","1",null,"e",{}]',
        '["1","1","t",7,{}]',
        json.dumps(["1", "1", "t" * 256, "e", {}]),
        json.dumps(["1" * 256, "1", "t", "e", {}]),
        '["1","1","\\ud800","e",{}]',
        "[" * 100_000,
        '{"topic":"t","event":"e","payload":{},"ref":"1"}',
        b"",
        b"\x00\x01\x01\x01",
        b"\x01\x00\x00\x00\x00",
        b"\x00\xff\xff\xff\xff1",
        b"\x00\x01\x00\x01\x01\xffte",
    ],
)
def test_frames_that_are_none_are_said_to_be(frame):
    with pytest.raises(wire.MalformedFrameError):
        V2.decode(frame)


def test_version_1_has_no_binary_frames():
    with pytest.raises(wire.MalformedFrameError, match=r"vsn=2\.0\.0"):
        V1.decode(b"\x00\x01\x01\x01\x0101te")


@pytest.mark.parametrize(
    ("vsn", "version"),
    [
        (None, 1),
        ("1.0.0", 1),
        ("2.0.0", 2),
        ("2.0.7", 2),
        ("3.0.0", None),
        ("2", None),
        ("", None),
        ("2.1.0", None),
        ("two.0.0", None),
    ],
)
def test_versions_are_negotiated(vsn, version):
    assert wire.negotiate(vsn) == version
