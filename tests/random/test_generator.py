"""`amdgpu.random.Generator`: seeds, places, splits, threads, state."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from amdgpu.random import Generator, default_rng
from random_oracle import bits_of, stream_words

# Name, arguments, words of an element in the first dtype.
DRAWS: tuple[tuple[str, tuple[Any, ...], dict[str, Any]], ...] = (
    ("random", (), {}),
    ("random", (), {"dtype": "float32"}),
    ("random", (), {"dtype": "float16"}),
    ("random", (), {"dtype": "bfloat16"}),
    ("uniform", (-2.0, 3.0), {}),
    ("standard_normal", (), {}),
    ("standard_normal", (), {"dtype": "float32"}),
    ("normal", (1.0, 2.0), {"dtype": "float16"}),
    ("exponential", (2.0,), {}),
    ("standard_exponential", (), {"dtype": "float32"}),
    ("integers", (0, 10), {}),
    ("integers", (-100, 100), {"dtype": "int8"}),
    ("integers", (0, 3 << 61), {}),
    ("integers", (0, 3 << 30), {}),
    ("integers", (0, 2**64), {"dtype": "uint64"}),
    ("integers", (0, 2), {"dtype": "bool"}),
    ("gamma", (0.3, 2.0), {}),
    ("standard_gamma", (5.0,), {"dtype": "float32"}),
    ("beta", (0.5, 3.0), {}),
    ("poisson", (3.0,), {}),
    ("poisson", (300.0,), {}),
    ("binomial", (9, 0.3), {}),
    ("binomial", (900, 0.7), {}),
    ("bernoulli", (0.3,), {}),
)


def named(draw: tuple[str, tuple[Any, ...], dict[str, Any]]) -> str:
    name, arguments, keywords = draw
    return "-".join([name, *map(str, arguments), *keywords.values()])


def drawn(rng: Generator, draw: tuple[str, tuple[Any, ...], dict[str, Any]], size: Any) -> np.ndarray:
    name, arguments, keywords = draw
    return bits_of(getattr(rng, name)(*arguments, size=size, **keywords))


@pytest.mark.parametrize("draw", DRAWS, ids=named)
def test_any_split_gives_the_same_numbers(draw: Any) -> None:
    whole = drawn(default_rng(11), draw, 50_011)
    rng = default_rng(11)
    parts = [drawn(rng, draw, size) for size in (1, 2, 3, 5, 8, 1000, 0, 20_001, 28_991)]
    assert (np.concatenate(parts) == whole).all()
    assert len(np.unique(whole)) > 1


@pytest.mark.parametrize("draw", DRAWS, ids=named)
def test_advancing_is_leaving_numbers_out(draw: Any) -> None:
    rng = default_rng(3)
    drawn(rng, draw, 10)
    words = rng.state["position"]
    assert (drawn(rng, draw, 7) == drawn(default_rng(3).advance(words), draw, 7)).all()
    rng.state = {**rng.state, "position": words}
    assert (drawn(rng.advance(-words), draw, 17) == drawn(default_rng(3), draw, 17)).all()


def test_words_are_philox_after_its_paper() -> None:
    rng = default_rng(123)
    state = rng.state
    words = rng.integers(0, 2**32, 1003, dtype="uint32").numpy()
    assert (words == stream_words(state["key"], 1003)).all()
    assert rng.state["position"] == 1003
    jumped = default_rng(123).jumped(5).integers(0, 2**32, 64, dtype="uint32").numpy()
    assert (jumped == stream_words(state["key"], 64, jumps=5)).all()


def test_uniform_numbers_are_the_high_bits_of_words() -> None:
    words = stream_words(default_rng(9).state["key"], 64)
    narrow = default_rng(9).random(64, dtype="float32").numpy()
    assert (narrow == (words >> 8).astype(np.float32) * np.float32(2.0**-24)).all()
    pairs = words.view("<u8")
    assert (default_rng(9).random(32).numpy() == (pairs >> np.uint64(11)).astype(np.float64) * 2.0**-53).all()
    half = default_rng(9).random(64, dtype="float16").numpy()
    assert (half.astype(np.float64) == (words >> 21).astype(np.float64) * 2.0**-11).all()


def test_keys_are_those_of_seed_sequence() -> None:
    for seed in (0, 1, 2**32, 2**200 + 17, [1, 2, 3], [2**40, 0], np.int64(7), np.arange(3)):
        wanted = np.random.SeedSequence(seed.tolist() if isinstance(seed, np.ndarray) else seed)
        assert default_rng(seed).state["key"] == int(wanted.generate_state(1, np.uint64)[0])
    children = np.random.SeedSequence(5).spawn(3)
    ours = default_rng(5).spawn(3)
    for one, child in zip(ours, children, strict=True):
        assert one.state["key"] == int(child.generate_state(1, np.uint64)[0])
    grandchild = ours[1].spawn(1)[0]
    assert grandchild.state["key"] == int(children[1].spawn(1)[0].generate_state(1, np.uint64)[0])


def test_seeds_children_and_jumps_give_other_numbers() -> None:
    rng = default_rng(1)
    others = [default_rng(2), default_rng(), default_rng(), rng.jumped(), rng.jumped(2), *rng.spawn(2), *rng.spawn(2)]
    rows = np.stack([one.random(2000).numpy() for one in [rng, *others]])
    correlations = np.corrcoef(rows)[~np.eye(len(rows), dtype=bool)]
    # Five standard errors.
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)
    assert len({row.tobytes() for row in rows}) == len(rows)


def test_state_is_kept_and_pickled() -> None:
    rng = default_rng([4, 5], device="cpu:0")
    rng.random(5)
    rng.spawn(1)
    other = pickle.loads(pickle.dumps(rng))
    assert other.state == rng.state
    assert (other.random(9).numpy() == rng.random(9).numpy()).all()
    assert other.spawn(1)[0].random() == rng.spawn(1)[0].random()
    assert repr(rng).startswith("Generator(Philox4x32-10, key=0x")
    assert default_rng(rng) is rng


def test_threads_of_a_program_get_numbers_that_no_other_one_gets() -> None:
    rng = default_rng(8)
    found: list[np.ndarray] = []

    def run() -> None:
        for _ in range(20):
            found.append(rng.random(500).numpy())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = default_rng(8).random(4 * 20 * 500).numpy()
    assert (np.sort(np.concatenate(found)) == np.sort(whole)).all()


def test_numbers_go_where_the_caller_wants() -> None:
    wanted = default_rng(6).standard_normal((3, 4)).numpy()
    host = np.zeros((3, 4))
    assert default_rng(6).standard_normal(out=host) is host
    assert (host == wanted).all()
    own = amdgpu.zeros((3, 4), device="cpu:0")
    assert default_rng(6).standard_normal((3, 4), out=own) is own
    assert (own.numpy() == wanted).all()
    wide = np.zeros((3, 8))
    default_rng(6).standard_normal(out=wide[:, ::2])
    assert (wide[:, ::2] == wanted).all()
    assert (wide[:, 1::2] == 0).all()
    assert isinstance(default_rng(6).random(), float)
    assert isinstance(default_rng(6).integers(5), int)
    assert default_rng(6).random(()).shape == ()
    assert default_rng(6).random((2, 0)).shape == (2, 0)


def test_parameters_may_be_arrays() -> None:
    loc, scale = np.array([[0.0], [1000.0]]), np.array([1.0, 0.0, 2.0])
    x = default_rng(2).normal(loc, scale, (2, 3)).numpy()
    assert (x == default_rng(2).standard_normal((2, 3)).numpy() * scale + loc).all()
    assert default_rng(2).normal(loc, scale).shape == (2, 3)
    assert default_rng(2).uniform([0, 10], [1, 11]).numpy().astype(int).tolist() == [0, 10]
    assert (default_rng(2).exponential([1.0, 0.0], (5, 2)).numpy()[:, 1] == 0).all()
    means = default_rng(2).poisson(np.array([0.0, 5.0, 5000.0]), (1000, 3)).numpy().mean(0)
    assert means[0] == 0
    assert abs(means[1] - 5) < 0.4
    assert abs(means[2] - 5000) < 12
    counts = default_rng(2).binomial(np.array([10, 1000]), np.array([[0.5], [1.0]]), (2, 2)).numpy()
    assert counts[1].tolist() == [10, 1000]
    singles = [default_rng(2).gamma(shape, size=4).numpy()[place] for place, shape in enumerate((0.1, 1.0, 5.0, 50.0))]
    assert default_rng(2).gamma(np.array([0.1, 1.0, 5.0, 50.0])).tolist() == singles
    assert default_rng(2).bernoulli([0.0, 1.0], (4, 2)).tolist() == [[False, True]] * 4


BAD = (
    (lambda rng: rng.random(-1), errors.InvalidArgumentError, "negative"),
    (lambda rng: rng.random((2, -3)), errors.InvalidArgumentError, "negative"),
    (lambda rng: rng.random(2, dtype="int32"), errors.UnsupportedDtypeError, "float16, bfloat16, float32 or float64"),
    (lambda rng: rng.random("x"), errors.InvalidTypeError, "size"),
    (lambda rng: rng.random(2, out=np.zeros(3)), errors.ShapeMismatchError, "shape"),
    (lambda rng: rng.random(out=np.zeros(3, np.float32)), errors.UnsupportedDtypeError, "float32"),
    (lambda rng: rng.normal(0, -1), errors.InvalidArgumentError, "scale is -1; it must be finite and not negative"),
    (lambda rng: rng.normal(0, [1.0, -2.0]), errors.InvalidArgumentError, "scale has the value -2"),
    (lambda rng: rng.normal(float("nan"), 1), errors.InvalidArgumentError, "loc"),
    (lambda rng: rng.normal([0.0, float("nan")], 1), errors.InvalidArgumentError, "loc"),
    (lambda rng: rng.normal([0.0, 1.0], 1, 3), errors.ShapeMismatchError, "broadcast"),
    (lambda rng: rng.uniform(0, float("inf")), errors.InvalidArgumentError, "high"),
    (lambda rng: rng.uniform(-1.7e308, 1.7e308), errors.InvalidArgumentError, "high - low"),
    (lambda rng: rng.exponential(-1), errors.InvalidArgumentError, "scale"),
    (lambda rng: rng.gamma(-0.5), errors.InvalidArgumentError, "shape"),
    (lambda rng: rng.beta(0, 1), errors.InvalidArgumentError, "above 0"),
    (lambda rng: rng.poisson(-1), errors.InvalidArgumentError, "lam"),
    (lambda rng: rng.poisson(1e19), errors.InvalidArgumentError, "lam"),
    (lambda rng: rng.binomial(-1, 0.5), errors.InvalidArgumentError, "n is -1"),
    (lambda rng: rng.binomial(2.5, 0.5), errors.InvalidArgumentError, "whole"),
    (lambda rng: rng.binomial(1, 1.5), errors.InvalidArgumentError, "a probability from 0 to 1"),
    (lambda rng: rng.bernoulli(-0.1), errors.InvalidArgumentError, "a probability from 0 to 1"),
    (lambda rng: rng.integers(3, 3), errors.InvalidArgumentError, "low must be below high"),
    (lambda rng: rng.integers(0), errors.InvalidArgumentError, "low must be below high"),
    (lambda rng: rng.integers(0, 300, dtype="uint8"), errors.InvalidArgumentError, "0 to 255"),
    (lambda rng: rng.integers(-1, 3, dtype="uint8"), errors.InvalidArgumentError, "0 to 255"),
    (lambda rng: rng.integers(0, 3, dtype="float32"), errors.UnsupportedDtypeError, "an integer or bool"),
    (lambda rng: rng.integers(0.5, 3), errors.InvalidTypeError, "low is 0.5"),
    (lambda rng: rng.choice(0), errors.InvalidArgumentError, "nothing can be chosen"),
    (lambda rng: rng.choice(3, 4, replace=False), errors.InvalidArgumentError, "replace=True"),
    (lambda rng: rng.choice(3, 1, p=[0.5, 0.5]), errors.ShapeMismatchError, "a probability for each choice"),
    (lambda rng: rng.choice(3, 1, p=[0.5, 0.5, 0.5]), errors.InvalidArgumentError, "sum to 1.5"),
    (lambda rng: rng.choice(3, 1, p=[1.5, -0.5, 0.0]), errors.InvalidArgumentError, "p"),
    (lambda rng: rng.choice(3, 3, replace=False, p=[0.5, 0.5, 0.0]), errors.InvalidArgumentError, "values above 0"),
    (lambda rng: rng.choice(np.float64(3.5)), errors.InvalidArgumentError, "no axes"),
    (lambda rng: rng.permutation(-1), errors.InvalidArgumentError, "x is -1"),
    (lambda rng: rng.permutation([1, 2], 1), errors.InvalidArgumentError, "axis"),
    (lambda rng: rng.shuffle([1, 2]), errors.InvalidTypeError, "permutation gives a copy"),
    (lambda rng: rng.spawn(-1), errors.InvalidArgumentError, "n_children"),
    (lambda rng: rng.jumped(2**32), errors.InvalidArgumentError, "jumps"),
    (lambda rng: rng.jumped(2**32 - 1).jumped(), errors.InvalidArgumentError, "spawn"),
    (lambda rng: setattr(rng, "state", {}), errors.InvalidArgumentError, "position"),
    (lambda rng: default_rng(-1), errors.InvalidArgumentError, "not negative"),
    (lambda rng: default_rng("x"), errors.InvalidTypeError, "seed"),
    (lambda rng: default_rng(1.5), errors.InvalidTypeError, "seed"),
)


@pytest.mark.parametrize("number", range(len(BAD)))
def test_bad_input_is_refused_with_what_is_wanted(number: int) -> None:
    call, kind, words = BAD[number]
    with pytest.raises(kind, match=words) as caught:
        call(default_rng(1))
    builtin = TypeError if kind in (errors.InvalidTypeError, errors.UnsupportedDtypeError) else ValueError
    assert isinstance(caught.value, builtin)


def test_read_only_memory_is_refused() -> None:
    fixed = np.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        default_rng(1).random(out=fixed)
