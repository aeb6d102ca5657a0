"""Spiking networks stepped by the engine on the CPU device: against a dense NumPy oracle, between threads, storages and checkpoints."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
import spiking_plans as plans
from amdgpu import _native
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NetworkError, OutOfMemoryError, WeightsNotFiniteError

DT = 1e-4
SMALL = {"exc": 400, "inh": 100, "probability": 0.1}


@pytest.fixture(scope="module")
def device() -> _native.Device:
    return amdgpu.device.default_device("cpu:0").native


def build(plan: dict[str, Any], device: _native.Device, **options: Any) -> _native.SpikingNetwork:
    return _native.SpikingNetwork(plans.native(plan), device, **options)


def with_projections(plan: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A copy whose projections have other fields."""
    return plans.changed(plan, projections=[{**one, **fields} for one in plan["spiking"]["projections"]])


def dense(network: _native.SpikingNetwork, plan: dict[str, Any], steps: int) -> tuple[list[set[int]], np.ndarray]:
    """The same network with matrices instead of rows: who spikes in each step, and the last membrane potentials."""
    spiking = plan["spiking"]
    group = spiking["groups"][0]
    size = group["size"]
    value = {one["name"]: np.float32(one["values"][0]["value"]["value"]) for one in group["parameters"]}
    offset = {one["name"]: one["first"] for one in spiking["populations"]}
    _, state = network.export_state()
    v, ge, gi = (state[f"state.cell.{name}"].copy() for name in ("v", "ge", "gi"))
    arrivals = {"ge": np.zeros((steps + 100, size)), "gi": np.zeros((steps + 100, size))}
    synapses = []
    for one, name in zip(spiking["projections"], network.projection_names(), strict=True):
        sources, targets, weights, delays = network.synapses(name)
        rows = sources.astype(int) + offset[one["from"]], targets.astype(int) + offset[one["to"]]
        synapses.append((one["input"], *rows, weights.astype(np.float64), np.rint(delays / DT).astype(int)))
    left = np.zeros(size, int)
    spikes = []
    for step in range(steps):
        e = ge + arrivals["ge"][step].astype(np.float32)
        g = gi + arrivals["gi"][step].astype(np.float32)
        free = left == 0
        v = np.where(free, value["p_vv"] * v + value["p_ve"] * e + value["p_vi"] * g + value["p_v"], v)
        ge, gi = value["p_ee"] * e, value["p_ii"] * g
        fired = free & (v > value["vt"])
        v = np.where(fired, value["vr"], v)
        left = np.where(fired, 49, np.maximum(left - 1, 0))
        spikes.append(set(np.flatnonzero(fired).tolist()))
        for variable, sources, targets, weights, delays in synapses:
            hit = fired[sources]
            np.add.at(arrivals[variable], (step + 1 + delays[hit], targets[hit]), weights[hit])
    return spikes, v


def spikes_by_step(result: dict[str, Any], plan: dict[str, Any], steps: int) -> list[set[int]]:
    offset = {one["name"]: one["first"] for one in plan["spiking"]["populations"]}
    found: list[set[int]] = [set() for _ in range(steps)]
    for name, times, indices in result["spikes"]:
        for time, index in zip(times, indices, strict=True):
            found[round(time / DT)].add(int(index) + offset[name])
    return found


@pytest.mark.parametrize(
    "delay",
    [
        plans.constant(0.0),
        plans.constant(1.5e-3),
        {"kind": "random", "low": 0.0, "high": 3e-3},
    ],
    ids=["none", "uniform", "heterogeneous"],
)
@pytest.mark.parametrize("weight", ["uniform", "each"])
def test_every_spike_is_that_of_a_dense_oracle(device: _native.Device, delay: dict[str, Any], weight: str) -> None:
    plan = with_projections(plans.cuba(**SMALL), delay_seconds=delay)
    if weight == "each":
        for one in plan["spiking"]["projections"]:
            mean = one["weight"]["value"]
            one["weight"] = {"kind": "random", "low": min(0.5 * mean, 1.5 * mean), "high": max(0.5 * mean, 1.5 * mean)}
    network = build(plan, device)
    steps = 600
    wanted, v = dense(network, plan, steps)
    result = network.run(steps)
    assert result["error"] is None
    found = spikes_by_step(result, plan, steps)
    assert sum(map(len, wanted)) > 100
    # NumPy rounds each product, the kernel fuses: a threshold may be met a step later, and what follows from that differs.
    first_difference = next((step for step in range(steps) if wanted[step] != found[step]), steps)
    assert first_difference > 100
    if first_difference == steps:
        assert np.abs(network.export_state()[1]["state.cell.v"] - v).max() < 1e-6


def test_cuba_has_the_rate_of_the_published_network(device: _native.Device) -> None:
    network = build(plans.cuba(), device)
    result = network.run(10_000)
    count = sum(count for _, _, count in result["counts"])
    # Brian2's CUBA example: 4 to 6 Hz over its first second.
    assert 4.0 < count / 4000 < 6.5
    assert sum(len(times) for _, times, _ in result["spikes"]) == count


@pytest.mark.parametrize("delay", [0.0, 1e-3])
def test_any_number_of_threads_gives_the_same_spikes_and_states(device: _native.Device, delay: float) -> None:
    plan = plans.cuba(delay=delay)
    seen = set()
    for threads in (1, 2, 3, 7):
        network = build(plan, device, threads=threads)
        result = network.run(1500)
        state = network.export_state()[1]
        seen.add((result["spike_hash"], *(values.tobytes() for values in state.values())))
    assert len(seen) == 1


def test_other_seeds_give_other_spikes(device: _native.Device) -> None:
    hashes = {build(plans.cuba(**SMALL, seed=seed), device).run(500)["spike_hash"] for seed in (1, 2, 3)}
    assert len(hashes) == 3


@pytest.mark.parametrize("storage", ["csr16", "csr32", "gap_coded", "bit_mask", "procedural"])
def test_every_storage_gives_the_same_spikes(device: _native.Device, storage: str) -> None:
    plan = plans.cuba(**SMALL)
    wanted = build(plan, device).run(1000)["spike_hash"]
    network = build(with_projections(plan, storage=storage), device)
    assert network.run(1000)["spike_hash"] == wanted
    estimate = json.loads(network.memory_json())
    assert {one["storage"] for one in estimate["projections"]} == {storage}


def test_runs_in_pieces_are_one_run(device: _native.Device) -> None:
    plan = plans.cuba(**SMALL, delay=5e-4)
    whole = build(plan, device)
    total = whole.run(1000)
    pieces = build(plan, device)
    times = []
    for steps in (1, 2, 3, 94, 400, 500):
        times += [times for _, times, _ in pieces.run(steps)["spikes"][:1]]
    assert np.array_equal(np.concatenate(times), total["spikes"][0][1])
    for name, values in whole.export_state()[1].items():
        assert np.array_equal(values, pieces.export_state()[1][name]), name


def test_states_are_recorded_at_the_beginning_of_steps_with_what_arrives(device: _native.Device) -> None:
    record = {"kind": "state", "population": "inh", "first": 3, "count": 5, "every_seconds": 5e-4}
    records = [{**record, "variable": "v"}, {**record, "variable": "ge", "every_seconds": 1e-4}]
    plan = plans.changed(plans.cuba(**SMALL), records=records)
    network = build(plan, device)
    start = network.export_state()[1]["state.cell.v"][403:408]
    (v_name, v_times, v_first, v), (ge_name, ge_times, _, ge) = network.run(200)["states"]
    assert (v_name, v_first, ge_name) == ("inh.v", 3, "inh.ge")
    assert np.allclose(v_times, np.arange(40) * 5e-4)
    assert v.shape == (40, 5)
    assert ge.shape == (200, 5)
    assert np.array_equal(v[0], start)
    assert np.array_equal(ge_times, np.arange(200) * DT)
    # Between spikes ge decays; a spike adds the weight in the very step in which it arrives.
    jumps = ge[1:] - ge[:-1] * np.float32(np.exp(-DT / 5e-3))
    counts = jumps / 1.62e-3
    assert np.abs(counts - np.rint(counts)).max() < 1e-2
    assert counts.max() > 0.9
    # Recording does not change what is recorded.
    assert np.array_equal(network.run(300)["states"][0][3][0], build(plan, device).run(201)["states"][0][3][40])


def test_a_checkpoint_continues_with_the_same_bits(device: _native.Device, tmp_path: Path) -> None:
    plan = with_projections(plans.cuba(**SMALL), delay_seconds={"kind": "random", "low": 0.0, "high": 3e-3})
    network = build(plan, device)
    network.run(700)
    step, state = network.export_state()
    wanted = network.run(800)
    other = build(plan, device, threads=2)
    other.run(13)
    other.import_state(step, state)
    found = other.run(800)
    assert found["spike_hash"] == wanted["spike_hash"]
    assert found["first_step"] == 700


def test_the_state_of_another_network_is_refused_and_changes_nothing(device: _native.Device) -> None:
    network = build(plans.cuba(**SMALL), device)
    network.run(50)
    before = network.export_state()
    foreign = build(plans.cuba(300, 100, probability=0.1), device).export_state()[1]
    partial = dict(list(before[1].items())[:-1])
    extra = {**before[1], "state.cell.x": np.zeros(3, np.float32)}
    for wrong in (foreign, partial, extra, {}):
        with pytest.raises(InvalidArgumentError, match="another network"):
            network.import_state(0, wrong)
    after = network.export_state()
    assert after[0] == before[0]
    assert all(np.array_equal(after[1][name], values) for name, values in before[1].items())


def test_poisson_sources_and_drives_have_their_rates(device: _native.Device) -> None:
    size = 500
    plan = plans.changed(
        plans.cuba(400, 100, probability=0.0),
        sources=[{"kind": "poisson", "name": "noise", "size": size, "rate_hz": plans.constant(120.0)}],
        drives=[
            {"kind": "poisson", "population": "inh", "input": "ge", "rate_hz": 20.0, "count": 300.0, "weight": 1e-6}
        ],
        records=[
            {"kind": "spikes", "population": "noise"},
            {"kind": "state", "population": "inh", "variable": "ge", "first": 0, "count": 100, "every_seconds": 1e-3},
            {"kind": "state", "population": "exc", "variable": "ge", "first": 0, "count": 100, "every_seconds": 1e-3},
        ],
    )
    network = build(plan, device)
    result = network.run(20_000)
    counts = {name: count for name, _, count in result["counts"]}
    # 120000 expected; standard deviation 344.
    assert abs(counts["noise"] - 120_000) < 1800
    per_neuron = np.bincount(result["spikes"][0][2], minlength=size)
    assert abs(per_neuron.var() / per_neuron.mean() - 1) < 0.25
    driven, quiet = (values for _, _, _, values in result["states"])
    # Campbell: mean = rate * weight * tau, within five standard errors.
    mean = 6000.0 * 1e-6 * 5e-3
    assert abs(driven[100:].mean() / mean - 1) < 0.02
    assert not quiet.any()


def test_a_source_of_listed_spikes_arrives_after_its_delay(device: _native.Device) -> None:
    plan = plans.cuba(40, 10, probability=0.0)
    plan["spiking"]["sources"] = [
        {"kind": "spikes", "name": "input", "size": 40, "times_seconds": [3e-4, 1e-3, 3e-4], "indices": [2, 7, 5]}
    ]
    plan["spiking"]["projections"] = [
        {
            "from": "input",
            "to": "exc",
            "input": "ge",
            "pattern": {"kind": "one_to_one"},
            "weight": plans.constant(1e-4),
            "delay_seconds": plans.constant(2e-4),
        }
    ]
    plan["spiking"]["records"] = [
        {"kind": "state", "population": "exc", "variable": "ge", "first": 0, "count": 40, "every_seconds": DT}
    ]
    ge = build(plan, device).run(20)["states"][0][3]
    assert np.flatnonzero(ge[5]).tolist() == []
    # Step 3, two steps of delay: there when step 3 + 1 + 2 begins.
    assert np.flatnonzero(ge[6]).tolist() == [2, 5]
    assert np.flatnonzero(ge[13]).tolist() == [2, 5, 7]
    assert ge[6, 2] == pytest.approx(1e-4, rel=1e-6)


def test_a_current_follows_its_samples(device: _native.Device) -> None:
    plan = plans.changed(
        plans.cuba(40, 10, probability=0.0),
        drives=[
            {
                "kind": "current",
                "population": "inh",
                "variable": "gi",
                "samples": [1e-3, 0.0, 2e-3],
                "every_seconds": 5e-4,
            }
        ],
        records=[
            {"kind": "state", "population": "inh", "variable": "gi", "first": 0, "count": 10, "every_seconds": DT}
        ],
    )
    gi = build(plan, device).run(30)["states"][0][3]
    assert np.allclose(gi[[0, 5, 10, 15], 3], [1e-3, 0.0, 2e-3, 0.0])
    assert (gi == gi[:, :1]).all()


def test_a_state_that_is_not_finite_stops_the_network_with_its_name(device: _native.Device) -> None:
    network = build(plans.cuba(**SMALL), device)
    step, state = network.export_state()
    state["state.cell.gi"][417] = np.nan
    network.import_state(step, state)
    with pytest.raises(WeightsNotFiniteError, match=r"variable v of population inh at step 64 .*\[17\]"):
        network.run(1000)
    with pytest.raises(InvalidArgumentError, match="cannot go on"):
        network.run(1)
    state["state.cell.gi"][417] = 0.0
    network.import_state(step, state)
    assert network.run(100)["error"] is None


def test_a_watcher_that_raises_ends_the_run_and_leaves_a_whole_network(device: _native.Device) -> None:
    plan = plans.cuba()

    class Enough(Exception):
        pass

    def watch(done: int, total: int, spikes: int) -> None:
        raise Enough

    network = build(plan, device)
    result = network.run(1_000_000, watch)
    assert isinstance(result["error"], Enough)
    assert result["is_interrupted"]
    assert 0 < result["steps"] < 1_000_000
    again = build(plan, device)
    assert again.run(result["steps"])["spike_hash"] == result["spike_hash"]
    for name, values in again.export_state()[1].items():
        assert np.array_equal(values, network.export_state()[1][name]), name


def test_an_interrupt_from_the_keyboard_ends_a_run(device: _native.Device) -> None:
    network = build(plans.cuba(), device)
    main = threading.main_thread().ident
    assert main is not None

    def watch(done: int, total: int, spikes: int) -> None:
        signal.pthread_kill(main, signal.SIGINT)

    result = network.run(10_000_000, watch)
    assert isinstance(result["error"], KeyboardInterrupt)
    assert result["steps"] == network.step_number


def test_weights_are_read_and_set_by_connection(device: _native.Device) -> None:
    plan = plans.cuba(**SMALL)
    network = build(plan, device)
    sources, targets, weights, _ = network.synapses("exc->inh")
    assert abs(len(sources) - 4000) < 400
    assert (np.diff(sources.astype(int)) >= 0).all()
    assert targets.max() < 100
    assert np.allclose(weights, 1.62e-3, rtol=1e-6)
    silent = np.zeros_like(weights)
    for name in network.projection_names():
        network.set_weights(name, np.zeros(len(network.synapses(name)[0]), np.float32))
    network.set_weights("exc -> inh", weights)
    assert np.allclose(network.synapses("exc -> inh")[2], weights, rtol=1e-6)
    assert not network.synapses("inh -> exc")[2].any()
    with pytest.raises(amdgpu.errors.ShapeMismatchError, match="synapses"):
        network.set_weights("exc -> inh", silent[:-1])
    with pytest.raises(WeightsNotFiniteError):
        network.set_weights("exc -> inh", silent + np.nan)
    with pytest.raises(InvalidArgumentError, match="too large"):
        network.set_weights("exc -> inh", silent + 1e3)
    with pytest.raises(InvalidArgumentError, match="it has exc -> exc"):
        network.synapses("exc -> out")


def test_memory_is_predicted_and_what_does_not_fit_is_refused_by_name(device: _native.Device) -> None:
    estimate = json.loads(build(plans.cuba(), device).memory_json())
    assert 1_000_000 < estimate["total_bytes"] < 4_000_000
    first = estimate["projections"][0]
    assert first["name"] == "exc -> exc"
    assert first["storage"] == "csr16"
    huge = plans.cuba(3_200_000, 800_000, probability=0.1)
    weight = {"kind": "random", "low": 0.0, "high": 1e-3}
    huge = with_projections(huge, weight=weight)
    estimate = json.loads(_native.network_memory(plans.native(huge), device))
    assert estimate["total_bytes"] > estimate["free_bytes"]
    with pytest.raises(OutOfMemoryError, match=r"the network, .* are free: exc -> exc takes .* as "):
        build(huge, device)
    # With uniform weights rows can be made on demand, and nothing is refused.
    small = json.loads(_native.network_memory(plans.native(plans.cuba(3_200_000, 800_000, probability=0.1)), device))
    assert small["total_bytes"] < small["free_bytes"]


def test_records_that_do_not_fit_are_refused_before_the_run(device: _native.Device) -> None:
    record = {"kind": "state", "population": "exc", "variable": "v", "first": 0, "count": 3200, "every_seconds": DT}
    network = build(plans.changed(plans.cuba(), records=[record]), device)
    with pytest.raises(OutOfMemoryError, match="record fewer neurons"):
        network.run(100_000_000)
    assert network.step_number == 0


@pytest.mark.parametrize(
    ("storage", "pattern", "reason"),
    [
        ("bit_mask", {"kind": "fixed_total", "count": 100}, "cannot be stored as bit_mask"),
        ("procedural", {"kind": "fixed_in", "count": 10}, "cannot be stored as procedural"),
        ("dense", {"kind": "probability", "probability": 0.1}, "cannot be stored as dense"),
    ],
)
def test_storages_that_cannot_hold_a_pattern_are_refused(
    device: _native.Device, storage: str, pattern: dict[str, Any], reason: str
) -> None:
    with pytest.raises(NetworkError, match=reason):
        build(with_projections(plans.cuba(**SMALL), storage=storage, pattern=pattern), device)


def test_delays_and_rates_out_of_range_are_refused(device: _native.Device) -> None:
    with pytest.raises(NetworkError, match="delays from 0 to"):
        build(plans.cuba(**SMALL, delay=-1e-3), device)
    plan = plans.changed(
        plans.cuba(**SMALL),
        sources=[{"kind": "poisson", "name": "noise", "size": 3, "rate_hz": plans.constant(20_000.0)}],
    )
    with pytest.raises(NetworkError, match="rates from 0 to 1"):
        build(plan, device)


def learned(plan: dict[str, Any], network: _native.SpikingNetwork, result: dict[str, Any], delay: int) -> np.ndarray:
    """The weights that dense matrices learn from the spikes of a run, step by step."""
    sources, targets, _, _ = network.synapses("noise -> exc")
    w = build(plan, amdgpu.device.default_device("cpu:0").native).synapses("noise -> exc")[2]
    decay = np.float32(float(f"{np.exp(-DT / 20e-3):.8f}"))
    a_plus, a_minus, w_max = np.float32(0.0001), np.float32(0.000105), np.float32(0.004)
    fired = {}
    for name, times, indices in result["spikes"]:
        size = {"exc": 150, "inh": 50, "noise": 300}[name]
        fired[name] = np.zeros((result["steps"], size), bool)
        fired[name][np.rint(times / DT).astype(int), indices] = True
    apre, apost = np.zeros(300, np.float32), np.zeros(150, np.float32)
    for step in range(result["steps"]):
        pre = fired["noise"][step - delay] if step >= delay else np.zeros(300, bool)
        post = fired["exc"][step]
        hit = pre[sources]
        w[hit] = np.clip(w[hit] - apost[targets[hit]], np.float32(0), w_max)
        apre = (apre + np.where(pre, a_plus, np.float32(0))) * decay
        hit = post[targets]
        w[hit] = np.clip(w[hit] + apre[sources[hit]], np.float32(0), w_max)
        apost = (apost + np.where(post, a_minus, np.float32(0))) * decay
    return w


@pytest.mark.parametrize("delay", [0, 3])
def test_synapses_with_state_learn_as_dense_matrices_do(device: _native.Device, delay: int) -> None:
    plan = plans.stdp(delay=delay * DT)
    network = build(plan, device)
    start = network.synapses("noise -> exc")[2]
    result = network.run(2000)
    counts = {name: count for name, _, count in result["counts"]}
    assert counts["exc"] > 200
    wanted = learned(plan, network, result, delay)
    found = network.synapses("noise -> exc")[2]
    assert np.abs(wanted - start).max() > 1e-4
    assert np.abs(found - wanted).max() < 1e-7


def test_synapses_with_state_do_not_depend_on_threads_and_continue_from_checkpoints(device: _native.Device) -> None:
    plan = plans.stdp(delay=5e-4)
    whole = build(plan, device, threads=1)
    first = whole.run(1000)["spike_hash"]
    step, state = whole.export_state()
    second = whole.run(1000)["spike_hash"]
    other = build(plan, device, threads=2)
    assert other.run(1000)["spike_hash"] == first
    for name, values in other.export_state()[1].items():
        assert np.array_equal(values, state[name]), name
    fresh = build(plan, device)
    fresh.import_state(step, state)
    assert fresh.run(1000)["spike_hash"] == second
    damaged = {**state, "delay.noise -> exc": state["delay.noise -> exc"][:3]}
    with pytest.raises(InvalidArgumentError, match="delay"):
        fresh.import_state(step, damaged)


def test_spikes_reach_learning_synapses_with_their_weight(device: _native.Device) -> None:
    plan = plans.stdp(probability=1.0)
    plan["spiking"]["sources"] = [
        {"kind": "spikes", "name": "noise", "size": 300, "times_seconds": [2e-4], "indices": [17]}
    ]
    plan["spiking"]["records"] = [
        {"kind": "state", "population": "exc", "variable": "ge", "first": 0, "count": 150, "every_seconds": DT}
    ]
    network = build(plan, device)
    sources, targets, weights, _ = network.synapses("noise -> exc")
    ge = network.run(5)["states"][0][3]
    assert not ge[2].any()
    row = sources == 17
    assert np.allclose(ge[3][targets[row]], weights[row], atol=1e-9)


def test_text_runs_from_python(tmp_path: Path) -> None:
    text = """
    neuron cell:
      params(tau = 10.ms, drive = 20.mV)
      dv/dt = (drive - v) / tau
      threshold: v > 10.mV
      reset: v = 0.mV
    population cells(30, model: cell, v: random(0.mV, 9.mV))
    population others(20, model: cell)
    connect cells -> others(pattern: probability(0.5), weight: 0.1.mV, delay: 0.5.ms, target: v)
    record spikes(cells)
    record v(others[0 ..< 4], every: 1.ms)
    """
    net = amdgpu.Network(text, device="cpu:0")
    assert net.is_spiking
    result = net.run(0.1)
    assert result.duration == pytest.approx(0.1)
    assert result.rates()["cells"] == pytest.approx(result.counts["cells"] / 3)
    assert 130 < result.rates()["cells"] < 150
    assert len(result.spikes["cells"]) == result.counts["cells"]
    assert set(result.spikes) == {"cells"}
    assert result.states["others.v"].values.shape == (100, 4)
    assert result.realtime_factor > 0
    assert net.last_result is result
    net.save(tmp_path / "state.npz")
    after = net.run(0.05)
    net.restore(tmp_path / "state.npz")
    assert net.time == pytest.approx(0.1)
    assert net.run(0.05).spike_hash == after.spike_hash
    seen: list[float] = []
    assert net.step(3).steps == 3
    net.run(0.01, progress=seen.append)
    assert seen[-1] == 1.0
    assert net.memory_estimate()["total_bytes"] > 0
    assert list(net.weights) == ["cells -> others"]
    net.weights["cells -> others"] = np.zeros(len(net.synapses("cells -> others")))
    assert not net.weights["cells -> others"].any()
    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(amdgpu.errors.LibraryMissingError, match="pip install matplotlib"):
            net.plot_raster(tmp_path / "raster.png")
    else:
        net.plot_raster(tmp_path / "raster.png")
        net.plot_weights(tmp_path / "weights.png")
        assert (tmp_path / "raster.png").stat().st_size > 1000
    with pytest.raises(NetworkError, match=r"saved at step \d+ by another network: saved was"):
        amdgpu.Network("    seed = 2\n" + text.lstrip("\n"), device="cpu:0").restore(tmp_path / "state.npz")
    with pytest.raises(NetworkError, match="spiking"):
        net.forward(np.zeros(3))
    with pytest.raises(NetworkError, match="layered"):
        amdgpu.Network("layer a(2)\nlayer b(1)\nconnect a -> b\n").run(1.0)
    with pytest.raises(InvalidArgumentError, match="not possible"):
        net.run(-1.0)
    with pytest.raises(InvalidTypeError, match=r"duration is .*; a number is expected"):
        net.run("1")


@pytest.mark.parametrize("target", ["null:gfx1100", "null:gfx942"])
def test_everything_of_a_network_compiles_and_is_bound_for_gpus(target: str) -> None:
    plan = plans.stdp(delay=5e-4)
    plan["spiking"]["drives"] = [
        {"kind": "poisson", "population": "inh", "input": "ge", "rate_hz": 9.0, "count": 80.0, "weight": 2e-4}
    ]
    plan["spiking"]["sources"].append(
        {"kind": "spikes", "name": "list", "size": 9, "times_seconds": [0.0, 1e-4], "indices": [1, 2]}
    )
    network = build(plan, amdgpu.device.default_device(target).native)
    # Nothing is executed there, so nobody spikes.
    assert network.run(5)["steps"] == 5


def test_a_gpu_takes_the_storages_it_delivers_from_and_refuses_what_does_not_fit(device: _native.Device) -> None:
    gpu = amdgpu.device.default_device("null:gfx1100").native
    with pytest.raises(NetworkError, match=r"device it can be .*csr32"):
        build(with_projections(plans.cuba(**SMALL), storage="bit_mask"), gpu)
    huge = plans.cuba(3_200_000, 800_000, probability=0.1)
    estimate = json.loads(_native.network_memory(plans.native(huge), gpu))
    assert {one["storage"] for one in estimate["projections"]} == {"procedural"}
    assert estimate["total_bytes"] < estimate["free_bytes"]
    weight = {"kind": "random", "low": 0.0, "high": 1e-3}
    each = plans.native(with_projections(huge, weight=weight))
    estimate = json.loads(_native.network_memory(each, gpu))
    assert {one["storage"] for one in estimate["projections"]} == {"csr32"}
    with pytest.raises(OutOfMemoryError, match="exc -> exc takes"):
        _native.SpikingNetwork(each, gpu)


ON_A_SMALL_HOST = """
import json, sys
import amdgpu
import spiking_plans as plans
from amdgpu import _native

gpu = amdgpu.device.default_device("null:gfx1100").native
plan = plans.cuba(32_000, 8_000, probability=0.02)
estimate = json.loads(_native.network_memory(plans.native(plan), gpu))
print({one["storage"] for one in estimate["projections"]}, estimate["host_bytes"] < estimate["host_free_bytes"])
for one in plan["spiking"]["projections"]:
    one["storage"] = "gap_coded"
try:
    _native.SpikingNetwork(plans.native(plan), gpu)
except amdgpu.errors.OutOfMemoryError as error:
    print(error)
"""


def test_rows_that_the_host_has_no_room_for_are_made_anew_for_each_spike_or_refused() -> None:
    environment = os.environ | {"AMDGPU_CPU_MEMORY_LIMIT_BYTES": str(1 << 20), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", ON_A_SMALL_HOST]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert answer.stdout.startswith("{'procedural'} True")
    assert "1.00 MiB are free in the memory of the host, where rows are made: exc -> exc takes" in answer.stdout
    assert "smaller: procedural 0" in answer.stdout
