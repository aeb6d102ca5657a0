"""Programs that the server watches: another process is started, seen, asked, and dies."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from server_client import TIMEOUT_SECONDS, client, running

PROGRAM = Path(__file__).parents[1] / "support" / "telemetry_program.py"


@pytest.fixture(scope="module")
def server():
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def program():
    """A small program that uses everything, until it is killed."""
    command = [sys.executable, str(PROGRAM), "--seconds", "300", "--rate", "100"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


@pytest.fixture
def watching(server, program):
    """A client that joined the telemetry topic, once the program has launched something."""
    with client(server) as connected:
        connected.join("gpu:telemetry")
        while True:
            kernels = connected.event("kernel_launched")["kernels"]
            if any(row["pid"] == program.pid for row in kernels):
                break
        yield connected


def rest(server, path):
    try:
        with urllib.request.urlopen(f"{server.base_url}api/v1/{path}", timeout=TIMEOUT_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_launches_of_another_process_are_told(watching, program):
    rows = []
    while not rows:
        rows = [row for row in watching.event("kernel_launched")["kernels"] if row["pid"] == program.pid]
    assert rows[0]["device"] == "cpu:0"
    assert rows[0]["duration_ns"] >= 0
    assert rows[0]["name"]


def test_totals_of_another_process_are_in_frames(server, watching):
    _, schema = watching.join("gpu:telemetry:cpu:0")
    names = [(metric["name"], tuple(metric["labels"].items())) for metric in schema["metrics"]]
    column = names.index(("amdgpu_kernel_launches_per_second", ()))
    while True:
        data = watching.until(lambda frame: isinstance(frame, bytes) and b"gpu:telemetry:cpu:0" in frame[:40])
        start = 3 + data[1] + data[2] + 12
        import numpy as np

        if np.frombuffer(data[start:], "<f4")[column] > 1:
            break


def test_profiles_name_the_busiest_kernels(watching, program):
    rows = []
    while not rows:
        rows = [row for row in watching.event("profile_update")["kernels"] if row["pid"] == program.pid]
    assert all(row["calls"] >= row["timed_calls"] >= 1 and row["seconds"] > 0 for row in rows)
    assert [row["busy_ratio"] for row in rows] == sorted((row["busy_ratio"] for row in rows), reverse=True)
    assert {"saxpy", "block_sum"} <= {row["name"] for row in rows if len(row["id"]) == 16}


def test_profiles_sum_the_boundaries_of_all_programs(watching, program):
    rows = []
    while not rows:
        rows = [row for row in watching.event("profile_update")["boundaries"] if program.pid in row["pids"]]
    assert {"from", "to", "name", "count", "total_seconds"} <= rows[0].keys()
    assert rows[0]["count"] >= 1


def test_metrics_of_another_process_carry_its_number(server, watching, program):
    from prometheus_client.parser import text_string_to_metric_families

    with urllib.request.urlopen(f"{server.base_url}metrics", timeout=TIMEOUT_SECONDS) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    launches = next(family for family in families if family.name == "amdgpu_kernel_launches")
    assert any(sample.labels.get("pid") == str(program.pid) and sample.value > 0 for sample in launches.samples)


def test_networks_of_another_process_tell_their_steps(watching, program):
    rows = []
    while not rows:
        rows = [row for row in watching.event("neural_update")["networks"] if row["pid"] == program.pid]
    assert rows[0]["name"]
    assert rows[0]["kind"] in ("neural_update", "network_step")


def test_processes_are_told_when_they_come(server, program):
    with client(server) as connected:
        connected.join("gpu:telemetry")
        pids = []
        while program.pid not in pids:
            pids = [process["pid"] for process in connected.event("process_update")["processes"]]


def test_who_joins_later_is_told_the_processes_that_are_there(server, watching, program):
    with client(server) as late:
        late.join("gpu:telemetry")
        processes = late.event("process_update")["processes"]
    assert program.pid in [process["pid"] for process in processes]


def test_active_kernels_say_why_they_have_no_occupancy(server, watching, program):
    watching.call("subscribe", {"coreType": "aura"}, topic="gpu:telemetry")
    reasons = {}
    while "processor" not in reasons.get("occupancy", ""):
        sample = watching.event("telemetry_update")
        for kernel in sample["activeKernels"]:
            if kernel["id"].startswith(f"{program.pid}:cpu:0:saxpy:"):
                assert (kernel["occupancy"], kernel["progress"]) == (None, None)
                reasons = kernel["absent"]
    assert reasons.keys() == {"occupancy", "progress"}


def test_occupancies_are_shares_of_what_a_unit_holds():
    from amdgpu.server.source import occupancy_of

    row = {"device": "hip:0", "target": "gfx1100", "occupancy": {"waves_per_unit": 16, "max_waves_per_unit": 64}}
    assert occupancy_of(row) == (0.25, "")
    unknown = row | {"occupancy": {"waves_per_unit": 16, "max_waves_per_unit": None}}
    assert occupancy_of(unknown)[0] is None
    assert "hip:0" in occupancy_of(unknown)[1]


def test_a_process_is_asked_for_everything(server, watching, program):
    status, answer = rest(server, "processes")
    assert status == 200
    assert program.pid in [process["pid"] for process in answer["processes"]]
    status, answer = rest(server, f"processes/{program.pid}/kernels")
    assert status == 200
    kernel = next(row for row in answer["kernels"] if row["name"] == "saxpy")
    status, answer = rest(server, f"processes/{program.pid}/kernels/{kernel['handle']}")
    assert status == 200
    assert "__global__" in answer["kernel"]["source"]
    assert answer["kernel"]["passes"]
    for what in ("snapshot", "memory", "networks", "graphs", "lanes"):
        status, answer = rest(server, f"processes/{program.pid}/{what}")
        assert status == 200, answer
    status, answer = rest(server, f"boundaries?pid={program.pid}")
    assert status == 200
    assert answer["boundaries"]


def test_a_kernel_that_is_not_there_is_404(server, watching, program):
    status, answer = rest(server, f"processes/{program.pid}/kernels/nothing")
    assert (status, answer["reason"]) == (404, "kernel-not-found")


def test_calls_give_what_rest_gives(server, watching, program):
    watching.join("gpu:api")
    status, response = watching.call("kernel:list", {"pid": program.pid})
    assert status == "ok"
    assert response["kernels"]
    status, response = watching.call("memory:map", {"pid": program.pid})
    assert (status, response["schema"]) == ("ok", "amdgpu.memory_map/1")


def test_sensors_have_a_history(server, watching):
    watching.join("gpu:api")
    status, response = watching.call("sensors:read")
    assert status == "ok"
    assert any(reading["labels"].get("device") == "cpu:0" for reading in response["readings"])
    payload = {"metric": "amdgpu_memory_used_bytes", "labels": {"device": "cpu:0"}, "tier": "raw"}
    points = []
    while not points:
        status, response = watching.call("history:query", payload)
        assert status == "ok", response
        points = response["series"][0]["mean"]
    (series,) = response["series"]
    assert series["unit"] == "bytes"
    assert len(series["time_ns"]) == len(series["min"]) == len(series["max"])
    status, packed = watching.call_binary("history:query", payload)
    assert status == "ok"
    assert packed["series"][0]["mean"].dtype == "float64"
    status, response = watching.call("history:query", payload | {"tier": "hourly"})
    assert (status, response["reason"]) == ("error", "invalid-argument")


def test_new_sensors_make_clients_join_again(server, watching, monkeypatch):
    from amdgpu.server.source import Source

    monkeypatch.setattr(Source, "read_layout_changed", lambda self: True)
    watching.until(lambda frame: isinstance(frame, list) and frame[3] == "phx_error")
    monkeypatch.undo()
    assert watching.join("gpu:telemetry")[0] == "ok"
    assert watching.frame()[2].size


def test_a_source_that_fails_is_said_once_and_the_rest_goes_on(server, watching, monkeypatch, caplog):
    from amdgpu.server.source import Source

    def fail(self):
        raise OSError("the sensors are gone")

    monkeypatch.setattr(Source, "frame", fail)
    watching.event("profile_update")
    watching.event("profile_update")
    monkeypatch.undo()
    watching.frame()
    assert caplog.text.count("frames cannot be sent") == 1


def test_a_stopped_process_is_an_error_and_holds_up_nobody(server, watching, program):
    watching.join("gpu:api")
    os.kill(program.pid, signal.SIGSTOP)
    try:
        ref = watching.push("gpu:api", "kernel:list", {"pid": program.pid})
        assert watching.call("device:list")[0] == "ok"
        watching.frame()
        answered = [frame for frame in watching.aside if isinstance(frame, list) and frame[1] == ref]
        status, response = (answered[0][4]["status"], answered[0][4]["response"]) if answered else watching.reply(ref)
        assert (status, response["reason"]) == ("error", "request-timeout")
    finally:
        os.kill(program.pid, signal.SIGCONT)


def test_a_process_that_dies_is_gone(server, watching, program):
    watching.join("gpu:api")
    program.kill()
    program.wait()
    watching.until(lambda frame: isinstance(frame, list) and frame[3] == "process_update")
    status, response = watching.call("kernel:list", {"pid": program.pid})
    assert (status, response["reason"]) == ("error", "process-gone")
    assert rest(server, f"processes/{program.pid}/kernels")[0] == 404
    assert watching.frame()[2].size
