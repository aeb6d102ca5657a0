"""Spiking networks on a GPU: the spikes of the CPU, bit for bit. Layered networks, computed and trained there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import amdgpu
import network_cases as cases
import numpy as np
import pytest
import spiking_plans as plans
import training_cases as training
from amdgpu import _native, dispatch
from device_ops_cases import fallbacks
from positioned_networks import CELL, ON_DEVICES
from tolerances import TRAINING_WEIGHTS

GPU = next((number for number, info in enumerate(amdgpu.list_devices()) if info.kind in ("cuda", "hip")), None)
pytestmark = pytest.mark.skipif(GPU is None, reason="needs a GPU")

BATCH = """
neuron cell:
  params(tau = 10.ms, sigma = 4.mV)
  dv/dt = -v / tau + sigma * sqrt(2 / tau) * xi + I / tau
  dI/dt = -I / (5.ms)
  threshold: v > 6.mV
  reset: v = 0.mV
population cells(300, model: cell, v: random(0.mV, 9.mV))
source noise(poisson(rate: 60.Hz), n: 100)
connect noise -> cells(pattern: probability(0.2), weight: 0.5.mV, delay: 1.ms, target: I)
connect cells -> cells(pattern: probability(0.1), weight: 0.3.mV, delay: random(0.1.ms, 1.4.ms), target: I)
plasticity stdp(w_max: 2.mV, on: noise -> cells)
record spikes(cells)
record v(cells[0 ..< 3], every: 20.ms)
"""


def build(plan: dict[str, Any], name: int | str | None, **options: Any) -> _native.SpikingNetwork:
    device = amdgpu.device.default_device(name).native
    return _native.SpikingNetwork(plans.native(plan), device, **options)


@pytest.mark.parametrize("name", list(plans.variants()))
def test_spikes_and_states_have_the_bits_of_the_cpu(name: str) -> None:
    plan = plans.variants()[name]
    here, there = build(plan, "cpu:0"), build(plan, GPU)
    wanted, found = here.run(3000), there.run(3000)
    assert sum(count for _, _, count in wanted["counts"]) > 100
    assert found["counts"] == wanted["counts"]
    assert found["spike_hash"] == wanted["spike_hash"]
    for (_, times, indices), (_, other_times, other_indices) in zip(wanted["spikes"], found["spikes"], strict=True):
        assert np.array_equal(times, other_times)
        assert np.array_equal(indices, other_indices)
    state, other = here.export_state()[1], there.export_state()[1]
    assert list(state) == list(other)
    for key, values in state.items():
        assert np.array_equal(values, other[key]), key


def test_patterns_and_values_on_positions_have_the_bits_of_the_cpu() -> None:
    plan = _native.NetworkPlan.compile(CELL + ON_DEVICES)
    runs = [_native.SpikingNetwork(plan, amdgpu.device.default_device(name).native) for name in ("cpu:0", GPU)]
    tables = [network.synapses("c -> c") for network in runs]
    for ours, theirs in zip(*tables, strict=True):
        assert np.array_equal(ours, theirs)
    wanted, found = (network.run(1000) for network in runs)
    assert found["spike_hash"] == wanted["spike_hash"]
    assert found["counts"] == wanted["counts"]


def test_a_checkpoint_moves_between_devices() -> None:
    plan = plans.stdp(delay=1e-3)
    here, there = build(plan, "cpu:0"), build(plan, GPU)
    here.run(500)
    there.import_state(*here.export_state())
    assert there.run(500)["spike_hash"] == here.run(500)["spike_hash"]
    here.import_state(*there.export_state())
    assert there.run(500)["spike_hash"] == here.run(500)["spike_hash"]


def test_states_are_recorded_on_a_gpu() -> None:
    record = {"kind": "state", "population": "inh", "variable": "ge", "first": 3, "count": 7, "every_seconds": 3e-4}
    plan = plans.changed(plans.cuba(), records=[record])
    wanted, found = build(plan, "cpu:0").run(900)["states"][0], build(plan, GPU).run(900)["states"][0]
    assert np.array_equal(wanted[3], found[3])


def test_weights_that_are_set_are_used() -> None:
    plan = plans.cuba()
    hashes = []
    for name in ("cpu:0", GPU):
        network = build(plan, name)
        before = network.run(500)["spike_hash"]
        network.set_weights("exc -> exc", network.synapses("exc -> exc")[2] * 0.5)
        hashes.append((before, network.run(500)["spike_hash"]))
    assert hashes[0] == hashes[1]


def test_steps_with_plasticity_are_replayed_as_graphs() -> None:
    network = build(plans.stdp(delay=1e-3), GPU)
    network.run(512)
    assert network.is_replayed


def test_members_of_a_batch_have_the_spikes_that_they_have_alone() -> None:
    assert GPU is not None
    seeds = [3, 1, 4, 1, 5]
    results = amdgpu.Network(BATCH, device=GPU).run_batch(0.05, seeds=seeds)
    for seed, result in zip(seeds, results, strict=True):
        alone = amdgpu.Network(BATCH, device="cpu:0", seed=seed).run(0.05)
        assert result.counts == alone.counts
        assert result.spike_hash == alone.spike_hash
        assert np.array_equal(result.states["cells.v"].values, alone.states["cells.v"].values)
    assert len({result.spike_hash for result in results}) == 4


@pytest.mark.parametrize("name", list(cases.TEXTS))
def test_layered_networks_are_computed_there(name: str) -> None:
    assert GPU is not None
    here, there = cases.network(name, "cpu:0"), cases.network(name, GPU)
    before = fallbacks("matrix_multiply")
    for x in cases.inputs(there):
        wanted = here.forward(x)
        found = there.forward(x)
        lent = there.forward(amdgpu.array(x, "float32", device=GPU))
        assert isinstance(found, np.ndarray)
        cases.check(found, wanted)
        assert isinstance(lent, amdgpu.Array)
        assert np.array_equal(lent.numpy(), found)
    # Without archives a kernel of our compiler multiplies, which is counted.
    assert fallbacks("matrix_multiply") == before


@pytest.fixture
def no_fallbacks() -> Iterator[None]:
    """Nothing is computed by the CPU in the GPU's place; without archives a kernel of our compiler multiplies, which is counted."""
    before = fallbacks("matrix_multiply")
    yield
    assert fallbacks("matrix_multiply") == before


@pytest.mark.usefixtures("no_fallbacks")
@pytest.mark.parametrize("name", list(cases.TEXTS))
def test_gradients_of_layered_networks_are_those_of_the_cpu(name: str) -> None:
    training.check_gradients(name, GPU, None)


@pytest.mark.usefixtures("no_fallbacks")
@pytest.mark.parametrize("optimizer", list(training.OPTIMIZERS))
def test_every_optimizer_learns_what_it_learns_on_the_cpu(optimizer: str) -> None:
    training.check_training(optimizer, GPU, None)


def test_a_training_moves_between_devices(tmp_path: Path) -> None:
    assert GPU is not None
    there = training.trained(GPU, None, epochs=2)
    there.save(tmp_path / "half.npz")
    x, labels = training.classes()
    ends = []
    for device in ("cpu:0", GPU):
        net = amdgpu.Network(training.CLASSIFIER, device=device)
        net.restore(tmp_path / "half.npz")
        net.train(x, labels, epochs=4, batch_size=16, seed=5, resume=True)
        ends.append(training.numbers(net))
    training.assert_near(ends[1], ends[0], TRAINING_WEIGHTS)
    whole = training.numbers(training.trained(GPU, None, epochs=4))
    assert all(np.array_equal(ends[1][name], values) for name, values in whole.items())


def test_a_training_that_diverges_leaves_the_network_as_it_was_before_the_batch() -> None:
    assert GPU is not None
    net = amdgpu.Network("layer a(3)\nlayer b(2)\nconnect a -> b\n", device=GPU)
    before = training.numbers(net)
    with pytest.raises(amdgpu.errors.WeightsNotFiniteError):
        net.train(np.full((4, 3), 1e30, np.float32), np.zeros((4, 2)), epochs=3, learning_rate=1e30, optimizer="sgd")
    assert all(np.array_equal(training.numbers(net)[name], values) for name, values in before.items())


def test_backends_of_the_cpu_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GPU is not None
    said: list[str] = []
    monkeypatch.setattr(_native, "record_fallback", lambda operation, reason: said.append(f"{operation}: {reason}"))
    # What was decided before is not said again.
    monkeypatch.setattr(dispatch, "_resolved", {})
    here, there = cases.network("chain", "cpu:0"), cases.network("chain", GPU)
    x = cases.inputs(there)[0]
    assert np.array_equal(there.forward(x, backend="nim"), here.forward(x, backend="nim"))
    kind = amdgpu.list_devices()[GPU].kind
    assert said == [f"dispatch: dense_forward by nim does not run on {kind} devices: the CPU computes it"]
    with pytest.raises(amdgpu.errors.NoImplementationError, match="has no implementation 'cublas'"):
        there.forward(x, backend="cublas")
