"""The command line, run as a user would."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "tools" / "demo" / "test_network.nim"


@pytest.fixture
def cli(tmp_path):
    def run(*arguments, standard_input=None, **environment):
        return subprocess.run(
            [sys.executable, "-m", "amdgpu", *map(str, arguments)],
            input=standard_input,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            env=os.environ | environment,
        )

    return run


def test_tuning_that_measures_nothing_is_one_document(cli):
    done = cli("tune", "--no-measure", "--architecture", "sm_90", "--json")
    assert json.loads(done.stdout) == {"schema": "amdgpu.tune/1", "architecture": "sm_90"}
    assert "nothing is measured" in cli("tune", "--no-measure", "--architecture", "sm_90").stdout


def test_joined_steps_are_tuned_on_the_cpu(cli, tmp_path):
    steps = "{multiply(i0, 1.5 float32) float32; add(s0, 0.5 float32) float32} : float32[64, 1024]"
    (tmp_path / "graph.txt").write_text(f"%0 = input : float32[64, 1024]\n%1 = fused(%0) {steps}\nreturn %1\n")
    cache = {"AMDGPU_CACHE_DIR": str(tmp_path / "cache")}
    command = ("tune", "--device", "cpu:0", "--fused", "graph.txt", "--budget", "60", "--export", "known.json")
    (tuned,) = json.loads(cli(*command, "--json", **cache).stdout)["tuned"]
    assert set(tuned) == {"fused", "seconds", "failed"}
    assert " multiply_add of float32 2^16" in tuned["fused"]
    assert set(tuned["seconds"]) == {f"block {block} ahead 1" for block in (128, 256, 512, 1024)}
    assert tuned["fused"] in (tmp_path / "known.json").read_text()
    done = cli(*command, "--missing", **cache)
    assert "1 joined steps were measured before" in done.stdout
    for wrong, reason in (
        (("--fused", "none.txt"), "none.txt is no text of a graph"),
        (("--fused", "known.json"), "line 1"),
        (("--reductions", "sum:4x4"), "is no reduction"),
        (("--reductions", "sum:4x4:1"), "GPUs (hip, cuda) can be tuned"),
    ):
        done = cli("tune", "--device", "cpu:0", *wrong, **cache)
        assert done.returncode != 0
        assert reason in done.stderr


def test_info_shows_devices_and_libraries(cli):
    done = cli("info")
    assert done.returncode == 0
    for word in ("cpu:0", "libagpu_matrix.so", "libagpu_neuro.so", "libjulia"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120


def test_no_command_is_the_overview(cli):
    done = cli()
    assert done.returncode == 0
    assert "cpu:0" in done.stdout
    assert json.loads(cli("--json").stdout)["schema"] == "amdgpu.overview/1"


def test_json_is_versioned(cli):
    info = json.loads(cli("info", "--json").stdout)
    assert info["schema"] == "amdgpu.info/1"
    assert set(info) == {"schema", "version", "devices", "libraries"}
    assert info["devices"][-1]["device"] == "cpu:0"
    doctor = json.loads(cli("doctor", "--json").stdout)
    assert doctor["schema"] == "amdgpu.doctor/1"
    metrics = json.loads(cli("metrics", "--json").stdout)
    assert set(metrics) == {"schema", "counters", "gauges", "histograms"}


def test_metrics_prints_a_prometheus_page(cli):
    done = cli("metrics")
    assert done.returncode == 0
    assert "# TYPE amdgpu_" in done.stdout
    assert cli("metrics", "--open-metrics").stdout.endswith("# EOF\n")


def test_doctor_passes_here_and_names_what_is_missing(cli):
    done = cli("doctor")
    assert done.returncode == 0
    assert "AMD GPU driver" in done.stdout


def test_net_runs_a_file_and_writes_the_answer(cli, tmp_path):
    done = cli("net", EXAMPLE, "--batch", "3")
    assert done.returncode == 0
    assert "testNetwork" in done.stdout
    x = np.random.default_rng(1).random((2, 784), dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    done = cli("net", EXAMPLE, "--input", "x.npy", "--output", "y.npy", "--json")
    answer = json.loads(done.stdout)
    assert answer["schema"] == "amdgpu.net/1"
    assert np.allclose(np.load(tmp_path / "y.npy"), answer["output"])
    plan = json.loads(cli("net", EXAMPLE, "--plan").stdout)
    assert plan["plan"]["version"] == 1


def test_net_reads_standard_input(cli):
    done = cli("net", "-", standard_input=EXAMPLE.read_text())
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["net", "nowhere.nim"], 1, "nowhere.nim"),
        (["net", EXAMPLE, "--batch", "0"], 2, "--batch"),
        (["net", EXAMPLE, "--device", "99"], 1, "99"),
        (["net", EXAMPLE, "--input", "nowhere.npy"], 1, "nowhere.npy"),
        (["net", EXAMPLE, "--backend", "cobol"], 2, "cobol"),
        (["fly"], 2, "fly"),
    ],
)
def test_bad_arguments_get_a_message_and_an_exit_code(cli, arguments, code, words):
    done = cli(*arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_errors_of_a_network_file_show_every_finding(cli, tmp_path):
    (tmp_path / "bad.nim").write_text("neuralNetwork n:\n  layer a(0)\n  layer b(2, activation: rleu)\n")
    done = cli("net", "bad.nim")
    assert done.returncode == 1
    assert "line 2" in done.stderr
    assert "line 3" in done.stderr
    assert "Traceback" not in done.stderr
