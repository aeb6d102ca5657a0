"""The sweep of `test_awkward_arguments.py` over telemetry: the bus, sensors, recordings, watching, exporters, the server."""

from __future__ import annotations

import os
from pathlib import Path

import amdgpu
import pytest
from amdgpu import errors, telemetry
from amdgpu.telemetry import attach, exporters, recorder, sensors
from amdgpu.telemetry.long_term import LongTermHistory
from awkward import Call, strays


def is_long(seconds: object) -> bool:
    """Waiting that is meant to be long, or to have no end."""
    return seconds is None or (isinstance(seconds, int | float) and seconds > 0.1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A text is a path, too: what is written lands here."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def calls_of_the_bus(folder: Path) -> dict[str, Call]:
    snapshot = telemetry.snapshot()

    def events(capacity, timeout):
        if not is_long(timeout):
            next(telemetry.events(capacity=capacity, timeout_seconds=timeout), None)

    return {
        "sample": (telemetry.sample, ("cpu:0", "aura")),
        "prometheus": (lambda form: telemetry.prometheus(open_metrics=form), (False,)),
        "set_enabled": (telemetry.set_enabled, (True,)),
        "events": (events, (16, 0.0)),
        "write_chrome_trace": (telemetry.write_chrome_trace, (folder / "a.json",)),
        "write_ndjson": (telemetry.write_ndjson, (folder / "a.ndjson",)),
        "write_perfetto_trace": (telemetry.write_perfetto_trace, (folder / "a.pftrace", [])),
        "perfetto": (exporters.perfetto, (snapshot, sensors.read())),
        "ndjson": (exporters.ndjson, (snapshot,)),
        "open_metrics": (exporters.open_metrics, (snapshot,)),
    }


def calls_of_sensors(sampler: sensors.Sampler, folder: Path) -> dict[str, Call]:
    frame = sampler.frame(["cpu:0"], ["amdgpu_busy_ratio"])
    return {
        "history": (sampler.history, (0, "raw", 0, 10**18)),
        "frame_values": (sampler.frame_values, (["cpu:0"], ["amdgpu_busy_ratio"])),
        "a metric": (lambda metric: sampler.frame(["cpu:0"], [metric]), ({"name": "amdgpu_busy_ratio"},)),
        "labels": (lambda labels: sampler.frame(["cpu:0"], [{"name": "amdgpu_busy_ratio", "labels": labels}]), ({},)),
        "set_tails": (frame.set_tails, (b"",)),
    }


def calls_of_histories(folder: Path) -> dict[str, Call]:
    history = LongTermHistory(folder / "history")

    def read(metric, labels, start, end):
        history.read(metric, labels, start_ns=start, end_ns=end)

    return {
        "LongTermHistory": (lambda place, tier: LongTermHistory(place, tier=tier), (folder / "history", "1hz")),
        "read": (read, ("amdgpu_busy_ratio", {}, 0, 1)),
        "prune": (history.prune, (3600.0,)),
    }


def calls_of_recordings(folder: Path) -> dict[str, Call]:
    kept = folder / "kept"
    with recorder.Recorder(kept, with_readings=False) as recording:
        recording.take()
    replayed = recorder.replay(kept)

    def record(path, pid, duration, progress):
        if not is_long(duration):
            recorder.record(path, pid=pid, duration=duration, on_progress=progress)

    def take(seconds):
        with recorder.Recorder(folder / "taken", with_readings=False) as recording:
            recording.take(0.01 if is_long(seconds) else seconds)

    def recorder_of(path, pid, with_readings):
        with recorder.Recorder(path, pid=pid, with_readings=with_readings):
            pass

    def start(seconds, capacity):
        try:
            recorder.start(seconds, capacity)
        finally:
            recorder.stop()

    recorder.start()
    recorder.save(folder / "saved")
    recorder.stop()
    return {
        "start": (start, (1.0, 1 << 20)),
        "record": (record, (folder / "b", None, 0.0, None)),
        "Recorder": (recorder_of, (folder / "c", None, False)),
        "take": (take, (0.0,)),
        "replay": (recorder.replay, (kept,)),
        "iterate": (lambda first, last: list(replayed.iterate(start_ns=first, end_ns=last)), (0, 10**18)),
        "snapshot_at": (replayed.snapshot_at, (10**18,)),
    }


def calls_of_watching(process: attach.Process, watcher: attach.Watcher) -> dict[str, Call]:
    def records(capacity, timeout, interval, kinds):
        if not is_long(timeout):
            process.records(capacity=capacity, timeout_seconds=timeout, interval_seconds=interval, kinds=kinds)

    def poll(seconds):
        watcher.poll(0.01 if is_long(seconds) else seconds)

    def watch(interval, kinds, capacity, totals):
        with attach.Watcher(interval_seconds=interval, kinds=kinds, capacity=capacity, totals_seconds=totals):
            pass

    def attached(pid):
        attach.attach(pid).close()

    return {
        "processes": (lambda limit: None if is_long(limit) else attach.processes(limit), (0.0,)),
        "attach": (attached, (os.getpid(),)),
        "request": (process.request, ("totals", 1.0)),
        "an option": (lambda records: process.request("snapshot", records=records), (1,)),
        "snapshot": (lambda records: process.snapshot(records=records), (1,)),
        "memory": (lambda size: process.memory(size_bytes=size), (1024,)),
        "records": (records, (16, 0.0, 0.0, ["launch"])),
        "Watcher": (watch, (0.004, ["launch"], 16, 0.1)),
        "poll": (poll, (0.0,)),
    }


def calls_of_the_server() -> dict[str, Call]:
    pytest.importorskip("uvicorn")

    def serve(host, port, token, anonymous, execute, compat, hosts, origins, certificate):
        telemetry.serve(
            host,
            port,
            token=token,
            allow_anonymous=anonymous,
            allow_execute=execute,
            compat=compat,
            allowed_hosts=hosts,
            allowed_origins=origins,
            certificate=certificate,
        ).close()

    return {
        "serve": (serve, ("127.0.0.1", 0, "a-token-of-more-than-16", False, False, None, (), (), None)),
    }


def calls_of_the_collector() -> dict[str, Call]:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

    def export(endpoint, headers, interval, timeout, attributes, source):
        telemetry.export_otlp(
            endpoint,
            headers=headers,
            interval_seconds=interval,
            timeout_seconds=timeout,
            attributes=attributes,
            source=source,
        ).close()

    return {"export_otlp": (export, ("http://127.0.0.1:9", {}, 60.0, 0.01, {}, telemetry.snapshot))}


@pytest.mark.filterwarnings("ignore")
def test_the_bus_raises_errors_of_its_own(folder):
    try:
        assert strays(calls_of_the_bus(folder)) == []
    finally:
        telemetry.set_enabled(True)


@pytest.mark.filterwarnings("ignore")
def test_sensors_raise_errors_of_their_own(folder):
    with sensors.Sampler() as sampler:
        assert strays(calls_of_sensors(sampler, folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_histories_raise_errors_of_their_own(folder):
    pytest.importorskip("pyarrow")
    assert strays(calls_of_histories(folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_recordings_raise_errors_of_their_own(folder):
    assert strays(calls_of_recordings(folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_watching_raises_errors_of_its_own(folder):
    amdgpu.initialize_device("cpu:0").close()
    attach.listen()
    with attach.attach() as process, attach.Watcher() as watcher:
        assert strays(calls_of_watching(process, watcher)) == []


@pytest.mark.filterwarnings("ignore")
def test_the_server_raises_errors_of_its_own():
    assert strays(calls_of_the_server()) == []


@pytest.mark.filterwarnings("ignore")
def test_the_collector_raises_errors_of_its_own():
    assert strays(calls_of_the_collector()) == []


def test_a_token_of_another_type_is_not_shown():
    pytest.importorskip("uvicorn")
    with pytest.raises(errors.InvalidTypeError, match="type list") as raised:
        telemetry.serve(port=0, token=["half-of-a-secret"])
    assert "half-of-a-secret" not in str(raised.value)
