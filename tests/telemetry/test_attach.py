"""Watching a real program: kernels, memory, records, rates; and what happens when it stops, dies or is not there."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from amdgpu.telemetry import attach

PROGRAM = Path(__file__).parents[1] / "support" / "telemetry_program.py"
# Longer than anything here takes on a machine that does other things too.
PATIENCE_SECONDS = 30.0


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Sockets in a folder of the test's own."""
    path = tmp_path / "run"
    path.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    return path


@pytest.fixture
def program(folder):
    """The program to watch, set up and running."""
    started = []

    def start(*arguments, script=PROGRAM):
        process = subprocess.Popen(
            [sys.executable, str(script), *arguments], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
        )
        started.append(process)
        process.said = json.loads(process.stdout.readline())
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def of_pid(pid):
    return next((info for info in attach.processes(PATIENCE_SECONDS) if info.pid == pid), None)


def test_a_running_program_is_listed_with_its_command(program):
    running = program("--seconds", "60", "--parts", "kernels")
    info = of_pid(running.pid)
    assert info.command[-1] == "kernels"
    assert (info.version, info.state) == (amdgpu.__version__, "running")
    assert info.started_epoch_ns > 0


def test_kernels_are_listed_with_what_they_did(program):
    running = program("--seconds", "60", "--parts", "kernels,products")
    with attach.attach(running.pid) as process:
        rows = {row["name"]: row for row in process.kernels()}
        saxpy, block_sum = rows["saxpy"], rows["block_sum"]
        assert saxpy["calls"] >= 1
        assert not saxpy["calls_are_sampled"]
        assert saxpy["seconds"] > 0
        assert (saxpy["device"], saxpy["core"], saxpy["target"]) == ("cpu:0", "aura", "host")
        assert block_sum["shared_bytes"] == 1024
        assert block_sum["occupancy"] is None
        # Each row can be asked for.
        assert process.kernel(saxpy["handle"])["name"] == "saxpy"


def test_a_kernel_comes_with_source_passes_and_assembly(program):
    running = program("--seconds", "60", "--parts", "kernels")
    with attach.attach(running.pid) as process:
        handle = next(row["handle"] for row in process.kernels() if row["name"] == "block_sum")
        kernel = process.kernel(handle)
    assert "__shared__ float part[256]" in kernel["source"]
    assert kernel["options"]["optimization_level"] == "high"
    assert kernel["recomputed"]
    assert kernel["remark"] is None
    assert "define" in kernel["llvm"]
    assert "block_sum" in kernel["assembly"]
    names = [row["name"] for row in kernel["passes"]]
    assert "dead-code" in names
    changed = [row for row in kernel["passes"] if row["before"] is not None and row["before"] != row["after"]]
    assert changed
    # What one pass left is what the next one found.
    shown = [row for row in kernel["passes"] if row["before"] is not None]
    assert all(left["after"] == right["before"] for left, right in zip(shown, shown[1:], strict=False))
    assert all(row["metrics"]["duration_ns"] >= 0 for row in shown if row["metrics"])


def test_kernels_of_other_targets_have_registers_and_occupancy():
    device = amdgpu.initialize_device("null:gfx1100")
    kernel = device.compile_kernel("__global__ void twice(float* x) { x[threadIdx.x] *= 2; }")
    with attach.attach() as process:
        row = next(row for row in process.kernels() if row["handle"] == kernel.handle)
        assert (row["target"], row["registers"]) == ("gfx1100", kernel.resources["vgpr_count"])
        assert row["occupancy"]["unit"] == "WGP"
        detailed = process.kernel(kernel.handle)
    assert detailed["resources"]["wavefront_size"] == 32
    assert "s_endpgm" in detailed["assembly"]


def test_an_unknown_kernel_is_refused(program):
    running = program("--seconds", "60", "--parts", "kernels")
    for process in (attach.attach(running.pid), attach.attach()):
        with process, pytest.raises(errors.InvalidMessageError, match=r"no kernel with the handle .nothing."):
            process.kernel("nothing")


def test_memory_is_told_block_by_block_with_owners():
    device = amdgpu.initialize_device("cpu:0")
    array = amdgpu.array(np.zeros(12345, dtype="float32"), device="cpu:0")
    with attach.attach() as process:
        memory = process.memory()
    pools = [pool for row in memory["devices"] if row["device"] == "cpu:0" for pool in row["pools"]]
    segments = [segment for pool in pools for segment in pool["segments"]]
    assert all(sum(block["size_bytes"] for block in one["blocks"]) == one["total_bytes"] for one in segments)
    blocks = [block for segment in segments for block in segment["blocks"]]
    mine = [block for block in blocks if block["requested_bytes"] == array.nbytes]
    assert [block["owner"] for block in mine] == ["array"] * len(mine)
    assert mine
    owner = next(row for row in memory["owners"] if row["owner"] == "array" and row["device"] == "cpu:0")
    assert owner["bytes"] >= array.nbytes
    assert 0 <= memory["fragmentation_ratio"] <= 1
    device.close()


def test_what_outlives_its_device_is_a_leak(program, tmp_path):
    script = tmp_path / "leaky.py"
    script.write_text(
        "import json, sys, amdgpu\n"
        "device = amdgpu.initialize_device('null:gfx1100')\n"
        "kept = device.native.empty([100], 'float32')\n"
        "device.close()\n"
        "print(json.dumps({'ready': True}), flush=True)\n"
        "sys.stdin.read()\n"
    )
    leaky = program(script=script)
    with attach.attach(leaky.pid) as process:
        leaks = process.memory()["leaks"]
    assert [(leak["device"], leak["owner"]) for leak in leaks] == [("null:gfx1100", "array")]
    assert "closed" in leaks[0]["reason"]


def test_lanes_of_checked_launches_are_told(program, tmp_path):
    script = tmp_path / "checked.py"
    script.write_text(
        "import json, sys, amdgpu, numpy as np\n"
        "device = amdgpu.initialize_device('cpu:0')\n"
        "source = '__global__ void half(float* x) { if (threadIdx.x % 2 == 0) x[threadIdx.x] = 1; }'\n"
        "device.compile_kernel(source, checked=True)[1, 32](np.zeros(32, 'float32'))\n"
        "print(json.dumps({'ready': True}), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with attach.attach(program(script=script).pid) as process:
        (launch,) = process.lanes()
    assert (launch["kernel"], launch["grid"], launch["block"]) == ("half", [1, 1, 1], [32, 1, 1])
    writes = next(row for row in launch["rows"] if row["kind"] == "write")
    assert [count > 0 for count in writes["counts"]] == [lane % 2 == 0 for lane in range(launch["lanes"])]


def test_graphs_are_told_with_what_was_joined_their_runs_and_the_last_profile():
    @amdgpu.jit
    def watched_layer(x):
        values, indices = amdgpu.ops.top_k(amdgpu.ops.softmax(x * 2.0), 3)
        return values, indices

    x = amdgpu.array(np.linspace(-1, 1, 48, dtype="float32").reshape(6, 8), device="cpu:0")
    for _ in range(3):
        watched_layer(x)
    graph = watched_layer.graph(x)
    with attach.attach() as process:
        row = next(row for row in process.graphs() if row["name"] == "watched_layer")
        assert (row["device"], row["runs"], row["profiled_ns"]) == ("cpu:0", 3, None)
        assert [node["operation"] for node in row["nodes"]] == [node["operation"] for node in graph.nodes]
        reads = [[one for one in node["inputs"] if isinstance(one, int)] for node in graph.nodes]
        assert [node["inputs"] for node in row["nodes"]] == reads
        assert [node["seconds"] for node in row["nodes"]] == [None] * row["node_count"]
        assert any("of steps before it alone nothing is gained" in note for note in row["notes"])
        assert row["shared_bytes"] == graph.shared_bytes
        _, timings = graph.profile(x)
        row = next(row for row in process.graphs() if row["name"] == "watched_layer")
    assert row["runs"] == 4
    assert {node["id"]: node["seconds"] for node in row["nodes"] if node["seconds"] is not None} == {
        timing.node: timing.seconds for timing in timings
    }
    assert row["profiled_ns"] == row["last_run_ns"] >= row["made_ns"]
    kept = [row["made_ns"]]
    del watched_layer, graph
    with attach.attach() as process:
        assert [row for row in process.graphs() if row["made_ns"] in kept] == []


def test_networks_tell_rates_spikes_weights_and_what_they_learn(program):
    running = program("--seconds", "60", "--rate", "100", "--parts", "spiking,learning")
    with attach.attach(running.pid) as process:
        rows = {row["name"]: row for row in process.networks()}
        records = process.records(kinds=["neural_update"], timeout_seconds=PATIENCE_SECONDS)
        updates = [next(records) for _ in range(30)]
    spiking, learner = rows["watched"], rows["learner"]
    assert (spiking["kind"], spiking["device"]) == ("spiking", "cpu:0")
    assert [(one["name"], one["size"]) for one in spiking["populations"]] == [("exc", 400), ("inh", 100)]
    assert all(0 < one["rate_hz"] < 200 for one in spiking["populations"])
    raster = spiking["raster"]
    assert raster["neurons_shown"] == [128, 100]
    assert len(raster["times_s"]) == len(raster["population"]) == len(raster["neuron"]) > 0
    assert raster["times_s"] == sorted(raster["times_s"])
    assert all(
        neuron < raster["neurons_shown"][which]
        for which, neuron in zip(raster["population"], raster["neuron"], strict=True)
    )
    weights = spiking["weights"]
    assert (weights["of_rows"], weights["of_columns"]) == (400, 400)
    shown = [value for row in weights["values"] for value in row]
    assert {round(value, 7) for value in shown if value is not None} == {0.0013}
    assert 0.05 < sum(value is not None for value in shown) / len(shown) < 0.2
    assert (learner["kind"], [one["size"] for one in learner["populations"]]) == ("layered", [4, 8, 2])
    curve = learner["learning_curve"]
    assert curve["epoch"] == list(range(curve["epoch"][0], curve["epoch"][0] + len(curve["epoch"])))
    assert all(loss > 0 for loss in curve["loss"])
    assert len(learner["weights"]["values"]) == 4
    # Of short runs at a higher rate no more is told than a display shows.
    times = [row["start_ns"] + row["duration_ns"] for row in updates if row["name"] == "watched"]
    assert all(late - early >= 1e9 / 60 for early, late in zip(times, times[1:], strict=False))


def test_rasters_and_rates_are_those_of_the_run():
    net = amdgpu.Network(
        """
neuralNetwork shown:
  neuron cell:
    params(tau = 10.ms, drive = 20.mV)
    dv/dt = (drive - v) / tau
    threshold: v > 10.mV
    reset: v = 0.mV
  population cells(3, model: cell)
  record spikes(cells)
""",
        device="cpu:0",
    )
    result = net.run(0.1)
    with attach.attach() as process:
        row = next(row for row in process.networks() if row["name"] == "shown")
    spikes = result.spikes["cells"]
    assert row["raster"]["times_s"] == pytest.approx(spikes.times.tolist())
    assert row["raster"]["neuron"] == spikes.indices.tolist()
    assert row["populations"][0]["spikes"] == result.counts["cells"]
    assert row["populations"][0]["rate_hz"] == pytest.approx(result.rates()["cells"])
    assert (row["weights"], row["steps"]) == (None, result.steps)
    del net
    with attach.attach() as process:
        assert "shown" not in [row["name"] for row in process.networks()]


def test_snapshot_and_totals_are_those_of_the_process(program):
    running = program("--seconds", "60", "--parts", "kernels,memory")
    with attach.attach(running.pid) as process:
        snapshot = process.snapshot()
        totals = process.totals()
    assert snapshot["process_id"] == running.pid
    assert snapshot.keys() == amdgpu.telemetry.snapshot().keys()
    assert totals["devices"]["cpu:0"]["launches"]["aura"] >= 2
    assert totals["devices"]["cpu:0"]["copied_bytes"]["host-to-device"] > 0


def test_records_come_as_they_happen(program):
    running = program("--seconds", "60", "--rate", "200", "--parts", "kernels")
    with attach.attach(running.pid) as process:
        launches = process.records(kinds=["launch"], timeout_seconds=PATIENCE_SECONDS)
        rows = [next(launches) for _ in range(10)]
    assert {row["name"] for row in rows} == {"saxpy", "block_sum"}
    assert {(row["pid"], row["kind"], row["device_name"]) for row in rows} == {(running.pid, "launch", "cpu:0")}
    assert all(row["duration_ns"] > 0 for row in rows)
    starts = [row["start_ns"] for row in rows]
    assert starts == sorted(starts)


def test_records_of_this_process_need_no_socket():
    kernel = amdgpu.initialize_device("cpu:0").compile_kernel("__global__ void own(float* x) { x[0] = 1; }")
    with attach.attach() as process:
        records = process.records(kinds=["launch"], timeout_seconds=PATIENCE_SECONDS)
        kernel[1, 1](np.zeros(1, "float32"))
        row = next(row for row in records if row["name"] == "own")
        assert row["pid"] == os.getpid()
        assert process.dropped == 0


def rates_of(watcher, pid):
    """Whether the totals have the rates of a program, which need two looks at it."""
    totals = watcher.totals()
    device = totals["devices"].get("cpu:0", {})
    process = totals["processes"].get(pid, {})
    return device.get("launches_per_second_by_core", {}).get("aura") and process.get("launches_per_second")


def test_a_watcher_sees_programs_come_and_go_and_tells_rates(program):
    with attach.Watcher(interval_seconds=0.001) as watcher:
        running = program("--seconds", "60", "--rate", "200", "--parts", "kernels,products,spiking,memory")
        kinds = set()
        while not {"launch", "dispatch", "allocate"} <= kinds or not rates_of(watcher, running.pid):
            rows = watcher.poll(PATIENCE_SECONDS)
            assert rows, "a running program sends records"
            kinds |= {row["kind"] for row in rows if row["pid"] == running.pid}
        assert watcher.changed
        assert not watcher.changed
        # Others that use amdgpu may run on this machine.
        assert running.pid in [info.pid for info in watcher.processes if info.version is not None]
        totals = watcher.totals()
        device = totals["devices"]["cpu:0"]
        assert device["launches_per_second_by_core"]["aura"] > 0
        assert 0 <= device["busy_ratio"]["aura"] <= 1
        assert device["pool_active_bytes"] > 0
        assert totals["processes"][running.pid]["launches_per_second"] > 0
        running.kill()
        running.wait()
        while running.pid in [info.pid for info in watcher.processes]:
            watcher.poll(0.1)
        assert watcher.changed
        assert running.pid not in watcher.totals()["processes"]


def test_a_program_that_is_killed_is_said_to_be_gone(program, folder):
    running = program("--seconds", "60", "--rate", "200", "--parts", "kernels")
    process = attach.attach(running.pid)
    records = process.records(timeout_seconds=PATIENCE_SECONDS)
    next(records)
    running.send_signal(signal.SIGKILL)
    running.wait()
    with pytest.raises(errors.ProcessGoneError, match=f"process {running.pid} has ended"):
        for _ in records:
            pass
    with pytest.raises(errors.ProcessGoneError):
        process.snapshot()
    assert list(folder.glob("amdgpu/*.sock"))
    assert of_pid(running.pid) is None
    assert not list(folder.glob("amdgpu/*.sock"))
    with pytest.raises(errors.ProcessGoneError):
        attach.attach(running.pid)


def test_a_program_that_is_stopped_times_out_and_goes_on(program):
    running = program("--seconds", "60", "--parts", "kernels")
    running.send_signal(signal.SIGSTOP)
    os.waitpid(running.pid, os.WUNTRACED)
    try:
        process = attach.attach(running.pid)
        with pytest.raises(errors.RequestTimeoutError, match="it is stopped"):
            process.request("totals", timeout_seconds=0.1)
        states = {info.pid: info.state for info in attach.processes(0.1)}
        assert states[running.pid] == "stopped"
    finally:
        running.send_signal(signal.SIGCONT)
    with attach.attach(running.pid) as again:
        assert again.totals()["devices"]


def test_a_program_that_ends_takes_its_socket_with_it(program, folder):
    running = program("--seconds", "0", "--parts", "kernels")
    running.communicate()
    assert running.returncode == 0
    assert not list(folder.glob("amdgpu/*"))


def test_a_forked_worker_is_a_process_of_its_own(program, tmp_path):
    script = tmp_path / "forking.py"
    script.write_text(
        "import json, os, sys, warnings, amdgpu\n"
        "warnings.simplefilter('ignore')\n"
        "amdgpu.initialize_device('cpu:0')\n"
        "reader, writer = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    amdgpu.initialize_device('cpu:0')\n"
        "    os.write(writer, b'x')\n"
        "    sys.stdin.read()\n"
        "    os._exit(0)\n"
        "os.read(reader, 1)\n"
        "print(json.dumps({'child': child}), flush=True)\n"
        "sys.stdin.read()\n"
    )
    parent = program(script=script)
    with attach.attach(parent.pid) as process:
        assert process.request("process")["pid"] == parent.pid
    child = parent.said["child"]
    assert {parent.pid, child} <= {info.pid for info in attach.processes(PATIENCE_SECONDS)}
    with attach.attach(child) as process:
        assert process.request("process")["pid"] == child
        records = process.records(timeout_seconds=PATIENCE_SECONDS)
        os.kill(child, signal.SIGKILL)
        with pytest.raises(errors.ProcessGoneError):
            next(records)


def test_garbage_on_the_socket_changes_nothing(program, folder):
    running = program("--seconds", "60", "--parts", "kernels")
    path = str(folder / "amdgpu" / f"{running.pid}.sock")
    for garbage in (b"\x00\xff\n", b'{"op": "subscribe", "capacity": -1}\n', b"x" * 200_000, b'{"op":' * 1000 + b"\n"):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(path)
            try:
                raw.sendall(garbage)
                assert b"error" in raw.recv(65536)
            except (BrokenPipeError, ConnectionResetError):
                pass  # It was hung up on while it was still sending.
    with attach.attach(running.pid) as process:
        assert process.totals()["devices"]["cpu:0"]["launches"]["aura"] > 0


def test_processes_that_do_not_listen_say_why(folder):
    with pytest.raises(errors.ConnectionFailedError, match="AMDGPU_ATTACH"):
        attach.attach(os.getppid())
    with pytest.raises(errors.ProcessGoneError):
        attach.attach(2**22 + 1)
    with attach.attach() as process:
        pass
    assert process.is_self


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ | environment
    )


def test_attaching_can_be_switched_off(folder):
    code = (
        "import amdgpu; from amdgpu.telemetry import attach; amdgpu.initialize_device('cpu:0'); print(attach.listen())"
    )
    done = run_python(code, AMDGPU_ATTACH="off")
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr
    assert not list(folder.iterdir())


def test_a_folder_that_others_may_enter_is_passed_over(folder):
    (folder / "amdgpu").mkdir(mode=0o700)
    (folder / "amdgpu").chmod(0o777)
    code = (
        "import amdgpu; from amdgpu.telemetry import attach; amdgpu.initialize_device('cpu:0'); print(attach.listen())"
    )
    done = run_python(code)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
    assert not list((folder / "amdgpu").iterdir())


def test_where_no_socket_can_be_made_that_is_said_once(tmp_path):
    # Longer than the address of a socket may be.
    folder = tmp_path / ("long" * 25)
    folder.mkdir(mode=0o700)
    code = (
        "import amdgpu; from amdgpu.telemetry import attach\n"
        "for name in ('cpu:0', 'null:gfx1100'): amdgpu.initialize_device(name)\n"
        "print(attach.listen())"
    )
    done = run_python(code, XDG_RUNTIME_DIR=str(folder))
    assert (done.stdout, done.returncode) == ("False\n", 0), done.stderr
    assert done.stderr.count("the process cannot be watched") == 1


def test_unknown_kinds_of_records_are_refused():
    with pytest.raises(errors.InvalidArgumentError, match=r"there is no kind of record .lunch.; known are marker"):
        attach.attach().records(kinds=["lunch"])


def test_a_closed_connection_says_so(program):
    running = program("--seconds", "60", "--parts", "kernels")
    process = attach.attach(running.pid)
    process.close()
    with pytest.raises(errors.ClosedError):
        process.snapshot()
    watcher = attach.Watcher()
    watcher.close()
    with pytest.raises(errors.ClosedError):
        watcher.poll()
