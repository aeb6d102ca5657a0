"""The sweep of `test_awkward_arguments.py` over networks and what is done with them: runs, training, search, annealing, pictures."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu import dispatch, errors, tuning
from amdgpu.search import find_marks
from amdgpu.tuning.shapes import parse_shapes, products_of
from awkward import Call, named, strays

SPIKING = """
neuralNetwork n:
  neuron cell:
    params(tau = 10.ms, drive = 20.mV)
    dv/dt = (drive - v) / tau
    threshold: v > 10.mV
    reset: v = 0.mV
  population cells(3, model: cell)
  population others(2, model: cell)
  source given(spikes(times: [0.1.ms], indices: [0]), n: 2)
  connect cells -> others(weight: 1.mV, target: v)
  record spikes(cells, others)
  record v(cells)
"""
LAYERED = "neuralNetwork n:\n  layer a(2)\n  layer b(2)\n  connect a -> b\n"
MARKED = "neuralNetwork n:\n  layer a(2)\n  layer b(choice(2, 3))\n  layer c(2)\n  connect a -> b\n  connect b -> c\n"
X, Y = np.array([[0.0, 1], [1, 0]] * 4, np.float32), np.array([0, 1] * 4)
COUPLINGS = np.array([[0, 1.0, 0], [0, 0, -1], [0, 0, 0]])
# More than this of anything is no mistake but long work, which the sweep does not start.
LONG = 1000


def is_long(*amounts: object) -> bool:
    return any(isinstance(amount, int | float) and LONG < amount < float("inf") for amount in amounts)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A text is a path, too: what is written lands here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path


def calls_of_spiking_networks(folder: Path) -> dict[str, Call]:
    net = amdgpu.Network(SPIKING)
    net.run(0.001)
    saved, text = folder / "network", folder / "text.net"
    net.save(saved)
    text.write_text(SPIKING)

    def run(duration, progress):
        if not is_long(duration):
            net.run(duration, progress=progress)

    def run_batch(duration, seeds, progress):
        if not is_long(duration):
            net.run_batch(duration, seeds=seeds, progress=progress)

    return {
        "Network": (
            lambda text, seed, threads, arrays, base: amdgpu.Network(
                text, seed=seed, threads=threads, arrays=arrays, base_directory=base
            ).run(0.001),
            (SPIKING, 1, 1, {"given": [1.0]}, folder),
        ),
        "an array of a network": (lambda values: amdgpu.Network(SPIKING, arrays={"given": values}), ([1.0],)),
        "device of a network": (lambda where: amdgpu.Network(SPIKING, device=where).run(0.001), ("cpu:0",)),
        "Network.load": (
            lambda path, arrays, seed: amdgpu.Network.load(path, arrays=arrays, seed=seed),
            (text, {}, 1),
        ),
        "run": (run, (0.001, False)),
        "step": (lambda count: None if is_long(count) else net.step(count), (1,)),
        "run_batch": (run_batch, (0.001, [1, 2], None)),
        "inputs of run_batch": (lambda inputs: net.run_batch(0.001, inputs=inputs), ([{"given": ([0.0], [0])}],)),
        "a source of run_batch": (
            lambda pair: net.run_batch(0.001, inputs=[{"given": pair}]),
            (([0.0], [0]),),
        ),
        "spikes of run_batch": (
            lambda times, indices: net.run_batch(0.001, inputs=[{"given": (times, indices)}]),
            ([0.0], [0]),
        ),
        "a seed of run_batch": (lambda seed: net.run_batch(0.001, seeds=[seed]), (1,)),
        "reward": (net.reward, (0.5,)),
        "synapses": (
            lambda connection, sources: net.synapses(connection, sources=sources),
            ("cells->others", range(1)),
        ),
        "save": (net.save, (folder / "other",)),
        "restore": (net.restore, (saved,)),
        "states": (net.states.__getitem__, ("cells.v",)),
        "set states": (net.states.__setitem__, ("cells.v", 0.0)),
        "weights": (net.weights.__getitem__, ("cells -> others",)),
        "set weights": (net.weights.__setitem__, ("cells -> others", np.zeros(6, np.float32))),
    }


def calls_of_layered_networks(folder: Path) -> dict[str, Call]:
    net = amdgpu.Network(LAYERED)

    def train(x, y, epochs, batch_size, optimizer, split, seed):
        if not is_long(epochs):
            net.train(
                x, y, epochs=epochs, batch_size=batch_size, optimizer=optimizer, validation_split=split, seed=seed
            )

    def options(rate, numbers, loss, l2, shuffle, patience, min_delta, best):
        net.train(
            X,
            Y,
            epochs=1,
            learning_rate=rate,
            optimizer_options=numbers,
            loss=loss,
            l2=l2,
            shuffle=shuffle,
            patience=patience,
            min_delta=min_delta,
            restore_best=best,
        )

    def others(progress, resume, backend, validation):
        # A type can be called, and what a function of the caller raises is passed on.
        if not isinstance(progress, type):
            net.train(X, Y, epochs=1, progress=progress, resume=resume, backend=backend, validation_data=validation)

    def momentum(weights, gradients, velocity, rate, part):
        amdgpu.math.momentum_update(weights, gradients, velocity, learning_rate=rate, momentum=part)

    def adaptive(gradients, velocity, rate, decay):
        amdgpu.math.adaptive_learning_rate(gradients, velocity, learning_rate=rate, decay=decay)

    numbers = np.zeros((3, 2), np.float32)
    return {
        "a configuration": (
            lambda config, seed: amdgpu.neural_network_forward(
                {"architecture": config, "activation": "relu", "seed": seed}, X
            ),
            ([2, 2], 1),
        ),
        "a key of a configuration": (
            lambda config: amdgpu.neural_network_forward(config, X),
            ({"architecture": [2, 2]},),
        ),
        "forward": (lambda x, backend: net.forward(x, backend=backend), (X, "matrix")),
        "hebbian_step": (
            named(lambda x, backend: net.hebbian_step(x, backend=backend)),
            (X, "matrix"),
        ),
        "train": (train, (X, Y, 1, 2, "adam", 0.25, 1)),
        "options of train": (options, (0.01, {"beta_1": 0.9}, "mean_squared_error", 0.0, True, 1, 0.0, True)),
        "an option of the optimizer": (
            lambda value: net.train(X, Y, epochs=1, optimizer_options={"beta_1": value}),
            (0.9,),
        ),
        "a rate of the epoch": (lambda rate: net.train(X, Y, epochs=1, learning_rate=lambda _: rate), (0.01,)),
        "other options of train": (others, (False, False, None, (X, Y))),
        "validation_data": (
            lambda x, y: net.train(X, Y, epochs=1, validation_data=(x, y)),
            (X, Y),
        ),
        "gradients": (lambda x, y, loss, l2: net.gradients(x, y, loss=loss, l2=l2), (X, Y, "mean_squared_error", 0.0)),
        "save": (net.save, (folder / "layered",)),
        "weights": (net.weights.__getitem__, ("a -> b",)),
        "set weights": (net.weights.__setitem__, ("a -> b", np.zeros((2, 2), np.float32))),
        "biases": (net.biases.__getitem__, ("b",)),
        "set biases": (net.biases.__setitem__, ("b", np.zeros(2, np.float32))),
        "resolve": (
            lambda backend: dispatch.resolve("dense_forward", "neuromorphic", "cpu", prefer=backend),
            ("matrix",),
        ),
        "adaptive_learning_rate": (adaptive, (X, X.copy(), 0.1, 0.9)),
        "momentum_update": (momentum, (numbers.copy(), numbers, numbers.copy(), 0.1, 0.9)),
        "activation": (
            lambda x, kind, alpha, beta: amdgpu.math.activation(x, kind, alpha=alpha, beta=beta),
            (X, "sigmoid", None, None),
        ),
        "softmax": (amdgpu.math.softmax, (X,)),
    }


def calls_of_annealing() -> dict[str, Call]:
    def ising(fields, couplings, method, reads, sweeps, betas, seed):
        if not is_long(reads, sweeps):
            amdgpu.anneal.ising(fields, couplings, method=method, reads=reads, sweeps=sweeps, betas=betas, seed=seed)

    def quantum(matrix, field, slices, limit, progress, device):
        if isinstance(progress, type):
            return None
        return amdgpu.anneal.qubo(
            matrix,
            method="simulated_quantum_annealing",
            reads=2,
            sweeps=3,
            transverse_field=field,
            slices=slices,
            time_limit_seconds=limit,
            progress=progress,
            device=device,
        )

    def by_name(place, value):
        if isinstance(place, Hashable):
            amdgpu.anneal.ising({0: 1.0}, {(0, place): value}, reads=1, sweeps=1)
            amdgpu.anneal.ising({place: value}, {(0, 1): 1.0}, reads=1, sweeps=1)

    solved = quantum(COUPLINGS, None, 4, None, False, 0)
    return {
        "ising": (ising, (np.zeros(3), COUPLINGS, "simulated_annealing", 2, 3, (0.1, 2.0), 0)),
        "a coupling and a field by name": (by_name, (1, 1.0)),
        "qubo": (quantum, (COUPLINGS, None, 4, 1.0, False, 0)),
        "share_within": (lambda energy, part: solved.share_within(energy, tolerance=part), (0.0, 1e-9)),
    }


def calls_of_search(folder: Path) -> dict[str, Call]:
    def search(text, x, y, strategy, population, generations, epochs, split, seed, workers):
        if not is_long(population, generations, epochs, workers):
            amdgpu.search.architecture(
                text,
                x,
                y,
                strategy=strategy,
                population=population,
                generations=generations,
                epochs=epochs,
                validation_split=split,
                seed=seed,
                workers=workers,
            )

    def more_of_search(validation, options, journal, progress, device):
        amdgpu.search.architecture(
            MARKED,
            X,
            Y,
            population=1,
            generations=1,
            epochs=1,
            workers=1,
            validation_data=validation,
            train_options=options,
            journal=journal,
            progress=progress,
            device=device,
        )

    def key_of_options(key):
        if isinstance(key, Hashable):
            more_of_search(None, {key: 1}, None, False, 0)

    def scored(evaluate):
        amdgpu.search.architecture(MARKED, evaluate=evaluate, population=1, generations=1, workers=1)

    return {
        "search": (search, (MARKED, X, Y, "evolution", 2, 1, 1, 0.25, 1, 1)),
        "more of search": (more_of_search, ((X, Y), {"batch_size": 2}, folder / "journal", False, 0)),
        "an option of search": (lambda options: more_of_search(None, {"seed": options}, None, False, 0), (1,)),
        "a key of train_options": (key_of_options, ("seed",)),
        "evaluate": (
            lambda evaluate: None if isinstance(evaluate, type) else scored(evaluate),
            (lambda net, epochs: 1.0,),
        ),
        "a score": (lambda score: scored(lambda net, epochs: score), (1.0,)),
        "find_marks": (find_marks, (MARKED,)),
    }


def calls_of_pictures(folder: Path) -> dict[str, Call]:
    pytest.importorskip("matplotlib")
    net, layered = amdgpu.Network(SPIKING), amdgpu.Network(LAYERED)
    net.run(0.02)
    before = dict(layered.weights)
    layered.train(X, Y, epochs=1)
    return {
        "plot_raster": (lambda names: net.plot_raster(names=names), (["cells"],)),
        "plot_rates": (lambda names, width: net.plot_rates(names=names, bin_width=width), (["cells"], 0.01)),
        "plot_states": (lambda names: net.plot_states(names=names), (["cells.v"],)),
        "plot_weights": (
            lambda before, names: layered.plot_weights(before=before, names=names),
            (before, ["a -> b"]),
        ),
        "plot_weight_distributions": (
            lambda values: layered.plot_weight_distributions(before={"a -> b": values}),
            (before["a -> b"],),
        ),
        "plot_history": (layered.plot_history, (folder / "b.svg",)),
        "plot_graph": (layered.plot_graph, (folder / "c.svg",)),
    }


def calls_of_models(folder: Path) -> dict[str, Call]:
    onnx, nir = pytest.importorskip("onnx"), pytest.importorskip("nir")
    weights = onnx.numpy_helper.from_array(np.ones((2, 2), np.float32), "w")
    shape = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2]) for name in ("x", "y")]
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "g", shape[:1], shape[1:], [weights]))
    onnx.save(model, folder / "model.onnx")
    graph = nir.NIRGraph(
        {"in": nir.Input({"input": np.array([1])}), "i": nir.I(np.array([1.0])), "out": nir.Output({"output": [1]})},
        [("in", "i"), ("i", "out")],
    )

    def from_nir(dt, inputs, integrator, directory):
        return amdgpu.interchange.from_nir(graph, dt=dt, inputs=inputs, integrator=integrator, directory=directory)

    network = from_nir(1e-4, None, "auto", None)
    nir.write(folder / "graph.nir", graph)
    return {
        "from_onnx": (amdgpu.interchange.from_onnx, (folder / "model.onnx",)),
        "from_nir": (amdgpu.interchange.from_nir, (folder / "graph.nir",)),
        "options of from_nir": (from_nir, (1e-4, {"in": ([0.0], [0])}, "auto", folder / "kept")),
        "spikes of from_nir": (
            lambda times, indices: from_nir(1e-4, {"in": (times, indices)}, "auto", None),
            ([0.0], [0]),
        ),
        "to_nir": (amdgpu.interchange.to_nir, (network, folder / "written.nir")),
    }


def calls_of_tuning(folder: Path) -> dict[str, Call]:
    products = products_of("64", ["f32"], ["nn"])

    def tune(products, device, budget, is_missing_only, progress):
        tuning.tune(products, device, budget_seconds=budget, is_missing_only=is_missing_only, progress=progress)

    return {
        "export_database": (tuning.export_database, ("sm_90", folder / "d.json")),
        "import_database": (tuning.import_database, (folder / "d.json",)),
        "products_of": (products_of, ("64x64x64", ["f32"], ["nn"])),
        "parse_shapes": (parse_shapes, ("64",)),
        "tune": (named(tune), (products, "cpu:0", 1.0, False, None)),
    }


@pytest.mark.filterwarnings("ignore")
def test_spiking_networks_raise_errors_of_their_own(folder):
    assert strays(calls_of_spiking_networks(folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_layered_networks_raise_errors_of_their_own(folder):
    assert strays(calls_of_layered_networks(folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_annealing_raises_errors_of_its_own():
    assert strays(calls_of_annealing()) == []


@pytest.mark.filterwarnings("ignore")
def test_search_raises_errors_of_its_own(folder):
    assert strays(calls_of_search(folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_pictures_raise_errors_of_their_own(folder):
    assert strays(calls_of_pictures(folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_models_of_other_tools_raise_errors_of_their_own(folder):
    assert strays(calls_of_models(folder)) == []


@pytest.mark.filterwarnings("ignore")
def test_tuning_raises_errors_of_its_own(folder):
    assert strays(calls_of_tuning(folder)) == []


def test_messages_name_function_argument_value_and_what_is_expected(folder):
    net, layered = amdgpu.Network(SPIKING), amdgpu.Network(LAYERED)
    expected = {
        "run: duration is 'x'; a number is expected": lambda: net.run("x"),
        "run: progress is 3; True, False or a function is expected": lambda: net.run(0.001, progress=3),
        "step: count is -1; it must be at least 0": lambda: net.step(-1),
        "Network: seed is 1.5; an integer is expected": lambda: amdgpu.Network(SPIKING, seed=1.5),
        "Network: seed is -1; it must be at least 0": lambda: amdgpu.Network(SPIKING, seed=-1),
        "run_batch: seeds is 3; a list of integers is expected": lambda: net.run_batch(0.001, seeds=3),
        "train: epochs is True; an integer is expected": lambda: layered.train(X, Y, epochs=True),
        "train: batch_size is 0; it must be at least 1": lambda: layered.train(X, Y, batch_size=0),
        "train: shuffle is 1; True or False is expected": lambda: layered.train(X, Y, shuffle=1),
        "train: validation_split is 1; a number from 0 to below 1": lambda: layered.train(X, Y, validation_split=1),
        "train: x is no array of numbers": lambda: layered.train([1, [2]], Y),
        "train: x: arrays with a mask": lambda: layered.train(np.ma.masked_array(X, X > 0), Y),
        "x: arrays with a mask": lambda: layered.forward(np.ma.masked_array(X, X > 0)),
        "save: path is 3; a path is expected": lambda: layered.save(3),
        "ising: reads is 0; it must be from 1 to 2147483647": lambda: amdgpu.anneal.ising(None, COUPLINGS, reads=0),
        "ising: method is []; known are simulated": lambda: amdgpu.anneal.ising(None, COUPLINGS, method=[]),
        "search: strategy is 'x'; known are evolution": lambda: amdgpu.search.architecture(MARKED, X, Y, strategy="x"),
        "activation: kind is None; the name of an activation": lambda: amdgpu.math.activation(X, None),
    }
    for message, call in expected.items():
        with pytest.raises(errors.AmdgpuError) as raised:
            call()
        assert str(raised.value).startswith(message)


def test_seeds_of_numpy_are_integers():
    net = amdgpu.Network(SPIKING, seed=np.int64(3))
    assert net.plan["seed"] == 3
    results = net.run_batch(0.001, seeds=np.arange(2))
    assert len(results) == 2
