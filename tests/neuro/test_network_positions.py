"""Patterns and values on positions: who is connected, against a Philox of NumPy's own, and how often, against the distance."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu import _native
from amdgpu.errors import NetworkError, WeightsNotFiniteError
from amdgpu.plotting.graph import synapse_count
from network_kernels import philox
from positioned_networks import CELL, ON_DEVICES

ENGINE, PROJECTION_KIND = 1 << 31, 2 << 27


def built(text: str, **options) -> amdgpu.Network:
    return amdgpu.Network(CELL + text, device="cpu:0", **options)


def grid(*counts: int, spacing: float = 1.0, origin: float = 0.0) -> np.ndarray:
    """Positions of a grid, x fastest."""
    axes = np.meshgrid(*(np.arange(count) * spacing + origin for count in reversed(counts)), indexing="ij")
    return np.stack([axis.ravel() for axis in reversed(axes)], axis=1)


def squared(a: np.ndarray, b: np.ndarray, period: tuple[float, ...] | None = None) -> np.ndarray:
    ways = b[None, :, :] - a[:, None, :]
    if period is not None:
        ways -= np.array(period) * np.round(ways / np.array(period))
    return (ways**2).sum(axis=2)


def gaussian(distances2: np.ndarray, sigma: float, peak: float, seed: int, projection: int = 0) -> np.ndarray:
    """Pairs as docs/plan_schema.md defines them: source, target."""
    sources, targets = distances2.shape
    wanted = peak * np.exp(-distances2 / (2 * sigma * sigma)) * 2.0**32
    words = np.empty((sources, targets), np.uint32)
    blocks = np.arange((targets + 3) // 4)
    for source in range(sources):
        counter = np.zeros((4, len(blocks)))
        counter[0], counter[1], counter[2] = blocks, source, ENGINE | PROJECTION_KIND | projection << 8
        words[source] = philox(counter, (seed, 0)).T.ravel()[:targets]
    return np.argwhere(words.astype(np.float64) + 1 <= wanted)


def pairs_of(net: amdgpu.Network, name: str) -> np.ndarray:
    found = net.synapses(name)
    return np.stack([found.sources, found.targets], axis=1)


SPACES = {
    "line": ("grid(90)", "grid(60, spacing: 1.5)", grid(90), grid(60, spacing=1.5), None),
    "plane": ("grid(12, 9)", "grid(7, 11, spacing: 1.25, origin: 0.5)", grid(12, 9), grid(7, 11, spacing=1.25, origin=0.5), None),
    "torus": ("grid(12, 10, periodic: true)", "grid(6, 5, spacing: 2, periodic: true)", grid(12, 10), grid(6, 5, spacing=2), (12, 10)),
    "volume": ("grid(5, 6, 7)", "grid(4, 3, 5)", grid(5, 6, 7), grid(4, 3, 5), None),
    "volume_periodic": ("grid(6, 4, 8, periodic: true)", "grid(6, 4, 8, periodic: true)", grid(6, 4, 8), grid(6, 4, 8), (6, 4, 8)),
}  # fmt: skip


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("sigma", [0.3, 1.7, 40.0])
def test_gaussian_connects_the_pairs_that_the_random_numbers_say(space, sigma):
    sources, targets, a, b, period = SPACES[space]
    net = built(
        f"seed = 7\npopulation pre({len(a)}, model: cell, positions: {sources})\n"
        f"population post({len(b)}, model: cell, positions: {targets})\n"
        f"connect pre -> post(pattern: gaussian({sigma}, p: 0.8), weight: 0.1)\n"
    )
    wanted = gaussian(squared(a, b, period), sigma, 0.8, 7)
    assert np.array_equal(pairs_of(net, "pre -> post"), wanted)
    estimate = net.memory_estimate()["projections"][0]["synapses"]
    assert len(wanted) <= estimate <= 1.6 * len(wanted) + 6 * np.sqrt(len(wanted)) + 60


def test_gaussian_of_given_points_in_length_units_from_text_file_and_array(tmp_path):
    rng = np.random.default_rng(3)
    points = rng.uniform(0, 400, (150, 2)).round(1)
    np.save(tmp_path / "points.npy", points.astype(np.float32))
    listed = ", ".join(f"[{x}.um, {y}.um]" for x, y in points)
    spread = 1e-6 * points.astype(np.float32).astype(np.float64)
    found = {}
    for name, positions in {
        "text": f"points([{listed}], period: 400.um)",
        "file": 'points(file("points.npy"), unit: 1.um, period: [400.um, 400.um])',
        "array": 'points(array("where"), unit: 1.um, period: 400.um)',
    }.items():
        text = f"population c(150, model: cell, positions: {positions})\nconnect c -> c(pattern: gaussian(30.um), autapses: false)\n"
        net = built(
            text, base_directory=tmp_path, arrays={"where": points.astype(np.float32)} if name == "array" else None
        )
        found[name] = pairs_of(net, "c -> c")
    wanted = gaussian(squared(spread, spread, (400e-6, 400e-6)), 30e-6, 1.0, 0)
    wanted = wanted[wanted[:, 0] != wanted[:, 1]]
    assert np.array_equal(found["file"], wanted)
    assert np.array_equal(found["array"], wanted)
    # Rounding to float32 moves a point by less than 1e-5 um: no word stands so close.
    assert np.array_equal(found["text"], wanted)
    assert len(wanted) > 400


def test_gaussian_probability_falls_with_distance_as_it_should():
    side, sigma = 30, 3.0
    net = built(
        f"seed = 5\npopulation c({side * side}, model: cell, positions: grid({side}, {side}, periodic: true))\n"
        f"connect c -> c(pattern: gaussian({sigma}, p: 0.6))\n"
    )
    found = pairs_of(net, "c -> c")
    where = grid(side, side)
    ways = where[found[:, 1]] - where[found[:, 0]]
    ways -= side * np.round(ways / side)
    connected = np.bincount((ways**2).sum(1).round().astype(int), minlength=2000)
    all2 = squared(where[:1], where, (side, side)).round().astype(int)[0]
    for distance2, count in zip(*np.unique(all2[all2 < 60], return_counts=True), strict=True):
        pairs = count * side * side
        wanted = 0.6 * np.exp(-distance2 / (2 * sigma**2))
        # Five standard deviations: one of 30 distances in 60,000 such tests.
        assert abs(connected[distance2] / pairs - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / pairs), distance2


def test_gaussian_rows_are_the_same_in_every_storage_and_give_the_same_spikes_with_any_number_of_threads():
    hashes, rows = set(), set()
    for storage in ["csr16", "csr32", "gap_coded", "bit_mask", "procedural", "auto"]:
        for threads in [1, 2] if storage == "procedural" else [1, 3]:
            net = built(
                "source in(poisson(rate: 400.Hz), n: 300, positions: grid(20, 15))\n"
                "population c(300, model: cell, positions: grid(20, 15))\n"
                f"connect in -> c(pattern: gaussian(1.5, p: 0.7), weight: 0.25, storage: {storage})\n"
                f"connect c -> c(pattern: gaussian(2.5, p: 0.3), weight: 0.0625, delay: 0.3.ms, autapses: false, storage: {storage})\n"
                "record spikes(c)\n",
                threads=threads,
            )
            assert net.memory_estimate()["projections"][1]["storage"] == storage or storage == "auto"
            hashes.add(net.run(0.03).spike_hash)
            rows.add(pairs_of(net, "c -> c").tobytes())
    assert len(hashes) == 1
    assert len(rows) == 1
    assert net.last_result.counts["c"] > 30


KERNEL = np.array([[0.0, 1.0, 0.5], [2.0, -4.0, 0.0], [0.25, 1.0, 3.0]])


def convolved(
    image: np.ndarray, kernel: np.ndarray, stride: tuple[int, ...], padding: tuple[int, ...] | None
) -> np.ndarray:
    """By definition, axis by axis in the order of NumPy; `padding` None wraps around."""
    low = padding or tuple((taps - 1) // 2 for taps in kernel.shape)
    mode = {"mode": "wrap"} if padding is None else {}
    wide = np.pad(image, [(p, taps) for p, taps in zip(low, kernel.shape, strict=True)], **mode)
    windows = np.lib.stride_tricks.sliding_window_view(wide, kernel.shape)
    steps = windows[tuple(slice(None, None, s) for s in stride)]
    return np.tensordot(steps, kernel, axes=kernel.ndim)


@pytest.mark.parametrize(
    ("sources", "targets", "options", "stride", "padding"),
    [
        ((9, 7), (7, 5), "", (1, 1), (0, 0)),
        ((9, 7), (9, 7), ", padding: same", (1, 1), (1, 1)),
        ((9, 8), (5, 4), ", stride: 2, padding: 1", (2, 2), (1, 1)),
        ((9, 8), (4, 8), ", stride: [2, 1], padding: [0, 1]", (1, 2), (1, 0)),
        ((8, 6), (4, 2), "periodic, stride: [2, 3]", (3, 2), None),
        ((8, 6), (8, 6), "periodic", (1, 1), None),
    ],
)
@pytest.mark.parametrize("synapse", ["", ", synapse: tsodyks_markram"])
def test_convolution_is_that_of_numpy(sources, targets, options, stride, padding, synapse):
    wraps = ", periodic: true" if "periodic" in options else ""
    written = str(KERNEL.tolist()) + options.replace("periodic", "")
    net = built(
        f"source in(poisson(rate: 0.Hz), n: {np.prod(sources)}, positions: grid({sources[0]}, {sources[1]}{wraps}))\n"
        f"population out({np.prod(targets)}, model: cell, positions: grid({targets[0]}, {targets[1]}{wraps}))\n"
        f"connect in -> out(pattern: convolution({written}), weight: 0.5{synapse})\n"
    )
    found = net.synapses("in -> out")
    matrix = np.zeros((np.prod(sources), np.prod(targets)))
    np.add.at(matrix, (found.sources, found.targets), found.weights)
    image = np.random.default_rng(1).normal(size=(sources[1], sources[0]))
    wanted = convolved(image, 0.5 * KERNEL, stride, padding)[: targets[1], : targets[0]]
    assert np.abs(image.ravel() @ matrix - wanted.ravel()).max() < 1e-6
    assert (found.weights != 0).all()
    assert net.memory_estimate()["projections"][0]["synapses"] == len(found)
    assert len(np.unique(np.stack([found.sources, found.targets]), axis=1).T) == len(found)


def test_kernels_come_from_files_and_arrays_and_have_one_to_three_axes(tmp_path):
    rng = np.random.default_rng(2)
    for counts in [(11,), (6, 5), (5, 4, 6)]:
        kernel = rng.normal(size=tuple(min(3, count) for count in counts)).astype(np.float32)
        np.save(tmp_path / "k.npy", np.asfortranarray(kernel))
        size = int(np.prod(counts))
        places = "grid(" + ", ".join(map(str, reversed(counts))) + ")"
        for given in ['file("k.npy")', 'array("k")']:
            net = built(
                f"population a({size}, model: cell, positions: {places})\n"
                f"connect a -> a(pattern: convolution({given}, padding: same), weight: 2)\n",
                base_directory=tmp_path,
                arrays={"k": kernel},
            )
            found = net.synapses("a -> a")
            matrix = np.zeros((size, size))
            matrix[found.sources, found.targets] = found.weights
            image = rng.normal(size=counts)
            wanted = convolved(image, 2.0 * kernel, (1,) * len(counts), (1,) * len(counts))
            wanted = wanted[tuple(slice(count) for count in counts)]
            assert np.abs(image.ravel() @ matrix - wanted.ravel()).max() < 1e-5


def test_a_network_of_kernels_spikes_the_same_with_any_number_of_threads():
    hashes = set()
    for threads in [1, 2, 3]:
        net = built(
            "source in(poisson(rate: 500.Hz), n: 400, positions: grid(20, 20))\n"
            "population c(400, model: cell, positions: grid(20, 20))\n"
            "connect in -> c(pattern: convolution([[0, 1, 0], [1, 4, 1], [0, 1, 0]], padding: same), weight: 0.25)\n"
            "connect c -> c(pattern: convolution([[-1, -1, -1], [-1, 0, -1], [-1, -1, -1]], padding: same), weight: random(0, 0.1))\n"
            "plasticity stdp(on: in -> c)\n",
            threads=threads,
        )
        hashes.add(net.run(0.1).spike_hash)
    assert len(hashes) == 1
    assert net.last_result.counts["c"] > 100


def test_stepping_by_launches_gives_the_spikes_of_stepping_by_threads():
    plan = _native.NetworkPlan.compile(CELL + ON_DEVICES)
    device = amdgpu.device.default_device("cpu:0").native
    runs = [_native.SpikingNetwork(plan, device, by_launches=way).run(300) for way in (False, True)]
    assert runs[0]["spike_hash"] == runs[1]["spike_hash"]
    assert sum(count for _, _, count in runs[0]["counts"]) > 500


def test_pictures_tell_what_the_plan_tells_of_patterns():
    text = (
        "population a(9, model: cell, positions: grid(3, 3))\n"
        "connect a -> a(pattern: gaussian(1))\n"
        'connect a -> a(pattern: pairs([0, 1], array("t")))\n'
        'connect a -> a(pattern: pairs(array("p")))\n'
    )
    plan = built(text, arrays={}).plan["spiking"]
    assert [synapse_count(one, {"a": 9}) for one in plan["projections"]] == [None, 2, None]


def test_weights_and_delays_follow_positions_and_distance():
    net = built(
        "population a(30, model: cell, positions: grid(6, 5, spacing: 10.um))\n"
        "population b(20, model: cell, positions: grid(5, 4, spacing: 12.um))\n"
        "connect a -> b(weight: exp(-distance/(20.um)) + 0.01*(x_post - y_pre)/(1.um), delay: 0.1.ms + distance/(0.1*m/s))\n"
    )
    found = net.synapses("a -> b")
    a, b = grid(6, 5, spacing=1e-5), grid(5, 4, spacing=1.2e-5)
    distance = np.sqrt(squared(a, b))[found.sources, found.targets]
    weight = np.exp(-distance / 2e-5) + 0.01 * (b[found.targets, 0] - a[found.sources, 1]) / 1e-6
    assert np.abs(found.weights - weight).max() < 1e-5
    assert np.abs(found.delays - (1e-4 + distance / 0.1)).max() < 0.51e-4
    assert len(np.unique(found.delays)) > 5


def test_variables_start_from_the_position_of_their_neuron():
    text = (
        "population a(12, model: cell, positions: grid(4, 3, spacing: 0.1), v: x + 10*y)\n"
        "population b(3, model: cell, positions: points([[1, 2, 3], [4, 5, 6], [7, 8, 9]]), v: z/100)\n"
        "population c(2, model: cell, v: i)\nrecord spikes(a)\n"
    )
    net = built(text)
    where = grid(4, 3, spacing=0.1)
    assert np.abs(net.states["a.v"] - (where[:, 0] + 10 * where[:, 1])).max() < 1e-6
    assert np.abs(net.states["b.v"] - [0.03, 0.06, 0.09]).max() < 1e-7
    assert net.states["c.v"].tolist() == [0, 1]


def test_random_numbers_in_expressions_of_synapses_differ_and_repeat():
    text = "population a(40, model: cell)\nconnect a -> a(pattern: fixed_out(20), weight: 0.1*i + random(0, 0.1) + 0*normal())\n"
    found, again = built(text).synapses("a -> a"), built(text, threads=1).synapses("a -> a")
    assert np.array_equal(found.weights, again.weights)
    rest = (found.weights - 0.1 * found.sources) / 0.1
    assert rest.min() + 1e-4 >= 0
    assert rest.max() < 1.0001
    assert len(np.unique(rest.round(3))) > 300
    clipped = built(text.replace("0.1*i + random(0, 0.1) + 0*normal()", "clip(random(0, 1), 0.2, 0.5)")).synapses(
        "a -> a"
    )
    assert clipped.weights.min() == np.float32(0.2)
    assert clipped.weights.max() == np.float32(0.5)


PLANE = "population a(12, model: cell, positions: grid(4, 3))\npopulation n(12, model: cell)\n"


@pytest.mark.parametrize(
    ("connect", "expected"),
    [
        ("connect a -> a(pattern: gaussian(0))", "line 9, column 34: 'sigma'"),
        ("connect a -> a(pattern: gaussian(-1.5))", "a distance above zero"),
        ("connect a -> a(pattern: gaussian(1.um))", "'sigma' is a length where a dimensionless is needed"),
        ("connect a -> a(pattern: gaussian(1, p: 2))", "outside of 0 to 1"),
        ("connect a -> a(pattern: gaussian())", "needs 'sigma'"),
        ("connect a -> n(pattern: gaussian(1))", "'n' has no positions"),
        ("connect n -> a(pattern: convolution([1]))", "'n' has no positions"),
        ("connect a -> a(pattern: convolution([[1, 1, 1, 1, 1]]))", "5 entries along x, and the grid of 'a' 4"),
        ("connect a -> a(pattern: convolution([[1, 1], [1, 1]]))", "along x .* has 3 targets, and the grid of 'a' 4"),
        ("connect a -> a(pattern: convolution([1, 2, 1]))", "a kernel with 1 axis on grids with 2 axes"),
        ("connect a -> a(pattern: convolution([[1, 2], [1]]))", "rows of one length"),
        ("connect a -> a(pattern: convolution([[1, 2], 1]))", "where a list is needed"),
        ("connect a -> a(pattern: convolution([[1]], stride: 0))", "a whole number from 1"),
        ("connect a -> a(pattern: convolution([[1]], padding: wide))", "a whole number from 0"),
        ('connect a -> a(pattern: convolution([[1]]), weight: file("w.npy"))', "kernel's entries are multiplied with"),
        ("connect a -> a(weight: z_pre)", "'z_pre' is not known"),
        ("connect a -> n(weight: distance)", "'distance' is not known"),
        ("population b(5, model: cell, positions: grid(2, 2))", "4 places for the 5 neurons"),
        ("population b(4, model: cell, positions: grid(2, 2, spacing: 0))", "the spacing is not above zero"),
        ("population b(4, model: cell, positions: grid(2, 2, spacing: 1.ms))", "in a unit of time"),
        ("population b(16, model: cell, positions: grid(2, 2, 2, 2))", "one to three counts"),
        ("population b(2, model: cell, positions: points([[0, 1], [2]]))", "2 coordinates|one for each axis"),
        ("population b(3, model: cell, positions: points([0, 1]))", "2 points for the 3 neurons"),
        ("population b(2, model: cell, positions: ring(2))", "unknown positions 'ring'"),
        ("population b(2, model: cell, positions: points(file(3)))", "path of a .npy file"),
        ("population b(2, model: cell, v: x)", "'x' is not known"),
        ("population b(2, model: cell, v: xavier)", "xavier and he are for weights"),
        (
            "population b(4, model: cell, positions: grid(4))\nconnect a -> b(pattern: gaussian(1))",
            "'a' have 2 axes, those of 'b' 1",
        ),
        (
            "population b(4, model: cell, positions: grid(2, 2, spacing: 1.um))\nconnect a -> b(pattern: gaussian(1))",
            "different units",
        ),
        (
            "population b(4, model: cell, positions: grid(2, 2, periodic: true))\nconnect a -> b(pattern: convolution([[1]]))",
            "a periodic grid and one that is not",
        ),
        (
            "population b(4, model: cell, positions: points([[0,0],[0,1],[1,0],[1,1]]))\nconnect b -> b(pattern: convolution([[1]]))",
            "'b' stands on no grid",
        ),
    ],
)
def test_wrong_positions_and_patterns_are_errors_of_the_text(connect, expected):
    with pytest.raises(NetworkError, match=expected):
        amdgpu.Network(CELL + PLANE + connect + "\n")


def test_what_only_the_files_tell_is_refused_when_the_network_is_built(tmp_path):
    def refusal(text: str, **arrays) -> str:
        with pytest.raises(NetworkError) as caught:
            built(text, base_directory=tmp_path, arrays=arrays).synapses("a -> a")
        return str(caught.value)

    connect = "connect a -> a(pattern: gaussian(1))\n"
    cells = f'population a(4, model: cell, positions: points(array("p")))\n{connect}'
    assert "4 neurons" in refusal(cells, p=np.zeros((3, 2)))
    assert "1 to 3 coordinates" in refusal(cells, p=np.zeros((4, 4)))
    assert "nan" in refusal(cells, p=np.full((4, 2), np.nan)).lower()
    assert 'no array "p"' in refusal(cells, q=np.zeros(4))
    assert "given are q" in refusal(cells, q=np.zeros(4))
    assert "begin anew" in refusal(
        cells.replace(
            "connect a -> a", 'population b(4, model: cell, positions: points(array("p"), period: 3))\nconnect a -> b'
        ),
        p=np.zeros((4, 2)),
    )
    assert "dimensions" in refusal(
        cells.replace("connect a -> a", "population b(4, model: cell, positions: grid(4))\nconnect a -> b"),
        p=np.zeros((4, 2)),
    )
    missing = 'population a(4, model: cell, positions: points(file("nothing.npy")))\n' + connect
    assert "nothing.npy cannot be opened" in refusal(missing)
    assert "positions of" in refusal(missing)
    kernels = 'population a(9, model: cell, positions: grid(3, 3))\nconnect a -> a(pattern: convolution(array("k"), padding: same))\n'
    assert "5 entries along y" in refusal(kernels, k=np.ones((5, 1)))
    assert "1 axes" in refusal(kernels, k=np.ones(3))
    assert "1 targets" in refusal(kernels.replace(", padding: same", ""), k=np.ones((3, 3)))
    with pytest.raises(WeightsNotFiniteError, match="weights of a -> a"):
        built("population a(4, model: cell, positions: grid(4))\nconnect a -> a(weight: 1/distance)\n").synapses(
            "a -> a"
        )


def test_all_errors_of_positions_are_reported_at_once():
    with pytest.raises(NetworkError) as caught:
        amdgpu.Network(
            CELL
            + PLANE
            + "connect a -> a(pattern: gaussian(0))\nconnect a -> n(pattern: gaussian(1))\nconnect a -> a(weight: q_pre)\n"
        )
    assert "3 errors" in str(caught.value)
