"""Plasticity rules of layered networks: each against NumPy, and what they are known to learn."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors


def network(rule, inputs=5, outputs=3, weight="random(-0.5, 0.5)"):
    return amdgpu.Network(
        f"layer a({inputs})\nlayer b({outputs})\nconnect a -> b (weight: {weight})\nplasticity {rule}\n"
    )


def oracle(rule, weight, x, steps):
    """The rules in float64, batch after batch."""
    name, rate, share = rule
    threshold = None
    for batch in steps:
        pre = x[batch].astype(np.float64)
        post = pre @ weight
        squares = (post**2).mean(axis=0)
        threshold = squares if threshold is None else threshold
        by = post * (post - threshold) if name == "bcm" else post
        change = pre.T @ by / len(pre)
        weight = weight + rate * (change - squares * weight if name == "oja" else change)
        threshold = threshold + share * (squares - threshold)
    return weight


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("hebbian(learning_rate: 0.01)", ("hebbian", 0.01, 0.0)),
        ("oja(learning_rate: 0.05)", ("oja", 0.05, 0.0)),
        ("bcm(learning_rate: 0.05)", ("bcm", 0.05, 0.1)),
        ("bcm(learning_rate: 0.05, threshold_rate: 0.5)", ("bcm", 0.05, 0.5)),
        ("bcm(learning_rate: 0.05, threshold_rate: 1.0)", ("bcm", 0.05, 1.0)),
    ],
)
def test_rules_agree_with_numpy(text, rule, rng):
    net = network(text)
    x = rng.standard_normal((40, 5)).astype("float32")
    wanted = net.weights["a -> b"].astype(np.float64)
    batches = [slice(first, first + 8) for first in range(0, 40, 8)]
    wanted = oracle(rule, wanted, x, batches)
    net.train(x, epochs=1, batch_size=8, shuffle=False)
    assert np.abs(net.weights["a -> b"] - wanted).max() <= 1e-5


def test_oja_finds_the_first_principal_component(rng):
    x = (rng.standard_normal((4000, 5)) * [3, 1, 1, 0.5, 0.5]) @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    net = network("oja(learning_rate: 0.01)", outputs=1)
    net.train(x, epochs=10, batch_size=20)
    weight = net.weights["a -> b"][:, 0]
    component = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]
    assert np.linalg.norm(weight) == pytest.approx(1, abs=0.05)
    assert abs(weight @ component) > 0.99


def test_bcm_becomes_selective_for_one_of_two_patterns():
    patterns = np.array([[1.0, 0.2, 0.1], [0.1, 0.3, 1.0]])
    x = np.tile(patterns, (400, 1))
    net = network("bcm(learning_rate: 0.02, threshold_rate: 0.2)", inputs=3, outputs=1, weight="random(0.2, 0.4)")
    net.train(x, epochs=20, batch_size=2, shuffle=False)
    answers = np.sort(net.forward(patterns)[:, 0])
    # Theory: 0 for one, and the inverse of its share, 2, for the other (Intrator and Cooper 1992).
    assert answers[0] == pytest.approx(0, abs=0.1)
    assert answers[1] == pytest.approx(2, abs=0.1)


def test_thresholds_of_bcm_are_saved(tmp_path, rng):
    x = rng.standard_normal((64, 5)).astype("float32")
    rule = "bcm(learning_rate: 0.02)"
    whole, first, second = network(rule), network(rule), network(rule)
    whole.train(x, epochs=2, batch_size=8, shuffle=False)
    first.train(x, epochs=1, batch_size=8, shuffle=False)
    first.save(tmp_path / "half.npz")
    second.restore(tmp_path / "half.npz")
    second.train(x, epochs=1, batch_size=8, shuffle=False)
    assert np.array_equal(whole.weights["a -> b"], second.weights["a -> b"])


def test_a_rule_that_runs_away_leaves_the_last_finite_weights(rng):
    net = network("bcm(learning_rate: 100.0)")
    with pytest.raises(errors.WeightsNotFiniteError, match="after the step of bcm"):
        net.train(rng.standard_normal((64, 5)), epochs=100, batch_size=4)
    assert np.isfinite(net.weights["a -> b"]).all()


def test_training_by_gradients_keeps_the_thresholds_of_rules(rng):
    net = network("bcm(learning_rate: 0.01)")
    x = rng.standard_normal((32, 5)).astype("float32")
    net.train(x, epochs=1)
    kept = net._engine.thresholds("a -> b")
    net.train(x, rng.standard_normal((32, 3)), epochs=1)
    assert np.array_equal(net._engine.thresholds("a -> b"), kept)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("bcm(learning_rate: 0.1, threshold_rate: 0)", "above 0 and up to 1"),
        ("bcm(learning_rate: 0.1, threshold_rate: 1.001)", "above 0 and up to 1"),
        ("oja(0.1, threshold_rate: 0.5)", "no option 'threshold_rate'"),
        ("stdp(learning_rate: 0.1)", "one of hebbian, oja, bcm"),
    ],
)
def test_wrong_rules_are_said(rule, words):
    with pytest.raises(errors.NetworkError, match=words):
        network(rule)
