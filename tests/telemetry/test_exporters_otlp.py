"""Metrics over OTLP, taken by an HTTP receiver that reads them with OpenTelemetry's own messages."""

import http.server
import threading

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
pytest.importorskip("opentelemetry.exporter.otlp.proto.http.metric_exporter")

KERNEL = "__global__ void otlp_probe(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] += 1; }"
SNAPSHOT = {
    **{key: [] for key in ("boundaries", "records")},
    "schema": 1,
    "process_id": 1,
    "clock": {"monotonic_ns": 10**9, "unix_ns": 4_000_000_000 * 10**9},
    "counters": [
        {"metric": "amdgpu_energy_joules_total", "labels": {"device": "cuda:0"}, "value": 12.5},
        {"metric": "amdgpu_energy_joules_total", "labels": {"device": "cpu:0"}, "value": 7.0},
        {"metric": "amdgpu_spikes_total", "labels": {"network": "n"}, "value": 3.0},
    ],
    "gauges": [
        {
            "metric": "amdgpu_pcie_throughput_bytes_per_second",
            "labels": {"device": "cuda:0", "direction": "receive"},
            "value": 5.0,
        }
    ],
    "histograms": [
        {
            "metric": "amdgpu_compile_seconds",
            "labels": {"target": "x86_64"},
            "count": 10,
            "sum_seconds": 2.5,
            "p50_seconds": 0.1,
            "p99_seconds": 0.9,
            "max_seconds": 1.25,
            "buckets": [[0.1, 4], [0.5, 9]],
        }
    ],
}


class Receiver:
    """A collector: keeps every request, and answers with `status`."""

    def __init__(self):
        self.requests = []
        self.status = 200
        self.came = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = service.ExportMetricsServiceRequest()
                request.ParseFromString(body)
                with receiver.came:
                    receiver.requests.append((self.path, self.headers, request))
                    receiver.came.notify_all()
                self.send_response(receiver.status)
                self.send_header("Content-Type", "application/x-protobuf")
                self.end_headers()
                self.wfile.write(service.ExportMetricsServiceResponse().SerializeToString())

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def wait_for(self, count):
        with self.came:
            assert self.came.wait_for(lambda: len(self.requests) >= count, timeout=60)
        return self.requests

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def metrics_of(request):
    (resource,) = request.resource_metrics
    (scope,) = resource.scope_metrics
    return {metric.name: metric for metric in scope.metrics}


def labels_of(point):
    return {attribute.key: attribute.value.string_value for attribute in point.attributes}


def test_a_snapshot_arrives_whole(receiver):
    export = amdgpu.telemetry.export_otlp(
        receiver.url,
        headers={"X-Key": "k"},
        attributes={"host.name": "h"},
        interval_seconds=3600,
        source=lambda: SNAPSHOT,
    )
    path, headers, request = receiver.wait_for(1)[0]
    export.close()
    assert (path, headers["X-Key"]) == ("/v1/metrics", "k")
    resource = {entry.key: entry.value.string_value for entry in request.resource_metrics[0].resource.attributes}
    assert (resource["service.name"], resource["host.name"]) == ("amdgpu", "h")
    scope = request.resource_metrics[0].scope_metrics[0].scope
    assert (scope.name, scope.version) == ("amdgpu", amdgpu.__version__)

    metrics = metrics_of(request)
    assert list(metrics) == [
        "amdgpu_energy_joules",
        "amdgpu_spikes",
        "amdgpu_pcie_throughput_bytes_per_second",
        "amdgpu_compile_seconds",
        "hw.energy",
    ]
    energy = metrics["amdgpu_energy_joules"]
    assert energy.unit == "J"
    assert energy.description.startswith("Energy used")
    assert energy.sum.is_monotonic
    assert energy.sum.aggregation_temporality == 2
    assert [(labels_of(point), point.as_double) for point in energy.sum.data_points] == [
        ({"device": "cuda:0"}, 12.5),
        ({"device": "cpu:0"}, 7.0),
    ]
    now_ns = SNAPSHOT["clock"]["unix_ns"]
    assert all(0 < point.start_time_unix_nano <= point.time_unix_nano == now_ns for point in energy.sum.data_points)
    flow = metrics["amdgpu_pcie_throughput_bytes_per_second"]
    assert (flow.unit, flow.gauge.data_points[0].as_double) == ("By/s", 5.0)
    compile_seconds = metrics["amdgpu_compile_seconds"]
    (point,) = compile_seconds.histogram.data_points
    assert compile_seconds.unit == "s"
    assert (point.count, point.sum, point.max) == (10, 2.5, 1.25)
    assert not point.HasField("min")
    assert (list(point.explicit_bounds), list(point.bucket_counts)) == ([0.1, 0.5], [4, 5, 1])


def test_launches_of_this_process_are_exported_and_time_goes_on(receiver, device):
    kernel = device.compile_kernel(KERNEL)
    kernel[1, 64](np.zeros(64, "float32"), 64)
    with amdgpu.telemetry.export_otlp(receiver.url + "/v1/metrics", interval_seconds=3600) as export:
        receiver.wait_for(1)
        kernel[1, 64](np.zeros(64, "float32"), 64)
        export.flush()
    assert export.exports == 3
    assert export.failures == 0
    requests = receiver.wait_for(3)

    def launches(request):
        points = metrics_of(request)["amdgpu_kernel_launches"].sum.data_points
        return sum(point.as_double for point in points), points[0]

    (before, _), (after, point) = launches(requests[0][2]), launches(requests[1][2])
    assert after >= before + 1
    assert 0 < point.start_time_unix_nano < point.time_unix_nano


def test_exports_are_repeated_until_it_is_closed(receiver):
    export = amdgpu.telemetry.export_otlp(receiver.url, interval_seconds=0.01, source=lambda: SNAPSHOT)
    receiver.wait_for(3)
    export.close()
    count = len(receiver.requests)
    export.close()
    assert len(receiver.requests) == count == export.exports


@pytest.mark.filterwarnings("ignore:.*did not take the metrics:RuntimeWarning")
def test_a_collector_that_refuses_is_counted_and_raised_by_flush(receiver):
    receiver.status = 400
    export = amdgpu.telemetry.export_otlp(receiver.url, interval_seconds=3600, source=lambda: SNAPSHOT)
    receiver.wait_for(1)
    with pytest.raises(errors.ConnectionFailedError, match=r"127\.0\.0\.1"):
        export.flush()
    receiver.status = 200
    export.flush()
    export.close()
    assert (export.failures, export.exports) == (2, 4)


@pytest.mark.filterwarnings("ignore:.*did not take the metrics:RuntimeWarning")
def test_a_collector_that_is_not_there_ends_within_the_time_out():
    export = amdgpu.telemetry.export_otlp(
        "http://127.0.0.1:1", interval_seconds=3600, timeout_seconds=0.1, source=lambda: SNAPSHOT
    )
    with pytest.raises(errors.ConnectionFailedError):
        export.flush()
    export.close()
    assert export.failures == export.exports == 3


def test_times_that_are_none_are_refused():
    for arguments in ({"interval_seconds": 0}, {"timeout_seconds": -1}, {"interval_seconds": float("nan")}):
        with pytest.raises(errors.InvalidArgumentError, match="seconds"):
            amdgpu.telemetry.export_otlp(**arguments)


def hardware_of(rows):
    from amdgpu.telemetry.exporters import hardware

    return {
        name: [(row["labels"], row["value"]) for row in group] for (name, _, _), group in hardware.rows_of(rows).items()
    }


def reading(metric, value, **labels):
    return {"metric": metric, "labels": {"device": "cuda:0", **labels}, "value": value}


def test_hardware_has_the_conventions_names_and_attributes():
    gpu = {"hw.id": "cuda:0", "hw.type": "gpu"}
    found = hardware_of(
        [
            reading("amdgpu_busy_ratio", 0.5, core="all"),
            reading("amdgpu_busy_ratio", 0.1, core="video_decoder"),
            reading("amdgpu_busy_ratio", 0.9, core="all") | {"labels": {"device": "cpu:0", "core": "all"}},
            reading("amdgpu_memory_used_bytes", 7.0),
            reading("amdgpu_power_watts", 100.0, kind="average"),
            reading("amdgpu_power_watts", 120.0, kind="current"),
            reading("amdgpu_temperature_celsius", 61.0, sensor="memory"),
            reading("amdgpu_pcie_bytes_total", 5.0, direction="receive"),
            reading("amdgpu_ecc_errors_total", 1.0, severity="corrected"),
            reading("amdgpu_pcie_replays_total", 2.0),
            reading("amdgpu_spikes_total", 3.0),
        ]
    )
    sensor = {"hw.id": "cuda:0 memory", "hw.type": "temperature", "hw.parent": "cuda:0", "hw.sensor_location": "memory"}
    assert found == {
        "hw.gpu.utilization": [({**gpu, "hw.gpu.task": "general"}, 0.5)],
        "hw.gpu.memory.usage": [(gpu, 7.0)],
        "hw.power": [(gpu, 100.0)],
        "hw.temperature": [(sensor, 61.0)],
        "hw.gpu.io": [({**gpu, "network.io.direction": "receive"}, 5.0)],
        "hw.errors": [({**gpu, "error.type": "corrected"}, 1.0), ({**gpu, "error.type": "pcie_replay"}, 2.0)],
    }


def test_names_units_and_kinds_are_those_of_the_conventions():
    conventions = pytest.importorskip("opentelemetry.semconv._incubating.metrics.hw_metrics")
    from amdgpu.telemetry.exporters import hardware
    from opentelemetry.sdk.metrics import Counter, MeterProvider, ObservableGauge, UpDownCounter

    provider = MeterProvider()
    meter = provider.get_meter("conventions")
    kinds = {hardware.COUNTER: Counter, hardware.UP_DOWN: UpDownCounter, hardware.GAUGE: ObservableGauge}
    for convention in hardware.CONVENTIONS.values():
        make = getattr(conventions, "create_" + convention.name.replace(".", "_"))
        extra = [None] if convention.kind == hardware.GAUGE else []
        instrument = make(meter, *extra)
        assert (instrument.name, instrument.unit) == (convention.name, convention.unit)
        assert isinstance(instrument, kinds[convention.kind]), convention.name
    provider.shutdown()
