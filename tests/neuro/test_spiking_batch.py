"""Batches of spiking networks: every member has the spikes that it has alone."""

from __future__ import annotations

import threading
import time
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu.errors import InvalidArgumentError, NetworkError

TEXT = """
neuron cell:
  params(tau = 10.ms, drive = 9.mV)
  dv/dt = (drive - v) / tau
  threshold: v > 10.mV
  reset: v = 0.mV
population cells(300, model: cell, v: random(0.mV, 9.mV))
source noise(poisson(rate: 60.Hz), n: 100)
source given(spikes(times: [1.ms, 2.ms], indices: [0, 1]), n: 4)
connect noise -> cells(pattern: probability(0.2), weight: 0.5.mV, delay: 1.ms, target: v)
connect given -> cells(pattern: all_to_all, weight: 8.mV, target: v)
record spikes(cells, given)
record v(cells[0 ..< 3], every: 1.ms)
"""


def network(**options: Any) -> amdgpu.Network:
    return amdgpu.Network(TEXT, device="cpu:0", **options)


def test_every_seed_of_a_batch_gives_the_run_of_its_own_network() -> None:
    net = network()
    net.run(0.01)
    seeds = [3, 1, 4, 1, 5]
    parts: list[float] = []
    results = net.run_batch(0.05, seeds=seeds, progress=parts.append)
    assert len(parts) == 5
    assert parts[-1] == pytest.approx(1.0)
    for seed, result in zip(seeds, results, strict=True):
        alone = network(seed=seed).run(0.05)
        assert result.spike_hash == alone.spike_hash
        assert result.counts == alone.counts
        assert np.array_equal(result.states["cells.v"].values, alone.states["cells.v"].values)
    assert len({result.spike_hash for result in results}) == 4
    # The network itself stays where it was.
    assert net.time == pytest.approx(0.01)


def test_every_input_of_a_batch_takes_the_place_of_the_listed_spikes() -> None:
    inputs = [
        {"given": ([0.004, 0.004, 0.02], [3, 1, 2])},
        {},
        {"given": (np.zeros(0), np.zeros(0, int))},
    ]
    first, text, none = network().run_batch(0.04, inputs=inputs)
    assert np.allclose(first.spikes["given"].times, [0.004, 0.004, 0.02])
    assert first.spikes["given"].indices.tolist() == [1, 3, 2]
    assert text.spike_hash == network().run(0.04).spike_hash
    assert none.counts["given"] == 0
    assert none.counts["cells"] < min(text.counts["cells"], first.counts["cells"])


def test_seeds_and_inputs_together_are_members_in_pairs() -> None:
    inputs = [{"given": ([0.001 * number], [number])} for number in range(3)]
    results = network(threads=2).run_batch(0.02, seeds=[7, 8, 9], inputs=inputs)
    assert [result.spikes["given"].indices.tolist() for result in results] == [[0], [1], [2]]
    assert len({result.spike_hash for result in results}) == 3


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "by seeds, by inputs"),
        ({"seeds": [1, 2], "inputs": [{}]}, "2 seeds and 1 inputs"),
        ({"seeds": [-1]}, r"seeds\[0\] is -1; it must be at least 0"),
        ({"inputs": [{"noise": ([], [])}]}, "sources with listed spikes are: given"),
        ({"inputs": [{"given": ([0.1], [4])}]}, "outside 0 to 3"),
        ({"inputs": [{"given": ([-0.1], [0])}]}, "below 0"),
        ({"inputs": [{"given": ([0.1, 0.2], [0])}]}, "one entry for each spike"),
        ({"inputs": [{"given": ([0.1], [0.5])}]}, "not whole numbers"),
    ],
)
def test_batches_that_do_not_fit_together_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=reason):
        network().run_batch(0.01, **options)


def test_layered_networks_have_no_batches_of_runs_and_an_empty_batch_is_empty() -> None:
    assert network().run_batch(0.01, seeds=[]) == []
    with pytest.raises(NetworkError, match="layered"):
        amdgpu.Network("layer a(2)\nlayer b(1)\nconnect a -> b\n").run_batch(0.01, seeds=[1])


def test_a_failing_member_ends_the_batch_with_its_error() -> None:
    net = network()
    begin = time.monotonic()
    with pytest.raises(InvalidArgumentError, match="not possible"):
        net.run_batch(-1.0, seeds=[1, 2, 3])
    assert time.monotonic() - begin < 60
    names = [thread.name for thread in threading.enumerate()]
    assert not any(name.startswith("amdgpu-batch") for name in names)
