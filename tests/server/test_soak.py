"""A server under everything at once: viewers, busy programs that are watched and killed, and clients that mean harm.

The server is `amdgpu serve` in a process of its own, at loopback and with a token. At the end it has answered all that viewers asked,
its memory is where it was, and its figures are those of the ledgers that the programs kept themselves.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

TOKEN = "soak-0123456789-abcdefgh"
# A program works until it is told to pause, and prints what it has done so far; `end` ends it.
PROGRAM = """
import json, sys, threading, time
import amdgpu
import numpy as np

kind = sys.argv[1]
device = amdgpu.initialize_device("cpu:0")
source = '''
extern "C" __global__ void fold(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = out[i] * 0.5f + NUMBER;
}
'''
kernels = [device.compile_kernel(source.replace("NUMBER", f"{number}.0f")) for number in (1, 2)]
memory, square = np.zeros(1024, np.float32), np.eye(16, dtype=np.float32)
net = amdgpu.Network('''
neuralNetwork pulses:
  neuron cell:
    params(tau = 10.ms, drive = 20.mV)
    dv/dt = (drive - v) / tau
    threshold: v > 10.mV
    reset: v = 0.mV
  population cells(50, model: cell)
  record spikes(cells)
''')
done = {"launches": 0, "products": 0, "steps": 0}
paused, idle, ended = threading.Event(), threading.Event(), threading.Event()

def listen():
    for line in sys.stdin:
        if line.strip() == "end":
            break
        paused.set()
        idle.wait()
        print(json.dumps(done), flush=True)
        idle.clear()
        paused.clear()
    ended.set()

threading.Thread(target=listen, daemon=True).start()
print("ready", flush=True)
while not ended.is_set():
    if paused.is_set():
        idle.set()
        time.sleep(0.005)
        continue
    if kind in ("kernels", "all"):
        for number in range(40):
            kernels[number % 2][4, 256](memory, 1024)
            done["launches"] += 1
    if kind in ("products", "all"):
        for _ in range(10):
            amdgpu.matrix_multiply(square, square)
            done["products"] += 1
    if kind in ("networks", "all"):
        net.step(10)
        done["steps"] += 10
    time.sleep(0.01)
"""
VIEWERS = """
import asyncio, json, sys, time
from websockets.asyncio.client import connect

address, clients, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

async def view(number, end):
    frames = asked = answered = 0
    waiting = set()
    async with connect(address, compression=None, max_size=None) as socket:
        for topic in ("gpu:telemetry", "gpu:api"):
            await socket.send(json.dumps([topic, topic, topic, "phx_join", {}]))
        at = time.monotonic() + 1 + number % 10 / 10
        while True:
            data = await asyncio.wait_for(socket.recv(), 60)
            now = time.monotonic()
            if isinstance(data, bytes):
                frames += 1
            else:
                _, ref, topic, event, payload = json.loads(data)
                if event == "phx_reply" and ref in waiting:
                    assert payload["status"] == "ok", payload
                    waiting.discard(ref)
                    answered += 1
            if now > at and now < end:
                at = now + 1
                ref = f"q{asked}"
                asked += 1
                waiting.add(ref)
                await socket.send(json.dumps(["gpu:api", ref, "gpu:api", "device:list", {}]))
            if now > end and not waiting:
                return {"frames": frames, "asked": asked, "answered": answered}

async def main():
    end = time.monotonic() + seconds
    print(json.dumps(await asyncio.gather(*(view(number, end) for number in range(clients)))))

asyncio.run(main())
"""
# Whatever these meet is theirs to bear: they only go on.
HOSTILE = """
import asyncio, json, os, random, socket, sys, time
from websockets.asyncio.client import connect

address, host, port, seconds, token = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
end = time.monotonic() + seconds
counts = {}
draw = random.Random(1)

BOMB = "\\n".join(
    ["__device__ int f0(int x) { return x + 1; }",
     *(f"__device__ int f{i}(int x) {{ return f{i - 1}(x) * f{i - 1}(x + 1); }}" for i in range(1, 60)),
     "__global__ void k(int* o) { o[0] = f59(o[1]); }"]
)

async def again(name, attack, pause):
    while time.monotonic() < end:
        counts[name] = counts.get(name, 0) + 1
        try:
            await asyncio.wait_for(attack(), 30)
        except Exception:
            pass
        await asyncio.sleep(pause)

async def joined(topics=("gpu:telemetry", "gpu:api")):
    socket = await connect(address, compression=None, max_size=None)
    for topic in topics:
        await socket.send(json.dumps([topic, topic, topic, "phx_join", {}]))
    return socket

async def slow_reader():
    ws = await joined()
    ws.transport.pause_reading()
    await asyncio.sleep(10)
    ws.transport.abort()

async def garbage():
    ws = await joined()
    for _ in range(20):
        await ws.send(os.urandom(draw.randrange(2000)))
        await ws.send("[" * draw.randrange(1, 5000))
    await ws.close()

async def large():
    ws = await joined()
    await ws.send(b"x" * (64 << 20))
    await ws.close()

async def flood():
    ws = await joined()
    for number in range(3000):
        await ws.send(json.dumps(["gpu:api", str(number), "gpu:api", "device:list", {}]))
    await ws.close()

async def bomb():
    ws = await joined()
    await ws.send(json.dumps(["gpu:api", "1", "gpu:api", "kernel:compile", {"source": BOMB}]))
    await asyncio.sleep(2)
    ws.transport.abort()

async def half_request():
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HTTP/1.1\\r\\nHost: " + host.encode() + b"\\r\\nX-A: ")
    await writer.drain()
    await asyncio.sleep(5)
    writer.close()

async def wrong_token():
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET /metrics HTTP/1.1\\r\\nHost: %s:%d\\r\\nAuthorization: Bearer %d\\r\\nConnection: close\\r\\n\\r\\n"
                 % (host.encode(), port, draw.randrange(10**9)))
    await reader.read()
    writer.close()

async def main():
    await asyncio.gather(
        again("slow reader", slow_reader, 0.5), again("garbage", garbage, 0.5), again("large", large, 3),
        again("flood", flood, 1), again("bomb", bomb, 3), again("half request", half_request, 0.3),
        again("half request", half_request, 0.3), again("wrong token", wrong_token, 2),
    )
    print(json.dumps(counts))

asyncio.run(main())
"""


class Program:
    """A busy program that keeps a ledger."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, kind], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._line()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the program of {self.kind} ended by itself"
        return line

    def _tell(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()

    def pause(self) -> dict[str, int]:
        """What it has done; it goes on afterwards."""
        self._tell("pause")
        ledger: dict[str, int] = json.loads(self._line())
        return ledger

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._close()

    def end(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._tell("end")
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._close()

    def _close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()


@dataclass
class Served:
    """`amdgpu serve` in a process of its own."""

    address: str
    process: subprocess.Popen[str]

    @property
    def host(self) -> str:
        return self.address.split("//")[1].split(":")[0]

    @property
    def port(self) -> int:
        return int(self.address.rstrip("/").rsplit(":", 1)[1])

    @property
    def socket(self) -> str:
        return f"{self.address.replace('http', 'ws', 1)}socket/websocket?vsn=2.0.0&token={TOKEN}"

    def resident_bytes(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGESIZE")

    def get(self, path: str) -> str:
        request = urllib.request.Request(self.address + path, headers={"Authorization": f"Bearer {TOKEN}"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            text: str = answer.read().decode()
        return text

    def counters(self, pid: int) -> dict[str, float]:
        """Sums of counters of a program by metric and core, as `/metrics` tells them."""
        found: dict[str, float] = {}
        for name, labels, value in re.findall(r"^(\w+_total)\{([^}]*)\} (\S+)$", self.get("metrics"), re.MULTILINE):
            known = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            if known.get("pid") == str(pid):
                key = f"{name} {known['core']}" if "core" in known else name
                found[key] = found.get(key, 0.0) + float(value)
        return found


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[Served]:
    (folder / "token").write_text(TOKEN)
    command = [sys.executable, "-m", "amdgpu", "serve", "--port", "0", "--no-browser", "--history-hours", "0"]
    errors = (folder / "errors").open("w")
    process = subprocess.Popen(
        [*command, "--token-file", str(folder / "token"), "--json"], stdout=subprocess.PIPE, stderr=errors, text=True
    )
    with errors, process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            found = re.search(r"http://[\w.\[\]:]+/", line)
            assert found, line + (folder / "errors").read_text()
            yield Served(found[0], process)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
        finally:
            process.kill()


@dataclass
class Outcome:
    """What a soak showed."""

    viewers: list[dict[str, int]]
    attacks: dict[str, int]
    resident: list[float]
    kills: int


def check_figures(server: Served, programs: list[Program]) -> None:
    """Every counter of every program is what the program counted; programs stand still while they are asked."""
    for program in programs:
        ledger = program.pause()
        # Counters of a program that works on are read twice around its own: they cannot be behind the first, nor ahead of the second.
        told = server.counters(program.pid)
        later = program.pause()
        for counter, own in (
            ("amdgpu_kernel_launches_total aura", "launches"),
            ("amdgpu_operations_total matrix", "products"),
            ("amdgpu_operations_total neuromorphic", "steps"),
        ):
            assert ledger[own] <= told.get(counter, 0.0) <= later[own], (program.kind, counter, ledger, told, later)


def soak(folder: Path, seconds: float, viewers: int, kill_every_seconds: float) -> Outcome:
    kinds = ("kernels", "products", "networks", "all")
    kills = 0
    with serving(folder) as server, contextlib.ExitStack() as stack:
        programs = [Program(kind) for kind in kinds]
        stack.callback(lambda: [program.end() for program in programs])
        clients = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", VIEWERS, server.socket, str(viewers), str(seconds)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        hostile = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", HOSTILE, server.socket, server.host, str(server.port), str(seconds), TOKEN],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        for process in (clients, hostile):
            stack.callback(process.kill)
        outputs: dict[str, tuple[str, str]] = {}
        readers = [
            threading.Thread(target=lambda name=name, one=one: outputs.__setitem__(name, one.communicate()))
            for name, one in (("viewers", clients), ("hostile", hostile))
        ]
        for reader in readers:
            reader.start()
        started = last_kill = time.monotonic()
        resident = []
        while any(reader.is_alive() for reader in readers):
            time.sleep(min(1.0, seconds / 20))
            assert server.process.poll() is None, (folder / "errors").read_text()[-2000:]
            resident.append(float(server.resident_bytes()))
            now = time.monotonic()
            assert now - started < seconds + 120, "the clients do not end"
            if now - last_kill > kill_every_seconds:
                last_kill = now
                victim = kills % len(programs)
                programs[victim].kill()
                programs[victim] = Program(kinds[victim])
                kills += 1
        assert clients.returncode == 0, outputs["viewers"][1][-2000:]
        assert hostile.returncode == 0, outputs["hostile"][1][-2000:]
        # The server finds programs by looking at its folder now and then.
        time.sleep(3)
        check_figures(server, programs)
    return Outcome(json.loads(outputs["viewers"][0]), json.loads(outputs["hostile"][0]), resident, kills)


def check(outcome: Outcome, viewers: int) -> None:
    assert len(outcome.viewers) == viewers
    for viewer in outcome.viewers:
        assert viewer["asked"] == viewer["answered"] > 0
        assert viewer["frames"] > 0
    assert set(outcome.attacks) >= {"slow reader", "garbage", "large", "flood", "bomb", "half request", "wrong token"}
    assert outcome.kills > 0


def test_a_short_soak_loses_nothing(tmp_path: Path) -> None:
    check(soak(tmp_path, 8, 8, 3), 8)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ten_minutes_of_everything_lose_nothing_and_memory_is_flat(tmp_path: Path, record_property: Any) -> None:
    seconds = float(os.environ.get("AMDGPU_SOAK_SECONDS", "600"))
    outcome = soak(tmp_path, seconds, 50, seconds / 20)
    check(outcome, 50)
    part = len(outcome.resident) // 4
    early, late = (statistics.median(outcome.resident[a:b]) for a, b in ((part, 2 * part), (3 * part, None)))
    record_property("resident_bytes", [early, late])
    print(json.dumps({"resident MB": [early / 1e6, late / 1e6], "kills": outcome.kills, "attacks": outcome.attacks}))
    # Buffers of fifty viewers and of what attackers left half done; a leak of one frame in a hundred would be ten times that.
    assert late - early < 16 << 20
