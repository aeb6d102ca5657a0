"""Spiking networks on a GPU: the spikes of the CPU, bit for bit."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
import spiking_plans as plans
from amdgpu import _native

GPU = next((number for number, info in enumerate(amdgpu.list_devices()) if info.kind in ("cuda", "hip")), None)
pytestmark = pytest.mark.skipif(GPU is None, reason="needs a GPU")

EACH = {"kind": "normal", "mean": 1.62e-3, "standard_deviation": 2e-4}
LATE = {"kind": "random", "low": 0.0, "high": 4e-3}


def build(plan: dict[str, Any], name: int | str | None, **options: Any) -> _native.SpikingNetwork:
    device = amdgpu.device.default_device(name).native
    return _native.SpikingNetwork(plans.text(plan), device, **options)


def variants() -> dict[str, dict[str, Any]]:
    late = plans.cuba(delay=1.5e-3)
    for one in late["spiking"]["projections"]:
        one["delay_seconds"] = LATE
    each = plans.cuba()
    for one in each["spiking"]["projections"][:2]:
        one["weight"] = EACH
    driven = plans.changed(
        plans.cuba(),
        sources=[
            {"kind": "poisson", "name": "noise", "size": 700, "rate_hz": plans.constant(50.0)},
            {"kind": "poisson", "name": "ramp", "size": 99, "rate_hz": {"kind": "random", "low": 0.0, "high": 90.0}},
            {"kind": "spikes", "name": "list", "size": 9, "times_seconds": [0.01, 0.02, 0.01], "indices": [1, 2, 8]},
        ],
        drives=[{"kind": "poisson", "population": "inh", "input": "ge", "rate_hz": 9.0, "count": 80.0, "weight": 2e-4}],
    )
    for source in ("noise", "ramp", "list"):
        driven["spiking"]["projections"].append(
            {
                "from": source,
                "to": "exc",
                "input": "ge",
                "pattern": {"kind": "fixed_out", "count": 20},
                "weight": plans.constant(3e-4),
                "delay_seconds": plans.constant(1e-3),
            }
        )
    return {"cuba": plans.cuba(), "late": late, "each": each, "driven": driven, "stdp": plans.stdp(delay=5e-4)}


@pytest.mark.parametrize("name", ["cuba", "late", "each", "driven", "stdp"])
def test_spikes_and_states_have_the_bits_of_the_cpu(name: str) -> None:
    plan = variants()[name]
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
