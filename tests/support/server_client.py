"""A client of the server that shows every frame as it is; the official ones are driven by `tests/server/phoenix`."""

import contextlib
import itertools
import json

import numpy as np
from amdgpu.server import arrays
from websockets.sync.client import connect

TIMEOUT_SECONDS = 20


class Client:
    """One WebSocket. Frames of topics that stream are set aside unless they are asked for."""

    def __init__(self, socket, version=2):
        self.socket = socket
        self.version = version
        self.refs = map(str, itertools.count(1))
        self.joined = {}
        self.aside = []

    def send(self, frame):
        """Send as it is: text, bytes, or what becomes JSON."""
        self.socket.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))

    def receive(self):
        """The next frame; text is decoded."""
        data = self.socket.recv(timeout=TIMEOUT_SECONDS)
        return data if isinstance(data, bytes) else json.loads(data)

    def push(self, topic, event, payload=None, *, join_ref=None, ref=None):
        """Send a message; returns its ref."""
        ref = next(self.refs) if ref is None else ref
        payload = {} if payload is None else payload
        join_ref = self.joined.get(topic) if join_ref is None else join_ref
        if self.version == 1:
            self.send({"topic": topic, "event": event, "payload": payload, "ref": ref})
        elif isinstance(payload, bytes):
            names = [name.encode() for name in (join_ref or "", ref, topic, event)]
            self.send(bytes([0, *map(len, names)]) + b"".join(names) + payload)
        else:
            self.send([join_ref, ref, topic, event, payload])
        return ref

    def reply(self, ref):
        """(status, response) of the message `ref`."""
        while True:
            frame = self.receive()
            if isinstance(frame, bytes):
                kind, *lengths = frame[:5]
                if kind == 1:
                    ends = list(itertools.accumulate(lengths, initial=5))
                    names = [frame[a:b].decode() for a, b in itertools.pairwise(ends)]
                    if names[1] == ref:
                        return names[3], arrays.unpack(frame[ends[-1] :])
            else:
                event = frame["event"] if self.version == 1 else frame[3]
                own = frame["ref"] if self.version == 1 else frame[1]
                if event == "phx_reply" and own == ref:
                    payload = frame["payload"] if self.version == 1 else frame[4]
                    return payload["status"], payload["response"]
            self.aside.append(frame)

    def join(self, topic):
        """Join a topic; the response."""
        ref = next(self.refs)
        self.joined[topic] = ref
        self.push(topic, "phx_join", ref=ref, join_ref=ref)
        status, response = self.reply(ref)
        if status != "ok":
            del self.joined[topic]
        return status, response

    def call(self, event, payload=None, topic="gpu:api"):
        """A call in text; (status, response)."""
        return self.reply(self.push(topic, event, payload))

    def call_binary(self, event, payload, topic="gpu:api"):
        """A call with arrays; (status, response)."""
        return self.reply(self.push(topic, event, arrays.pack(payload)))

    def until(self, wanted):
        """The next frame that `wanted` likes."""
        while True:
            frame = self.receive()
            if wanted(frame):
                return frame

    def event(self, name):
        """The payload of the next broadcast or push of an event in text."""
        if self.version == 1:
            return self.until(lambda frame: frame["event"] == name)["payload"]
        return self.until(lambda frame: isinstance(frame, list) and frame[3] == name)[4]

    def frame(self):
        """Sequence, time and values of the next binary frame."""
        data = self.until(lambda frame: isinstance(frame, bytes))
        topic, event = data[1], data[2]
        assert data[0] == 2
        assert data[3 + topic : 3 + topic + event] == b"frame"
        body = data[3 + topic + event :]
        sequence = int.from_bytes(body[:4], "little")
        return sequence, float(np.frombuffer(body[4:12], "<f8")[0]), np.frombuffer(body[12:], "<f4")


@contextlib.contextmanager
def client(server, *, version=2, token=None, **options):
    """A connected client."""
    query = f"?vsn={version}.0.0" + (f"&token={token}" if token else "")
    address = server.base_url.replace("http", "ws", 1) + f"socket/websocket{query}"
    # Without a limit: a full queue is read no further, so that closing waits ten seconds for an answer that stands behind frames.
    with connect(address, compression=None, max_size=None, max_queue=None, **options) as socket:
        yield Client(socket, version)


@contextlib.contextmanager
def running(**settings):
    """A server at a free port; without a token where it may run without one and none is given."""
    from amdgpu.server import Server, Settings

    if "token" not in settings and not settings.get("allow_execute"):
        settings["allow_anonymous"] = True
    # Files of the history are written where a test asks for them.
    server = Server(Settings(port=0, **{"history_hours": 0.0, **settings})).start()
    try:
        yield server
    finally:
        server.close()
