"""Graphs: launches, copies and fills recorded once and replayed."""

import gc
import threading
import weakref

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

ADD = "__global__ void add(float* x, float value, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += value; }"
SCALE = "__global__ void scale(float* x, float factor, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= factor; }"
N = 1000


@pytest.fixture
def add(device):
    return device.compile_kernel(ADD)


@pytest.fixture
def scale(device):
    return device.compile_kernel(SCALE)


@pytest.fixture
def x():
    return amdgpu.zeros(N, "float32", device="cpu:0")


def values(array):
    found = set(array.numpy().tolist())
    assert len(found) == 1
    return found.pop()


def test_a_recorded_graph_runs_only_when_it_is_replayed(add, scale, x):
    prepared = scale.prepare(4, 256, x, 3.0, N)
    with amdgpu.CapturedGraph() as graph:
        add[4, 256](x, 2.0, N)
        prepared()
    assert values(x) == 0
    graph.replay()
    assert values(x) == 6
    graph.replay()
    assert values(x) == 24
    assert len(graph) == 2
    assert [node["kernel"] for node in graph.nodes] == ["add", "scale"]
    assert graph.nodes[0]["grid"] == [4, 1, 1]
    assert graph.device == "cpu:0"


def test_copies_and_fills_are_recorded(add, x):
    host = np.full(N, 5, "float32")
    copy = amdgpu.empty(N, "float32", device="cpu:0")
    with amdgpu.CapturedGraph() as graph:
        x.copy_from(host)
        add[4, 256](x, 1.0, N)
        copy.copy_from(x)
        x.fill(0)
    host[:] = 7  # what is copied is what the array holds at the replay
    graph.replay()
    assert values(copy) == 8
    assert values(x) == 0
    memory = {"kernel": None, "grid": None, "block": None, "bytes": 4 * N, "stream": None}
    launch = {"kind": "launch", "kernel": "add", "grid": [4, 1, 1], "block": [256, 1, 1], "bytes": None, "stream": None}
    assert graph.nodes == [{"kind": "copy", **memory}, launch, {"kind": "copy", **memory}, {"kind": "fill", **memory}]


def test_replays_in_a_stream_keep_its_order(device, add, scale, x):
    with amdgpu.CapturedGraph() as graph:
        add[4, 256](x, 1.0, N)
        scale[4, 256](x, 2.0, N)
    stream = device.create_stream()
    add[4, 256, 0, stream](x, 1.0, N)
    graph.replay(stream)
    add[4, 256, 0, stream](x, 1.0, N)
    graph.replay(stream)
    stream.synchronize()
    assert values(x) == ((0 + 1 + 1) * 2 + 1 + 1) * 2


def test_streams_inside_a_graph_are_ordered_by_events(device, add, scale, x):
    one, two = device.create_stream(), device.create_stream()
    with amdgpu.CapturedGraph() as graph:
        x.fill(0)  # what the program would have waited for comes before everything after it
        for _ in range(20):
            add[4, 256, 0, one](x, 1.0, N)
            two.wait_event(one.record())
            scale[4, 256, 0, two](x, 2.0, N)
            one.wait_event(two.record())
    expected = 0
    for _ in range(20):
        expected = (expected + 1) * 2
    for _ in range(10):
        graph.replay()
        assert values(x) == expected
    streams = [device.create_stream() for _ in range(3)]
    for stream in streams * 5:
        graph.replay(stream)
    for stream in streams:
        stream.synchronize()
    assert values(x) == expected


def test_streams_of_a_graph_run_beside_each_other(device):
    # Each kernel waits for the other one's flag; run one after the other, the first would count to the end and give up.
    meet = device.compile_kernel("""
        __global__ void meet(int* flags, int own, int* met) {
            atomicAdd(&flags[own], 1);
            for (long long tries = 0; tries < 400000000LL; ++tries) {
                if (atomicAdd(&flags[1 - own], 0) != 0) { *met = 1; return; }
            }
        }""")
    flags, met = np.zeros(2, "int32"), [np.zeros(1, "int32"), np.zeros(1, "int32")]
    one, two = device.create_stream(), device.create_stream()
    with amdgpu.CapturedGraph() as graph:
        meet[1, 1, 0, one](flags, 0, met[0])
        meet[1, 1, 0, two](flags, 1, met[1])
    graph.replay()
    assert [int(flag[0]) for flag in met] == [1, 1]


def test_arguments_can_be_changed_all_or_by_name(add, x):
    other = amdgpu.zeros(N, "float32", device="cpu:0")
    with amdgpu.CapturedGraph() as graph:
        add[4, 256](x, 1.0, N)
    graph.update(0, value=10.0)
    graph.replay()
    assert values(x) == 10
    graph.update(0, other, 3.0, N)
    graph.replay()
    assert (values(x), values(other)) == (10, 3)
    graph.update(0, x=x)
    graph.replay()
    assert (values(x), values(other)) == (13, 3)
    with pytest.raises(errors.InvalidArgumentError, match="has no parameter `wrong`"):
        graph.update(0, wrong=1)
    with pytest.raises(errors.InvalidArgumentError, match="node 1 is no launch; the graph has 1 nodes"):
        graph.update(1, value=2.0)
    with pytest.raises(errors.InvalidTypeError, match=r"argument 1 \(`value`\) of add"):
        graph.update(0, value="two")
    with pytest.raises(errors.ArgumentCountError):
        graph.update(0, x)


def test_memory_lives_as_long_as_the_graph(add):
    temporary = np.zeros(N, "float32")
    watcher = weakref.ref(temporary)
    with amdgpu.CapturedGraph() as graph:
        add[4, 256](temporary, 1.0, N)
    del temporary
    gc.collect()
    graph.replay()
    assert watcher() is not None
    assert watcher()[0] == 1
    del graph
    gc.collect()
    assert watcher() is None


def test_memory_lives_until_a_replay_in_a_stream_is_over(device, add):
    stream = device.create_stream()
    temporary = np.zeros(N, "float32")
    watcher = weakref.ref(temporary)
    with amdgpu.CapturedGraph() as graph:
        add[4, 256](temporary, 1.0, N)
    graph.replay(stream)
    del graph, temporary
    gc.collect()
    assert watcher() is not None
    stream.synchronize()
    gc.collect()
    assert watcher() is None


@pytest.mark.parametrize(
    "action",
    [
        lambda device, stream, x: stream.synchronize(),
        lambda device, stream, x: stream.wait(5),
        lambda device, stream, x: device.synchronize(),
        lambda device, stream, x: x.numpy(),
        lambda device, stream, x: device.execute(device.compile_kernel(ADD), x, 1.0, N),
        lambda device, stream, x: stream.record().synchronize(),
        lambda device, stream, x: stream.record().is_complete,
        lambda device, stream, x: amdgpu.from_dlpack(np.ones(3)).fill(0),
        lambda device, stream, x: amdgpu.CapturedGraph().__enter__(),
    ],
    ids=["stream", "stream-limit", "device", "numpy", "execute", "event", "event-state", "foreign", "nested"],
)
def test_what_needs_results_is_refused_while_recording(device, x, action):
    stream = device.create_stream()
    graph = amdgpu.CapturedGraph()
    with pytest.raises(errors.NotCapturableError), graph:
        action(device, stream, x)
    with pytest.raises(errors.NotCapturableError, match="an exception ended the recording"):
        graph.replay()
    # The thread is free for the next recording.
    with amdgpu.CapturedGraph():
        pass


def test_states_of_a_graph_are_told_apart(add, x):
    graph = amdgpu.CapturedGraph()
    with pytest.raises(errors.NotCapturableError, match="nothing was recorded"):
        graph.replay()
    with graph, pytest.raises(errors.NotCapturableError, match="still being recorded"):
        len(graph)
    graph.replay()
    assert graph.device is None
    with pytest.raises(errors.NotCapturableError, match="recorded once"), graph:
        pass


def test_a_graph_is_of_one_device(device, x, add):
    null = amdgpu.initialize_device("null:gfx1100")
    other = null.compile_kernel(ADD)
    memory = amdgpu.zeros(N, "float32", device="null:gfx1100")
    with amdgpu.CapturedGraph():
        add[4, 256](x, 1.0, N)
        with pytest.raises(errors.NotCapturableError, match=r"began on cpu:0, and this is for null:gfx1100"):
            other[4, 256](memory, 1.0, N)
    with amdgpu.CapturedGraph() as graph:
        add[4, 256](x, 1.0, N)
    with pytest.raises(errors.WrongDeviceError, match="the stream is of null:gfx1100"):
        graph.replay(null.create_stream())


def test_null_devices_replay_without_running(add):
    null = amdgpu.initialize_device("null:gfx1100")
    kernel = null.compile_kernel(ADD)
    memory = amdgpu.zeros(N, "float32", device="null:gfx1100")
    with amdgpu.CapturedGraph() as graph:
        kernel[4, 256](memory, 1.0, N)
        memory.fill_bytes(3)
    graph.replay()
    graph.replay(null.create_stream())
    assert len(graph) == 2


def test_events_of_one_graph_do_not_fit_another(device):
    stream = device.create_stream()
    with amdgpu.CapturedGraph():
        event = stream.record()
    with pytest.raises(errors.NotCapturableError, match="belongs to another graph"), amdgpu.CapturedGraph():
        stream.wait_event(event)


def test_other_threads_run_at_once_while_one_records(add, x):
    def other():
        add[4, 256](x, 1.0, N)

    with amdgpu.CapturedGraph() as graph:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert values(x) == 1
    assert len(graph) == 0


def test_a_closed_device_replays_nothing(add):
    device = amdgpu.initialize_device("cpu:0")
    kernel = device.compile_kernel(ADD)
    data = np.zeros(N, "float32")
    with amdgpu.CapturedGraph() as graph:
        kernel[4, 256](data, 1.0, N)
    device.close()
    with pytest.raises(errors.ClosedError):
        graph.replay()
    assert data[0] == 0


def test_launches_of_replays_are_counted(device, add, x):
    def launches():
        text = amdgpu.telemetry.prometheus()
        lines = [line for line in text.splitlines() if line.startswith("amdgpu_kernel_launches_total{")]
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)

    with amdgpu.CapturedGraph() as graph:
        for _ in range(5):
            add[4, 256](x, 1.0, N)
    before = launches()
    graph.replay()
    assert launches() - before == 5


def test_what_kernels_of_a_graph_print_arrives(device, capsys):
    hello = device.compile_kernel('__global__ void hello(int n) { if (threadIdx.x == 0) printf("hello %d\\n", n); }')
    with amdgpu.CapturedGraph() as graph:
        hello[1, 1](7)
    assert capsys.readouterr().out == ""
    graph.replay()
    assert capsys.readouterr().out == "hello 7\n"
    stream = device.create_stream()
    graph.replay(stream)
    stream.synchronize()
    assert capsys.readouterr().out == "hello 7\n"
