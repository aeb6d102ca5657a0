"""`/metrics`: read by Prometheus's own parsers, linted, and under the names of other exporters."""

import re
import urllib.request

import amdgpu
import numpy as np
import pytest

pytest.importorskip("starlette")
from amdgpu._generated.metrics import METRICS
from amdgpu.server import compat
from amdgpu.telemetry import metrics_page
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open_metrics
from prometheus_client.parser import text_string_to_metric_families as parse_text
from server_client import running

OPEN_METRICS = "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5"
UNITS = (
    "seconds",
    "bytes",
    "ratio",
    "celsius",
    "watts",
    "joules",
    "hertz",
    "volts",
    "rpm",
    "info",
    "total",
    "factor",
    "second",
)
COUNTS = ("depth", "asleep")


@pytest.fixture(scope="module")
def server():
    with running() as started:
        yield started


def page(server, query="", accept="text/plain"):
    request = urllib.request.Request(f"{server.base_url}metrics{query}", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.headers["content-type"], answer.read().decode()


def launch(device):
    device.compile_kernel("__global__ void scraped(float* x) { x[threadIdx.x] = 1; }")[1, 4](np.zeros(4, "float32"))


def test_prometheus_s_parser_reads_the_page(server, device):
    launch(device)
    kind, text = page(server)
    assert kind == metrics_page.PROMETHEUS_TYPE
    families = {family.name: family for family in parse_text(text)}
    assert families["amdgpu_kernel_launches"].type == "counter"
    assert families["amdgpu_kernel_duration_seconds"].type == "histogram"


def test_openmetrics_is_served_where_it_is_asked_for(server, device):
    launch(device)
    kind, text = page(server, accept=OPEN_METRICS)
    assert kind == metrics_page.OPEN_METRICS_TYPE
    assert text.endswith("# EOF\n")
    assert {family.name for family in parse_open_metrics(text)} >= {"amdgpu_kernel_launches"}


@pytest.mark.parametrize(
    ("accept", "is_open"),
    [
        (None, False),
        ("", False),
        ("*/*", False),
        ("text/html", False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text;q=0.5,text/plain", False),
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", True),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=nonsense", False),
    ],
)
def test_accept_headers_choose_the_format(accept, is_open):
    assert metrics_page.wants_open_metrics(accept) == is_open


def test_names_are_as_prometheus_wants_them(server, device):
    launch(device)
    for family in parse_text(page(server)[1]):
        assert re.fullmatch(r"amdgpu_[a-z][a-z0-9_]*[a-z0-9]", family.name), family.name
        assert family.documentation, family.name
        last = family.name.rsplit("_", 1)[-1]
        assert last in (*UNITS, *COUNTS) or family.type == "counter", family.name
        assert not re.search(r"_(gauge|counter|histogram|metric)\b", family.name)
        for sample in family.samples:
            assert all(re.fullmatch(r"[a-z_]+", label) for label in sample.labels), sample


def test_other_processes_are_told_apart_by_their_number():
    other = {
        "counters": [
            {"metric": "amdgpu_kernel_launches_total", "labels": {"device": "cpu:0", "core": "aura"}, "value": 7.0}
        ],
        "gauges": [{"metric": "amdgpu_realtime_factor", "labels": {"network": 'a "quoted"\nname\\'}, "value": 0.25}],
        "histograms": [
            {
                "metric": "amdgpu_compile_seconds",
                "labels": {"target": "x"},
                "count": 3,
                "sum_seconds": 0.5,
                "buckets": [[0.001, 1], [0.1, 3]],
            }
        ],
    }
    for open_metrics, parse in ((False, parse_text), (True, parse_open_metrics)):
        own = amdgpu.telemetry.prometheus(open_metrics=open_metrics)
        merged = metrics_page.merge(
            own,
            amdgpu.telemetry.snapshot(),
            [(4711, other)],
            # The process of the tests has many kernels; none is counted with others here.
            limit=metrics_page.SeriesLimit(10_000),
            open_metrics=open_metrics,
        )
        samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in parse(merged)
            for sample in family.samples
            if sample.labels.get("pid") == "4711"
        }
        labels = (("core", "aura"), ("device", "cpu:0"), ("pid", "4711"))
        assert samples["amdgpu_kernel_launches_total", labels] == 7
        assert samples["amdgpu_realtime_factor", (("network", 'a "quoted"\nname\\'), ("pid", "4711"))] == 0.25
        assert samples["amdgpu_compile_seconds_count", (("pid", "4711"), ("target", "x"))] == 3
        assert len(merged.splitlines()) > len(own.splitlines())


GPU = {"device": "cuda:0", "kind": "cuda", "name": "Test GPU", "id": 0}
CPU = {"device": "cpu:0", "kind": "cpu", "name": "CPU", "id": 1}


def row(metric, value, **labels):
    return {"metric": metric, "labels": {"device": "cuda:0", **labels}, "value": value}


ROWS = [
    row("amdgpu_busy_ratio", 0.5, core="all"),
    row("amdgpu_busy_ratio", 0.9, core="aura"),
    row("amdgpu_memory_used_bytes", 3 << 30),
    row("amdgpu_memory_total_bytes", 8 << 30),
    row("amdgpu_temperature_celsius", 61.0, sensor="gpu"),
    row("amdgpu_temperature_celsius", 55.0, sensor="edge"),
    row("amdgpu_power_watts", 250.0, kind="package"),
    row("amdgpu_energy_joules_total", 12.5),
    row("amdgpu_clock_hertz", 1.98e9, domain="sm"),
    row("amdgpu_throttle_seconds_total", 0.5, reason="power"),
    {"metric": "amdgpu_busy_ratio", "labels": {"device": "cpu:0", "core": "all"}, "value": 0.1},
]


def values(text, parse=parse_text):
    """Values by the names on the page; the parser, which renames counters, has to read it all the same."""
    assert list(parse(text))
    found = re.findall(r"^(\w+)\{.*\} (\S+)$", text, re.MULTILINE)
    return {name: float(value) for name, value in found}


def test_dcgm_s_names_have_dcgm_s_units():
    text = compat.page("dcgm", ROWS, [GPU, CPU], open_metrics=False)
    assert values(text) == {
        "DCGM_FI_DEV_GPU_UTIL": 50,
        "DCGM_FI_DEV_FB_USED": 3072,
        "DCGM_FI_DEV_FB_FREE": 5120,
        "DCGM_FI_DEV_GPU_TEMP": 61,
        "DCGM_FI_DEV_POWER_USAGE": 250,
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 12500,
        "DCGM_FI_DEV_SM_CLOCK": 1980,
        "DCGM_FI_DEV_POWER_VIOLATION": 5e8,
    }
    assert 'gpu="0"' in text
    assert 'modelName="Test GPU"' in text


def test_amd_s_names_have_amd_s_units():
    found = values(compat.page("amd", ROWS, [GPU, CPU], open_metrics=False))
    assert found["gpu_gfx_activity"] == 50
    assert (found["gpu_used_vram"], found["gpu_total_vram"]) == (3072, 8192)
    assert found["gpu_energy_consumed"] == 12.5e6
    assert found["gpu_edge_temperature"] == 55


def test_foreign_names_can_be_openmetrics_too():
    text = compat.page("dcgm", ROWS, [GPU], open_metrics=True)
    assert values(text, parse_open_metrics)["DCGM_FI_DEV_GPU_UTIL"] == 50


@pytest.mark.parametrize("exporter", ["amd", "dcgm"])
def test_every_foreign_name_of_the_catalogue_is_served(exporter):
    served = {(rule.metric, rule.name) for rule in compat.RULES[exporter]}
    # A label, not a series; flows, of which a counter is none; a family of names.
    elsewhere = {"labels", "DCGM_FI_DRIVER_VERSION", "pcie_bandwidth", "gpu_violation", "xgmi_neighbor_tx_throughput"}
    for metric in METRICS:
        name = getattr(metric, exporter)
        if name is not None and name not in elsewhere:
            assert any(served_metric == metric.name for served_metric, _ in served), metric


def test_compat_is_chosen_by_the_query_or_by_the_server(server):
    assert "amdgpu_" not in re.sub(r"# HELP .*", "", page(server, "?compat=dcgm")[1])
    with running(compat="amd") as other:
        assert "amdgpu_" not in re.sub(r"# HELP .*", "", page(other)[1])
