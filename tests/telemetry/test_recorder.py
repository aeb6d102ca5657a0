"""Recordings of real programs: what comes back, from whole files and from damaged ones, from full disks and after kill -9."""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from amdgpu.telemetry import attach, recorder
from hypothesis import given, settings
from hypothesis import strategies as st

PROGRAM = Path(__file__).parents[1] / "support" / "telemetry_program.py"
PATIENCE_SECONDS = 30.0


@pytest.fixture
def program(tmp_path, monkeypatch):
    """The program to watch, set up and running, with sockets in a folder of the test's own."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    started = []

    def start(*arguments):
        process = subprocess.Popen([sys.executable, str(PROGRAM), *arguments], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert json.loads(process.stdout.readline())["ready"]
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def small_recording(path, launches=20):
    """A recording of this process with some launches of a kernel `recorded`."""
    kernel = amdgpu.initialize_device("cpu:0").compile_kernel("__global__ void recorded(float* x) { x[0] += 1; }")
    out = np.zeros(1, "float32")
    with recorder.Recorder(path) as running:
        for _ in range(launches):
            kernel[1, 1](out)
        taken = 0
        while taken < launches:
            taken += running.take(PATIENCE_SECONDS)
    return path


def launches_of(recording, name):
    return [row for row in recording.records if row["kind"] == "launch" and row["name"] == name]


def test_a_program_is_recorded_until_it_ends_and_comes_back(program, tmp_path):
    running = program("--seconds", "2", "--rate", "100", "--parts", "kernels,spiking,memory")
    count = recorder.record(tmp_path / "r", pid=running.pid)
    assert running.wait() == 0
    recording = recorder.replay(tmp_path / "r")
    assert (recording.damage, recording.is_complete) == (None, True)
    assert count == len(recording.records) > 0
    (process,) = recording.processes
    assert (process.pid, process.records) == (running.pid, count)
    assert "telemetry_program.py" in " ".join(process.command)
    assert {row["pid"] for row in recording.records} == {running.pid}
    assert {row["name"] for row in recording.records if row["kind"] == "launch"} >= {"saxpy", "block_sum"}
    starts = [row["start_ns"] for row in recording.records]
    assert starts == sorted(starts)
    assert 1.0 < recording.duration_seconds < PATIENCE_SECONDS
    # Totals, networks and snapshots are in it too, and lead to what was known at a moment.
    assert any(rows for _, rows in recording.networks)
    known = recording.snapshot_at(recording.end_ns)
    assert known["totals"][running.pid]["devices"]["cpu:0"]["launches"]["aura"] > 0
    assert known["snapshot"]["process_id"] == running.pid
    early = recording.snapshot_at(0)
    assert (early["snapshot"], early["totals"]) == (None, {})


def test_all_programs_are_recorded_those_that_come_later_too(program, tmp_path):
    first = program("--seconds", "60", "--rate", "100", "--parts", "kernels")
    with recorder.Recorder(tmp_path / "r", pid="all") as running:
        second = program("--seconds", "60", "--rate", "100", "--parts", "kernels")
        while not {first.pid, second.pid} <= running._streams.keys():
            running.take(0.05)
        for _ in range(5):
            running.take(0.1)
    recording = recorder.replay(tmp_path / "r")
    counts = {process.pid: process.records for process in recording.processes}
    assert counts[first.pid] > 0
    assert counts[second.pid] > 0


def test_a_recording_has_a_limit_in_time_and_tells_its_progress(tmp_path):
    told = []
    recorder.record(tmp_path / "r", duration=0.2, on_progress=lambda records, size: told.append((records, size)))
    assert told
    assert all(size > 0 for _, size in told)
    assert recorder.replay(tmp_path / "r").is_complete


def test_a_child_of_fork_ends_without_ending_the_recording_of_its_parent(tmp_path):
    code = (
        "import os, sys\n"
        "from amdgpu.telemetry import recorder\n"
        "recorder.begin(sys.argv[1])\n"
        "child = os.fork()\n"
        "if not child: sys.exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "import amdgpu, numpy as np\n"
        "kernel = amdgpu.initialize_device('cpu:0').compile_kernel('__global__ void later(float* x) { x[0] += 1; }')\n"
        "kernel[1, 1](np.zeros(1, 'float32'))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "r")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    recording = recorder.replay(tmp_path / "r")
    assert recording.is_complete
    assert len(launches_of(recording, "later")) == 1


def test_a_program_records_itself_from_its_first_moment_to_its_end(tmp_path):
    code = (
        "import sys\n"
        "from amdgpu.telemetry import recorder\n"
        "recorder.begin(sys.argv[1])\n"
        "import amdgpu, numpy as np\n"
        "kernel = amdgpu.initialize_device('cpu:0').compile_kernel('__global__ void own(float* x) { x[0] += 1; }')\n"
        "for _ in range(50): kernel[1, 1](np.zeros(1, 'float32'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    recording = recorder.replay(tmp_path / "r")
    assert recording.is_complete
    assert len(launches_of(recording, "own")) == 50
    assert recording.readings[0]["readings"]
    with pytest.raises(errors.WriteFailedError):
        recorder.begin("/proc/no/such/folder")


def test_the_flight_recorder_keeps_what_happened_before_it_was_asked(tmp_path):
    kernel = amdgpu.initialize_device("cpu:0").compile_kernel("__global__ void in_flight(float* x) { x[0] += 1; }")
    assert not recorder.is_running()
    with pytest.raises(errors.InvalidArgumentError, match="does not run"):
        recorder.save(tmp_path / "none")
    recorder.start()
    try:
        for _ in range(30):
            kernel[1, 1](np.zeros(1, "float32"))
        assert recorder.status()["records"] >= 30
        count = recorder.save(tmp_path / "flight")
    finally:
        recorder.stop()
    assert not recorder.is_running()
    recording = recorder.replay(tmp_path / "flight")
    assert recording.is_complete
    assert len(recording.records) == count
    assert len(launches_of(recording, "in_flight")) == 30
    assert recording.snapshots[0]["process_id"] == os.getpid()
    with pytest.raises(errors.InvalidArgumentError):
        recorder.start(seconds=0)


def test_a_file_that_is_cut_gives_what_is_left(tmp_path):
    whole = small_recording(tmp_path / "whole", launches=20).read_bytes()
    for size in (len(whole) - 1, len(whole) // 2):
        (tmp_path / "cut").write_bytes(whole[:size])
        recording = recorder.replay(tmp_path / "cut")
        assert not recording.is_complete
        assert "not ended properly" in recording.damage
    assert recording.header["schema"] == "amdgpu.recording/1"


def test_damage_in_the_middle_costs_only_its_frame(tmp_path):
    whole = bytearray(small_recording(tmp_path / "whole").read_bytes())
    # The last frame is whole whatever happens to the ones before it.
    whole[200] ^= 0xFF
    (tmp_path / "damaged").write_bytes(whole)
    recording = recorder.replay(tmp_path / "damaged")
    assert recording.is_complete
    assert "damaged" in recording.damage


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_change_of_a_file_ends_in_a_recording_or_a_clear_error(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    path = folder / "fuzz-whole"
    if not path.exists():
        small_recording(path, launches=5)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        end = data.draw(st.integers(at, min(at + 64, len(content))))
        content[at:end] = data.draw(st.binary(max_size=64))
        if not content:
            break
    changed = folder / "fuzz-changed"
    changed.write_bytes(content)
    try:
        recording = recorder.replay(changed)
    except errors.DamagedFileError:
        return
    assert all("kind" in row for row in recording.records)


def test_what_is_no_recording_is_refused(tmp_path):
    for content in (b"", b"hello", b"\x89PNG\r\n" * 100, os.urandom(5000)):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(errors.DamagedFileError, match="is no recording"):
            recorder.replay(tmp_path / "other")
    with pytest.raises(errors.InvalidArgumentError, match="cannot be read"):
        recorder.replay(tmp_path / "missing")


def test_recordings_of_later_versions_are_refused(tmp_path):
    content = small_recording(tmp_path / "r", launches=1).read_bytes()
    later = content.replace(b"amdgpu.recording/1", b"amdgpu.recording/2", 1)
    # The sum of the changed frame, as a later version would have written it.
    import zlib

    size = int.from_bytes(later[4:8], "little")
    later = later[:8] + zlib.crc32(later[12 : 16 + size]).to_bytes(4, "little") + later[12:]
    (tmp_path / "later").write_bytes(later)
    with pytest.raises(errors.DamagedFileError, match="recording/2"):
        recorder.replay(tmp_path / "later")


def test_a_full_disk_is_an_error_that_says_what_is_kept():
    with pytest.raises(errors.WriteFailedError, match="No space left"):
        recorder.record("/dev/full", duration=0.1)
    with pytest.raises(errors.WriteFailedError, match="cannot be written"):
        recorder.record("/proc/no/such/folder", duration=0.1)


def test_what_was_written_before_the_disk_was_full_can_be_replayed(tmp_path):
    code = (
        "import sys, amdgpu, numpy as np\n"
        "from amdgpu.telemetry import recorder\n"
        "kernel = amdgpu.initialize_device('cpu:0').compile_kernel('__global__ void k(float* x) { x[0] += 1; }')\n"
        "out = np.zeros(1, 'float32')\n"
        "try:\n"
        "    with recorder.Recorder(sys.argv[1]) as running:\n"
        "        while True:\n"
        "            for _ in range(1000): kernel[1, 1](out)\n"
        "            running.take(0.1)\n"
        "except amdgpu.errors.WriteFailedError as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / "full"
    limit = 600_000

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=little_room,
        env=os.environ | {"AMDGPU_CACHE_DIR": "off"},
    )
    assert "which can be replayed" in done.stdout, done.stderr
    assert path.stat().st_size <= limit
    recording = recorder.replay(path)
    assert "damaged" not in recording.damage
    assert f"{len(recording.records)} records" in done.stdout
    assert len(launches_of(recording, "k")) > 1000


def test_a_recorder_that_is_killed_leaves_what_it_has_written(program, tmp_path):
    running = program("--seconds", "60", "--rate", "200", "--parts", "kernels")
    path = tmp_path / "killed"
    code = (
        "import sys\n"
        "from amdgpu.telemetry import recorder\n"
        "told = False\n"
        "def progress(records, size):\n"
        "    global told\n"
        "    if records > 400 and size > 100_000 and not told:\n"
        "        told = True\n"
        "        print('enough', flush=True)\n"
        "recorder.record(sys.argv[1], pid=int(sys.argv[2]), on_progress=progress)\n"
    )
    recording_process = subprocess.Popen(
        [sys.executable, "-c", code, str(path), str(running.pid)], stdout=subprocess.PIPE, text=True
    )
    assert recording_process.stdout.readline() == "enough\n"
    recording_process.send_signal(signal.SIGKILL)
    recording_process.communicate()
    recording = recorder.replay(path)
    assert not recording.is_complete
    assert recording.snapshots
    # The program that was recorded goes on, and can be watched again.
    with attach.attach(running.pid) as process:
        assert process.totals()["devices"]["cpu:0"]["launches"]["aura"] > 0


def test_only_processes_all_and_none_can_be_recorded(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="'all'"):
        recorder.Recorder(tmp_path / "r", pid="everything")
    with pytest.raises(errors.ProcessGoneError):
        recorder.Recorder(tmp_path / "r", pid=2**22 + 1)
