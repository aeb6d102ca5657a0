"""`amdgpu`, `devices`, `pick`, `doctor`, `metrics`: what they say of this machine, and that their JSON is a contract."""

import json
import os
import re
import subprocess
import sys

import amdgpu
import pytest
from amdgpu.cli.status import overview, pick
from amdgpu.types import DeviceInfo
from cli_harness import WATCHED_PROGRAM, check_shape, document
from cli_harness import amdgpu as command

GIB = 1 << 30


@pytest.fixture
def watched(tmp_path):
    """A program that uses amdgpu meanwhile; its number."""
    call = [sys.executable, str(WATCHED_PROGRAM), "--seconds", "3000", "--parts", "kernels"]
    environment = os.environ | {"AMDGPU_CACHE_DIR": str(tmp_path / "cache")}
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True, env=environment) as process:
        process.stdout.readline()
        yield process.pid
        process.kill()


def device(name, *, free=8 * GIB, total=8 * GIB):
    return DeviceInfo(
        id=0,
        name=name,
        compute_units=1,
        memory_gb=8,
        core_types=["aura"],
        device=name,
        kind=name.partition(":")[0],
        total_memory_bytes=total,
        free_memory_bytes=free,
    )


def reading(metric, name, value, reason=None, **labels):
    return {"metric": f"amdgpu_{metric}", "labels": {"device": name, **labels}, "value": value, "reason": reason}


def _without_labels(rows):
    """The rows of a metric differ in their labels and in what this machine knows."""
    return [row | {"labels": {}} for row in rows[:1]] if isinstance(rows, list) else rows


def test_the_overview_shows_devices_cache_and_processes(watched, tmp_path):
    done = command(AMDGPU_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0
    assert done.stderr == ""
    for word in ("cpu:0", "memory", "busy", "kernel cache", "2 kernels", str(watched), "telemetry_program.py"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout


def test_the_json_overview_is_a_contract(watched, tmp_path):
    content = document(command("--json", AMDGPU_CACHE_DIR=str(tmp_path / "cache")))
    assert content["kernel_cache"]["kernels"] == 2
    (process,) = [row for row in content["processes"] if row["pid"] == watched]
    assert process["launches_total"] > 0
    assert process["devices"] == ["cpu:0"]
    cpu = content["devices"][-1]
    for row in cpu["sensors"]:
        assert (row["value"] is None) == (row["reason"] is not None), row
    cpu["sensors"] = [dict.fromkeys(row) for row in cpu["sensors"][:1]]
    cpu["details"] = {}
    check_shape("overview", content | {"devices": [cpu], "processes": [process]})


def test_the_overview_draws_ascii_where_nothing_else_can_be_shown():
    done = command(PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert re.search(r"memory +[#.]{24}", done.stdout)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_reasons_stay_within_the_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    reason = "no k10temp, zenpower or coretemp sensor; virtual machines have none"
    lines = overview.condition_lines(
        {"device": "cpu:0", "sensors": [reading("temperature_celsius", "cpu:0", None, reason)]}, " | ", columns
    )
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    assert max(map(len, plain)) <= columns
    assert reason in " ".join(" ".join(plain).split())


def test_a_device_without_sensors_has_the_reasons():
    content = {
        "version": "1",
        "devices": [
            {
                **amdgpu.cli.machine.device_rows([device("hip:0")])[0],
                "sensors": [reading("power_watts", "hip:0", None, "asleep")],
            }
        ],
        "kernel_cache": {"path": None, "kernels": None, "bytes": None, "reason": "AMDGPU_CACHE_DIR is off"},
        "processes": [],
        "processes_absent": None,
    }
    text = "\n".join(overview.lines(content))
    assert "not known: asleep" in text
    assert "AMDGPU_CACHE_DIR is off" in text
    assert "none uses amdgpu now" in text


def test_numpy_rich_and_textual_are_not_loaded_for_the_overview():
    code = "import sys; from amdgpu.cli import main; main([]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "rich", "textual", "llvmlite"} & set(done.stderr.split())


def test_devices_are_listed():
    content = document(command("devices", "--json"))
    assert content["devices"][-1]["device"] == "cpu:0"
    check_shape("devices", content | {"devices": [content["devices"][-1] | {"details": {}}]})
    assert "cpu:0" in command("devices").stdout


def test_pick_prints_a_setting_that_the_package_understands():
    done = command("pick")
    assert done.returncode == 0
    name, _, value = done.stdout.strip().partition("=")
    assert name == "AMDGPU_DEVICES"
    listed = document(command("devices", "--json", AMDGPU_DEVICES=value))
    assert [row["device"] for row in listed["devices"]] == value.split(",")


def test_pick_prefers_free_memory_and_leaves_busy_and_hot_devices_alone():
    devices = [device("cuda:0", free=4 * GIB), device("cuda:1"), device("cuda:2"), device("cuda:3"), device("cpu:0")]
    readings = [
        reading("busy_ratio", "cuda:1", 0.9, core="gpu"),
        reading("temperature_celsius", "cuda:2", 40.0, sensor="edge"),
        reading("temperature_celsius", "cuda:2", 99.0, sensor="junction"),
        reading("busy_ratio", "cuda:3", 0.05),
    ]
    ranked = pick.rank(devices, readings, 0)
    assert [candidate.device for candidate in ranked] == ["cuda:3", "cuda:0", "cuda:1", "cuda:2", "cpu:0"]
    assert [candidate.device for candidate in pick.rank(devices, readings, 6 * GIB)] == [
        "cuda:3",
        "cuda:1",
        "cuda:2",
        "cpu:0",
    ]
    assert pick.rank(devices, readings, 9 * GIB) == []


def test_pick_of_equal_devices_keeps_their_order():
    devices = [device(f"hip:{number}") for number in range(4)]
    assert [candidate.device for candidate in pick.rank(devices, [], 0)] == ["hip:0", "hip:1", "hip:2", "hip:3"]


def test_pick_json_says_what_is_not_known():
    content = document(command("pick", "--json", "--kind", "cpu"))
    assert content["setting"] == "AMDGPU_DEVICES=cpu:0"
    chosen = content["chosen"][0]
    for field in ("busy_ratio", "temperature_celsius"):
        word = field.partition("_")[0]
        assert (chosen[field] is None) == any(reason.startswith(word) for reason in chosen["reasons"])
    content["chosen"] = [chosen | {"busy_ratio": None, "temperature_celsius": None, "reasons": []}]
    check_shape("pick", content)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--memory", "900T"], "900.0 TiB"),
        (["--memory", "lots"], "512M"),
        (["--memory=-1G"], "512M"),
        (["--count", "99", "--kind", "cpu"], "99 devices of kind cpu"),
        (["--count", "0"], "--count"),
    ],
)
def test_a_device_that_is_not_there_is_explained(arguments, words):
    done = command("pick", *arguments)
    assert done.returncode == (2 if words in ("512M", "--count") else 1)
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("text", "count"), [("1", 1), ("2K", 2048), ("1.5GiB", 3 * GIB // 2), ("3 mb", 3 << 20), ("1T", 1 << 40)]
)
def test_sizes_are_read_as_people_write_them(text, count):
    assert pick.bytes_of(text) == count


def test_doctor_finds_misspelt_variables_and_says_the_right_name():
    done = command("doctor", "--json", AMDGPU_TELEMETY="off")
    findings = {row["name"]: row for row in document(done)["findings"]}
    assert findings["environment"]["is_ok"] is False
    assert "AMDGPU_TELEMETRY" in findings["environment"]["fix"]
    assert done.returncode == 0
    check_shape("doctor", document(done))


def test_doctor_looks_at_the_cache(tmp_path):
    (tmp_path / "file").write_text("")

    def cache(value):
        content = document(command("doctor", "--json", AMDGPU_CACHE_DIR=value))
        return next(row for row in content["findings"] if row["name"] == "kernel cache")

    assert cache(str(tmp_path / "new" / "folder"))["is_ok"] is True
    assert cache("off")["is_ok"] is False
    assert cache(str(tmp_path / "file"))["is_ok"] is False
    assert "AMDGPU_CACHE_DIR" in cache(str(tmp_path / "file"))["fix"]


def test_every_finding_that_is_not_fine_says_what_to_do():
    for finding in amdgpu.doctor():
        assert finding.is_ok or finding.fix, finding


def _own(rows):
    """Rows of the command itself: which other programs run meanwhile, and what they count, is by chance."""
    return [row for row in rows if "pid" not in row["labels"]] if isinstance(rows, list) else rows


def test_metrics_again_and_again_are_lines_of_json():
    done = command("metrics", "--watch", "0.1", "--count", "2", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["schema"] for line in lines] == ["amdgpu.metrics/1"] * 2
    check_shape("metrics", {kind: _without_labels(_own(rows)) for kind, rows in lines[0].items()})
    assert (
        command("metrics", "--watch", "0.1", "--count", "2").stdout.count("# TYPE amdgpu_telemetry_overhead_ratio") == 2
    )


@pytest.mark.parametrize("seconds", ["0", "-1", "inf", "nan"])
def test_metrics_refuses_times_that_are_none(seconds):
    done = command("metrics", "--watch", seconds)
    assert done.returncode == 2
    assert "--watch" in done.stderr


def test_metrics_have_the_sensors():
    page = command("metrics").stdout
    assert re.search(r'^amdgpu_memory_total_bytes\{device="cpu:0"\} \d', page, re.MULTILINE)


def test_metrics_under_other_exporters_names_are_those_of_gpus():
    pytest.importorskip("starlette", reason="the extra `server` is not installed")
    done = command("metrics", "--compat", "dcgm")
    assert done.returncode == 0, done.stderr
    assert "amdgpu_" not in done.stdout
    assert command("metrics", "--compat", "amd", "--json").returncode == 2
