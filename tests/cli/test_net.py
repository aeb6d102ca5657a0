"""`amdgpu net` with spiking networks, run as a user would."""

import importlib.util
import json
import os
import subprocess
import sys

import amdgpu
import pytest
from amdgpu.cli import main

TEXT = """
neuralNetwork small:
  dt = 0.1.ms
  seed = 3
  neuron cell:
    params(tau = 10.ms, drive = 20.mV)
    dv/dt = (drive - v) / tau
    threshold: v > 10.mV
    reset: v = 0.mV
    target: v
  population left(30, model: cell, v: random(0.mV, 10.mV))
  population right(20, model: cell, v: random(0.mV, 10.mV))
  source noise(poisson(rate: 50.Hz), n: 4)
  connect noise -> left(weight: 1.mV)
  connect left -> right(pattern: probability(0.5), weight: 0.2.mV, delay: 1.ms)
  record spikes(left, right)
"""
BAD = """neuralNetwork small:
  dt = 0.1.ms
  neuron cell:
    dv/dt = -v / tua
    threshold: v > 10.mV
    reset: v = 0.mV
  population left(0, model: cell)
  connect left -> rigth
"""


@pytest.fixture
def cli(tmp_path):
    (tmp_path / "small.net").write_text(TEXT)
    (tmp_path / "bad.net").write_text(BAD)
    (tmp_path / "layers.net").write_text("layer a(2)\nlayer b(1)\nconnect a -> b\n")

    def run(*arguments, standard_input=None):
        return subprocess.run(
            [sys.executable, "-m", "amdgpu", "net", *arguments, "--device", "cpu:0"],
            input=standard_input,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            cwd=tmp_path,
            env=os.environ,
        )

    return run


def test_without_run_the_network_is_checked_and_described(cli):
    done = cli("small.net")
    assert done.returncode == 0, done.stderr
    for words in ("left -> right", "50 neurons", "predicted memory", "cell", "poisson", "seed 3"):
        assert words in done.stdout
    assert "spike_hash" not in done.stdout


def test_a_run_prints_rates_speed_and_the_hash_of_the_library(cli):
    done = cli("small.net", "--run", "100ms")
    assert done.returncode == 0, done.stderr
    result = amdgpu.Network(TEXT, device="cpu:0").run(0.1)
    assert f"spike_hash {result.spike_hash}" in done.stdout
    assert f"{result.rates()['right']:.3f}" in done.stdout
    assert "realtime factor" in done.stdout
    assert done.stderr == ""


def test_json_holds_the_run(cli):
    answer = json.loads(cli("-", "--run", "0.05", "--json", standard_input=TEXT).stdout)
    result = amdgpu.Network(TEXT, device="cpu:0").run(0.05)
    assert answer["schema"] == "amdgpu.net_run/1"
    assert answer["run"]["spike_hash"] == result.spike_hash
    assert answer["run"]["counts"] == dict(result.counts)
    assert answer["run"]["steps"] == 500
    assert answer["populations"] == {"left": 30, "right": 20}
    assert answer["memory"]["total_bytes"] > 0
    assert json.loads(cli("small.net", "--json").stdout)["run"] is None


def test_the_seed_option_takes_the_place_of_the_texts(cli):
    hashes = {
        seed: json.loads(cli("small.net", "--run", "50.ms", "--seed", seed, "--json").stdout)["run"]["spike_hash"]
        for seed in ("3", "4")
    }
    assert hashes["3"] == amdgpu.Network(TEXT, device="cpu:0").run(0.05).spike_hash
    assert hashes["4"] == amdgpu.Network(TEXT.replace("seed = 3", "seed = 4"), device="cpu:0").run(0.05).spike_hash
    assert hashes["3"] != hashes["4"]


def test_a_saved_state_goes_on_as_if_nothing_had_happened(cli, tmp_path):
    done = cli("small.net", "--run", "50ms", "--save", "state.npz")
    assert "state: state.npz" in done.stdout
    net = amdgpu.Network(TEXT, device="cpu:0")
    net.restore(tmp_path / "state.npz")
    assert net.time == pytest.approx(0.05)
    other = amdgpu.Network(TEXT, device="cpu:0")
    other.run(0.05)
    assert net.run(0.05).spike_hash == other.run(0.05).spike_hash


def test_plot_draws_the_spikes_or_says_what_is_missing_before_the_run(cli, tmp_path):
    done = cli("small.net", "--run", "50ms", "--plot", "raster.png")
    if importlib.util.find_spec("matplotlib") is None:
        assert done.returncode == 1
        assert "pip install matplotlib" in done.stderr
        assert done.stdout == ""
        return
    assert "spikes: raster.png" in done.stdout
    assert (tmp_path / "raster.png").read_bytes().startswith(b"\x89PNG")
    assert "network: net.svg" in cli("small.net", "--plot", "net.svg").stdout
    refused = cli("small.net", "--run", "50ms", "--plot", "raster.docx")
    assert refused.returncode == 1
    assert ".png" in refused.stderr
    assert refused.stdout == ""


def test_an_interrupted_run_is_shown_and_saved(cli, tmp_path, monkeypatch, capsys):
    def interrupt(part):
        raise KeyboardInterrupt

    run = amdgpu.SpikingNetwork.run
    monkeypatch.setattr(
        amdgpu.SpikingNetwork, "run", lambda self, duration, progress: run(self, duration, progress=interrupt)
    )
    arguments = [
        "net",
        str(tmp_path / "small.net"),
        "--run",
        "1000s",
        "--save",
        str(tmp_path / "s.npz"),
        "--device",
        "cpu:0",
    ]
    assert main(arguments) == 130
    assert "Interrupted run" in capsys.readouterr().out
    net = amdgpu.Network(TEXT, device="cpu:0")
    net.restore(tmp_path / "s.npz")
    assert 0 < net.time < 1000


def test_all_errors_of_a_text_are_shown_with_line_column_and_caret(cli):
    done = cli("bad.net", "--run", "1s")
    assert done.returncode == 1
    for words in ("line 4, column 18", "line 7", "line 8", "^^^"):
        assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["small.net", "--run", "soon"], 2, "250ms"),
        (["small.net", "--run", "0"], 2, "above 0"),
        (["small.net", "--run=-1s"], 2, "above 0"),
        (["small.net", "--run", "nan"], 2, "above 0"),
        (["small.net", "--seed=-1"], 2, "seed"),
        (["small.net", "--seed", str(2**63)], 2, "seed"),
        (["small.net", "--batch", "3"], 1, "--batch does not fit"),
        (["layers.net", "--run", "1s"], 1, "--run does not fit"),
        (["small.net", "--run", "1ms", "--save", "nowhere/state.npz"], 1, "nowhere"),
        (["nowhere.net"], 1, "nowhere.net"),
    ],
)
def test_bad_options_get_a_message_and_an_exit_code(cli, arguments, code, words):
    done = cli(*arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_seeds_out_of_range_are_refused_by_the_library():
    for seed in (-1, 2**63):
        with pytest.raises(amdgpu.errors.InvalidArgumentError, match=f"seed is {seed}; it must be"):
            amdgpu.Network(TEXT, device="cpu:0", seed=seed)
    for seed in (1.5, True):
        with pytest.raises(amdgpu.errors.InvalidTypeError, match=f"seed is {seed}; an integer is expected"):
            amdgpu.Network(TEXT, device="cpu:0", seed=seed)
    with pytest.raises(amdgpu.errors.InvalidArgumentError, match="entry 'seed'"):
        amdgpu.Network({"architecture": [2, 1]}, seed=1)
    layered = "layer a(2)\nlayer b(2)\nconnect a -> b\n"
    one, two = (amdgpu.Network(layered, seed=seed).weights["a -> b"] for seed in (1, 2))
    assert (one != two).any()
    assert (one == amdgpu.Network("seed = 1\n" + layered).weights["a -> b"]).all()
