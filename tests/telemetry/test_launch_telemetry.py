"""What is counted, timed and recorded of launches, cache requests and streams; each in a process of its own, whose bus nobody else uses."""

import json
from pathlib import Path

import pytest

SETUP = """
import json, threading
import amdgpu
import numpy as np
from amdgpu.telemetry import attach

SOURCE = '''
extern "C" __global__ void hot(float* x) { x[threadIdx.x] += 1.0f; }
extern "C" __global__ void slow(float* x) {
    float sum = 0.0f;
    for (int i = 0; i < 200000; ++i) sum = sum * 0.999f + x[i & 7];
    x[threadIdx.x] = sum;
}
'''
device = amdgpu.initialize_device("cpu:0", ["aura"])

def kernels():
    with attach.attach() as process:
        return {(row["name"], row["is_checked"]): row for row in process.kernels()}

def counted(metric, **labels):
    rows = amdgpu.telemetry.snapshot()["counters"]
    return sum(
        row["value"] for row in rows if row["metric"] == metric and labels.items() <= row["labels"].items()
    )

def durations(kernel):
    rows = amdgpu.telemetry.snapshot()["histograms"]
    return next(row for row in rows if row["labels"].get("kernel") == kernel)
"""
LAUNCHES = 40_000


@pytest.fixture
def found(run_python):
    """What a program says, as JSON, behind `SETUP`."""
    return lambda program: json.loads(run_python(SETUP + program).stdout)


def test_hot_launches_are_counted_exactly_and_timed_in_a_sample(found):
    said = found(f"""
hot = device.compile_kernel(SOURCE, name="hot")
x = np.zeros(8, "float32")
launch = hot.prepare(1, 8, x)
for _ in range({LAUNCHES}):
    launch()
row = kernels()["hot", False]
print(json.dumps([row["calls"], row["timed_calls"], row["calls_are_sampled"], float(x[0]),
    counted("amdgpu_kernel_launches_total", device="cpu:0"), durations("hot")["count"], row["seconds"],
    durations("hot")["sum_seconds"]]))
""")
    calls, timed, is_sampled, sum_, launches, weighed, seconds, weighed_seconds = said
    assert (calls, launches, sum_, is_sampled) == (LAUNCHES, LAUNCHES, LAUNCHES, True)
    # All of the first, and one in 64 of the others.
    assert 1024 <= timed < LAUNCHES / 10
    # A launch of the sample weighs as much in the histogram as the 64 that it stands for.
    assert abs(weighed - LAUNCHES) < LAUNCHES * 0.02
    # So does the time of all of them.
    assert seconds == pytest.approx(weighed_seconds, rel=0.02)


def test_launches_that_take_their_time_are_all_timed(found):
    said = found("""
slow = device.compile_kernel(SOURCE, name="slow")
x = np.zeros(8, "float32")
for _ in range(1100):
    slow[1, 1](x)
row = kernels()["slow", False]
print(json.dumps([row["calls"], row["timed_calls"], row["calls_are_sampled"], durations("slow")["count"]]))
""")
    assert said == [1100, 1100, False, 1100]


def test_every_launch_has_a_record_while_somebody_takes_them_all(found):
    said = found("""
hot = device.compile_kernel(SOURCE, name="hot")
launch = hot.prepare(1, 8, np.zeros(8, "float32"))
for _ in range(5000):
    launch()
# Steps of which each fits into the ring of a thread, so that the collector loses none.
records = []
with attach.attach() as process:
    stream = process.records(kinds=["launch"], timeout_seconds=0.2)
    for _ in range(10):
        for _ in range(300):
            launch()
        for row in stream:
            records.append(row["name"])
            if len(records) % 300 == 0:
                break
print(json.dumps([len(records), sorted(set(records))]))
""")
    assert said == [3000, ["hot"]]


def test_who_wants_the_times_of_a_launch_gets_them_each_time(found):
    said = found("""
hot = device.compile_kernel(SOURCE, name="hot")
x = np.zeros(8, "float32")
launch = hot.prepare(1, 8, x)
for _ in range(2000):
    launch()
taken = [device.execute(hot, x, grid=1, block=8).execution_time for _ in range(200)]
amdgpu.telemetry.set_enabled(False)
taken += [device.execute(hot, x, grid=1, block=8).execution_time for _ in range(10)]
print(json.dumps([min(taken) > 0, kernels()["hot", False]["calls"]]))
""")
    assert said == [True, 2210]


def test_a_kernel_and_its_checked_twin_have_times_of_their_own(found):
    plain, checked = found("""
x = np.zeros(8, "float32")
for checked, launches in ((False, 3), (True, 5)):
    kernel = device.compile_kernel(SOURCE, name="hot", checked=checked)
    for _ in range(launches):
        kernel[1, 8](x)
rows = kernels()
print(json.dumps([rows["hot", False], rows["hot", True]]))
""")
    assert (plain["calls"], plain["timed_calls"]) == (3, 3)
    assert (checked["calls"], checked["timed_calls"]) == (5, 5)
    assert plain["seconds"] != checked["seconds"]


def test_a_launch_in_a_stream_is_told_before_who_waits_for_it_goes_on(found):
    said = found("""
hot = device.compile_kernel(SOURCE, name="hot")
stream = device.create_stream()
late = 0
for number in range(1, 301):
    hot[1, 8, 0, stream](np.zeros(8, "float32"))
    if number % 2:
        stream.synchronize()
    else:
        stream.record().synchronize()
    rows = amdgpu.telemetry.snapshot()["records"]
    late += sum(row["kind"] == "launch" for row in rows) != number
print(json.dumps(late))
""")
    assert said == 0


def test_cache_requests_are_recorded_with_their_answers(found):
    program = """
device.compile_kernel(SOURCE, name="hot")
device.compile_kernel(SOURCE, name="hot")
rows = [row for row in amdgpu.telemetry.snapshot()["records"] if row["kind"] == "cache_request"]
print(json.dumps([[row["value"] for row in rows], all(row["duration_ns"] > 0 for row in rows),
    {answer: counted("amdgpu_kernel_cache_requests_total", result=answer) for answer in ("miss", "memory", "disk")}]))
"""
    # 0 miss, 1 memory, 2 disk.
    assert found(program) == [[0, 1], True, {"miss": 1, "memory": 1, "disk": 0}]
    assert found(program) == [[2, 1], True, {"miss": 0, "memory": 1, "disk": 1}]


def test_the_queue_depth_of_a_stream_tells_what_waits(found):
    said = found("""
hot = device.compile_kernel(SOURCE, name="hot")
x = np.zeros(8, "float32")

def depths():
    rows = amdgpu.telemetry.snapshot()["gauges"]
    return {row["labels"]["stream"]: row["value"] for row in rows if row["metric"] == "amdgpu_queue_depth"}

stream = device.create_stream()
before = depths()
gate = device.create_stream()
held, opened = threading.Event(), threading.Event()
slow = device.compile_kernel(SOURCE, name="slow")
for _ in range(50):
    slow[1, 1, 0, gate](x)
stream.wait_event(gate.record())
for _ in range(4):
    hot[1, 8, 0, stream](x)
waiting = depths()
stream.synchronize()
after = depths()
own = str(stream.id)
del stream
print(json.dumps([before, waiting.get(own, 0), after.get(own), own in depths(),
    "amdgpu_queue_depth" in amdgpu.telemetry.prometheus()]))
""")
    before, waiting, after, is_there, is_exported = said
    assert before == {}
    # The launches, and the marks around them by which they are timed.
    assert waiting >= 4
    assert after == 0
    assert not is_there
    assert is_exported


def test_launches_inside_networks_have_times(found):
    rows, weighed, busy_seconds = found(f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from telemetry_program import SPIKING
amdgpu.Network(SPIKING, device="cpu:0").run(0.3)
rows = [row for row in kernels().values() if row["core"] == "neuromorphic" and row["calls"]]
with attach.attach() as process:
    totals = process.totals()["devices"]["cpu:0"]
print(json.dumps([rows, {{row["name"]: durations(row["name"])["count"] for row in rows}},
    totals["busy_seconds"]["neuromorphic"]]))
""")
    assert rows
    for row in rows:
        # A stretch of the run in which no launch was timed is counted alone.
        assert 0 < weighed[row["name"]] <= row["calls"]
        assert 1 <= row["timed_calls"] < row["calls"]
        assert 0 < row["mean_seconds"] < 1
    assert busy_seconds > 0


def test_kernels_that_run_for_spikes_only_take_no_longer_than_the_run(found):
    text = (Path(__file__).parents[1] / "neuro_validation" / "networks" / "cuba_stdp.net").read_text(encoding="utf-8")
    spent, wall = found(f"""
import time
network = amdgpu.Network({text!r}, device="cpu:0")
begin = time.monotonic()
network.run(0.05)
wall = time.monotonic() - begin
names = [row["name"] for row in kernels().values() if row["core"] == "neuromorphic" and row["calls"]]
print(json.dumps([sum(durations(name)["sum_seconds"] for name in names), wall]))
""")
    # Their launches are made for far more blocks than there are spikes. Ten times: a run of the sample may have been interrupted.
    assert 0 < spent < 10 * wall


def test_kernels_of_a_graph_share_evenly_where_the_time_of_one_is_not_known(found):
    said = found("""
slow = device.compile_kernel(SOURCE, name="slow")
hot = device.compile_kernel(SOURCE, name="hot")
x = amdgpu.zeros(8, "float32", device="cpu:0")
for _ in range(3):
    slow[1, 1](x)
before = kernels()["slow", False]["seconds"]
with amdgpu.CapturedGraph() as graph:
    slow[1, 1](x)
    hot[1, 8](x)
for _ in range(20):
    graph.replay()
rows = kernels()
print(json.dumps([rows["slow", False]["seconds"] - before, rows["hot", False]["seconds"]]))
""")
    known, unknown = said
    assert unknown == pytest.approx(known)
    assert unknown > 0


@pytest.mark.alone
def test_members_of_a_batch_are_busy_as_long_as_they_are_stepped(found):
    text = (Path(__file__).parents[1] / "neuro_validation" / "networks" / "cuba_stdp.net").read_text(encoding="utf-8")
    busy, wall, steps = found(f"""
import time
from amdgpu import _native
batch = _native.SpikingBatch([_native.NetworkPlan.compile({text!r})] * 2, device.native)
looks = []
begin = time.monotonic()
# Reported every 50 ms: each report is of the time since the one before.
while len(looks) < 8:
    batch.run(0.05, lambda done, total, spikes: looks.append(done))
wall = time.monotonic() - begin
busy = counted("amdgpu_core_busy_seconds_total", device="cpu:0", core="neuromorphic")
print(json.dumps([busy, wall, counted("amdgpu_network_steps_total")]))
""")
    assert steps > 0
    # Launches of both members follow each other in one queue, and their time is estimated from a sample.
    assert wall / 2 < busy < 2 * wall


def test_launches_in_graphs_share_the_time_of_the_replay(found):
    said = found("""
import time
slow = device.compile_kernel(SOURCE, name="slow")
x = amdgpu.zeros(8, "float32", device="cpu:0")
with amdgpu.CapturedGraph() as graph:
    slow[1, 1](x)
    slow[1, 1](x)
graph.replay()
begin = time.perf_counter()
for _ in range(50):
    graph.replay()
spent = time.perf_counter() - begin
row = kernels()["slow", False]
busy = counted("amdgpu_core_busy_seconds_total", device="cpu:0", core="aura")
print(json.dumps([row["calls"], row["timed_calls"], row["calls_are_sampled"], row["seconds"], busy, spent]))
""")
    calls, timed, is_estimated, seconds, busy, spent = said
    assert (calls, timed, is_estimated) == (102, 0, True)
    assert busy == pytest.approx(seconds)
    # The replay before the clock was read may have been longer: it made the graph.
    assert spent / 2 < seconds < spent * 2
