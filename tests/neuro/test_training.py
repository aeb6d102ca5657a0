"""Back-propagation: gradients against finite differences in float64, determinism, exact continuation, and real digits."""

import contextlib
import gzip
import json
import math
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from activation_oracle import ACTIVATIONS
from amdgpu import _native, dispatch, errors

SMALL = """
neuralNetwork small:
  seed = 3
  layer input(6)
  layer hidden(9, activation: tanh)
  layer output(4, activation: softmax)
  connect input -> hidden
  connect hidden -> output
"""


def samples(count, inputs=6, classes=4, seed=0):
    """Points around one centre for each class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, count)
    centres = rng.standard_normal((classes, inputs)) * 2
    return (centres[labels] + 0.5 * rng.standard_normal((count, inputs))).astype("float32"), labels


def numbers(net):
    return {name: net.weights[name].astype(np.float64) for name in net.weights} | {
        name: net.biases[name].astype(np.float64) for name in net.biases
    }


def loss_in_float64(net, values, x, y, loss, l2=0.0):
    """Forward pass and loss by NumPy in float64, layer by layer in the order of the plan."""
    plan = net.plan
    layers = {layer["name"]: layer for layer in plan["layers"]}
    out = {}
    for name in plan["order"]:
        sums = x.astype(np.float64) if name == plan["input"] else 0.0
        for connection in plan["connections"]:
            if connection["to"] == name:
                sums = sums + out[connection["from"]] @ values[f"{connection['from']} -> {name}"]
        sums = sums + values.get(name, 0.0)
        kind = layers[name]["activation"]["kind"]
        out[name] = ACTIVATIONS["neuromorphic(1.2, 0.3)" if kind == "neuromorphic" else kind](sums)
    outputs = np.concatenate([out[name] for name in plan["outputs"]], axis=1)
    total = -(y * np.log(outputs)).sum() / len(x) if loss == "cross_entropy" else ((outputs - y) ** 2).mean()
    return total + l2 / 2 * sum((values[name] ** 2).sum() for name in net.weights)


def assert_gradients_are_right(net, x, y, loss, l2=0.0):
    """Every element against the central difference; float32 sums of terms of order 1 differ by a few 1e-7."""
    found_loss, gradients = net.gradients(x, y, loss=loss, l2=l2)
    values = numbers(net)
    assert set(gradients) == set(values)
    assert found_loss == pytest.approx(loss_in_float64(net, values, x, y, loss, l2), rel=1e-5)
    step = 1e-5
    for name, gradient in gradients.items():
        wanted = np.zeros_like(values[name])
        for place in np.ndindex(wanted.shape):
            kept = values[name][place]
            values[name][place] = kept + step
            above = loss_in_float64(net, values, x, y, loss, l2)
            values[name][place] = kept - step
            below = loss_in_float64(net, values, x, y, loss, l2)
            values[name][place] = kept
            wanted[place] = (above - below) / (2 * step)
        assert np.abs(gradient - wanted).max() <= 2e-6 * max(1.0, np.abs(wanted).max()), name


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_of_every_hidden_activation_equal_finite_differences(activation, rng):
    net = amdgpu.Network(
        f"layer a(5)\nlayer b(7, activation: {activation}, bias: random(-1, 1))\nlayer c(3, activation: softmax)\n"
        "connect a -> b (weight: random(-1, 1))\nconnect b -> c (weight: random(-1, 1))\n"
    )
    x = rng.standard_normal((6, 5)).astype("float32")
    y = np.eye(3)[rng.integers(0, 3, 6)]
    assert_gradients_are_right(net, x, y, "cross_entropy")


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradients_of_every_output_activation_equal_finite_differences(activation, rng):
    net = amdgpu.Network(
        f"layer a(5)\nlayer b(4, activation: {activation}, bias: random(-1, 1))\nconnect a -> b (weight: random(-1, 1))\n"
    )
    x = rng.standard_normal((6, 5)).astype("float32")
    assert_gradients_are_right(net, x, rng.standard_normal((6, 4)), "mean_squared_error", l2=0.1)


def test_gradients_flow_through_branches_skips_and_a_learning_input_layer(rng):
    net = amdgpu.Network(
        "layer a(4, activation: tanh, bias: random(-1, 1))\nlayer left(3, activation: gelu)\nlayer right(5, activation: elu)\n"
        "layer first(2, activation: sigmoid)\nlayer second(3)\n"
        "connect a -> [left, right]\nconnect [left, right] -> first\nconnect [a, right] -> second\n"
    )
    x = rng.standard_normal((5, 4)).astype("float32")
    assert_gradients_are_right(net, x, rng.standard_normal((5, 5)), "mean_squared_error", l2=0.01)


def test_labels_and_one_hot_rows_are_the_same_targets():
    net = amdgpu.Network(SMALL)
    x, labels = samples(20)
    first, second = net.gradients(x, labels), net.gradients(x, np.eye(4)[labels])
    assert first[0] == second[0]
    assert all(np.array_equal(first[1][name], second[1][name]) for name in first[1])


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adaptive"])
def test_every_optimizer_learns(optimizer):
    net = amdgpu.Network(SMALL)
    x, labels = samples(400)
    rate = 0.01 if optimizer in ("adam", "momentum") else 0.1
    history = net.train(x, labels, epochs=12, batch_size=16, optimizer=optimizer, learning_rate=rate)
    assert history.stopped == "finished"
    assert history.epochs == 12
    assert history.loss[-1] < history.loss[0] / 3
    assert history.accuracy[-1] > 0.97
    assert (net.forward(x).argmax(axis=1) == labels).mean() > 0.97


def run(seed=5, **options):
    net = amdgpu.Network(SMALL)
    x, labels = samples(101)
    net.train(x, labels, **{"epochs": 4, "batch_size": 8, "seed": seed} | options)
    return net


def same(first, second):
    one, two = numbers(first), numbers(second)
    return all(np.array_equal(one[name], two[name]) for name in one)


def test_a_seed_gives_the_same_bits_and_another_seed_another_network():
    assert same(run(), run())
    assert not same(run(), run(seed=6))
    assert same(run(shuffle=False), run(seed=6, shuffle=False))


MANY_THREADS = """
import hashlib
import amdgpu, numpy as np
net = amdgpu.Network(
    "layer a(784)\\nlayer b(300, activation: gelu)\\nlayer c(10, activation: softmax)\\nconnect a -> b\\nconnect b -> c\\n"
)
rng = np.random.default_rng(0)
net.train(rng.random((512, 784), dtype="float32"), rng.integers(0, 10, 512), epochs=2, batch_size=128)
print(hashlib.sha256(b"".join(net.weights[name].tobytes() for name in net.weights)).hexdigest())
"""


def test_any_number_of_threads_gives_the_same_bits():
    def digest(threads):
        environment = os.environ | {"AMDGPU_CPU_THREADS": str(threads)}
        done = subprocess.run(
            [sys.executable, "-c", MANY_THREADS], capture_output=True, text=True, check=True, env=environment
        )
        return done.stdout

    assert digest(1) == digest(2) == digest(3)


@pytest.mark.parametrize("optimizer", ["momentum", "adam", "adaptive"])
def test_the_math_core_gives_the_same_bits(optimizer, needs_julia):
    assert same(run(optimizer=optimizer), run(optimizer=optimizer, backend="julia"))


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adaptive"])
def test_a_saved_training_goes_on_with_the_same_bits(optimizer, tmp_path):
    x, labels = samples(101)
    options = {"batch_size": 8, "optimizer": optimizer, "learning_rate": 0.02, "validation_split": 0.1, "l2": 1e-3}
    whole = amdgpu.Network(SMALL)
    curves = whole.train(x, labels, epochs=6, **options)
    half = amdgpu.Network(SMALL)
    half.train(x, labels, epochs=3, **options)
    half.save(tmp_path / "half.npz")
    other = amdgpu.Network(SMALL.replace("seed = 3", "seed = 4"))
    other.restore(tmp_path / "half.npz")
    going_on = other.train(x, labels, epochs=6, resume=True, seed=3, **options)
    assert same(whole, other)
    assert going_on.loss == curves.loss
    assert going_on.validation_loss == curves.validation_loss


class Stop(Exception):
    """What the test throws into a training."""


def test_a_training_that_is_broken_off_goes_on_behind_its_last_batch():
    x, labels = samples(60_000)
    options = {"epochs": 2, "batch_size": 16, "learning_rate": 0.01}
    whole = amdgpu.Network(SMALL)
    whole.train(x, labels, **options)
    net = amdgpu.Network(SMALL)
    seen = []

    def stop(at):
        seen.append(at.samples)
        raise Stop

    with pytest.raises(Stop):
        net.train(x, labels, progress=stop, **options)
    assert net.history.stopped == "interrupted"
    assert np.isfinite(net.forward(x[:3])).all()
    net.train(x, labels, resume=True, **options)
    assert len(seen) == 1
    assert same(whole, net)


def test_ctrl_c_stops_between_two_batches():
    x, labels = samples(200_000)
    net = amdgpu.Network(SMALL)
    main = threading.main_thread().ident
    has_begun = threading.Event()

    def interrupt():
        has_begun.wait()
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            net.train(x, labels, epochs=10_000, progress=lambda at: has_begun.set())
    finally:
        has_begun.set()
        thread.join()
    assert net.history.stopped == "interrupted"
    assert np.isfinite(net.forward(x[:5])).all()


def test_validation_is_on_samples_that_were_held_back():
    x, labels = samples(200)
    net = amdgpu.Network(SMALL)
    history = net.train(x, labels, epochs=3, validation_split=0.25, learning_rate=0.01)
    other = amdgpu.Network(SMALL)
    chosen, held_back = amdgpu._native.training_split(200, 50, 3)
    same_curves = other.train(x[chosen], labels[chosen], epochs=0, validation_data=(x[held_back], labels[held_back]))
    assert same_curves.epochs == 0
    y = net.forward(x[held_back])
    loss = -np.log(y[np.arange(50), labels[held_back]]).mean()
    assert history.validation_loss[-1] == pytest.approx(loss, rel=1e-5)
    assert history.validation_accuracy[-1] == (y.argmax(axis=1) == labels[held_back]).mean()


def test_early_stopping_keeps_the_best_weights():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((60, 6)).astype("float32")
    labels = rng.integers(0, 4, 60)  # nothing to learn: the validation loss rises soon
    held = (rng.standard_normal((200, 6)).astype("float32"), rng.integers(0, 4, 200))
    net = amdgpu.Network(SMALL)
    history = net.train(x, labels, epochs=500, learning_rate=0.02, validation_data=held, patience=5)
    assert history.stopped == "early"
    assert history.epochs == history.best_epoch + 6
    y = net.forward(held[0])
    loss = -np.log(y[np.arange(200), held[1]]).mean()
    assert loss == pytest.approx(min(history.validation_loss), rel=1e-5)


def test_learning_rates_may_follow_the_epoch():
    history = run(learning_rate=lambda epoch: 0.1 / (epoch + 1)).history
    assert history.learning_rate == [0.1, 0.05, 0.1 / 3, 0.025]


def test_epochs_are_told_on_the_telemetry_bus():
    bus = amdgpu._native.Subscription(4096)
    history = run(epochs=3).history
    events = []
    while lines := bus.poll(0.5):
        events += [event for event in map(json.loads, lines.splitlines()) if event["kind"] == "neural_update"]
    assert [event["value"] for event in events] == [101] * 3
    losses = [np.array(event["detail"][0], "uint64").view("float64") for event in events]
    assert losses == history.loss


def test_a_training_without_targets_follows_the_rules_of_the_text():
    text = "layer a(3)\nlayer b(2)\nconnect a -> b (weight: 0.5)\nplasticity hebbian(learning_rate: 0.1)\n"
    x = np.arange(12, dtype="float32").reshape(4, 3) / 10
    one, two = amdgpu.Network(text), amdgpu.Network(text)
    one.train(x, epochs=2, batch_size=2, shuffle=False)
    for _ in range(2):
        two.hebbian_step(x[:2])
        two.hebbian_step(x[2:])
    assert same(one, two)
    with pytest.raises(errors.InvalidArgumentError, match="plasticity"):
        amdgpu.Network(SMALL).train(np.ones((2, 6)))


X, LABELS = samples(10)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"optimizer": "rmsprop"}, errors.InvalidArgumentError, "known are sgd, momentum, adam, adaptive"),
        ({"optimizer_options": {"beta": 1}}, errors.InvalidArgumentError, "beta_1, beta_2, epsilon"),
        ({"optimizer_options": {"beta_1": 1.0}}, errors.InvalidArgumentError, "below 1"),
        ({"loss": "hinge"}, errors.InvalidArgumentError, "cross_entropy, mean_squared_error"),
        ({"batch_size": 0}, errors.InvalidArgumentError, "at least 1"),
        ({"batch_size": 2.5}, errors.InvalidTypeError, "an integer"),
        ({"epochs": -1}, errors.InvalidArgumentError, "at least 0"),
        ({"learning_rate": math.nan}, errors.InvalidArgumentError, "finite"),
        ({"learning_rate": -1.0}, errors.InvalidArgumentError, "finite"),
        ({"l2": -1.0}, errors.InvalidArgumentError, "penalty"),
        ({"validation_split": 1.0}, errors.InvalidArgumentError, "below 1"),
        ({"validation_split": 0.01}, errors.InvalidArgumentError, "leaves nothing"),
        ({"patience": 0}, errors.InvalidArgumentError, "at least 1"),
        ({"resume": True}, errors.InvalidArgumentError, "no training"),
        ({"backend": "fortran"}, errors.InvalidArgumentError, "rust, julia"),
        ({"x": np.ones(6)}, errors.ShapeMismatchError, "samples, inputs"),
        ({"x": np.ones((10, 5))}, errors.ShapeMismatchError, "samples, 6"),
        ({"x": np.full((10, 6), np.nan)}, errors.WeightsNotFiniteError, r"the input holds NaN at \[\d, 0\]"),
        ({"x": np.ones((0, 6)), "y": np.ones(0, int)}, errors.ShapeMismatchError, "no samples"),
        ({"y": LABELS[:9]}, errors.ShapeMismatchError, "10 samples"),
        ({"y": LABELS + 1}, errors.InvalidArgumentError, "0 to 3"),
        ({"y": LABELS - 1}, errors.InvalidArgumentError, "from 0"),
        ({"y": LABELS * 1.0}, errors.InvalidTypeError, "labels"),
        ({"y": np.ones((10, 3))}, errors.ShapeMismatchError, r"expected \(10, 4\)"),
        ({"y": -np.ones((10, 4))}, errors.InvalidArgumentError, "shares"),
        ({"y": np.full((10, 4), np.inf)}, errors.WeightsNotFiniteError, "targets"),
    ],
)
def test_what_cannot_be_trained_is_said(changes, error, words):
    net = amdgpu.Network(SMALL)
    before = numbers(net)
    arguments = {"x": X, "y": LABELS, "epochs": 1} | changes
    with pytest.raises(error, match=words):
        net.train(arguments.pop("x"), arguments.pop("y"), **arguments)
    after = numbers(net)
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_cross_entropy_wants_softmax():
    net = amdgpu.Network("layer a(6)\nlayer b(4, activation: relu)\nconnect a -> b\n")
    with pytest.raises(errors.InvalidArgumentError, match="layer 'b' has the activation relu"):
        net.train(X, LABELS, loss="cross_entropy")


def test_a_training_that_diverges_stops_with_the_last_finite_weights():
    net = amdgpu.Network("layer a(6)\nlayer b(1)\nconnect a -> b\n")
    with pytest.raises(errors.WeightsNotFiniteError, match="smaller learning rate"):
        net.train(X, np.ones((10, 1)), optimizer="sgd", learning_rate=1e6, epochs=100)
    assert np.isfinite(net.weights["a -> b"]).all()
    assert net.history.stopped == "interrupted"


def test_a_training_does_not_go_on_with_other_options():
    net = run()
    x, labels = samples(101)
    with pytest.raises(errors.InvalidArgumentError, match="batch_size was 8, is 9"):
        net.train(x, labels, epochs=5, batch_size=9, seed=5, resume=True)


def test_checkpoints_of_other_networks_and_damaged_ones_change_nothing(tmp_path):
    net = run()
    path = tmp_path / "net.npz"
    net.save(path)
    other = amdgpu.Network(SMALL.replace("hidden(9", "hidden(8"))
    with pytest.raises(errors.NetworkError, match="differ"):
        other.restore(path)
    whole = path.read_bytes()
    fresh = amdgpu.Network(SMALL)
    before = numbers(fresh)
    damaged = tmp_path / "damaged.npz"
    for cut in (0, 10, len(whole) // 2, len(whole) - 1):
        damaged.write_bytes(whole[:cut])
        with pytest.raises(errors.NetworkError, match="damaged"):
            fresh.restore(damaged)
    np.save(tmp_path / "one.npy", np.ones(3))
    for place in range(0, len(whole), len(whole) // 40):
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        # Some bytes of an archive mean nothing; then it is read as it was.
        with contextlib.suppress(errors.NetworkError):
            amdgpu.Network(SMALL).restore(damaged)
    with pytest.raises(errors.NetworkError, match="zip"):
        fresh.restore(tmp_path / "one.npy")
    with pytest.raises(FileNotFoundError):
        fresh.restore(tmp_path / "none.npz")
    assert all(np.array_equal(before[name], values) for name, values in numbers(fresh).items())
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_a_network_without_training_is_saved_too(tmp_path):
    net = amdgpu.Network(SMALL)
    net.save(tmp_path / "plain.npz")
    other = amdgpu.Network(SMALL.replace("seed = 3", "seed = 9"))
    assert not same(net, other)
    other.restore(tmp_path / "plain.npz")
    assert same(net, other)
    assert other.history is None


def digits():
    """1,797 digits of 8 x 8 pixels: the test set of UCI's Optical Recognition of Handwritten Digits (Alpaydin and
    Kaynak 1998, CC BY 4.0), as scikit-learn ships it."""
    with gzip.open(Path(__file__).parents[1] / "data" / "digits.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",")
    return (table[:, :64] / 16).astype("float32"), table[:, 64].astype(int)


def test_digits_are_recognised_over_five_seeds():
    x, labels = digits()
    found = []
    for seed in range(5):
        chosen, held_back = amdgpu._native.training_split(len(x), 360, seed)
        net = amdgpu.Network(
            f"seed = {seed}\nlayer pixels(64)\nlayer hidden(64, activation: relu)\nlayer digit(10, activation: softmax)\n"
            "connect pixels -> hidden (weight: he)\nconnect hidden -> digit\n"
        )
        net.train(x[chosen], labels[chosen], epochs=30, batch_size=32, learning_rate=3e-3, l2=1e-4)
        found.append((net.forward(x[held_back]).argmax(axis=1) == labels[held_back]).mean())
    # Linear models reach 0.95 to 0.96 on these digits.
    assert min(found) > 0.965, found
    assert np.mean(found) > 0.973, found


def test_plots_are_files_and_say_what_is_missing(tmp_path):
    net = run(epochs=3, validation_split=0.2)
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        with pytest.raises(errors.LibraryMissingError, match="pip install matplotlib"):
            net.plot_history(tmp_path / "history.png")
        return
    net.plot_history(tmp_path / "history.png")
    net.plot_weights(tmp_path / "weights.png")
    for name in ("history", "weights"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_curves_of_nothing_are_refused(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="train the network first"):
        amdgpu.Network(SMALL).plot_history(tmp_path / "none.png")


def test_rules_and_julia_say_that_a_gpu_does_not_compute_them(monkeypatch):
    said = []
    text = "layer a(2)\nlayer b(1)\nconnect a -> b\nplasticity hebbian(learning_rate: 0.01)\n"
    net = amdgpu.Network(text, device="null:gfx1100")
    monkeypatch.setattr(_native, "record_fallback", lambda operation, reason: said.append(f"{operation}: {reason}"))
    monkeypatch.setattr(dispatch, "GPU_KINDS", (*dispatch.GPU_KINDS, "null"))
    net.train(np.ones((4, 2), "float32"), epochs=1)
    net.hebbian_step(np.ones((4, 2), "float32"))
    if amdgpu.math.availability()["found"]:
        net.train(np.ones((4, 2), "float32"), np.ones((4, 1), "float32"), epochs=1, backend="julia")
        assert (
            said.pop()
            == "dense_training: the CPU computes what null:gfx1100 does not: the optimizer's arithmetic by julia"
        )
    assert said == ["dense_training: the CPU computes what null:gfx1100 does not: plasticity rules"] * 2


def test_training_on_a_device_is_counted_there(monkeypatch):
    """No kernel runs on a null device, so nothing is learnt; what counts is where the work went."""
    monkeypatch.setattr(dispatch, "GPU_KINDS", (*dispatch.GPU_KINDS, "null"))

    def operations():
        counters = amdgpu.telemetry.snapshot()["counters"]
        found = (one for one in counters if one["metric"] == "amdgpu_operations_total")
        return sum(
            int(one["value"]) for one in found if {"null:gfx1100", "neuromorphic"} <= set(one["labels"].values())
        )

    net = amdgpu.Network("layer a(2)\nlayer b(1)\nconnect a -> b", device="null:gfx1100")
    before = operations()
    net.train(np.ones((4, 2), "float32"), np.ones((4, 1), "float32"), epochs=3, batch_size=2)
    assert operations() == before + 6
