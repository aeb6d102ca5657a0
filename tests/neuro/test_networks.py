"""Networks: Nim text -> plan -> Zig forward = Julia forward = NumPy."""

import json
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from activation_oracle import ACTIVATIONS
from amdgpu import errors
from tolerances import NETWORK_FORWARD, SOFTMAX_ROW_SUM

EXAMPLE = (Path(__file__).parents[2] / "tools" / "demo" / "test_network.nim").read_text()


def backends():
    return ["matrix", "nim", "julia"] if amdgpu.math.availability()["found"] else ["matrix", "nim"]


def oracle(net, x):
    """The network in NumPy and float64."""
    values = x.astype(np.float64)
    by_name = {layer["name"]: layer for layer in net.plan["layers"]}
    for connection in net.plan["connections"]:
        layer = by_name[connection["to"]]
        z = values @ net.weights[f"{connection['from']} -> {connection['to']}"].astype(np.float64)
        kind = layer["activation"]["kind"]
        values = ACTIVATIONS["neuromorphic(1.2, 0.3)" if kind == "neuromorphic" else kind](z)
    return values


@pytest.mark.parametrize("backend", backends())
def test_the_example_of_the_requirements_agrees_with_numpy(backend, rng):
    net = amdgpu.Network(EXAMPLE)
    x = rng.random((32, 784), dtype=np.float32)
    y = net.forward(x, backend=backend)
    assert y.shape == (32, 10)
    assert y.dtype == np.float32
    assert np.abs(y.sum(axis=1) - 1).max() <= SOFTMAX_ROW_SUM
    assert np.abs(y - oracle(net, x)).max() <= NETWORK_FORWARD


@pytest.mark.parametrize("backend", backends())
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_agrees_with_numpy(activation, backend, rng):
    net = amdgpu.Network(
        f"neuralNetwork one:\n  layer a(7)\n  layer b(5, activation: {activation})\n  connect a -> b (weight: random(-2, 2))\n"
    )
    x = rng.standard_normal((9, 7)).astype("float32")
    assert np.abs(net.forward(x, backend=backend) - oracle(net, x)).max() <= 1e-5


def test_weights_are_the_same_for_the_same_seed_and_within_their_range():
    first, second = amdgpu.Network(EXAMPLE), amdgpu.Network(EXAMPLE)
    for name in first.weights:
        assert np.array_equal(first.weights[name], second.weights[name])
    weights = first.weights["input -> hidden"]
    assert weights.shape == (784, 256)
    assert -0.5 <= weights.min() < -0.49
    assert 0.49 < weights.max() <= 0.5
    assert abs(weights.mean()) < 0.005
    other = amdgpu.Network(EXAMPLE.replace("testNetwork:", "testNetwork:\n  seed = 7"))
    assert not np.array_equal(other.weights["input -> hidden"], weights)


def test_the_plan_is_versioned_json():
    plan = amdgpu.Network(EXAMPLE).plan
    assert (plan["schema"], plan["version"], plan["name"]) == ("amdgpu.network_plan", 1, "testNetwork")
    assert [layer["size"] for layer in plan["layers"]] == [784, 256, 10]
    json.dumps(plan)


def test_one_row_and_several_rows_and_device_arrays():
    net = amdgpu.Network(EXAMPLE)
    row = np.linspace(0, 1, 784, dtype="float32")
    single = net.forward(row)
    assert single.shape == (10,)
    assert np.array_equal(net.forward(row[None])[0], single)
    assert np.array_equal(net.forward(amdgpu.array(row)), single)
    assert net.forward(np.zeros((0, 784))).shape == (0, 10)


@pytest.mark.parametrize("backend", backends())
def test_hebbian_step_adds_the_outer_product(backend):
    net = amdgpu.Network(
        "neuralNetwork h:\n  layer a(3)\n  layer b(2)\n  connect a -> b (weight: 0.5)\n  plasticity hebbian(learning_rate: 0.1)\n"
    )
    x = np.array([[1, 2, 3], [0, 1, 0]], "float32")
    before = net.weights["a -> b"]
    y = net.hebbian_step(x, backend=backend)
    assert np.allclose(y, x @ before)
    assert np.allclose(net.weights["a -> b"], before + 0.1 / 2 * x.T @ y, rtol=1e-6)


def test_a_network_without_plasticity_cannot_learn():
    net = amdgpu.Network("neuralNetwork h:\n  layer a(3)\n  layer b(2)\n  connect a -> b (weight: 0.5)\n")
    with pytest.raises(errors.InvalidArgumentError, match="plasticity"):
        net.hebbian_step(np.ones(3))


def test_dict_configurations_are_checked_by_the_same_checker():
    config = {"architecture": [4, 8, 3], "activation": "relu", "output_activation": "softmax"}
    y = amdgpu.neural_network_forward(config, np.ones((2, 4)))
    assert y.shape == (2, 3)
    assert np.allclose(y.sum(axis=1), 1)
    layers = {"layers": [{"size": 4}, {"size": 3, "activation": "tanh"}], "seed": 3}
    assert np.abs(amdgpu.neural_network_forward(layers, np.ones(4))).max() <= 1
    for bad in ({}, {"architecture": [4, -1]}, {"architecture": "x"}, {"architecture": [4, 3], "activation": "rleu"}):
        with pytest.raises(errors.NetworkError):
            amdgpu.neural_network_forward(bad, np.ones(4))


BAD_TEXTS = {
    "unknown layer": (
        "neuralNetwork n:\n  layer a(3)\n  layer b(2)\n  connect a -> c (weight: 1.0)\n",
        ["line 4", "c"],
    ),
    "cycle": (
        (
            "neuralNetwork n:\n  layer a(3)\n  layer b(3)\n  layer c(3)\n  connect a -> b (weight: 1.0)\n"
            "  connect b -> c (weight: 1.0)\n  connect c -> b (weight: 1.0)\n"
        ),
        ["b", "c"],
    ),
    "wrong size": (
        "neuralNetwork n:\n  layer a(0)\n  layer b(-2)\n  connect a -> b (weight: 1.0)\n",
        ["line 2", "line 3"],
    ),
    "tabs": ("neuralNetwork n:\n\tlayer a(3)\n", ["line 2, column 1", "tab"]),
    "unknown activation": (
        "neuralNetwork n:\n  layer a(3)\n  layer b(2, activation: rleu)\n  connect a -> b (weight: 1.0)\n",
        ["rleu", "relu"],
    ),
    "duplicate": ("neuralNetwork n:\n  layer a(3)\n  layer a(2)\n", ["line 3", "a"]),
    "empty": ("", []),
    "spiking": ("neuralNetwork n:\n  population exc(100, model: liff)\n", ["line 2", "liff"]),
    "syntax": ("neuralNetwork n:\n  layer a(3\n  connect\n", ["line 2"]),
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_network_text_names_line_and_finding(name):
    text, wanted = BAD_TEXTS[name]
    with pytest.raises(errors.NetworkError) as caught:
        amdgpu.Network(text)
    assert caught.value.language == "nim"
    for part in wanted:
        assert part in str(caught.value)


def test_a_missing_final_newline_and_crlf_are_fine():
    text = "neuralNetwork n:\n  layer a(3)\n  layer b(2)\n  connect a -> b (weight: 1.0)"
    assert amdgpu.Network(text).forward(np.ones(3)).tolist() == [3, 3]
    assert amdgpu.Network(text.replace("\n", "\r\n")).forward(np.ones(3)).tolist() == [3, 3]


def test_values_that_are_not_finite_are_refused():
    net = amdgpu.Network(EXAMPLE)
    weights = net.weights["input -> hidden"]
    weights[3, 5] = np.nan
    with pytest.raises(errors.WeightsNotFiniteError, match="input -> hidden"):
        net.weights["input -> hidden"] = weights
    x = np.zeros((2, 784), "float32")
    x[1, 7] = np.inf
    with pytest.raises(errors.WeightsNotFiniteError):
        net.forward(x)


def test_wrong_input_is_refused():
    net = amdgpu.Network(EXAMPLE)
    for bad in (np.ones(10), np.ones((2, 783)), np.float32(1), np.ones((2, 2, 784))):
        with pytest.raises(errors.ShapeMismatchError):
            net.forward(bad)
    with pytest.raises(errors.UnsupportedDtypeError):
        net.forward(["a"] * 784)
    with pytest.raises(errors.NoImplementationError, match="matrix"):
        net.forward(np.ones(784), backend="cobol")
    with pytest.raises(errors.ShapeMismatchError, match="784"):
        net.weights["input -> hidden"] = np.ones((3, 3))
    with pytest.raises(errors.AmdgpuError, match="input -> output"):
        net.weights["input -> output"]
    with pytest.raises(errors.InvalidTypeError):
        amdgpu.Network(42)


def test_files_are_read_and_bad_ones_refused(tmp_path):
    good = tmp_path / "good.nim"
    good.write_text(EXAMPLE)
    assert amdgpu.Network.load(good).name == "testNetwork"
    bad = tmp_path / "bad.nim"
    bad.write_bytes(b"neuralNetwork n:\n  layer \xff(3)\n")
    with pytest.raises(errors.NetworkError, match="UTF-8"):
        amdgpu.Network.load(bad)
    with pytest.raises(OSError, match="nowhere"):
        amdgpu.Network.load(tmp_path / "nowhere.nim")


def test_included_files_are_found_beside_the_file_that_is_loaded(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "layers.net").write_text("layer input(3)\nlayer output(2)\n")
    whole = tmp_path / "whole.net"
    whole.write_text('neuralNetwork whole:\n  include "parts/layers.net"\n  connect input -> output (weight: 0.5)\n')
    assert amdgpu.Network.load(whole).forward(np.ones((1, 3), np.float32)).shape == (1, 2)
    (tmp_path / "parts" / "layers.net").write_text("layer input(3)\nlayer output(0)\n")
    with pytest.raises(
        errors.NetworkError, match=r"layers\.net, line 2, column 14: the size of layer 'output' is zero"
    ):
        amdgpu.Network.load(whole)
