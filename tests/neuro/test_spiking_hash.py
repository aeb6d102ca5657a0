"""The hash of spikes and late deliveries: who spiked counts, not only when; and connections of one delay keep weights of their own."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest

MODELS = """
dt = 0.1.ms
neuron one:
  params(drive = 0.0)
  dv/dt = (drive - v)/(1.ms)
  threshold: v > 1
  reset: v = 0
neuron other:
  params(drive = 0.0)
  dv/dt = (drive - v)/(1.ms)
  threshold: v > 1
  reset: v = 0
"""


def spikes_of(first: str, second: str) -> tuple[str, dict[str, int]]:
    text = f"{MODELS}population a(4, model: one, drive: {first})\npopulation b(4, model: other, drive: {second})\n"
    result = amdgpu.Network(text, device="cpu:0").run(0.02)
    return result.spike_hash, dict(result.counts)


def test_the_hash_tells_which_group_spiked() -> None:
    one, of_one = spikes_of("2", "0")
    other, of_other = spikes_of("0", "2")
    assert of_one["a"] == of_other["b"] > 0
    assert of_one["b"] == of_other["a"] == 0
    assert one != other
    assert spikes_of("2", "0")[0] == one


def test_the_hash_tells_neurons_and_steps_apart() -> None:
    def hash_of(times: str, indices: str) -> str:
        text = f"neuron n:\n  dv/dt = -v/(1.ms)\n  target: v\nsource s(spikes(times: [{times}], indices: [{indices}]), n: 3)\n"
        text += "population a(1, model: n)\nconnect s -> a(weight: 0.1)\n"
        return amdgpu.Network(text, device="cpu:0").run(0.005).spike_hash

    all_of = [
        hash_of(*one)
        for one in (("1.ms", "0"), ("1.ms", "1"), ("2.ms", "0"), ("1.ms, 1.ms", "0, 1"), ("1.ms, 2.ms", "0, 0"))
    ]
    assert len(set(all_of)) == len(all_of)
    assert hash_of("1.ms, 2.ms", "0, 1") == hash_of("2.ms, 1.ms", "1, 0")


# Delivery at the time of arrival is for connections that are late; each has one weight of its own.
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("storage", ["auto", "csr16", "csr32", "dense", "gap_coded", "bit_mask"])
@pytest.mark.parametrize("delays", [("2.ms", "2.ms", "2.ms"), ("2.ms", "3.ms", "2.5.ms"), ("0.ms", "3.ms", "30.ms")])
def test_late_connections_with_weights_of_their_own(storage: str, delays: tuple[str, str, str], threads: int) -> None:
    size = 1300
    weights = (1.0, -0.25, 4.0)
    text = "dt = 0.1.ms\nneuron sink:\n  dx/dt = 0*x/(1.s)\n  target: x\n"
    text += "source s(spikes(times: [1.ms, 1.5.ms, 4.ms], indices: [0, 1, 2]), n: 3)\n"
    text += f"population a({size}, model: sink)\n"
    for weight, delay in zip(weights, delays, strict=True):
        text += f"connect s -> a(weight: {weight}, delay: {delay}, storage: {storage})\n"
    text += "record x(a[0 ..< 3], every: 0.1.ms)\n"
    net = amdgpu.Network(text, device="cpu:0", threads=threads)
    values = net.run(0.04).states["a.x"].values
    steps = {"0.ms": 0, "2.ms": 20, "2.5.ms": 25, "3.ms": 30, "30.ms": 300}
    wanted = np.zeros(len(values))
    for weight, delay in zip(weights, delays, strict=True):
        for at in (10, 15, 40):
            wanted[at + 1 + steps[delay] :] += weight
    for column in range(3):
        assert np.allclose(values[:, column], wanted, rtol=1e-6, atol=1e-7)
    assert (net.states["a.x"] == net.states["a.x"][0]).all()
