"""Telemetry for other tools, read back by what others wrote: Perfetto's messages, prometheus_client, an OTLP receiver."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from amdgpu._generated.metrics import METRICS
from amdgpu.telemetry import exporters

KERNEL = "__global__ void exported_probe(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }"
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


@pytest.fixture
def launches(device):
    """Three launches and a product are among the recent records."""
    kernel = device.compile_kernel(KERNEL)
    for _ in range(3):
        kernel[1, 64](np.zeros(64, "float32"), 64)
    amdgpu.matrix_multiply(np.eye(8, dtype="float32"), np.eye(8, dtype="float32"))


@pytest.fixture
def messages():
    return pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")


def unknown_fields(message):
    """Numbers of fields that the message's schema has not, at any depth."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = [field.field_number for field in UnknownFieldSet(message)]
    for descriptor, value in message.ListFields():
        if descriptor.message_type is not None:
            for inner in value if isinstance(value, Sequence) else [value]:
                found += unknown_fields(inner)
    return found


class Trace:
    """A Perfetto trace with its words in place of their numbers."""

    def __init__(self, data, messages):
        trace = messages.Trace()
        assert trace.ParseFromString(data) == len(data)
        assert not unknown_fields(trace), "what the schema does not know is lost in a viewer"
        self.tracks = {}
        self.events = []
        self.clocks = None
        words = defaultdict(dict)
        for packet in trace.packet:
            assert packet.trusted_packet_sequence_id > 0
            for table in ("event_categories", "event_names", "debug_annotation_names"):
                for word in getattr(packet.interned_data, table):
                    assert word.iid not in words[table]
                    words[table][word.iid] = word.name
            kind = packet.WhichOneof("data")
            if kind == "clock_snapshot":
                self.clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
                assert packet.trace_packet_defaults.timestamp_clock_id == 3
            elif kind == "track_descriptor":
                descriptor = packet.track_descriptor
                assert descriptor.uuid not in self.tracks
                assert not descriptor.parent_uuid or descriptor.parent_uuid in self.tracks
                self.tracks[descriptor.uuid] = descriptor
            else:
                assert kind == "track_event"
                event = packet.track_event
                assert event.track_uuid in self.tracks
                annotations = {
                    words["debug_annotation_names"][note.name_iid]: getattr(note, note.WhichOneof("value"))
                    for note in event.debug_annotations
                }
                category = [words["event_categories"][iid] for iid in event.category_iids]
                name = words["event_names"].get(event.name_iid)
                self.events.append((packet.timestamp, event, name, category, annotations))

    def slices(self):
        """(track, name, category, start, duration, annotations); asserts that begins and ends pair up on every track."""
        open_slices = defaultdict(list)
        found = []
        # Readers sort by time; what happens at one time stays in the order of the file.
        for time_ns, event, name, category, annotations in sorted(self.events, key=lambda entry: entry[0]):
            stack = open_slices[event.track_uuid]
            if event.type == BEGIN:
                stack.append((name, category, time_ns, annotations))
            elif event.type == END:
                opened, its_category, start_ns, its_annotations = stack.pop()
                found.append((event.track_uuid, opened, its_category, start_ns, time_ns - start_ns, its_annotations))
            elif event.type == INSTANT:
                found.append((event.track_uuid, name, category, time_ns, 0, annotations))
        assert not any(open_slices.values())
        return found

    def track_name(self, uuid):
        descriptor = self.tracks[uuid]
        return descriptor.thread.thread_name if descriptor.HasField("thread") else descriptor.name


def test_a_perfetto_trace_has_every_record_of_the_snapshot(launches, messages):
    snapshot = amdgpu.telemetry.snapshot()
    trace = Trace(exporters.perfetto(snapshot), messages)
    names = snapshot["names"]["names"]
    expected = sorted(
        (record["start_ns"], record["duration_ns"], record["kind"], names[record["name_id"]] or record["kind"])
        for record in snapshot["records"]
    )
    found = sorted((start, duration, *category, name) for _, name, category, start, duration, _ in trace.slices())
    assert found == expected
    assert trace.clocks == {3: snapshot["clock"]["monotonic_ns"], 1: snapshot["clock"]["unix_ns"]}


def test_launches_stand_on_the_stream_of_their_device(launches, messages):
    trace = Trace(exporters.perfetto(amdgpu.telemetry.snapshot()), messages)
    probes = [entry for entry in trace.slices() if entry[1] == "exported_probe" and entry[2] == ["launch"]]
    assert len(probes) >= 3
    for uuid, _, _, _, duration, annotations in probes:
        stream = trace.tracks[uuid]
        assert trace.track_name(uuid).startswith(("stream", "no stream"))
        device = trace.tracks[stream.parent_uuid]
        assert device.name == "cpu:0"
        assert trace.tracks[device.parent_uuid].process.pid == amdgpu.telemetry.snapshot()["process_id"]
        assert duration > 0
        assert annotations["core"] == "aura"
        assert annotations["value"] == 64


def synthetic(records, names=("", "other", "work"), process_id=4242):
    """A snapshot with these records: (kind, start, duration, thread)."""
    return {
        **{key: [] for key in ("counters", "gauges", "histograms", "boundaries")},
        "schema": 1,
        "process_id": process_id,
        "enabled": True,
        "clock": {"monotonic_ns": 10**9, "unix_ns": 1_700_000_000 * 10**9},
        "names": {"names": list(names), "threads": [[7, "worker"]], "devices": ["cpu:0"]},
        "records_emitted": len(records),
        "records_lost": 0,
        "names_refused": 0,
        "overhead_ratio": None,
        "records": [
            {
                "kind": kind,
                "core": "none",
                "from": None,
                "to": None,
                "device": None,
                "stream": None,
                "flags": 0,
                "name_id": 2,
                "thread": thread,
                "correlation": 0,
                "start_ns": start,
                "duration_ns": duration,
                "value": 0,
                "detail": [0, 0],
            }
            for kind, start, duration, thread in records
        ],
    }


def test_slices_that_overlap_get_lanes_and_keep_their_times(messages):
    records = [
        ("marker", 0, 10, 7),
        ("marker", 5, 10, 7),
        ("marker", 6, 2, 7),
        ("marker", 15, 1, 7),
        ("marker", 3, 0, 7),
    ]
    trace = Trace(exporters.perfetto(synthetic(records)), messages)
    slices = trace.slices()
    assert sorted((start, duration) for *_, start, duration, _ in slices) == sorted((s, d) for _, s, d, _ in records)
    assert {trace.track_name(uuid) for uuid, *_ in slices} == {"worker"}
    assert len({uuid for uuid, *_ in slices}) == 2


def test_any_records_give_a_trace_whose_slices_pair_up(messages):
    random = np.random.default_rng(11)
    for _ in range(60):
        count = int(random.integers(0, 65))
        times = random.integers(0, 60, (count, 2))
        records = [("marker", int(start), int(length), 7) for start, length in times]
        trace = Trace(exporters.perfetto(synthetic(records)), messages)
        found = sorted((start, duration) for *_, start, duration, _ in trace.slices())
        assert found == sorted((start, duration) for _, start, duration, _ in records)


def test_slices_past_the_last_lane_are_there_as_instants(messages):
    # Each starts later and ends later than the one before: no two can nest.
    records = [("marker", start, 1000, 7) for start in range(80)]
    slices = Trace(exporters.perfetto(synthetic(records)), messages).slices()
    assert len(slices) == 80
    instants = [annotations for *_, duration, annotations in slices if duration == 0]
    assert [annotations["duration_ns"] for annotations in instants] == [1000] * (80 - 64)


def test_traces_of_two_processes_are_one_when_written_one_after_the_other(messages):
    readings = [{"metric": "amdgpu_queue_depth", "labels": {"device": "cpu:0"}, "value": 1.0, "time_ns": 5}]
    both = b"".join(
        exporters.perfetto(synthetic([("marker", start, 10, 7)], process_id=pid), readings)
        for start, pid in ((100, 4242), (200, 4243))
    )
    # Tracks that had the same number would stop the reader.
    trace = messages.Trace.FromString(both)
    uuids = [packet.track_descriptor.uuid for packet in trace.packet if packet.HasField("track_descriptor")]
    assert len(set(uuids)) == len(uuids)
    assert {packet.trusted_packet_sequence_id for packet in trace.packet} == {4242, 4243}
    assert {packet.track_descriptor.process.pid for packet in trace.packet} == {0, 4242, 4243}


def test_readings_become_counters_with_units_on_their_device(messages):
    readings = [
        {
            "metric": "amdgpu_power_watts",
            "labels": {"device": "cuda:0", "kind": "package"},
            "value": value,
            "time_ns": at,
        }
        for value, at in ((100.5, 2000), (99.0, 1000), (None, 3000))
    ]
    readings.append({"metric": "amdgpu_queue_depth", "labels": {}, "value": 3.0, "time_ns": 1500, "reason": None})
    trace = Trace(exporters.perfetto(synthetic([]), readings), messages)
    values = [
        (
            trace.track_name(event.track_uuid),
            trace.tracks[event.track_uuid].counter.unit_name,
            time,
            event.double_counter_value,
        )
        for time, event, *_ in trace.events
        if event.type == COUNTER
    ]
    assert values == [
        ("amdgpu_power_watts package", "watts", 1000, 99.0),
        ("amdgpu_power_watts package", "watts", 2000, 100.5),
        ("amdgpu_queue_depth", "", 1500, 3.0),
    ]
    power = next(track for track in trace.tracks.values() if track.name.startswith("amdgpu_power"))
    assert trace.tracks[power.parent_uuid].name == "cuda:0"


def test_what_is_no_snapshot_is_refused():
    for call in (exporters.perfetto, exporters.ndjson, exporters.open_metrics):
        with pytest.raises(errors.InvalidMessageError, match="snapshot"):
            call({"records": 1})
    with pytest.raises(errors.InvalidMessageError, match="readings"):
        exporters.perfetto(synthetic([]), [{"metric": 1}])


def test_files_are_written_and_a_folder_that_is_missing_is_named(launches, tmp_path, messages):
    path = tmp_path / "run.pftrace"
    assert amdgpu.telemetry.write_perfetto_trace(path) == path.stat().st_size
    assert any(entry[1] == "exported_probe" for entry in Trace(path.read_bytes(), messages).slices())
    lines = tmp_path / "run.ndjson"
    assert amdgpu.telemetry.write_ndjson(str(lines)) == lines.stat().st_size
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert {row["schema"] for row in rows} == {1}
    assert any(row["name"] == "exported_probe" and row["kind"] == "launch" for row in rows)
    for write in (amdgpu.telemetry.write_perfetto_trace, amdgpu.telemetry.write_ndjson):
        with pytest.raises(errors.WriteFailedError, match="nowhere"):
            write(tmp_path / "nowhere" / "file")


def test_lines_of_a_snapshot_are_those_of_its_records():
    text = exporters.ndjson(synthetic([("marker", 10**9, 5, 7), ("marker", 10**9 + 1, 0, 7)]))
    rows = [json.loads(line) for line in text.splitlines()]
    assert [(row["name"], row["unix_ns"]) for row in rows] == [
        ("work", 1_700_000_000 * 10**9),
        ("work", 1_700_000_000 * 10**9 + 1),
    ]


def test_every_metric_is_read_by_the_openmetrics_parser():
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    snapshot = synthetic([])
    for row in METRICS:
        labels = {label: f'odd "{label}"\\\n' for label in row.labels}
        if row.kind == "histogram":
            sample = {"count": 3, "sum_seconds": 0.5, "p50_seconds": 0.1, "p99_seconds": 0.2, "max_seconds": 0.3}
            snapshot["histograms"].append(
                {"metric": row.name, "labels": labels, **sample, "buckets": [[0.001, 1], [0.25, 2]]}
            )
        else:
            snapshot[f"{row.kind}s"].append({"metric": row.name, "labels": labels, "value": 1.5})
    families = {
        family.name: family for family in parser.text_string_to_metric_families(exporters.open_metrics(snapshot))
    }
    assert len(families) == len(METRICS)
    for row in METRICS:
        family = families[row.name.removesuffix("_total")]
        assert family.type == row.kind
        assert family.documentation == row.meaning
        assert all(
            sample.labels.items() >= {label: f'odd "{label}"\\\n' for label in row.labels}.items()
            for sample in family.samples
        )


def test_the_page_of_this_process_is_read_by_the_openmetrics_parser(launches):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    page = exporters.open_metrics(amdgpu.telemetry.snapshot())
    families = {family.name: family for family in parser.text_string_to_metric_families(page)}
    assert families["amdgpu_kernel_duration_seconds"].unit == "seconds"
    assert families["amdgpu_kernel_launches"].samples[0].value >= 3


def test_exporters_load_nothing_until_they_are_used():
    program = (
        "import sys, amdgpu.telemetry; print([m for m in ('opentelemetry', 'requests', 'google') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
