"""Weights and variables of synapses as expressions of the positions of their neurons."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu.errors import NetworkError, WeightsNotFiniteError

TEXT = """
neuron cell:
  dv/dt = -v/(10.ms)
  target: v
population pre(20, model: poisson, rate: 0.Hz)
population post(30, model: cell)
"""
RING = "0.5*exp(-abs(i - j)/4) - where(i > j and j != 3, 0.25, 0) + min(i, 2)^2*0.01"


def ring(i: np.ndarray, j: np.ndarray) -> np.ndarray:
    return 0.5 * np.exp(-np.abs(i - j) / 4) - np.where((i > j) & (j != 3), 0.25, 0) + np.minimum(i, 2) ** 2 * 0.01


def synapses(connect: str) -> amdgpu.spiking_result.Synapses:
    return amdgpu.Network(TEXT + connect + "\n", device="cpu:0").synapses("pre -> post")


@pytest.mark.parametrize("storage", ["auto", "dense", "csr16", "csr32", "gap_coded"])
def test_weights_follow_the_positions_in_every_storage(storage):
    pattern = "all_to_all" if storage == "dense" else "probability(0.4)"
    found = synapses(f"connect pre -> post(pattern: {pattern}, weight: {RING}, storage: {storage})")
    assert len(found) > 150
    i, j = found.sources.astype(float), found.targets.astype(float)
    assert np.abs(found.weights - ring(i, j)).max() < 1e-6
    assert len(np.unique(found.weights)) > 30


def test_weights_that_learn_start_from_expressions():
    net = amdgpu.Network(
        TEXT + f"connect pre -> post(pattern: fixed_in(5), weight: {RING})\nplasticity stdp\n", device="cpu:0"
    )
    found = net.synapses("pre -> post")
    assert np.abs(found.weights - ring(found.sources.astype(float), found.targets.astype(float))).max() < 1e-6


def test_units_of_expressions_are_checked():
    text = TEXT.replace("dv/dt", "params(el = -70.mV)\n  dv/dt").replace("-v/", "(el - v)/")
    net = amdgpu.Network(text + "connect pre -> post(weight: 1.mV*exp(-(i - j)^2/8))\n", device="cpu:0")
    assert net.synapses("pre -> post").weights.max() == pytest.approx(1e-3)
    with pytest.raises(NetworkError, match="where a voltage is needed"):
        amdgpu.Network(text + "connect pre -> post(weight: exp(-(i - j)^2/8))\n")


@pytest.mark.parametrize(
    ("weight", "expected"),
    [
        ("0.1*i*poisson(2)", "more than the positions"),
        ("i + unknown", "unknown"),
        ("i > j", "is a condition"),
        ("v*i", "more than the positions"),
    ],
)
def test_expressions_of_something_else_are_errors_of_the_text(weight, expected):
    with pytest.raises(NetworkError, match=expected):
        amdgpu.Network(TEXT + f"connect pre -> post(weight: {weight})\n")


def test_expressions_without_a_finite_value_are_refused():
    with pytest.raises(WeightsNotFiniteError, match="weights of pre -> post"):
        synapses("connect pre -> post(weight: 1/(i - j))")
    with pytest.raises(NetworkError, match="procedural"):
        synapses("connect pre -> post(pattern: probability(0.1), weight: i*0.1, storage: procedural)")
