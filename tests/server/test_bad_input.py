"""What hostile, broken and slow clients do to the server, and to the others: nothing."""

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
from amdgpu import errors
from amdgpu.server import Limits, Server, Settings, ports
from amdgpu.server.outbox import Outbox
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from server_client import TIMEOUT_SECONDS, client, running
from websockets.exceptions import ConnectionClosed

HANDSHAKE = (
    "GET /socket/websocket?vsn=2.0.0 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9


@pytest.fixture(scope="module")
def server():
    with running() as started:
        yield started


def is_well(server):
    """Whether somebody else is served as ever."""
    with client(server) as other:
        other.join("gpu:api")
        return other.call("device:list")[0] == "ok"


def raw(server, receive_bytes=None):
    """A socket after the handshake, without a client library's good manners."""
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(TIMEOUT_SECONDS)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(HANDSHAKE.encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += connection.recv(1)
    assert b" 101 " in answer
    return connection


def ws_frame(opcode, data, *, final=True, masked=True, reserved=0, length=None):
    """A WebSocket frame; `length` may lie."""
    length = len(data) if length is None else length
    bits = 0x80 if masked else 0
    if length < 126:
        sizes = bytes([bits | length])
    elif length < 1 << 16:
        sizes = bytes([bits | 126]) + struct.pack(">H", length)
    else:
        sizes = bytes([bits | 127]) + struct.pack(">Q", length)
    head = bytes([(0x80 if final else 0) | reserved << 4 | opcode]) + sizes
    return head + (bytes(4) if masked else b"") + data


def close_code(connection):
    """The code of the close frame that the server sends; None when it just hangs up."""
    data = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(65536):
            data += chunk
            while len(data) >= 4:
                length, start = data[1] & 127, 2
                if length == 126:
                    length, start = struct.unpack(">H", data[2:4])[0], 4
                if len(data) < start + length:
                    break
                if data[0] & 15 == CLOSE:
                    return struct.unpack(">H", data[start : start + 2])[0]
                data = data[start + length :]
    return None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (ws_frame(TEXT, b"no json"), 1003),
        (ws_frame(TEXT, b"[]"), 1003),
        (ws_frame(TEXT, b"[" * 100_000), 1003),
        (ws_frame(TEXT, b'[null,"1","phoenix","heartbeat",null]'), 1003),
        (ws_frame(TEXT, b'["1","1","' + b"t" * 300 + b'","phx_join",{}]'), 1003),
        (ws_frame(TEXT, b"\xff\xfe"), 1007),
        (ws_frame(BINARY, b""), 1003),
        (ws_frame(BINARY, b"\x00\xff\xff\xff\xff"), 1003),
        (ws_frame(BINARY, b"\x07\x00\x00\x00\x00"), 1003),
        (ws_frame(TEXT, b"{}", masked=False), 1002),
        (ws_frame(TEXT, b"{}", reserved=7), 1002),
        (ws_frame(5, b"{}"), 1002),
        (ws_frame(PING, b"x" * 126), 1002),
        (ws_frame(0, b"a continuation of nothing"), 1002),
        (ws_frame(TEXT, b"[", final=False) + ws_frame(TEXT, b"]"), 1002),
        (ws_frame(TEXT, b"", length=100 << 20), 1009),
        (ws_frame(BINARY, b"", length=1 << 62), 1009),
    ],
)
def test_frames_that_are_none_end_their_socket_only(server, data, code):
    with raw(server) as connection:
        connection.sendall(data)
        assert close_code(connection) == code
    assert is_well(server)


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_frame_of_100_megabytes_is_refused_before_it_is_held(server):
    before = resident_bytes()
    megabyte = bytes(1 << 20)
    with raw(server) as connection:
        connection.sendall(ws_frame(BINARY, b"", length=100 << 20))
        try:
            for _ in range(100):
                connection.sendall(megabyte)
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert close_code(connection) in (1009, None)
    assert resident_bytes() - before < 16 << 20
    assert is_well(server)


def test_a_frame_in_many_pieces_is_bounded_too(server):
    piece = ws_frame(0, b"x" * (1 << 20), final=False)
    with raw(server) as connection:
        connection.sendall(ws_frame(TEXT, b"x", final=False))
        try:
            for _ in range(40):
                connection.sendall(piece)
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert close_code(connection) in (1009, None)
    assert is_well(server)


def test_text_as_long_as_arrays_may_be_is_refused(server):
    with client(server) as connected:
        connected.join("gpu:api")
        connected.send(json.dumps(["1", "1", "gpu:api", "x", {"text": "x" * (2 << 20)}]))
        with pytest.raises(ConnectionClosed) as closed:
            connected.receive()
    assert closed.value.rcvd.code == 1009
    assert "binary" in closed.value.rcvd.reason
    assert is_well(server)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4))
def test_any_bytes_after_the_handshake_harm_nobody(server, chunks):
    with raw(server) as connection:
        try:
            for chunk in chunks:
                connection.sendall(chunk)
            connection.shutdown(socket.SHUT_WR)
            close_code(connection)
        except OSError:
            pass


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from(
        ["device:initialize", "device:details", "boundary:list", "matrix:multiply", "network:create", "nope"]
    ),
)
def test_any_payload_of_a_call_is_answered(server, value, event):
    payload = value if isinstance(value, dict) else {"a": value, "b": value, "deviceId": value, "architecture": value}
    with client(server) as connected:
        connected.join("gpu:api")
        status, response = connected.call(event, payload)
        assert status in ("ok", "error")
        if status == "error":
            assert response["reason"]
            assert response["message"]


def test_a_storm_of_joins_is_answered_and_slows_nobody_else():
    with running(limits=Limits(channels=20)) as server, client(server) as storm, client(server) as other:
        refs = [
            storm.push(f"gpu:telemetry:{'0' * (1 + n % 120)}", "phx_join", ref=str(n), join_ref=str(n))
            for n in range(240)
        ]
        other.join("gpu:api")
        assert other.call("device:list")[0] == "ok"
        answers = {}
        while len(answers) < len(refs):
            frame = storm.receive()
            if isinstance(frame, list) and frame[3] == "phx_reply":
                answers[frame[1]] = frame[4]["response"].get("reason", "ok")
    assert set(answers.values()) == {"ok", "too many channels joined"}


def test_a_socket_that_says_nothing_is_closed():
    with running(limits=Limits(idle_seconds=0.4)) as server, client(server) as silent, client(server) as lively:
        silent.join("gpu:telemetry")
        lively.join("gpu:api")
        with pytest.raises(ConnectionClosed) as closed:
            silent.until(lambda _: lively.call("heartbeat", topic="phoenix") != ("ok", {}))
        assert closed.value.rcvd.code == 1000
        assert "nothing was heard" in closed.value.rcvd.reason
        assert lively.call("heartbeat", topic="phoenix") == ("ok", {})


def test_a_connection_that_asks_for_nothing_is_closed(monkeypatch):
    from amdgpu.server import transport

    monkeypatch.setattr(transport, "REQUEST_SECONDS", 0.3)
    with running() as server, socket.create_connection(("127.0.0.1", server.port), TIMEOUT_SECONDS) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1000) == b""
        assert is_well(server)


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"GET /", b"GET / HTTP/1.1\r\n"])
def test_a_request_whose_head_never_ends_is_not_kept(server, start):
    with socket.create_connection(("127.0.0.1", server.port), TIMEOUT_SECONDS) as connection:
        connection.sendall(start)
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(b"x: y\r\n" * (4 << 20) if start.endswith(b"\n") else b"x" * (32 << 20))
    assert is_well(server)


def test_many_requests_over_one_connection_are_answered(server):
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_SECONDS)
    with contextlib.closing(connection):
        for _ in range(300):
            connection.request("GET", "/api/v1/health", headers={"X-Padding": "x" * 1000})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200


def test_more_sockets_than_allowed_are_refused():
    from websockets.exceptions import InvalidStatus

    with running(limits=Limits(sockets=2)) as server, client(server), client(server) as second:
        with pytest.raises(InvalidStatus) as refused, client(server):
            pass
        assert refused.value.response.status_code == 503
        assert json.loads(refused.value.response.body)["reason"] == "limit-exceeded"
        assert second.call("heartbeat", topic="phoenix") == ("ok", {})


def test_a_client_that_reads_nothing_loses_frames_and_slows_nobody():
    with running(idle_rate_hz=60.0) as server, raw(server, receive_bytes=4096) as slow, client(server) as other:
        slow.sendall(ws_frame(TEXT, b'["1","1","gpu:telemetry","phx_join",{}]'))
        other.join("gpu:telemetry")
        sequences = [other.frame()[0] for _ in range(120)]
        assert sequences == list(range(sequences[0], sequences[0] + 120))


def test_a_client_that_asks_and_never_reads_is_closed(monkeypatch):
    limits = Limits(control_messages=50, control_bytes=1 << 16, messages_per_second=1e6, close_seconds=0.3)
    with running(limits=limits) as server, raw(server, receive_bytes=4096) as greedy:
        question = ws_frame(TEXT, b'[null,"1","phoenix","heartbeat",{}]')
        # Many times what the buffers of both systems hold: the server stops to read long before.
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            greedy.sendall(question * 1_000_000)
        assert is_well(server)


def test_pings_of_a_client_that_never_reads_are_not_kept(server):
    before = resident_bytes()
    with raw(server, receive_bytes=4096) as greedy:
        pings = ws_frame(PING, b"x" * 125) * 1000
        for _ in range(200):
            greedy.sendall(pings)
        assert is_well(server)
        assert resident_bytes() - before < 16 << 20


def test_control_messages_are_never_dropped_by_the_outbox():
    import asyncio

    async def exercise():
        limits = Limits(control_messages=10, control_bytes=1000, event_messages=3)
        outbox = Outbox(limits)
        for number in range(20):
            outbox.put_latest("t", "frame", f"frame {number}")
            outbox.put_event("t", f"event {number}")
        accepted = [outbox.put_control(f"control {number}") for number in range(12)]
        assert accepted == [True] * 10 + [False] * 2
        taken = [await outbox.take() for _ in range(14)]
        assert taken == [*(f"control {n}" for n in range(10)), "event 17", "event 18", "event 19", "frame 19"]
        assert (outbox.events_dropped, outbox.frames_replaced) == (17, 19)
        assert outbox.put_control("x" * 5000), "one message alone may be as large as it is"
        assert not outbox.put_control("y")
        outbox.put_latest("t", "frame", "left")
        outbox.forget("t")
        outbox.stop()
        assert [await outbox.take(), await outbox.take()] == ["x" * 5000, None]

    asyncio.run(exercise())


def test_bytes_of_control_messages_that_were_taken_make_room_again():
    import asyncio

    async def exercise():
        outbox = Outbox(Limits(control_messages=100, control_bytes=1000))
        for _ in range(50):
            assert outbox.put_control("x" * 300)
            assert outbox.put_control("y" * 700)
            assert not outbox.put_control("z"), "1000 bytes wait"
            assert len(await outbox.take()) == 300
            assert outbox.put_control("w" * 300), "300 bytes were taken"
            assert [len(await outbox.take()) for _ in range(2)] == [700, 300]

    asyncio.run(exercise())


def paced(monkeypatch, moments, rate=10.0):
    """How long a connection waits before each of the messages that come at these moments, in seconds."""
    import asyncio

    from amdgpu.server import connection as module

    waits = []
    clock = {"now": 0.0}

    async def sleep(seconds):
        waits[-1] = seconds
        # Time passes while the reader waits.
        clock["now"] += seconds

    monkeypatch.setattr(module, "time", type("Clock", (), {"monotonic": staticmethod(lambda: clock["now"])}))
    monkeypatch.setattr(module, "asyncio", type("Loop", (), {"sleep": staticmethod(sleep)}))
    one = module.Connection(None, Limits(messages_per_second=rate), None, None)

    async def exercise():
        for moment in moments:
            clock["now"] = max(clock["now"], moment)
            waits.append(0.0)
            await one._pace()

    asyncio.run(exercise())
    return waits


def test_a_client_may_send_a_second_of_messages_at_once_and_then_keeps_the_rate(monkeypatch):
    waits = paced(monkeypatch, [0.0] * 20)
    assert waits[:10] == [0.0] * 10
    assert waits[10:] == pytest.approx([0.1] * 10)


def test_a_client_that_was_idle_for_long_saves_no_more_than_a_second_of_messages(monkeypatch):
    waits = paced(monkeypatch, [0.0] * 10 + [1000.0] * 15)
    assert waits[:20] == [0.0] * 20
    assert waits[20:] == pytest.approx([0.1] * 5)


def test_a_client_that_waits_a_while_saves_what_the_rate_gives_it(monkeypatch):
    waits = paced(monkeypatch, [0.0] * 10 + [0.35] * 4)
    assert waits[:13] == [0.0] * 13
    assert waits[13] == pytest.approx(0.05)


def test_a_port_in_use_says_by_whom_and_proposes_another(server):
    with pytest.raises(errors.InvalidArgumentError) as caught:
        Server(Settings(port=server.port))
    text = str(caught.value)
    assert f"port {server.port} is in use by process {os.getpid()}" in text
    proposed = int(text.split("--port ")[1].split(maxsplit=1)[0])
    assert proposed != server.port
    with Server(Settings(port=proposed)).start() as second:
        assert second.port == proposed


def test_the_holder_of_a_port_is_found_in_another_process():
    program = (
        "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True);"
        "sys.stdin.read()"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())
        assert ports.holder(port)[0] == process.pid
        assert sys.executable in ports.holder(port)[1]
        process.stdin.close()
        process.wait()
    assert ports.holder(port) is None


@pytest.mark.parametrize(("host", "match"), [("no.such.host.invalid", "no address"), ("192.0.2.1", "cannot listen")])
def test_an_address_that_is_not_this_machine_s_is_refused(host, match):
    with pytest.raises(errors.InvalidArgumentError, match=match):
        Server(Settings(host=host, port=0, token="correct horse battery"))


def test_a_server_that_stops_tells_its_clients():
    with running() as server, client(server) as connected:
        connected.join("gpu:telemetry")
        server.close()
        with pytest.raises(ConnectionClosed) as closed:
            connected.until(lambda _: False)
        assert closed.value.rcvd.code in (1001, 1012)
    server.close()


def test_a_server_can_be_started_again_and_again():
    import threading

    before = set(threading.enumerate())
    for _ in range(3):
        with running() as server, client(server) as connected:
            connected.join("gpu:telemetry")
            connected.frame()
            kept = np.array(connected.frame()[2])
        assert kept.size
    for thread in set(threading.enumerate()) - before:
        if thread.name.startswith("amdgpu-server"):
            thread.join(TIMEOUT_SECONDS)
            assert not thread.is_alive()
