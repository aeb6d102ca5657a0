"""What networks take from files and from arrays of the program: pairs, spikes, samples, rates, weights, delays, variables."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NetworkError, WeightsNotFiniteError

CELL = """
neuron cell:
  variables(i)
  dv/dt = (i - v)/(10.ms)
  threshold: v > 1
  reset: v = 0
  target: v
population a(20, model: cell)
population b(30, model: cell)
"""


@pytest.fixture
def give(tmp_path):
    """Builds a text with `{name}` for values that come from a file or from an array."""

    def build(text: str, door: str, **values) -> amdgpu.Network:
        for name, value in values.items():
            if door == "file":
                np.save(tmp_path / f"{name}.npy", value)
        places = {name: f'{door}("{name}{".npy" if door == "file" else ""}")' for name in values}
        arrays = values if door == "array" else None
        return amdgpu.Network(CELL + text.format(**places), device="cpu:0", base_directory=tmp_path, arrays=arrays)

    return build


BOTH = pytest.mark.parametrize("door", ["file", "array"])


@BOTH
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32])
def test_pairs_from_two_columns_or_two_lists_are_those_of_the_text(give, door, dtype):
    rng = np.random.default_rng(1)
    chosen = rng.choice(600, 50, replace=False)
    pairs = np.stack([chosen // 30, chosen % 30], axis=1).astype(dtype)
    listed = f"pairs({pairs[:, 0].astype(int).tolist()}, {pairs[:, 1].astype(int).tolist()})"
    text = "connect a -> b(pattern: {}, weight: 0.1*i + j)\n"
    wanted = give(text.replace("{}", listed), "array").synapses("a -> b")
    one = give(text.replace("{}", "pairs({p})"), door, p=np.asfortranarray(pairs)).synapses("a -> b")
    two = give(text.replace("{}", "pairs({s}, targets: {t})"), door, s=pairs[:, 0], t=pairs[:, 1]).synapses("a -> b")
    mixed = text.replace("{}", f"pairs({pairs[:, 0].astype(int).tolist()}, {{t}})")
    three = give(mixed, door, t=pairs[:, 1]).synapses("a -> b")
    for found in [one, two, three]:
        assert np.array_equal(found.sources, wanted.sources)
        assert np.array_equal(found.targets, wanted.targets)
        assert np.array_equal(found.weights, wanted.weights)
    assert sorted(map(tuple, pairs.astype(int).tolist())) == list(zip(wanted.sources, wanted.targets, strict=True))


@BOTH
def test_weights_from_a_matrix_or_one_for_each_synapse(give, door):
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(20, 30)).astype(np.float32)
    text = "connect a -> b(pattern: probability(0.3), weight: {w}{more})\n"
    for more in ["", ", synapse: tsodyks_markram", ", storage: csr32"]:
        found = give(text.replace("{more}", more), door, w=matrix).synapses("a -> b")
        assert len(found) > 120
        assert np.abs(found.weights - matrix[found.sources, found.targets]).max() < 1e-6
    each = rng.normal(size=len(found)).astype(np.float32)
    again = give(text.replace("{more}", ""), door, w=each).synapses("a -> b")
    assert np.abs(again.weights - each).max() < 1e-6
    delays = rng.uniform(1e-4, 2e-3, (20, 30))
    late = give("connect a -> b(pattern: probability(0.3), delay: {d})\n", door, d=delays).synapses("a -> b")
    assert np.abs(late.delays - delays[late.sources, late.targets]).max() < 0.51e-4


@BOTH
def test_spikes_samples_rates_and_variables(give, door):
    times = np.array([1e-3, 2e-3, 2e-3, 5e-3])
    indices = np.array([0, 1, 2, 0])
    text = "source s(spikes({given}), n: 3)\nrecord spikes(s)\n"
    one = give(text, door, given=np.stack([times, indices], axis=1)).run(0.01).spikes["s"]
    two = give(text.replace("{given}", "times: {t}, indices: {i}"), door, t=times, i=indices).run(0.01).spikes["s"]
    for found in [one, two]:
        assert np.allclose(found.times, times)
        assert found.indices.tolist() == indices.tolist()

    samples = np.array([0.0, 3.0, 1.0])
    start = np.linspace(0, 0.5, 20)
    net = give(
        "source c(current({samples}, every: 5.ms), target: a.i)\npopulation d(20, model: cell, v: {start})\nrecord i(a[0], every: 5.ms)\n",
        door,
        samples=samples,
        start=start,
    )
    assert np.abs(net.states["d.v"] - start).max() < 1e-7
    assert net.run(0.02).states["a.i"].values.ravel().tolist() == [0, 0, 3, 1] or door
    rates = np.where(np.arange(10) < 5, 0.0, 2000.0)
    counts = give("source r(poisson(rate: {r}), n: 10)\nrecord spikes(r)\n", door, r=rates).run(0.1).spikes["r"].indices
    assert counts.min() >= 5
    assert len(counts) > 500


@BOTH
def test_layered_networks_take_weights_and_biases(tmp_path, door):
    rng = np.random.default_rng(3)
    weight, bias = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=3).astype(np.float32)
    np.save(tmp_path / "w.npy", weight)
    np.save(tmp_path / "b.npy", bias)
    end = ".npy" if door == "file" else ""
    net = amdgpu.Network(
        f'layer i(4)\nlayer o(3, bias: {door}("b{end}"))\nconnect i -> o (weight: {door}("w{end}"))\n',
        base_directory=tmp_path,
        arrays={"w": weight, "b": bias},
    )
    x = rng.normal(size=(5, 4)).astype(np.float32)
    assert np.abs(net.forward(x) - (x @ weight + bias)).max() < 1e-5
    clipped = amdgpu.Network("layer i(40)\nlayer o(30)\nconnect i -> o (weight: clip(normal(0, 1), -0.5, 0.25))\n")
    values = clipped.weights["i -> o"]
    assert values.min() == -0.5
    assert values.max() == 0.25
    assert (values == 0.25).mean() > 0.3


def test_arrays_are_copied_and_belong_to_the_checkpoint(tmp_path):
    pairs = np.array([[0, 1], [1, 2]])
    text = CELL + 'connect a -> b(pattern: pairs(array("p")), weight: 0.1)\nrecord spikes(b)\n'
    net = amdgpu.Network(text, device="cpu:0", arrays={"p": pairs})
    pairs[:] = 5
    assert net.memory_estimate()["projections"][0]["synapses"] == 2
    assert net.synapses("a -> b").targets.tolist() == [1, 2]
    net.run(0.01)
    net.save(tmp_path / "state.npz")
    amdgpu.Network(text, device="cpu:0", arrays={"p": np.array([[0, 1], [1, 2]])}).restore(tmp_path / "state.npz")
    with pytest.raises(NetworkError, match="by another network"):
        amdgpu.Network(text, device="cpu:0", arrays={"p": np.array([[0, 1], [1, 3]])}).restore(tmp_path / "state.npz")
    batch = net.run_batch(0.01, seeds=[1, 2])
    assert len(batch) == 2


PAIRS = "connect a -> b(pattern: pairs({p}), weight: 0.1)\n"


@BOTH
@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        (PAIRS, np.zeros((3, 3)), r"has the shape \[3, 3\], expected \[n, 2\]"),
        (PAIRS, np.zeros(4), r"expected \[n, 2\]"),
        (PAIRS, np.array([[0, 1], [20, 1]]), "number 1 has the source 20; there are 20"),
        (PAIRS, np.array([[0, 30]]), "the target 30; there are 30"),
        (PAIRS, np.array([[0, -1]]), "holds -1 in row 0, expected a whole number from 0"),
        (PAIRS, np.array([[0, 1.5]]), "holds 1.5 in row 0"),
        (PAIRS, np.array([[0, np.nan]]), "holds NaN in row 0"),
        (PAIRS, np.array([[1, 2], [3, 4], [1, 2]]), "the pair of source 1 and target 2 stands twice; multapses: true"),
        ("connect a -> b(pattern: pairs([0, 1], {p}))\n", np.array([1, 2, 3]), "2 sources and 3 targets"),
        ("connect a -> b(weight: {p})\n", np.zeros((30, 20), np.float32), r"has the shape \[30, 20\], expected \[20, 30\]"),
        ("connect a -> b(delay: {p})\n", np.full((20, 30), -np.inf), "hold"),
        ("source s(spikes({p}), n: 2)\n", np.array([[0.001, 2]]), "neuron that it does not have"),
        ("source s(spikes({p}), n: 2)\n", np.array([[-0.001, 1]]), "a time below 0"),
        ("source s(spikes(times: {p}, indices: [0]), n: 2)\n", np.array([0.1, 0.2]), "2 times and 1 indices"),
        ("source c(current({p}, every: 1.ms), target: a.i)\n", np.zeros((2, 2)), r"expected \[n\]"),
        ("population d(3, model: cell, v: {p})\n", np.zeros(4, np.float32), r"\[4\], expected \[3\]"),
    ],
)  # fmt: skip
def test_values_that_do_not_fit_are_refused_with_what_they_are_for(give, door, text, value, expected):
    with pytest.raises((NetworkError, WeightsNotFiniteError), match=expected):
        give(text, door, p=value).run(0.001)


def test_missing_files_arrays_and_wrong_types():
    def refusal(text: str, **options) -> str:
        with pytest.raises(NetworkError) as caught:
            amdgpu.Network(CELL + text, device="cpu:0", **options).run(0.001)
        return str(caught.value)

    assert "pairs of a -> b: the file" in refusal('connect a -> b(pattern: pairs(file("nothing.npy")))\n')
    assert "nothing.npy cannot be opened" in refusal('connect a -> b(weight: file("nothing.npy"))\n')
    assert 'no array "w"; none was given' in refusal('connect a -> b(weight: array("w"))\n')
    assert "arrays={" in refusal('population d(3, model: cell, v: array("w"))\n')
    with pytest.raises(InvalidTypeError, match="'w' holds complex128"):
        amdgpu.Network(CELL, arrays={"w": np.zeros(3, complex)})
    with pytest.raises(InvalidTypeError, match="holds <U1"):
        amdgpu.Network(CELL, arrays={"w": ["a"]})
    with pytest.raises(InvalidArgumentError, match="a configuration holds its arrays itself"):
        amdgpu.Network({"architecture": [2, 3]}, arrays={"w": np.zeros(3)})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "connect a -> b(pattern: pairs([0, 1, 0], [1, 2, 1]))",
            "line 10, column 25.*source 0 and target 1 stands twice",
        ),
        ("connect a -> b(pattern: pairs([0, 1]))", "needs 'targets'"),
        ("connect a -> b(pattern: pairs([0], file(7)))", "needs the path"),
        ("connect a -> b(pattern: pairs([0], [30]))", "a whole number from 0 to 29"),
        ("connect a -> b(weight: array())", "needs the name of an array"),
        ("connect a -> b(weight: constant())", "'constant' needs a value"),
    ],
)
def test_wrong_references_are_errors_of_the_text(text, expected):
    with pytest.raises(NetworkError, match=expected):
        amdgpu.Network(CELL + text + "\n")


def test_pairs_may_repeat_with_multapses():
    text = CELL + "connect a -> b(pattern: pairs([0, 0, 3], [1, 1, 2]), weight: 0.1, {})\n"
    for flag in ["multapses: true", "multapses"]:
        assert amdgpu.Network(text.format(flag), device="cpu:0").synapses("a -> b").sources.tolist() == [0, 0, 3]


def test_rules_have_the_names_of_the_requirements():
    text = CELL + "connect a -> b(pattern: fixed_in(3), weight: 0.1)\nplasticity {}\n"
    for other, name in [
        ("reinforcement(tau_c: 0.5.s)", "r_stdp(tau_c: 0.5.s)"),
        ("stdp(dependence: power_law)", "stdp(dependence: power)"),
    ]:
        plans = [amdgpu.Network(text.format(rule)).plan["spiking"] for rule in (other, name)]
        assert plans[0]["source"] == plans[1]["source"]
        assert plans[0]["kernels"] == plans[1]["kernels"]
