"""`amdgpu record` and `replay`: recordings of real programs, damaged and cut ones too."""

import asyncio
import json
import os
import signal
import subprocess
import sys

import pytest
from cli_harness import WATCHED_PROGRAM, amdgpu, check_shape, document

PROGRAM = [sys.executable, WATCHED_PROGRAM, "--parts", "kernels,products,memory"]


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """The recording of a program of a second and a half."""
    folder = tmp_path_factory.mktemp("recording")
    environment = {"AMDGPU_CACHE_DIR": str(folder / "cache")}
    done = amdgpu("record", "--json", "one.rec", "--", *PROGRAM, "--seconds", "1.5", folder=folder, **environment)
    assert done.returncode == 0, done.stderr
    # The program's own lines stand before the document.
    told = json.loads(done.stdout[done.stdout.index('{\n  "schema"') :])
    assert told["records"] > 100
    assert told["bytes"] == (folder / "one.rec").stat().st_size
    check_shape("record", told)
    return folder / "one.rec"


def test_the_summary_has_every_launch(recording):
    content = document(amdgpu("replay", recording, "--summary", "--json"))
    assert content["schema"] == "amdgpu.replay/1"
    assert content["is_complete"] is True
    assert content["damage"] is None
    calls = {row["name"]: row["calls"] for row in content["kernels"]}
    assert calls["saxpy"] == calls["block_sum"] > 50
    assert content["compiles"]["count"] == 2
    assert content["kernel_cache"]["miss"] == 2
    assert content["seconds"] > 1
    assert content["readings"] >= 1
    check_shape("replay", content | {"boundaries": content["boundaries"][:1]})
    text = amdgpu("replay", recording, "--summary").stdout
    for word in ("saxpy", "telemetry_program.py", "looks at the sensors"):
        assert word in text


def test_one_picture_and_json_lines_of_a_recording(recording):
    done = amdgpu("replay", recording, "--once", "--at", "1.2")
    assert done.returncode == 0
    for word in ("cpu:0", "saxpy", "launches/s"):
        assert word in done.stdout
    done = amdgpu("replay", recording, "--json", "--interval", "0.5")
    frames = [json.loads(line) for line in done.stdout.splitlines()]
    assert {frame["schema"] for frame in frames} == {"amdgpu.top/1"}
    times = [frame["time_ns"] for frame in frames]
    assert times == sorted(times)
    assert (times[-1] - times[0]) / 1e9 == pytest.approx(
        document(amdgpu("replay", recording, "--summary", "--json"))["seconds"]
    )
    assert any(row["calls_per_second"] > 10 for frame in frames for row in frame["kernels"])


def test_cores_that_launch_nothing_are_busy_in_a_recording(tmp_path):
    call = [sys.executable, WATCHED_PROGRAM, "--parts", "products,spiking,learning", "--seconds", "1.5", "--rate", "0"]
    assert amdgpu("record", tmp_path / "cores.rec", "--", *call).returncode == 0
    lines = amdgpu("replay", tmp_path / "cores.rec", "--json", "--interval", "0.5").stdout.splitlines()
    devices = [device for line in lines for device in json.loads(line)["devices"] if device["device"] == "cpu:0"]
    for core in ("matrix", "neuromorphic"):
        assert max(device["core_busy_ratios"][core] for device in devices) > 0.05
        assert max(device["operations_per_second"][core] for device in devices) > 10


def test_the_live_view_plays_and_seeks(recording):
    pytest.importorskip("textual", reason="the extra `top` is not installed")
    from amdgpu.cli.top.app import TopApp
    from amdgpu.cli.top.recorded import RecordedSource
    from amdgpu.cli.watch import recordings

    async def run():
        source = RecordedSource(recordings.read(str(recording)))
        app = TopApp(source, interval_seconds=0.25)
        async with app.run_test(size=(100, 30)) as pilot:

            async def until(condition):
                for _ in range(400):
                    if condition():
                        return
                    await pilot.pause(0.025)
                raise AssertionError("it does not come")

            await until(lambda: app.shown is not None)
            await pilot.press("right")
            await until(lambda: source.is_over and app.shown.time_ns == source.end_ns)
            assert {row.name for row in app.shown.kernels} == {"saxpy", "block_sum"}
            await pilot.press("space", "left")
            await until(lambda: app.shown.time_ns == source.begin_ns)
            assert app.shown.processes[0].launches_per_second > 0

    asyncio.run(run())


def test_a_recording_is_explained(recording):
    told = document(amdgpu("explain", "--recording", recording, "--json"))
    assert told["subject"] == str(recording)
    assert told["seconds"] > 1
    assert all(finding["evidence"] for finding in told["findings"])


def test_a_running_process_is_recorded_for_a_while(tmp_path):
    call = [*map(str, PROGRAM), "--seconds", "3000"]
    environment = os.environ | {"AMDGPU_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environment) as process:
        process.stdout.readline()
        done = amdgpu("record", tmp_path / "two.rec", "--pid", process.pid, "--seconds", "0.6")
        explained = amdgpu("explain", "--pid", process.pid, "--seconds", "0.5", "--json")
        process.kill()
    assert done.returncode == 0, done.stderr
    assert "records" in done.stderr
    content = document(amdgpu("replay", tmp_path / "two.rec", "--summary", "--json"))
    assert [row["pid"] for row in content["processes"]] == [process.pid]
    assert content["launches_total"] > 0
    assert document(explained)["subject"] == f"process {process.pid}"


def test_a_program_that_is_killed_leaves_what_was_written(tmp_path):
    code = """
import os, signal, time, amdgpu, numpy as np
kernel = amdgpu.initialize_device("cpu:0").compile_kernel("__global__ void one(float* x) { x[0] += 1; }")
x = np.zeros(1, "float32")
until = time.monotonic() + 2.5
while time.monotonic() < until:
    kernel[1, 1](x)
    time.sleep(0.001)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = amdgpu(
        "record", "cut.rec", "--", sys.executable, "-c", code, folder=tmp_path, AMDGPU_CACHE_DIR=str(tmp_path)
    )
    assert done.returncode == 128 + signal.SIGKILL
    content = document(amdgpu("replay", tmp_path / "cut.rec", "--summary", "--json"))
    assert content["is_complete"] is False
    assert content["launches_total"] > 100
    assert "not ended properly" in amdgpu("replay", tmp_path / "cut.rec", "--summary").stdout


def test_a_recording_that_was_cut_off_shows_what_is_left(recording, tmp_path):
    whole = recording.read_bytes()
    cut = tmp_path / "cut.rec"
    cut.write_bytes(whole[: len(whole) // 2])
    done = amdgpu("replay", cut, "--summary", "--json")
    assert done.returncode == 0
    content = document(done)
    assert content["is_complete"] is False
    assert content["launches_total"] > 0
    assert amdgpu("replay", cut, "--once").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "nowhere.rec"], "there is no file nowhere.rec"),
        (["replay", "text.rec", "--once"], "text.rec"),
        (["replay", "text.rec", "--interval", "0"], "--interval"),
        (["explain", "--recording", "nowhere.rec"], "there is no file"),
        (["record", "x.rec"], "record what?"),
        (["record", "x.rec", "--pid", "999999999"], "999999999"),
        (["record", "x.rec", "--pid", "1", "--seconds", "-1"], "--seconds"),
        (["record", "x.rec", "--seconds", "1", "--", "true"], "--seconds"),
        (["record", "no/where/x.rec", "--", "true"], "no folder"),
        (["record", "x.rec", "--", "true"], "nothing was recorded"),
        (["record", "x.rec", "--", "not-a-program"], "on PATH"),
    ],
)
def test_what_cannot_be_recorded_or_replayed_is_explained(tmp_path, arguments, words):
    (tmp_path / "text.rec").write_text("this is no recording\n")
    done = amdgpu(*arguments, folder=tmp_path)
    assert done.returncode == (2 if words in ("--interval", "record what?", "--seconds") else 1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
