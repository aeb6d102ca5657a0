"""Kernels that do not end: signal handlers and Ctrl-C reach the program, and the interpreter ends."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
import time

import amdgpu
import numpy as np
import pytest

# Without a write to `stop` it never ends.
ENDLESS = """
__global__ void endless(volatile int* stop, int* out) {
    while (stop[0] == 0) {}
    out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}
"""
# The same with shared memory, barriers, and time spent outside of the kernel's own code.
ENDLESS_BLOCK = """
__global__ void endless_block(volatile int* stop, float* out) {
    __shared__ float tile[64];
    tile[threadIdx.x] = 1.0f;
    while (stop[0] == 0) {
        __syncthreads();
        tile[(threadIdx.x + 1) % 64] = powf(tile[threadIdx.x], 1.0001f);
        __syncthreads();
    }
    out[threadIdx.x] = tile[threadIdx.x];
}
"""
SIGNAL_SECONDS = 0.15
# Whoever hangs is let go after this long, and the test fails.
RESCUE_SECONDS = 30.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals of Linux")


class Alarm(Exception):
    """Raised by a signal handler."""


class Scene:
    def __init__(self, device):
        self.device = device
        self.kernel = device.compile_kernel(ENDLESS)
        self.with_barriers = device.compile_kernel(ENDLESS_BLOCK)
        self.with_checks = device.compile_kernel(ENDLESS, checked=True)
        self.stop, self.out = np.zeros(1, "int32"), np.zeros(1024, "int32")

    def launch_in(self, stream, blocks=1):
        self.kernel[blocks, 1, 0, stream](self.stop, self.out)

    @contextlib.contextmanager
    def rescue(self):
        """Lets the kernel end after a long time."""
        is_rescued = threading.Event()

        def let_go():
            is_rescued.set()
            self.stop[0] = 1

        timer = threading.Timer(RESCUE_SECONDS, let_go)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
        assert not is_rescued.is_set(), "only the end of the kernel ended the wait"

    @contextlib.contextmanager
    def alarm(self, handler):
        with self.rescue():
            before = signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, SIGNAL_SECONDS)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)

    def check_usable(self):
        """Everything works as before."""
        self.stop[0], self.out[:] = 1, 0
        stream = self.device.create_stream()
        self.kernel[4, 64](self.stop, self.out)
        self.launch_in(stream, 512)
        stream.synchronize()
        assert self.out[:512].all()


@pytest.fixture
def scene(device):
    return Scene(device)


def raise_alarm(number, frame):
    raise Alarm


def launch(scene):
    scene.kernel[1, 1](scene.stop, scene.out)


def launch_many_blocks(scene):
    scene.kernel[8, 64](scene.stop, scene.out)


def prepared(scene):
    scene.kernel.prepare(1, 1, scene.stop, scene.out)()


def execute(scene):
    scene.device.execute(scene.kernel, scene.stop, scene.out, grid=1, block=1, timeout_ms=None)


def execute_with_limit(scene):
    scene.device.execute(scene.kernel, scene.stop, scene.out, grid=1, block=1, timeout_ms=60_000)


def execute_in_background(scene):
    scene.device.execute(
        scene.kernel, scene.stop, scene.out, grid=1, block=1, timeout_ms=None, async_execution=True
    ).result()


def launch_with_barriers(scene):
    scene.with_barriers[2, 64](scene.stop, np.zeros(64, "float32"))


def launch_with_checks(scene):
    scene.with_checks[2, 64](scene.stop, scene.out)


def synchronize_stream(scene):
    stream = scene.device.create_stream()
    scene.launch_in(stream)
    stream.synchronize()


def wait_for_stream(scene):
    stream = scene.device.create_stream()
    scene.launch_in(stream)
    stream.wait(60_000)


def synchronize_device(scene):
    streams = [scene.device.create_stream() for _ in range(3)]
    for stream in streams:
        scene.launch_in(stream)
    try:
        scene.device.synchronize()
    finally:
        assert all(stream.is_idle for stream in streams)


def synchronize_event(scene):
    stream = scene.device.create_stream()
    scene.launch_in(stream)
    stream.record().synchronize()


def synchronize_stream_behind_another(scene):
    first, second = scene.device.create_stream(), scene.device.create_stream()
    scene.launch_in(first)
    second.wait_event(first.record())
    scene.launch_in(second)
    try:
        second.synchronize()
    finally:
        assert not first.is_idle
        assert first.stop()


def replay(scene):
    with amdgpu.CapturedGraph() as graph:
        scene.kernel[1, 1](scene.stop, scene.out)
    graph.replay()


def replay_lanes(scene):
    streams = [scene.device.create_stream() for _ in range(2)]
    with amdgpu.CapturedGraph() as graph:
        for stream in streams:
            scene.launch_in(stream)
    stream = scene.device.create_stream()
    graph.replay(stream)
    stream.synchronize()


def replay_behind_another(scene):
    with amdgpu.CapturedGraph() as graph:
        scene.kernel[1, 1](scene.stop, scene.out)
    first, second = scene.device.create_stream(), scene.device.create_stream()
    graph.replay(first)
    graph.replay(second)
    try:
        second.synchronize()
    finally:
        assert first.stop()


def reading(read):
    """A wait in which the host uses an array that a kernel in a stream writes to."""

    def wait(scene):
        stream, out = scene.device.create_stream(), amdgpu.zeros(1024, "int32")
        scene.kernel[1, 1, 0, stream](scene.stop, out)
        try:
            read(scene, out)
        finally:
            # The handler cancelled it; the kernel ends a moment later.
            deadline = time.monotonic() + RESCUE_SECONDS / 2
            while not stream.is_idle and time.monotonic() < deadline:
                time.sleep(0.001)
            assert stream.is_idle

    return wait


READS = {
    "numpy": lambda scene, array: array.numpy(),
    "wait": lambda scene, array: array.wait(),
    "asarray": lambda scene, array: np.asarray(array),
    "dlpack": lambda scene, array: np.from_dlpack(array),
    "fill": lambda scene, array: array.fill(1),
    "copy_from": lambda scene, array: array.copy_from(np.ones(1024, "int32")),
    "copy_to": lambda scene, array: amdgpu.zeros(1024, "int32").copy_from(array),
    "operation": lambda scene, array: amdgpu.ops.add(array, 1),
    "launch": lambda scene, array: scene.kernel[1, 1](scene.stop, array),
    "prepared": lambda scene, array: scene.kernel.prepare(1, 1, scene.stop, array)(),
}


WAITS = [
    launch,
    launch_many_blocks,
    prepared,
    execute,
    execute_with_limit,
    execute_in_background,
    launch_with_barriers,
    launch_with_checks,
    synchronize_stream,
    wait_for_stream,
    synchronize_device,
    synchronize_event,
    synchronize_stream_behind_another,
    replay,
    replay_lanes,
    replay_behind_another,
]


@pytest.mark.parametrize("wait", WAITS, ids=lambda wait: wait.__name__)
def test_what_a_signal_handler_raises_ends_the_wait_and_its_work(scene, wait):
    with scene.alarm(raise_alarm), pytest.raises(Alarm):
        wait(scene)
    scene.check_usable()


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_a_signal_handler_raises_ends_the_use_of_an_array(scene, read):
    with scene.alarm(raise_alarm), pytest.raises(Alarm):
        reading(read)(scene)
    scene.check_usable()


def test_a_signal_handler_that_returns_runs_in_the_middle_of_a_kernel(scene):
    heard = []

    def let_go(number, frame):
        heard.append(time.monotonic_ns())
        scene.stop[0] = 1

    with scene.alarm(let_go):
        scene.kernel[2, 1](scene.stop, scene.out)
    assert len(heard) == 1
    assert scene.out[:2].tolist() == [1, 1], "the kernel ran to its end"


def test_a_signal_handler_may_compute_while_a_kernel_is_held(scene):
    results = []

    def compute(number, frame):
        stream = scene.device.create_stream()
        ones = np.ones(1, "int32")
        out = np.zeros(256, "int32")
        scene.kernel[4, 64, 0, stream](ones, out)
        stream.synchronize()
        results.append(int(out.sum()))
        results.append(float(amdgpu.matrix_multiply(np.ones((8, 8), "float32"), np.ones((8, 8), "float32"))[0, 0]))
        scene.stop[0] = 1

    with scene.alarm(compute):
        scene.kernel[1, 1](scene.stop, scene.out)
    assert results == [256, 8.0]


def test_a_stopped_block_that_never_ends_leaves_its_stream_usable(scene):
    stream = scene.device.create_stream()
    scene.launch_in(stream)
    with scene.rescue():
        assert stream.stop()
    scene.check_usable()
    scene.launch_in(stream)
    stream.synchronize()


def test_a_kernel_past_its_limit_is_stopped_in_the_middle_of_a_block(scene):
    for _ in range(3):
        with scene.rescue(), pytest.raises(amdgpu.errors.KernelTimeoutError, match="it was stopped"):
            scene.device.execute(scene.kernel, scene.stop, scene.out, grid=1, block=1, timeout_ms=20)
    scene.check_usable()


def test_a_stopped_replay_stops_all_lanes(scene):
    streams = [scene.device.create_stream() for _ in range(2)]
    with amdgpu.CapturedGraph() as graph:
        for stream in streams:
            scene.launch_in(stream)
    stream = scene.device.create_stream()
    graph.replay(stream)
    with scene.rescue():
        assert stream.stop()
    scene.stop[0] = 1
    graph.replay(stream)
    stream.synchronize()


def test_ctrl_c_during_a_compilation_is_no_error_of_the_compiler(device, monkeypatch):
    def press(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(amdgpu.codegen, "generate", press)
    with pytest.raises(KeyboardInterrupt):
        device.compile_kernel("__global__ void never_compiled(int* x) { x[0] = 53; }")


PROGRAM = """
import os, signal, sys, threading, time
import amdgpu, numpy as np
device = amdgpu.initialize_device("cpu:0")
kernel = device.compile_kernel({source!r})
stop, out = np.zeros(1, "int32"), np.zeros(1024, "int32")

def interrupt():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)

def interrupt_soon():
    threading.Thread(target=interrupt, daemon=True).start()

{body}
"""

EXITS = {
    "behind a time limit": (
        0,
        """
try:
    device.execute(kernel, stop, out, grid=1, block=1, timeout_ms=20)
except amdgpu.errors.KernelTimeoutError:
    pass
""",
    ),
    "with a kernel in a stream": (
        3,
        """
stream = device.create_stream()
kernel[4, 64, 0, stream](stop, out)
sys.exit(3)
""",
    ),
    "with a result that nobody waits for": (
        0,
        "pending = device.execute(kernel, stop, out, grid=1, block=1, async_execution=True)",
    ),
    "with a stream that waits for another": (
        0,
        """
first, second = device.create_stream(), device.create_stream()
kernel[1, 1, 0, first](stop, out)
second.wait_event(first.record())
kernel[1, 1, 0, second](stop, out)
""",
    ),
    "with a daemon thread in a kernel": (
        0,
        """
threading.Thread(target=kernel[1, 1], args=(stop, out), daemon=True).start()
time.sleep(0.3)
""",
    ),
    "with a daemon thread that waits for a stream": (
        0,
        """
stream = device.create_stream()
kernel[1, 1, 0, stream](stop, out)
threading.Thread(target=stream.synchronize, daemon=True).start()
time.sleep(0.3)
""",
    ),
    "of Ctrl-C in a launch": (130, "interrupt_soon(); kernel[1, 1](stop, out)"),
    "of Ctrl-C in a wait": (
        130,
        """
stream = device.create_stream()
kernel[1, 1, 0, stream](stop, out)
interrupt_soon()
stream.synchronize()
""",
    ),
    "of Ctrl-C while a thread is in a kernel": (
        130,
        """
thread = threading.Thread(target=kernel[1, 1], args=(stop, out))
thread.start()
interrupt_soon()
thread.join()
""",
    ),
    "of Ctrl-C while a thread waits for an event": (
        130,
        """
stream = device.create_stream()
kernel[1, 1, 0, stream](stop, out)
thread = threading.Thread(target=stream.record().synchronize)
thread.start()
interrupt_soon()
thread.join()
""",
    ),
    "of an exception": (1, "stream = device.create_stream(); kernel[1, 1, 0, stream](stop, out); 1 / 0"),
}


@pytest.mark.parametrize("name", EXITS)
def test_the_interpreter_ends_with_its_own_code(name):
    code, body = EXITS[name]
    program = PROGRAM.format(source=ENDLESS, body=body)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=RESCUE_SECONDS, check=False
    )
    # Python lets SIGINT end it where a shell reads 130.
    assert done.returncode % 256 in (code, 256 - signal.SIGINT if code == 130 else code), done.stderr
    assert ("KeyboardInterrupt" in done.stderr) == (code == 130), done.stderr
    assert "Fatal" not in done.stderr
