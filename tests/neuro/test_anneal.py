"""Annealing: known optima, exact distributions, one result on every device, clear errors."""

import itertools
import json

import amdgpu
import numpy as np
import pytest
from amdgpu import anneal, errors
from amdgpu.anneal import problem as problems
from amdgpu.anneal import schedule as schedules
from amdgpu.anneal import solve
from annealing_instances import brute_force, planted_loops

THERMAL, QUANTUM = anneal.METHODS


@pytest.mark.parametrize("method", anneal.METHODS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_small_random_problems_is_found(method, seed):
    rng = np.random.default_rng(seed)
    fields, couplings = rng.standard_normal(12), np.triu(rng.standard_normal((12, 12)), 1)
    result = anneal.ising(fields, couplings, method=method, reads=32, sweeps=300)
    assert result.energy == pytest.approx(brute_force(fields, couplings))
    spins = result.samples.astype(float)
    assert np.allclose(result.energies, spins @ fields + np.einsum("ki,ij,kj->k", spins, couplings, spins))
    assert set(np.unique(result.samples)) == {-1, 1}


@pytest.mark.parametrize("method", anneal.METHODS)
def test_the_optimum_of_small_qubo_problems_is_found(method):
    rng = np.random.default_rng(7)
    matrix = rng.standard_normal((11, 11))
    matrix = matrix + matrix.T
    bits = np.array(list(itertools.product([0, 1], repeat=11)), float)
    energies = np.einsum("ki,ij,kj->k", bits, matrix, bits)
    result = anneal.qubo(matrix, method=method, reads=32, sweeps=300)
    assert result.energy == pytest.approx(energies.min())
    assert np.array_equal(result.best, bits[energies.argmin()])
    assert set(np.unique(result.samples)) == {0, 1}


@pytest.mark.parametrize("seed", range(3))
def test_planted_problems_are_solved_and_the_quantum_method_needs_fewer_sweeps(seed):
    couplings, planted, energy = planted_loops(16, 180, seed)
    assert planted @ couplings @ planted == energy
    found = {method: anneal.ising(None, couplings, method=method, reads=64, sweeps=400) for method in anneal.METHODS}
    for result in found.values():
        assert result.energy == energy
    assert found[QUANTUM].energies.mean() < found[THERMAL].energies.mean()
    assert found[QUANTUM].share_within(energy) > 0.5


@pytest.mark.parametrize("method", anneal.METHODS)
def test_maximum_cuts_of_toroidal_grids_are_found(method):
    """As G48 to G50 of the Gset are: a torus with even sides, where the best cut has every edge."""
    side = 20
    edges = {}
    for row, column in itertools.product(range(side), range(side)):
        here = row * side + column
        for other in ((row + 1) % side * side + column, row * side + (column + 1) % side):
            edges[here, other] = 1.0
    result = anneal.ising(None, edges, method=method, reads=32, sweeps=1000)
    cut = (len(edges) - result.energy) / 2
    assert cut == len(edges) == 800


def test_sweeps_at_one_temperature_give_boltzmanns_distribution():
    fields, couplings = np.array([0.3, -0.2, 0.1]), np.array([[0, 0.7, -0.4], [0, 0, 0.5], [0, 0, 0]])
    beta, reads = 0.8, 40_000
    result = anneal.ising(fields, couplings, reads=reads, sweeps=40, betas=np.full(40, beta))
    states = np.array(list(itertools.product([-1, 1], repeat=3)), float)
    weights = np.exp(-beta * (states @ fields + np.einsum("ki,ij,kj->k", states, couplings, states)))
    codes = ((result.samples + 1) // 2) @ [4, 2, 1]
    found = np.bincount(codes, minlength=8) / reads
    # Five standard errors.
    assert np.abs(found - weights / weights.sum()).max() < 5 * np.sqrt(0.25 / reads)


def test_path_integral_sweeps_give_the_distribution_of_their_action():
    fields, couplings, slices, reads, sweeps = np.array([0.4, -0.1]), np.array([[0, 0.6], [0, 0]]), 4, 60_000, 60
    beta, transverse = 1.3, 0.9
    problem = problems.ising_problem(fields, couplings)
    plan = schedules.quantum(problem, sweeps, beta, np.full(sweeps, transverse), slices)
    words, _ = solve._run(
        problem, plan, amdgpu.initialize_device("cpu:0", ["aura"]), reads=reads, slices=slices, seed=1, start=0.0, limit=None,
        progress=False,
    )  # fmt: skip
    tunneling = -0.5 * np.log(np.tanh(beta * transverse / slices))
    weights = np.zeros((16, 16))
    value = np.array([[1 if code >> k & 1 else -1 for k in range(slices)] for code in range(16)])
    for one, two in itertools.product(range(16), repeat=2):
        s, t = value[one], value[two]
        action = beta / slices * (fields[0] * s + fields[1] * t + couplings[0, 1] * s * t).sum()
        action -= tunneling * ((s * np.roll(s, 1)).sum() + (t * np.roll(t, 1)).sum())
        weights[one, two] = np.exp(-action)
    found = np.zeros((16, 16))
    np.add.at(found, (words[0], words[1]), 1 / reads)
    assert np.abs(found - weights / weights.sum()).max() < 5 * np.sqrt(0.25 / reads)


@pytest.mark.parametrize("method", anneal.METHODS)
def test_reads_follow_from_the_seed_alone(method, monkeypatch):
    couplings, _, _ = planted_loops(8, 30, 0)
    options = {"method": method, "sweeps": 30}
    many = anneal.ising(None, couplings, reads=40, **options)
    assert np.array_equal(anneal.ising(None, couplings, reads=7, **options).samples, many.samples[:7])
    assert not np.array_equal(anneal.ising(None, couplings, reads=40, seed=1, **options).samples, many.samples)
    assert not np.array_equal(anneal.ising(None, couplings, reads=40, seed=2**32, **options).samples, many.samples)
    monkeypatch.setattr(solve, "LAUNCH_SECONDS", 0.0)
    monkeypatch.setattr(solve, "BLOCK", {"cpu": 3})
    assert np.array_equal(anneal.ising(None, couplings, reads=40, **options).samples, many.samples)


def test_dense_sparse_and_dict_problems_are_the_same():
    couplings, _, _ = planted_loops(6, 12, 1)
    pairs = {(int(i), int(j)): float(couplings[i, j]) for i, j in np.argwhere(couplings)}
    turned = {(j, i): value for (i, j), value in pairs.items()}
    samples = [
        anneal.ising(np.zeros(36), source, reads=5, sweeps=20).samples
        for source in (couplings, couplings + couplings.T, pairs, turned)
    ]
    assert all(np.array_equal(samples[0], other) for other in samples)
    matrix = couplings + np.diag(np.arange(36.0))
    one = anneal.qubo(matrix, reads=5, sweeps=20)
    symmetric = np.triu(matrix, 1) / 2
    two = anneal.qubo(symmetric + symmetric.T + np.diag(np.arange(36.0)), reads=5, sweeps=20)
    assert np.array_equal(one.samples, two.samples)
    assert np.array_equal(one.energies, two.energies)


def test_a_time_limit_ends_with_what_there_is():
    couplings, _, _ = planted_loops(16, 100, 0)
    result = anneal.ising(None, couplings, sweeps=10**6, betas=(0.1, 3.0), time_limit_seconds=0.2)
    assert result.stopped == "time limit"
    assert 0 < result.sweeps < 10**6
    assert len(result.energies) == 64


def test_progress_is_told_up_to_the_end():
    seen = []
    anneal.ising(None, {(0, 1): 1.0}, sweeps=50, reads=4, progress=seen.append)
    assert [at.sweeps for at in seen] == sorted(at.sweeps for at in seen)
    assert seen[-1].sweeps == seen[-1].total_sweeps == 50


@pytest.mark.parametrize("method", anneal.METHODS)
def test_problems_without_pairs_or_with_one_spin_are_solved(method):
    assert anneal.ising([2.0, -3.0], np.zeros((2, 2)), method=method, reads=4, sweeps=200).energy == -5.0
    assert anneal.ising([1.5], [[0.0]], method=method, reads=4, sweeps=200).energy == -1.5
    assert anneal.ising(None, np.zeros((3, 3)), method=method, reads=4, sweeps=1).energy == 0.0
    assert anneal.qubo([[-2.0]], method=method, reads=4, sweeps=200).best.tolist() == [1]


def test_results_are_plain_values():
    result = anneal.ising(None, {(0, 1): -1.0}, reads=3, sweeps=10, method=QUANTUM)
    assert json.loads(json.dumps(result.to_dict()))["energies"] == result.energies.tolist()
    assert [*result.schedule] == ["betas", "transverse_field"]
    assert all(len(values) == 10 for values in result.schedule.values())


@pytest.mark.parametrize("device", ["null:gfx1100", "null:gfx942"])
@pytest.mark.parametrize("method", anneal.METHODS)
def test_the_kernels_compile_for_gpus(method, device):
    opened = amdgpu.initialize_device(device, ["aura"])
    for slices in (2, 32):
        for name in ("initialize", "sweep"):
            kernel = solve._kernel(opened, method, name, slices)
            assert kernel.resources["scratch_bytes"] == 0


GOOD = np.array([[0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: anneal.ising(None, [[0, 1], [2, 0]]),
            errors.InvalidArgumentError,
            r"not symmetric \(\[0, 1\] is 1.0, \[1, 0\] is 2.0",
        ),
        (lambda: anneal.qubo([[0, 0], [2, 0]]), errors.InvalidArgumentError, "not symmetric"),
        (lambda: anneal.ising(None, [[0, np.nan], [np.nan, 0]]), errors.InvalidArgumentError, r"nan at \[0, 1\]"),
        (lambda: anneal.ising([np.inf, 0], GOOD), errors.InvalidArgumentError, r"inf at \[0\]"),
        (lambda: anneal.ising(None, [[1, 1], [1, 0]]), errors.InvalidArgumentError, r"1.0 at \[0, 0\]"),
        (lambda: anneal.ising(None, np.zeros((0, 0))), errors.ShapeMismatchError, "empty"),
        (lambda: anneal.qubo({}), errors.ShapeMismatchError, "empty"),
        (lambda: anneal.ising(None, np.zeros((2, 3))), errors.ShapeMismatchError, r"\(2, 3\)"),
        (lambda: anneal.ising(None, np.zeros(3)), errors.ShapeMismatchError, "square"),
        (lambda: anneal.ising(np.zeros(3), GOOD), errors.ShapeMismatchError, "2 spins"),
        (
            lambda: anneal.ising(np.zeros(2), {(0, 2): 1.0}),
            errors.InvalidArgumentError,
            "a variable of couplings is 2; it must be from 0 to 1",
        ),
        (lambda: anneal.ising(None, {(0, -1): 1.0}), errors.InvalidArgumentError, "a variable of couplings is -1"),
        (lambda: anneal.ising({5: 1.0}, GOOD), errors.InvalidArgumentError, "a variable of fields is 5"),
        (lambda: anneal.ising(None, {0: 1.0}), errors.InvalidTypeError, "pairs"),
        (lambda: anneal.ising(None, [["a", "b"], ["c", "d"]]), errors.InvalidTypeError, "real numbers"),
        (lambda: anneal.ising(None, [[0, 1j], [1j, 0]]), errors.InvalidTypeError, "real numbers"),
        (lambda: anneal.ising(None, [[0, 1e39], [0, 0]]), errors.InvalidArgumentError, "scale the problem down"),
        (lambda: anneal.ising(None, {(0, 2_000_000_000): 1.0}), errors.OutOfMemoryError, "GB"),
        (lambda: anneal.ising(None, {(0, 999): 1.0}, reads=2**31 - 1, sweeps=1), errors.OutOfMemoryError, "GB"),
        (lambda: anneal.ising(None, GOOD, sweeps=2**31 - 1), errors.OutOfMemoryError, "GB"),
        (lambda: anneal.ising(None, GOOD, method="magic"), errors.InvalidArgumentError, THERMAL),
        (lambda: anneal.ising(None, GOOD, reads=0), errors.InvalidArgumentError, "reads is 0; it must be from 1"),
        (lambda: anneal.ising(None, GOOD, sweeps=1.5), errors.InvalidTypeError, "integer"),
        (lambda: anneal.ising(None, GOOD, seed=2**64), errors.InvalidArgumentError, "seed"),
        (lambda: anneal.ising(None, GOOD, betas=(1, 2, 3)), errors.InvalidArgumentError, r"\(3,\)"),
        (lambda: anneal.ising(None, GOOD, betas=(0, 2)), errors.InvalidArgumentError, "above 0"),
        (lambda: anneal.ising(None, GOOD, betas="hot"), errors.InvalidTypeError, "real numbers"),
        (lambda: anneal.ising(None, GOOD, transverse_field=(1, 0.1)), errors.InvalidArgumentError, "belongs"),
        (lambda: anneal.ising(None, GOOD, method=QUANTUM, slices=33), errors.InvalidArgumentError, "2 to 32"),
        (lambda: anneal.ising(None, GOOD, method=QUANTUM, betas=-1), errors.InvalidArgumentError, "below 0"),
        (
            lambda: anneal.ising(None, GOOD, method=QUANTUM, transverse_field=(1, 0)),
            errors.InvalidArgumentError,
            "above 0",
        ),
        (lambda: anneal.ising(None, GOOD, time_limit_seconds=0), errors.InvalidArgumentError, "time_limit_seconds"),
    ],
)
def test_what_is_no_problem_is_said(call, error, words):
    with pytest.raises(error, match=words):
        call()
