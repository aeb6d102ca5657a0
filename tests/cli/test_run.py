"""`amdgpu run`, `trace` and `explain` of real programs: what they report, and that the program notices nothing."""

import json
import os
import signal
import subprocess
import sys

import pytest
from amdgpu.telemetry.report import read_reports
from cli_harness import WATCHED_PROGRAM, amdgpu, check_shape, document

KERNELS = [sys.executable, WATCHED_PROGRAM, "--seconds", "0.3", "--parts", "kernels,products,memory"]
LAUNCHES = """
import amdgpu, numpy as np
dev = amdgpu.initialize_device("cpu:0")
kernel = dev.compile_kernel("__global__ void one(float* x) {{ x[0] += 1; }}")
x = np.zeros(1, "float32")
for _ in range({count}):
    kernel[1, 1](x)
"""


@pytest.fixture
def cache(tmp_path):
    """A kernel cache that is empty."""
    return {"AMDGPU_CACHE_DIR": str(tmp_path / "cache")}


def test_the_card_shows_what_the_program_did(cache):
    done = amdgpu("run", "--json", "--output", os.devnull, "--", *KERNELS, **cache)
    assert done.returncode == 0
    # Standard output is the program's alone.
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["ready"] is True
    assert lines[1]["rounds"] >= 2
    done = amdgpu("run", "--", *KERNELS, **cache)
    for word in ("saxpy", "block_sum", "on disk", "exit code 0", "resident"):
        assert word in done.stderr
    assert "\x1b" not in done.stderr


def test_the_json_card_is_a_contract(cache, tmp_path):
    file = tmp_path / "card.json"
    done = amdgpu("run", "--json", "--output", file, "--", sys.executable, WATCHED_PROGRAM, "--seconds", "0.2", **cache)
    assert done.returncode == 0
    card = json.loads(file.read_text())
    assert card["schema"] == "amdgpu.run/1"
    assert card["signal"] is None
    names = {kernel["name"] for kernel in card["kernels"]}
    assert names >= {"saxpy", "block_sum"}
    assert card["kernel_cache"]["miss"] >= 2
    assert card["compiles"]["count"] == card["kernel_cache"]["miss"]
    assert {(row["from"], row["to"]) for row in card["boundaries"]} >= {("python", "rust"), ("rust", "zig")}
    device_pool = next(pool for pool in card["pools"] if pool["pool"] == "device")
    assert device_pool["reserved_peak_bytes"] >= device_pool["reserved_bytes"] > 0
    assert card["seconds"] >= 0.2
    assert card["peak_resident_bytes"] > 10 << 20
    for row in card["energy"]:
        assert (row["joules"] is None) == (row["reason"] is not None)
    # Sensors differ from machine to machine.
    check_shape("run", card | {"energy": []})


def test_launches_and_kernels_are_counted_exactly(cache, tmp_path):
    file = tmp_path / "card.json"
    code = LAUNCHES.format(count=321)
    assert amdgpu("run", "--json", "--output", file, "--", sys.executable, "-c", code, **cache).returncode == 0
    card = json.loads(file.read_text())
    (kernel,) = card["kernels"]
    assert (kernel["name"], kernel["calls"], kernel["device"]) == ("one", 321, "cpu:0")
    assert card["launches_total"] == 321
    assert card["kernel_cache"] == {"memory": 0, "disk": 0, "miss": 1, "hit_ratio": 0}
    amdgpu("run", "--json", "--output", file, "--", sys.executable, "-c", code, **cache)
    assert json.loads(file.read_text())["kernel_cache"] == {"memory": 0, "disk": 1, "miss": 0, "hit_ratio": 1}


def test_markdown_has_a_table_of_kernels(cache, tmp_path):
    file = tmp_path / "card.md"
    amdgpu("run", "--md", "--output", file, "--", *KERNELS, **cache)
    text = file.read_text()
    assert text.startswith("### `")
    assert "| saxpy | cpu:0 |" in text
    assert all(line.count("|") >= 2 for line in text.splitlines()[2:] if line)


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_the_exit_code_is_the_programs(code):
    assert amdgpu("run", "--", sys.executable, "-c", f"raise SystemExit({code})").returncode == code


def test_a_program_that_a_signal_ends_is_named():
    done = amdgpu("run", "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 128 + signal.SIGKILL
    assert "ended by SIGKILL" in done.stderr
    done = amdgpu("run", "--json", "--", sys.executable, "-c", "import os; os.abort()")
    assert document(done)["signal"] == "SIGABRT"


def test_a_program_without_amdgpu_says_so():
    card = document(amdgpu("run", "--json", "--", "true"))
    assert "does not import amdgpu" in card["absent"]
    assert card["kernels"] == []
    check_shape("run_without_amdgpu", card | {"energy": []})


def test_standard_input_and_pipes_are_the_programs():
    done = amdgpu("run", "--", "tr", "a-z", "A-Z", standard_input="watched\n")
    assert done.stdout == "WATCHED\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1])
def test_signals_reach_the_program_once(number):
    code = f"""
import signal, sys
count = 0
def handler(*_):
    global count
    count += 1
    print("got", count, flush=True)
signal.signal({int(number)}, handler)
print("ready", flush=True)
while not count:
    signal.pause()
signal.signal({int(number)}, signal.SIG_DFL)
sys.exit(40 + count)
"""
    command = [sys.executable, "-m", "amdgpu", "run", "--", sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        text, errors = process.communicate(timeout=60)
    assert text == "got 1\n"
    assert process.returncode == 41, errors


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no-such-program-anywhere"], "on PATH"),
        (["./nothing"], "there is no file ./nothing"),
        (["."], "is a folder"),
        (["./text"], "chmod +x"),
        ([], "which program?"),
    ],
)
@pytest.mark.parametrize("command", ["run", "trace"])
def test_a_program_that_cannot_be_run_is_explained(tmp_path, command, words, message):
    (tmp_path / "text").write_text("print()\n")
    done = amdgpu(command, "--", *words, folder=tmp_path)
    assert done.returncode == (1 if words else 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


# A reader that gets no processor for long loses records.
@pytest.mark.alone
def test_a_chrome_trace_holds_more_than_a_snapshot(cache, tmp_path):
    count = 6000
    done = amdgpu(
        "trace", "-o", "out.json", "--", sys.executable, "-c", LAUNCHES.format(count=count), folder=tmp_path, **cache
    )
    assert done.returncode == 0
    trace = json.loads((tmp_path / "out.json").read_text())
    launches = [event for event in trace["traceEvents"] if event.get("cat") == "launch"]
    assert len(launches) == count
    assert {event["name"] for event in launches} == {"one"}
    starts = [event["ts"] for event in launches]
    assert starts == sorted(starts)
    names = [event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"]
    assert names == ["host", "cpu:0"]


def test_a_trace_keeps_the_newest_records_and_counts_the_others(cache, tmp_path):
    code = LAUNCHES.format(count=5000)
    done = amdgpu(
        "trace",
        "--json",
        "--records",
        "100",
        "-o",
        "out.json",
        "--",
        sys.executable,
        "-c",
        code,
        folder=tmp_path,
        **cache,
    )
    told = document(done)
    assert told["records"] == 100
    assert told["dropped"] >= 4900
    check_shape("trace", told)


def test_a_trace_of_two_processes_keeps_them_apart(cache, tmp_path):
    child = LAUNCHES.format(count=3)
    code = f"{LAUNCHES.format(count=2)}\nimport subprocess, sys\nsubprocess.run([sys.executable, '-c', '''{child}'''], check=True)"
    assert amdgpu("trace", "-o", "out.json", "--", sys.executable, "-c", code, folder=tmp_path, **cache).returncode == 0
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    hosts = [
        event["args"]["name"] for event in events if event["name"] == "process_name" and "host" in event["args"]["name"]
    ]
    assert len(hosts) == 2
    launches = [event["pid"] for event in events if event.get("cat") == "launch"]
    assert sorted(launches.count(pid) for pid in set(launches)) == [2, 3]


def test_an_unknown_ending_is_refused_before_the_program_runs(tmp_path):
    done = amdgpu("trace", "-o", "out.xyz", "--", "touch", "ran", folder=tmp_path)
    assert done.returncode == 2
    assert ".pftrace" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_trace_of_nothing_is_a_failure_with_a_reason(tmp_path):
    done = amdgpu("trace", "-o", "out.json", "--", "true", folder=tmp_path)
    assert done.returncode == 1
    assert "does not import amdgpu" in done.stderr
    assert not (tmp_path / "out.json").exists()


def test_a_report_is_written_only_when_asked_for(run_python, tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    run_python("import amdgpu", AMDGPU_REPORT=None)
    assert list(folder.iterdir()) == []
    run_python("import amdgpu", AMDGPU_REPORT=str(folder))
    (report,) = read_reports(folder)
    assert report["records"] is None
    assert report["snapshot"]["process_id"] == report["pid"]


def test_a_folder_that_is_gone_costs_the_report_and_not_the_program(run_python, tmp_path):
    done = run_python("import amdgpu; print('done')", AMDGPU_REPORT=str(tmp_path / "nowhere"))
    assert done.stdout == "done\n"
    assert "is not written" in done.stderr


@pytest.mark.parametrize("text", ["-1", "many", "9999999999"])
def test_a_bad_number_of_records_is_refused(run_python, tmp_path, text):
    done = run_python("import amdgpu", check=False, AMDGPU_REPORT=str(tmp_path), AMDGPU_REPORT_RECORDS=text)
    assert done.returncode == 1
    assert "AMDGPU_REPORT_RECORDS" in done.stderr


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "other/1"}'])
def test_a_damaged_report_is_named(tmp_path, content):
    (tmp_path / "1.json").write_text(content)
    with pytest.raises(ValueError, match=r"1\.json cannot be read"):
        read_reports(tmp_path)


def test_a_perfetto_trace_holds_every_launch(cache, tmp_path):
    code = LAUNCHES.format(count=5000)
    done = amdgpu("trace", "-o", "out.pftrace", "--", sys.executable, "-c", code, folder=tmp_path, **cache)
    assert done.returncode == 0
    perfetto = pytest.importorskip(
        "perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="perfetto is not installed"
    )
    trace = perfetto.Trace()
    trace.ParseFromString((tmp_path / "out.pftrace").read_bytes())
    assert len(trace.packet) > 5000
