"""The two kinds of networks and the factory that tells them apart by their text."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

LAYERED = "layer a(2)\nlayer b(3, activation: tanh)\nconnect a -> b\n"
SPIKING = """
neuron cell:
  params(tau = 10.ms, drive = 20.mV)
  dv/dt = (drive - v) / tau
  threshold: v > 10.mV
  reset: v = 0.mV
population cells(3, model: cell)
"""


def test_the_factory_gives_the_class_that_the_text_asks_for():
    layered, spiking = amdgpu.Network(LAYERED), amdgpu.Network(SPIKING, device="cpu:0")
    assert type(layered) is amdgpu.LayeredNetwork
    assert type(spiking) is amdgpu.SpikingNetwork
    assert all(isinstance(one, amdgpu.Network) for one in (layered, spiking))
    assert [one.is_spiking for one in (layered, spiking)] == [False, True]
    assert type(amdgpu.Network({"architecture": [2, 3]})) is amdgpu.LayeredNetwork


def test_each_class_takes_the_text_of_its_kind(tmp_path):
    path = tmp_path / "net.nim"
    path.write_text(SPIKING)
    assert amdgpu.SpikingNetwork.load(path, device="cpu:0").step(100).counts["cells"] == 3
    assert amdgpu.LayeredNetwork(LAYERED).forward(np.ones(2)).shape == (3,)
    for kind, text in ((amdgpu.LayeredNetwork, SPIKING), (amdgpu.SpikingNetwork, LAYERED)):
        with pytest.raises(errors.NetworkError, match=f"which {kind.__name__} is not"):
            kind(text)


@pytest.mark.parametrize("name", ["run", "step", "states", "last_result", "plot_raster", "synapses", "reward"])
def test_what_belongs_to_spiking_networks_is_refused_by_layered_ones(name):
    net = amdgpu.Network(LAYERED)
    with pytest.raises(errors.NetworkError, match="layered: it has no populations"):
        getattr(net, name)
    assert not hasattr(net, name)


@pytest.mark.parametrize("name", ["forward", "train", "biases", "input_size", "gradients", "history", "hebbian_step"])
def test_what_belongs_to_layered_networks_is_refused_by_spiking_ones(name):
    net = amdgpu.Network(SPIKING)
    with pytest.raises(errors.NetworkError, match="spiking one, without layers"):
        getattr(net, name)
    assert not hasattr(net, name)


def test_a_name_that_no_network_has_is_an_attribute_error():
    for text in (LAYERED, SPIKING):
        with pytest.raises(AttributeError, match="no attribute 'forwards'"):
            amdgpu.Network(text).forwards  # noqa: B018


def test_the_seed_of_a_call_is_that_of_a_text():
    seeded = amdgpu.Network(LAYERED, seed=7)
    assert seeded.plan["seed"] == 7
    written = amdgpu.Network("seed = 7\n" + LAYERED)
    assert np.array_equal(seeded.weights["a -> b"], written.weights["a -> b"])
    assert not np.array_equal(seeded.weights["a -> b"], amdgpu.Network(LAYERED).weights["a -> b"])


def test_includes_start_at_the_base_directory_wherever_the_statement_stands(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "inner.net").write_text("layer a(2)\n")
    (tmp_path / "parts" / "outer.net").write_text('include "inner.net"\nlayer b(1)\n')
    text = 'neuralNetwork whole:\n  # include "nothing.net"\n  include  "parts/outer.net"   # two\n  connect a -> b\n'
    assert amdgpu.Network(text, base_directory=tmp_path).input_size == 2
    with pytest.raises(errors.NetworkError, match="there is no file '"):
        amdgpu.Network('include "nowhere.net"\n', base_directory=tmp_path)


def test_a_plan_from_elsewhere_is_checked_once_and_one_of_the_compiler_is_taken():
    plan = amdgpu._native.NetworkPlan.compile(LAYERED)
    assert amdgpu._native.NetworkPlan.from_json(plan.json).name == plan.name
    with pytest.raises(errors.NetworkError, match="no size"):
        amdgpu._native.NetworkPlan.from_json(plan.json.replace('"size": 3', '"size": 0'))
    with pytest.raises(errors.NetworkError, match="where a spiking one is needed"):
        amdgpu._native.SpikingNetwork(plan, amdgpu.device.default_device("cpu:0").native)
