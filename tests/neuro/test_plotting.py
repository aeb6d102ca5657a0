"""Pictures of networks and runs: what is drawn, checked in the figure itself; the arithmetic behind them needs no matplotlib."""

import sys

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from amdgpu.plotting import activity, canvas, graph, weights

SPIKING = """
neuralNetwork seen:
  dt = 0.1.ms
  seed = 5
  neuron cell:
    params(tau = 10.ms, drive = 20.mV)
    dv/dt = (drive - v) / tau
    threshold: v > 10.mV
    reset: v = 0.mV
    target: v
  population left(30, model: cell, v: random(0.mV, 10.mV))
  population right(20, model: cell, v: random(0.mV, 10.mV))
  source noise(poisson(rate: 50.Hz), n: 4)
  connect noise -> left(pattern: fixed_out(3), weight: 1.mV)
  connect left -> right(pattern: probability(0.5), weight: 0.2.mV, delay: 1.ms)
  connect right -> left(weight: -0.1.mV, delay: 1.ms)
  connect left -> left(autapses: false, weight: random(0.mV, 0.1.mV), delay: 1.ms)
  record spikes(left, right)
  record v(left[0 ..< 3], every: 1.ms)
  record v(right)
"""
LAYERED = """
seed = 1
layer input(6)
layer hidden(5, activation: tanh)
layer output(3, activation: softmax)
connect input -> hidden
connect [input, hidden] -> output
plasticity hebbian(0.1)
"""


@pytest.fixture(scope="module")
def matplotlib():
    return pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install amdgpu-framework[plot]")


@pytest.fixture(scope="module")
def ran():
    net = amdgpu.Network(SPIKING, device="cpu:0")
    net.run(0.1)
    return net


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch, ran):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (ran.plot_raster, ran.plot_rates, ran.plot_states, ran.plot_weights, ran.plot_graph):
        with pytest.raises(errors.LibraryMissingError, match="pip install matplotlib"):
            draw()


def test_raster_shows_every_spike_in_the_row_of_its_neuron(matplotlib, ran):
    result = ran.last_result
    axis = result.plot_raster().axes[0]
    left, right = (line.get_xydata() for line in axis.lines[:2])
    assert np.allclose(left[:, 0], result.spikes["left"].times * 1e3)
    assert np.array_equal(left[:, 1], result.spikes["left"].indices)
    assert np.array_equal(right[:, 1], result.spikes["right"].indices.astype(int) + 30)
    assert axis.get_xlabel() == "time (ms)"
    assert [label.get_text() for label in axis.get_yticklabels()] == ["left (30)", "right (20)"]


def test_a_raster_of_too_many_spikes_draws_every_nth_neuron_and_says_so(matplotlib, ran, monkeypatch):
    monkeypatch.setattr(activity, "MARK_LIMIT", 100)
    axis = ran.plot_raster(names=["left"]).axes[0]
    every = -(-len(ran.last_result.spikes["left"]) // 100)
    assert every > 1
    assert set(axis.lines[0].get_ydata() % every) == {0}
    assert f"every {every}th neuron" in axis.get_title(loc="left")


def test_rates_over_time_add_up_to_the_spikes(matplotlib, ran):
    result = ran.last_result
    axis = result.plot_rates(bin_width=0.03).axes[0]
    drawn = {step.get_label(): step.get_data() for step in axis.patches}
    values, edges, _ = drawn["left (30)"]
    assert np.allclose(edges, [0, 30, 60, 90, 100])
    assert round((values * np.diff(edges) / 1e3 * 30).sum()) == result.counts["left"]


def test_bins_stand_on_steps_and_refuse_other_widths(ran):
    width, edges = activity.bins_of(ran.last_result, None)
    assert width == pytest.approx(1e-3)
    assert len(edges) == 101
    for bad in (0, -1, 1.0, float("nan")):
        with pytest.raises(errors.InvalidArgumentError, match="bin_width"):
            activity.bins_of(ran.last_result, bad)


def test_states_have_units_and_a_line_for_each_neuron(matplotlib, ran):
    few, many = ran.plot_states().axes
    assert few.get_ylabel() == "left.v (mV)"
    assert len(few.lines) == 3
    assert np.allclose(few.lines[1].get_ydata(), ran.last_result.states["left.v"].values[:, 1] * 1e3)
    assert len(many.lines) == 21
    assert ran.last_result.units == {"left.v": "V", "right.v": "V"}


def test_weights_are_images_with_their_unit_and_grey_where_there_is_no_synapse(matplotlib, ran):
    figure = ran.plot_weights(names=["left -> right"])
    image = figure.axes[0].images[0].get_array()
    assert image.shape == (30, 20)
    synapses = ran.synapses("left -> right")
    there = np.zeros((30, 20), bool)
    there[synapses.sources, synapses.targets] = True
    assert np.array_equal(np.ma.getmaskarray(image), ~there)
    assert np.allclose(image.compressed(), 200)
    assert figure.axes[1].get_ylabel() == "weight (µV)"


def test_before_and_after_show_the_difference(matplotlib):
    net = amdgpu.Network(LAYERED, device="cpu:0")
    before = dict(net.weights)
    net.hebbian_step(np.ones((2, 6), "float32"))
    figure = net.plot_weights(before=before, names=["input -> hidden"])
    earlier, later, change = (figure.axes[k].images[0].get_array() for k in range(3))
    assert np.allclose(earlier, before["input -> hidden"])
    assert np.allclose(later - earlier, change, atol=1e-6)
    assert abs(change).max() > 0
    with pytest.raises(errors.InvalidArgumentError, match="has no weights of 'input -> output'"):
        net.plot_weights(before={"input -> hidden": before["input -> hidden"]}, names=["input -> output"])
    with pytest.raises(errors.ShapeMismatchError, match="shape"):
        net.plot_weights(before={"input -> hidden": np.zeros(3)}, names=["input -> hidden"])


def test_distributions_count_every_weight_before_and_after(matplotlib):
    net = amdgpu.Network(LAYERED, device="cpu:0")
    before = dict(net.weights)
    net.hebbian_step(np.ones((2, 6), "float32"))
    for axis, name in zip(net.plot_weight_distributions(before=before).axes, net.weights, strict=False):
        bars = [patch for patch in axis.patches if hasattr(patch, "get_height")]
        assert sum(bar.get_height() for bar in bars) == before[name].size
        assert axis.get_title() == name
    with pytest.raises(errors.InvalidArgumentError, match="has no weights"):
        net.plot_weight_distributions(before={})


@pytest.mark.parametrize("shape", [(1, 1), (3, 400), (401, 7), (1000, 801)])
def test_a_large_matrix_is_averaged_in_blocks_whether_full_or_sparse(shape):
    values = np.random.default_rng(2).random(shape, dtype=np.float32)
    sources, targets = (index.ravel().astype(np.uint32) for index in np.indices(shape))
    full = weights.Matrix("a -> b", "", shape, values)
    sparse = weights.Matrix("a -> b", "", shape, values.ravel(), sources, targets)
    image = full.image(values)
    assert image.shape == tuple(min(size, weights.PIXEL_LIMIT) for size in shape)
    assert np.allclose(image, sparse.image(sparse.values))
    if max(shape) <= weights.PIXEL_LIMIT:
        assert np.allclose(image, values)


def test_the_graph_counts_synapses_by_the_pattern(ran):
    nodes, edges = graph.nodes_and_edges(ran.plan)
    assert [(node.name, node.size, node.kind) for node in nodes] == [
        ("noise", 4, "source"),
        ("left", 30, "population"),
        ("right", 20, "population"),
    ]
    assert [(edge.count, edge.sign) for edge in edges] == [("12", 1), ("≈ 300", 1), ("600", -1), ("870", 1)]
    for edge in edges:
        if edge.is_exact:
            assert len(ran.synapses(f"{edge.origin} -> {edge.target}")) == edge.synapses


def test_the_graph_names_everything_and_turns_into_a_table_when_it_is_large(matplotlib, ran):
    words = {text.get_text() for text in ran.plot_graph().axes[0].texts}
    assert {"noise", "left", "right", "≈ 300\np = 0.5"} <= words
    layered = amdgpu.Network(LAYERED, device="cpu:0").plot_graph()
    assert "30\nxavier" in {text.get_text() for text in layered.axes[0].texts}
    cells = "\n".join(f"population p{k}(2, model: lif)" for k in range(13))
    large = amdgpu.Network(f"{cells}\nconnect p0 -> p12(weight: 1.mV, target: v)", device="cpu:0").plot_graph()
    assert [label.get_text() for label in large.axes[0].get_xticklabels()] == ["p12 (2)"]


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_path_writes_a_file_and_leaves_pyplot_alone(matplotlib, ran, tmp_path, ending):
    path = tmp_path / f"raster.{ending}"
    had_pyplot = "matplotlib.pyplot" in sys.modules
    assert ran.plot_raster(path) is None
    assert path.stat().st_size > 1000
    assert ("matplotlib.pyplot" in sys.modules) == had_pyplot


def test_a_run_without_steps_is_an_empty_picture(matplotlib):
    net = amdgpu.Network(SPIKING, device="cpu:0")
    net.step(0)
    assert net.plot_raster().axes[0].get_title(loc="left") == "0 spikes"
    assert len(net.plot_states().axes) == 2
    with pytest.raises(errors.InvalidArgumentError, match="no steps"):
        net.plot_rates()


def test_what_cannot_be_drawn_is_said(matplotlib, ran, tmp_path):
    fresh = amdgpu.Network(SPIKING, device="cpu:0")
    layered = amdgpu.Network(LAYERED, device="cpu:0")
    with pytest.raises(errors.NetworkError, match="layered"):
        layered.plot_raster()
    for act, words in [
        (fresh.plot_raster, "call net.run"),
        (lambda: ran.plot_raster(names=["noise"]), "records no spikes"),
        (lambda: ran.plot_rates(names=["middle"]), "no population or source"),
        (lambda: ran.plot_states(names=["left.w"]), "left.v"),
        (lambda: ran.plot_weights(names=["left -> up"]), "left -> right"),
        (lambda: ran.plot_graph(tmp_path / "net.docx"), r"\.png"),
        (lambda: ran.plot_graph(tmp_path / "net"), r"\.png"),
        (lambda: ran.last_result.plot_rates(names=[]), "no spikes were recorded"),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=words):
            act()
    with pytest.raises(FileNotFoundError):
        ran.plot_graph(tmp_path / "nowhere" / "net.png")


def test_units_get_the_prefix_that_fits():
    assert canvas.quantity(-0.06, "V") == "-60 mV"
    assert canvas.quantity(1e-10, "A") == "100 pA"
    assert canvas.quantity(0.0, "V") == "0 V"
    assert canvas.quantity(0.25, "") == "0.25"
    assert [canvas.count_text(count) for count in (0, 9999, 12345, 45_499_805)] == ["0", "9999", "12.3 k", "45.5 M"]
