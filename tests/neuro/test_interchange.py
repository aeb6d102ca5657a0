"""NIR and ONNX: read, run, compared with NumPy, written and read again."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, interchange

nir = pytest.importorskip("nir", reason="needs the package nir: pip install amdgpu-framework[interchange]")

DT = 1e-4


def several(*values):
    return np.array(values, dtype=np.float64)


def full(size, value):
    return np.full(size, value, dtype=np.float64)


def lif(size, **changes):
    values = {"tau": 0.02, "r": 1.0, "v_leak": 0.0, "v_threshold": 1.0, "v_reset": 0.0} | changes
    return nir.LIF(
        **{name: np.broadcast_to(np.asarray(value, float), (size,)).copy() for name, value in values.items()}
    )


def sequence(*pairs):
    names = [name for name, _ in pairs]
    return nir.NIRGraph(dict(pairs), list(zip(names, names[1:], strict=False)))


def trains(size, steps, seed=0, rate=0.02):
    step, who = np.nonzero(np.random.default_rng(seed).random((steps, size)) < rate)
    return (step * DT, who), np.stack([step, who])


def arriving(spikes, weight, steps, delay_steps):
    """Input of every step: weights of the spikes that were made one step and the delay before."""
    current = np.zeros((steps + 1, weight.shape[0]))
    for step, source in zip(*spikes, strict=True):
        for target in range(weight.shape[0]):
            at = step + 1 + delay_steps[target, source]
            if at <= steps:
                current[at, target] += weight[target, source]
    return current


def stepped(current, steps, node):
    """The neurons' equation, solved exactly between steps in float64."""
    v = np.zeros(node.tau.size)
    spikes = []
    decay = np.exp(-DT / node.tau)
    for step in range(steps):
        v = decay * v + (1 - decay) * (node.v_leak + node.r * current[step])
        fired = v > node.v_threshold
        v = np.where(fired, node.v_reset, v)
        spikes += [(step, index) for index in np.nonzero(fired)[0]]
    return set(spikes)


def spikes_of(result, name):
    spikes = result.spikes[name]
    return set(zip(np.rint(spikes.times / DT).astype(int).tolist(), spikes.indices.tolist(), strict=True))


@pytest.mark.parametrize("heterogeneous", [False, True])
def test_a_chain_of_lif_neurons_spikes_as_its_equations_say(heterogeneous):
    random = np.random.default_rng(1)
    weight, bias, scale = random.random((5, 3)) * 150, random.random(5), several(1, 2, 1, 0.5, 1)
    tau = several(0.01, 0.02, 0.03, 0.02, 0.01) if heterogeneous else 0.02
    cells = lif(5, tau=tau, v_leak=0.1, r=1.5)
    delay = several(0.001, 0.002, 0.0)
    graph = sequence(
        ("in", nir.Input({"input": np.array([3])})),
        ("wait", nir.Delay(delay)),
        ("fc.1", nir.Affine(weight, bias)),
        ("gain", nir.Scale(scale)),
        ("cells", cells),
        ("out", nir.Output({"output": np.array([5])})),
    )
    steps = 2000
    given, spikes = trains(3, steps)
    network = interchange.from_nir(graph, dt=DT, inputs={"in": given}, device="cpu:0")
    result = network.step(steps)
    delays = np.broadcast_to(np.rint(delay / DT).astype(int), (5, 3))
    expected = stepped(arriving(spikes, scale[:, None] * weight, steps, delays) + scale * bias, steps, cells)
    found = spikes_of(result, "cells")
    assert len(expected) > 50
    # float32 moves a crossing by one step now and then.
    assert len(found ^ expected) <= 0.02 * len(expected)


def test_euler_makes_the_steps_of_tools_that_train_so():
    # u += dt/tau*(v_leak - u + r*i), at a step of half the time constant: exact and Euler's steps differ by many spikes.
    coarse = 0.01
    node = lif(1, v_threshold=0.4)
    layer, out = nir.Affine(np.array([[1.2]]), several(0.9)), nir.Output({"output": np.array([1])})
    graph = sequence(("in", nir.Input({"input": np.array([1])})), ("fc", layer), ("cells", node), ("out", out))
    steps = 200
    random = np.random.default_rng(4)
    made = np.flatnonzero(random.random(steps) < 0.4)
    given = (made * coarse, np.zeros(len(made), int))
    v, wanted = 0.0, []
    for step in range(steps):
        current = 0.9 + (1.2 if step - 1 in made else 0.0)
        v += coarse / 0.02 * (current - v)
        if v > 0.4:
            v = 0.0
            wanted.append(step)
    counts = {}
    for integrator in ("auto", "euler"):
        network = interchange.from_nir(graph, dt=coarse, inputs={"in": given}, device="cpu:0", integrator=integrator)
        times = network.step(steps).spikes["cells"].times
        counts[integrator] = np.rint(times / coarse).astype(int).tolist()
    assert counts["euler"] == wanted
    assert counts["auto"] != wanted
    with pytest.raises(errors.InvalidArgumentError, match="integrator is 'midpoint'"):
        interchange.from_nir(graph, dt=coarse, device="cpu:0", integrator="midpoint")


def recurrent():
    random = np.random.default_rng(3)
    nodes = {
        "in": nir.Input({"input": np.array([2, 3])}),
        "flat": nir.Flatten({"input": np.array([2, 3])}, 0, -1),
        "first": nir.Linear(random.random((4, 6)) * 200),
        "cuba": nir.CubaLIF(
            full(4, 0.005), full(4, 0.02), full(4, 2.0), full(4, 0.0), full(4, 1.0), full(4, -0.1), several(1, 2, 3, 4)
        ),
        "loop": nir.Linear(random.random((4, 4)) - 0.5),
        "wait": nir.Delay(full(4, 0.003)),
        "second": nir.Affine(random.random((3, 4)) * 300, several(0.1, 0.2, 0.3)),
        "if": nir.IF(full(3, 50.0), full(3, 1.0), full(3, 0.0)),
        "third": nir.Linear(random.random((2, 3)) * 100),
        "li": nir.LI(full(2, 0.05), full(2, 1.0), full(2, 0.5)),
        "out": nir.Output({"output": np.array([2])}),
        "watch": nir.Output({"output": np.array([3])}),
    }
    chain = ["in", "flat", "first", "cuba", "second", "if", "third", "li", "out"]
    edges = [
        *zip(chain, chain[1:], strict=False),
        ("cuba", "loop"),
        ("loop", "wait"),
        ("wait", "cuba"),
        ("if", "watch"),
    ]
    return nir.NIRGraph(nodes, edges)


def test_what_was_written_reads_back_as_the_same_network(tmp_path):
    given, _ = trains(6, 1000, rate=0.05)
    network = interchange.from_nir(
        recurrent(), dt=DT, inputs={"in": given}, device="cpu:0", directory=tmp_path / "kept"
    )
    result = network.step(1000)
    assert result.counts["cuba"] > 20
    assert result.counts["node_if"] > 20
    assert np.ptp(result.states["li.v"].values) > 0.1
    file = tmp_path / "graph.nir"
    graph = interchange.to_nir(network, file)
    assert (
        interchange.from_nir(graph, dt=DT, inputs={"in": given}, device="cpu:0").step(1000).spike_hash
        == result.spike_hash
    )
    # Files keep nodes in the order of the alphabet, which the hash counts.
    again = interchange.from_nir(file, dt=DT, inputs={"in": given}, device="cpu:0").step(1000)
    assert again.counts == result.counts
    assert spikes_of(again, "node_if") == spikes_of(result, "node_if")
    assert np.array_equal(again.states["li.v"].values, result.states["li.v"].values)
    cuba = graph.nodes["cuba"]
    assert isinstance(cuba, nir.CubaLIF)
    assert np.array_equal(cuba.w_in, [1, 2, 3, 4])
    assert np.allclose(cuba.v_reset, -0.1)
    loaded = amdgpu.Network.load(tmp_path / "kept" / "network.net", device="cpu:0")
    assert loaded.step(1000).spike_hash == result.spike_hash


def test_the_reader_names_the_node_that_does_not_fit():
    entry, cells = ("in", nir.Input({"input": np.array([3])})), ("cells", lif(3))
    leave = ("out", nir.Output({"output": np.array([3])}))
    bad = [
        (sequence(entry, ("edge", nir.Threshold(full(3, 1.0))), cells, leave), "'edge' is a Threshold"),
        (
            sequence(entry, ("inner", nir.NIRGraph({"a": entry[1], "b": leave[1]}, [("a", "b")])), cells),
            "'inner' is a NIRGraph",
        ),
        (sequence(entry, cells, ("fc", nir.Linear(np.eye(3))), leave), "'out' reads 'fc'"),
        (sequence(entry, ("fc", nir.Linear(np.eye(3))), leave), "no neurons"),
        (sequence(entry, ("li", nir.LI(full(3, 0.1), full(3, 1.0), full(3, 0.0))), cells, leave), "'li' is a LI"),
        (sequence(entry, ("cells", lif(3, tau=0.0)), leave), "'cells': tau"),
        (sequence(entry, ("cells", lif(3, r=np.nan)), leave), "'cells': r holds NaN"),
        (sequence(entry, ("wait", nir.Delay(full(3, -1.0))), cells, leave), "'wait': delays"),
    ]
    mixed = sequence(
        entry,
        ("f", nir.Linear(np.ones((3, 3)))),
        ("w", nir.Delay(several(0, 0.1, 0))),
        ("g", nir.Linear(np.ones((3, 3)))),
        cells,
    )
    for graph, words in [*bad, (mixed, "'g' mixes values")]:
        with pytest.raises(errors.NetworkError, match=words):
            interchange.from_nir(graph, device="cpu:0")


def test_bad_arguments_are_refused(tmp_path):
    graph = sequence(("in", nir.Input({"input": np.array([3])})), ("cells", lif(3)))
    for options, words in [
        ({"dt": 0.0}, "dt"),
        ({"inputs": {"out": ([], [])}}, "no Input node"),
        ({"inputs": {"in": ([0.1], [3])}}, "indices outside"),
        ({"inputs": {"in": ([0.1], [])}}, "equal length"),
        ({"inputs": {"in": (np.zeros(200_000), np.zeros(200_000, int))}}, "at most 150000"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=words):
            interchange.from_nir(graph, device="cpu:0", **options)
    with pytest.raises(errors.InvalidTypeError, match="graph is 3; a `nir"):
        interchange.from_nir(3)
    with pytest.raises(FileNotFoundError):
        interchange.from_nir(tmp_path / "none.nir")
    (tmp_path / "bad.nir").write_bytes(b"no HDF5")
    with pytest.raises(errors.NetworkError, match="no NIR file"):
        interchange.from_nir(tmp_path / "bad.nir")


def test_the_writer_names_what_nir_does_not_express():
    layered = amdgpu.Network("layer a(2)\nlayer b(2)\nconnect a -> b\n")
    with pytest.raises(errors.NetworkError, match="layered"):
        interchange.to_nir(layered)
    izhikevich = amdgpu.Network("population cells(3, model: izhikevich)\nrecord spikes(cells)\n", device="cpu:0")
    with pytest.raises(errors.NetworkError, match="population 'cells': the model 'izhikevich'"):
        interchange.to_nir(izhikevich)
