"""Every figure that telemetry shows of a program against the books that the program keeps itself: counts exactly, times within bounds.

Programs do random work: launches of several kernels, two of which have one name, products, networks, copies; several at the same time.
They are looked at in every way there is: their own bus, `/metrics`, REST, channels, the page's data layer, `top`, `explain`, recordings.
"""

import base64
import json
import random
import shutil
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cli_harness import amdgpu as command
from cli_harness import document

pytestmark = pytest.mark.alone

HERE = Path(__file__).parent
PROGRAM = HERE.parent / "support" / "ledger_program.py"
ESBUILD = HERE.parents[1] / "js" / "node_modules" / ".bin" / "esbuild"
SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
# Telemetry's clock is read inside of what the program's clock is around; a machine that does other things comes in between.
SLACK_SECONDS = 0.05
PATIENCE_SECONDS = 20


def random_plan(seed):
    """Work of about a second, in random order; kernels of one name are always in it."""
    chance = random.Random(seed)
    plan = [["launch", "fold_sum", chance.randint(1, 3000)], ["launch", "fold_scale", chance.randint(1, 3000)]]
    for _ in range(chance.randint(6, 14)):
        kind = chance.choice(["add", "fold_sum", "fold_scale", "slow", "product", "network", "forward", "copy"])
        plan.append(
            {
                "product": ["product", chance.choice([8, 64, 200]), chance.randint(1, 200)],
                "network": ["network", chance.randint(1, 2000)],
                "forward": ["forward", chance.randint(1, 100)],
                "copy": ["copy", chance.randint(1, 5000), chance.randint(1, 20)],
            }.get(kind, ["launch", kind, chance.randint(1, 20 if kind == "slow" else 20_000)])
        )
    chance.shuffle(plan)
    return plan


@contextmanager
def ended(process):
    """A command that is over when the test is."""
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def started(plan):
    """A program that waits for its start; `work` makes it do its plan and gives the ledger."""
    call = [sys.executable, str(PROGRAM), json.dumps(plan)]
    with subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def begin(process):
    process.stdin.write("\n")
    process.stdin.flush()


def ledger_of(process):
    return json.loads(process.stdout.readline())


def check_kernels(rows, ledger):
    """Launches of each kernel, exactly, however many of one name there are; their time within that of the program around them."""
    calls = {row["id"]: row["calls"] for row in rows if row["core"] == "aura" and row["calls"]}
    assert calls == ledger["calls"]
    for row in rows:
        if row["id"] not in calls:
            continue
        assert row["name"] == ledger["names"][row["id"]]
        assert 0 < row["timed_calls"] <= row["calls"]
        assert 0 < row["seconds"] <= ledger["launch_seconds"][row["id"]] + SLACK_SECONDS, row
        if row["name"] == "slow":
            # Nearly all of the program's time for it: every launch is timed.
            assert row["timed_calls"] == row["calls"]
            assert row["seconds"] > ledger["launch_seconds"][row["id"]] / 2 - SLACK_SECONDS, row


def check_figures(figures, ledger):
    """What `run`, `explain` and `replay` have."""
    check_kernels(figures["kernels"], ledger)
    launches = {row["core"]: row["value"] for row in figures["launches"]}
    assert launches.get("aura", 0) == sum(ledger["calls"].values())
    assert launches.get("neuromorphic", 0) == ledger["steps"].get("books", 0)
    assert figures["launches_total"] == sum(launches.values())
    operations = {}
    for row in figures["operations"]:
        operations[row["core"]] = operations.get(row["core"], 0) + row["value"]
    assert operations.get("neuromorphic", 0) == sum(ledger["steps"].values())
    assert operations.get("matrix", 0) >= ledger["products"]
    assert {row["name"]: row["steps"] for row in figures["networks"] if row["steps"]} == ledger["steps"]
    copies = {row["direction"]: row["value"] for row in figures["copies"]}
    assert copies.get("host-to-device", 0) == ledger["copied_bytes"]
    products = [row for row in figures["boundaries"] if (row["from"], row["name"]) == ("python", "matmul")]
    assert sum(row["count"] for row in products) == ledger["products"]
    check_times(figures["busy"], sum(row["seconds"] for row in products), ledger)
    assert figures["work_span_seconds"] <= ledger["all_seconds"] + SLACK_SECONDS


def check_times(busy, product_seconds, ledger):
    """Whole runs and products as measured; kernels from those that were timed: all of it within what the program's own clock says."""
    seconds = {row["core"]: row["seconds"] for row in busy}
    spent = ledger["seconds"]
    # What was loaded once took its time, too.
    least = {kind: (spent[kind] - first) / 2 - SLACK_SECONDS for kind, first in ledger["first_seconds"].items()}
    networks = spent["network"] + spent["forward"]
    assert seconds.get("neuromorphic", 0) <= networks + SLACK_SECONDS
    assert seconds.get("neuromorphic", 0) >= least["network"]
    assert seconds.get("aura", 0) <= sum(ledger["launch_seconds"].values()) + SLACK_SECONDS
    assert product_seconds <= spent["product"] + SLACK_SECONDS
    assert product_seconds >= least["product"]
    assert seconds.get("matrix", 0) <= spent["product"] + spent["forward"] + SLACK_SECONDS


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_program_tells_when_it_is_run_and_recorded_is_in_its_books(seed, tmp_path):
    call = [sys.executable, PROGRAM, json.dumps(random_plan(seed)), "--at-once"]
    done = command("run", "--json", "--output", tmp_path / "run.json", "--", *call)
    assert done.returncode == 0, done.stderr
    ledger = json.loads(done.stdout)
    content = json.loads((tmp_path / "run.json").read_text())
    check_figures(content, ledger)
    # Of what is recorded every launch has a record, and those have the times; counts are the counters'.
    done = command("record", tmp_path / "one.rec", "--", *call)
    assert done.returncode == 0, done.stderr
    ledger = json.loads(done.stdout)
    check_figures(document(command("replay", tmp_path / "one.rec", "--summary", "--json")), ledger)
    told = document(command("explain", "--recording", tmp_path / "one.rec", "--json"))
    check_figures(told["figures"], ledger)
    check_replay(tmp_path / "one.rec", ledger)
    told = command("explain", "--json", "--", *call)
    lines = told.stdout.partition("\n")
    check_figures(json.loads(lines[2])["figures"], json.loads(lines[0]))


def check_replay(recording, ledger):
    """The pictures of a recording, a second apart: rates are those of the second, so that they add up to the ledger."""
    from amdgpu.cli.top.recorded import WINDOW_NS, RecordedSource
    from amdgpu.cli.watch import recordings

    source = RecordedSource(recordings.read(str(recording)))
    frames = []
    while True:
        frames.append(source.frame())
        if source.is_over:
            break
        source.seek(1.0)
    check_kernels([vars(row) for row in frames[-1].kernels], ledger)
    # The first picture shows the second that follows it, the next one the same; the last one may overlap the one before.
    whole = [frame for frame in frames[1:] if (frame.time_ns - source.begin_ns) % WINDOW_NS == 0]
    seen = sum(frame.devices[0].launches_per_second for frame in whole)
    everything = sum(ledger["calls"].values()) + ledger["steps"].get("books", 0)
    assert seen <= everything * 1.05 + 1
    if len(whole) == len(frames) - 1:
        assert seen >= everything * 0.9


@pytest.mark.parametrize("seed", SEEDS)
def test_what_watchers_see_of_running_programs_is_in_their_books(seed, tmp_path):
    pytest.importorskip("starlette")
    from server_client import client, running

    plans = [random_plan(seed + 1000 * number) for number in range(2)]
    with ExitStack() as stack:
        server = stack.enter_context(running(histogram_series=10_000))
        watching = stack.enter_context(client(server))
        programs = one, other = [stack.enter_context(started(plan)) for plan in plans]
        _, schema = watching.join("gpu:telemetry")
        watching.join("gpu:api")
        watched = stack.enter_context(ended(start_explaining(one.pid, tmp_path)))
        recorded = stack.enter_context(ended(start_recording(other.pid, tmp_path)))
        for program in programs:
            begin(program)
        ledgers = [ledger_of(program) for program in programs]
        profile, frames, peak = settled(watching, schema, dict(zip([one.pid, other.pid], ledgers, strict=True)))
        for core, ledger_key in (("aura", "calls"), ("neuromorphic", "steps")):
            assert (peak[core] > 0) == any(ledger[ledger_key] for ledger in ledgers), (core, peak)
        for program, ledger in zip(programs, ledgers, strict=True):
            rows = [row for row in profile["kernels"] if row["pid"] == program.pid]
            check_kernels(rows, ledger)
            check_metrics(server, program.pid, ledger)
            check_rest(server, program.pid, ledger)
            check_top(program.pid, ledger)
            check_attached(program.pid, ledger)
            check_crossings(program.pid, ledger)
            check_page(watching, program.pid, schema, profile, frames, ledger, tmp_path)
        assert watched.wait(60) == 0
        check_figures(json.loads(watched.stdout.read())["figures"], ledgers[0])
        assert recorded.wait(60) == 0
        content = document(command("replay", tmp_path / "watched.rec", "--summary", "--json"))
        check_figures(content, ledgers[1])


def start_explaining(pid, folder):
    """`amdgpu explain --pid` for as long as the programs may take."""
    call = [sys.executable, "-m", "amdgpu", "explain", "--json", "--pid", str(pid), "--seconds", "12"]
    process = subprocess.Popen(call, stdout=subprocess.PIPE, text=True, cwd=folder)
    time.sleep(2.0)
    return process


def start_recording(pid, folder):
    call = [sys.executable, "-m", "amdgpu", "record", str(folder / "watched.rec"), "--pid", str(pid), "--seconds", "12"]
    process = subprocess.Popen(call, stderr=subprocess.DEVNULL, cwd=folder)
    time.sleep(2.0)
    return process


def settled(watching, schema, ledgers):
    """The first profile in which both programs have told everything, the newest frames, and the largest rates of the cores until then."""
    names = [(metric["name"], metric["labels"].get("core")) for metric in schema["metrics"]]
    peak = dict.fromkeys(("aura", "matrix", "neuromorphic"), 0.0)
    frames = []
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        data = watching.receive()
        if isinstance(data, bytes):
            body = data[3 + data[1] + data[2] :]
            frames = [*frames[-5:], base64.b64encode(body).decode()]
            for core in peak:
                for name in ("amdgpu_kernel_launches_per_second", "amdgpu_operations_per_second"):
                    peak[core] = max(peak[core], highest(body, len(names), names.index((name, core))))
        elif data[3] == "profile_update":
            rows = data[4]["kernels"]
            calls = {pid: sum(row["calls"] for row in rows if row["pid"] == pid) for pid in ledgers}
            if all(
                calls[pid] >= sum(ledger["calls"].values()) + ledger["steps"].get("books", 0)
                for pid, ledger in ledgers.items()
            ):
                return data[4], frames, peak
    raise AssertionError("the programs' counts did not arrive")


def highest(body, metrics, column):
    import numpy as np

    values = np.frombuffer(body[12:], "<f4").reshape(-1, metrics)[:, column]
    return float(np.nanmax(np.append(values, 0.0)))


def read(server, path):
    with urllib.request.urlopen(f"{server.base_url}{path}", timeout=PATIENCE_SECONDS) as answer:
        return answer.read().decode()


def check_metrics(server, pid, ledger):
    from prometheus_client.parser import text_string_to_metric_families

    own = [
        sample
        for family in text_string_to_metric_families(read(server, "metrics"))
        for sample in family.samples
        if sample.labels.get("pid") == str(pid)
    ]

    def by(name, label, **wanted):
        found = {}
        for sample in own:
            if sample.name == name and wanted.items() <= sample.labels.items() and sample.value:
                found[sample.labels[label]] = found.get(sample.labels[label], 0) + sample.value
        return found

    assert by("amdgpu_kernel_calls_total", "id", core="aura") == ledger["calls"]
    timed = by("amdgpu_kernel_timed_calls_total", "id", core="aura")
    assert timed.keys() == ledger["calls"].keys()
    assert all(0 < timed[number] <= calls for number, calls in ledger["calls"].items())
    launches = by("amdgpu_kernel_launches_total", "core")
    assert launches["aura"] == sum(ledger["calls"].values())
    assert by("amdgpu_network_steps_total", "network") == ledger["steps"]
    assert by("amdgpu_operations_total", "core").get("neuromorphic", 0) == sum(ledger["steps"].values())
    copied = by("amdgpu_copy_bytes_total", "direction")
    assert copied.get("host-to-device", 0) == ledger["copied_bytes"]
    busy = [
        {"core": core, "seconds": seconds} for core, seconds in by("amdgpu_core_busy_seconds_total", "core").items()
    ]
    assert by("amdgpu_boundary_calls_total", "to", **{"from": "python"}).get("rust", 0) >= ledger["products"]
    check_times(busy, ledger["seconds"].get("product", 0), ledger)


def check_rest(server, pid, ledger):
    check_kernels(json.loads(read(server, f"api/v1/processes/{pid}/kernels"))["kernels"], ledger)
    snapshot = json.loads(read(server, f"api/v1/processes/{pid}/snapshot"))
    check_kernels((snapshot.get("snapshot") or snapshot)["kernels"], ledger)


def check_top(pid, ledger):
    frame = json.loads(command("top", "--json", "--pid", pid, "--count", "1").stdout.splitlines()[0])
    check_kernels(frame["kernels"], ledger)
    folds = {row["id"]: row["title"] for row in frame["kernels"] if row["name"] == "fold"}
    assert folds == {number: f"fold [{number[:8]}]" for number in folds}
    assert len(folds) == 2
    assert frame["processes"][0]["launches_per_second"] == 0


def check_attached(pid, ledger):
    from amdgpu.cli.watch import figures
    from amdgpu.telemetry import attach

    with attach.attach(pid) as process:
        check_figures(figures.figures([process.totals()]), ledger)
        check_figures(figures.figures([process.snapshot(records=0)]), ledger)


def check_crossings(pid, ledger):
    """A product is called by the program's call and by nothing else; a layered network's are called by it."""
    from amdgpu.telemetry import attach

    with attach.attach(pid) as process:
        snapshot = process.snapshot(records=0)
    rows = snapshot["crossings"]
    callers = {}
    for row in rows:
        caller = None if row["parent"] is None else rows[row["parent"]]["name"]
        callers.setdefault(row["name"], {})[caller] = row["count"]
    assert callers.get("matmul", {}).get(None, 0) == ledger["products"]
    if "agpu_matrix_matmul" in callers:
        assert callers["agpu_matrix_matmul"].get("matmul", 0) == ledger["products"]
        assert "SpikingNetwork.run" not in callers["agpu_matrix_matmul"]
    sums = {}
    for row in rows:
        key = row["from"], row["to"], row["name"]
        sums[key] = sums.get(key, 0) + row["count"]
    assert sums == {(row["from"], row["to"], row["name"]): row["count"] for row in snapshot["boundaries"]}


def check_page(watching, pid, schema, profile, frames, ledger, folder):
    """The page's data layer, under Node, with what the server sent."""
    if not ESBUILD.exists() or shutil.which("node") is None:
        pytest.skip("no Node, or its packages are not installed")
    script = folder / "ledger_dashboard.mjs"
    if not script.exists():
        bundle = [
            ESBUILD,
            HERE / "ledger_dashboard.ts",
            "--bundle",
            "--platform=node",
            "--format=esm",
            f"--outfile={script}",
        ]
        alias = f"--alias:@amdgpu-framework/sdk={HERE.parents[1] / 'js' / 'sdk' / 'src' / 'index.ts'}"
        subprocess.run([*map(str, bundle), alias, "--log-level=warning"], check=True, cwd=HERE.parents[1] / "js")
    status, listed = watching.call("kernel:list", {"pid": pid})
    assert status == "ok"
    told = {"pid": pid, "schema": schema, "frames": frames, "profile": profile, "kernels": listed["kernels"]}
    (folder / "told.json").write_text(json.dumps(told))
    done = subprocess.run(["node", str(script), str(folder / "told.json")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    rows = [row for row in shown["kernels"] if row["pid"] == pid and row["core"] == "aura"]
    assert {row["id"]: row["calls"] for row in rows} == ledger["calls"]
    assert all(row["isEstimated"] == (row["timedCalls"] < row["calls"]) for row in rows)
    assert {row["id"]: row["counted"] for row in shown["joined"] if row["id"] in ledger["calls"]} == ledger["calls"]
    assert all(row["listed"] == row["counted"] for row in shown["joined"])
    assert len(set(shown["titles"])) == len(shown["titles"])
    assert any(title.startswith("fold(float* x, float by") for title in shown["titles"])
