"""Many clients at sixty frames a second: nothing that must not be lost is lost, and memory stays as it is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from server_client import running

CLIENTS = """
import asyncio, json, sys, time
from websockets.asyncio.client import connect

address, clients, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

async def client(number, end):
    frames = asked = answered = 0
    last = None
    async with connect(address, compression=None, max_size=None) as socket:
        for topic in ("gpu:telemetry", "gpu:api"):
            await socket.send(json.dumps([topic, topic, topic, "phx_join", {}]))
        waiting = set()
        while True:
            data = await asyncio.wait_for(socket.recv(), 30)
            if isinstance(data, bytes):
                start = 3 + data[1] + data[2]
                sequence = int.from_bytes(data[start:start + 4], "little")
                assert last is None or sequence > last, "frames go forward"
                last = sequence
                frames += 1
                if frames % 60 == number % 60 and time.monotonic() < end:
                    ref = str(asked)
                    asked += 1
                    waiting.add(ref)
                    await socket.send(json.dumps(["gpu:api", ref, "gpu:api", "device:list", {}]))
            else:
                _, ref, topic, event, payload = json.loads(data)
                if event == "phx_reply" and ref in waiting:
                    assert payload["status"] == "ok", payload
                    waiting.discard(ref)
                    answered += 1
            if time.monotonic() > end and not waiting:
                return {"frames": frames, "asked": asked, "answered": answered}

async def main():
    end = time.monotonic() + seconds
    print(json.dumps(await asyncio.gather(*(client(number, end) for number in range(clients)))))

asyncio.run(main())
"""


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def serve_many(clients, seconds):
    """What each client counted, and how much the resident memory of this process, the server's, grew after the first second."""
    import json

    with running(idle_rate_hz=60.0) as server:
        address = f"{server.base_url.replace('http', 'ws')}socket/websocket?vsn=2.0.0"
        command = [sys.executable, "-c", CLIENTS, address, str(clients)]
        # Once for everything that is made once: buffers, caches, threads.
        subprocess.run([*command, "1"], check=True, capture_output=True, timeout=120)
        before = resident_bytes()
        done = subprocess.run(
            [*command, str(seconds)], check=False, capture_output=True, text=True, timeout=seconds + 120
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout), resident_bytes() - before


def test_some_clients_lose_no_answer():
    counted, _ = serve_many(10, 3)
    assert len(counted) == 10
    for client in counted:
        assert client["asked"] == client["answered"]
        assert client["asked"] >= 1
        assert client["frames"] > 10


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fifty_clients_for_two_minutes_lose_no_answer_and_memory_is_flat():
    counted, grown_bytes = serve_many(50, 120)
    assert len(counted) == 50
    for client in counted:
        assert client["asked"] == client["answered"]
        assert client["asked"] >= 50
    # A megabyte is what the allocator's rounding makes of 50 sockets; a leak of one frame in a thousand would be ten times that.
    assert grown_bytes < 4 << 20
