"""Search over marked ranges: reading them, strategies on problems of known answer, journals, and networks that are trained."""

import json
import threading

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, search
from amdgpu.search.marks import find_marks, substitute
from amdgpu.search.strategies import Budget, Outcome, rank

TEXT = """
neuralNetwork corners:        # choice(in, a, comment)
  seed = 1
  layer input(2)
  layer hidden(range(2, 32), activation: choice(relu, tanh, neuromorphic(1.2, 0.3)))
  layer output(2, activation: softmax)
  connect input -> hidden (weight: choice(xavier, he))
  connect choice(hidden, [input, hidden]) -> output
"""


def corners(count=400):
    x = np.random.default_rng(0).standard_normal((count, 2)).astype("float32")
    return x, (x[:, 0] * x[:, 1] > 0).astype(int)


def test_marked_ranges_are_found_with_their_levels():
    marks = find_marks(TEXT)
    assert [mark.line for mark in marks] == [5, 5, 7, 8]
    assert marks[0].levels == tuple(str(size) for size in range(2, 33))
    assert marks[1].levels == ("relu", "tanh", "neuromorphic(1.2, 0.3)")
    assert marks[3].levels == ("hidden", "[input, hidden]")
    assert [mark.is_ordered for mark in marks] == [True, False, False, False]
    assert all(TEXT[mark.start : mark.end] == mark.source for mark in marks)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("range(8, 32, 8)", ("8", "16", "24", "32")),
        ("range(0.1, 0.3, 0.1)", ("0.1", "0.2", "0.3")),
        ("range(-1, 1)", ("-1", "0", "1")),
        ("range(10.ms, 12.ms)", ("10.ms", "11.ms", "12.ms")),
        ("range(1, 100, log)", None),
        ("range(1e-4, 1e-1, log)", None),
        ('file("choice(a, b)") choice(1, 2)', ("1", "2")),
        ("my_choice(1, 2) x.range(1, 2) choice (3, 4)", ("3", "4")),
    ],
)
def test_ranges_in_all_their_forms(text, levels):
    (mark,) = find_marks(text)
    if levels is not None:
        assert mark.levels == levels
    else:
        values = [float(level) for level in mark.levels]
        assert values == sorted(values)
        assert values[1] / values[0] <= 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\nchoice(1", "line 2: .*no closing"),
        ("choice()", "nothing to choose"),
        ("choice(1)", "nothing to choose"),
        ("choice(1, )", "nothing to choose"),
        ("choice(1, range(2, 3))", "within another"),
        ("range(1)", "no range"),
        ("range(1, 2, 3, 4)", "no range"),
        ("range(a, b)", "no range"),
        ("range(3, 2)", "empty"),
        ("range(0, 2, log)", "above 0"),
        ("range(1, 2, -1)", "step"),
        ("range(1.ms, 2.s)", "units"),
        ("range(1, 1e9, 1)", "at most"),
        ("range(1e999, 2)", "empty"),
    ],
)
def test_wrong_ranges_are_said_with_their_line(text, words):
    with pytest.raises(errors.InvalidArgumentError, match=words):
        find_marks(text)


def test_every_substitution_is_a_text_that_the_parser_takes():
    marks = find_marks(TEXT)
    rng = np.random.default_rng(0)
    for _ in range(20):
        levels = [int(rng.integers(len(mark.levels))) for mark in marks]
        net = amdgpu.Network(substitute(TEXT, marks, levels))
        hidden = next(layer for layer in net.plan["layers"] if layer["name"] == "hidden")
        assert str(hidden["size"]) == marks[0].levels[levels[0]]
        assert marks[1].levels[levels[1]].startswith(hidden["activation"]["kind"])
        assert ("input -> output" in net.weights) == (levels[3] == 1)


# Ten marks of eight levels; the best one is the level that the seed says, and each mark counts for itself.
MANY = " ".join(["range(0, 7)"] * 10)


def drive(strategy, seed, budget):
    """The best score that a strategy finds, and how many candidates it tried."""
    marks = find_marks(MANY)
    wanted = np.random.default_rng(seed).integers(8, size=10)
    plan = search.STRATEGIES[strategy](marks, budget, np.random.Generator(np.random.Philox(seed)))
    best, tried = -np.inf, 0
    requests = next(plan)
    while True:
        scores = [-float(np.abs(np.array(levels) - wanted).sum()) for levels, _ in requests]
        best, tried = max([best, *scores]), tried + len(scores)
        try:
            requests = plan.send([Outcome(score, 1) for score in scores])
        except StopIteration:
            return best, tried


@pytest.mark.parametrize("strategy", ["evolution", "quantum_inspired"])
def test_strategies_that_learn_beat_chance(strategy):
    found, by_chance = [], []
    for seed in range(5):
        best, tried = drive(strategy, seed, Budget(16, 40, 1))
        assert tried == 640
        found.append(best)
        rng = np.random.default_rng(1000 + seed)
        wanted = np.random.default_rng(seed).integers(8, size=10)
        by_chance.append(-np.abs(rng.integers(8, size=(tried, 10)) - wanted).sum(axis=1).min())
    assert np.mean(found) > np.mean(by_chance) + 3, (found, by_chance)


def test_survivors_of_successive_halving_go_on_with_their_training(monkeypatch):
    x, labels = corners(200)
    epochs = []
    train = amdgpu.LayeredNetwork.train

    def counted(net, *arguments, **options):
        before = 0 if net.history is None else net.history.epochs
        history = train(net, *arguments, **options)
        epochs.append((before, history.epochs))
        return history

    monkeypatch.setattr(amdgpu.LayeredNetwork, "train", counted)
    options = {"strategy": "successive_halving", "population": 8, "generations": 3, "epochs": 12, "workers": 1}
    found = search.architecture(TEXT, x, labels, **options)
    assert sorted(epochs) == [(0, 3)] * 8 + [(3, 6)] * 4 + [(6, 12)] * 2
    # The weights, and so the scores, are those of one training.
    for candidate in found.candidates:
        net = amdgpu.Network(candidate.text)
        assert (
            train(net, x, labels, epochs=candidate.epochs, validation_split=0.2).validation_accuracy[-1]
            == candidate.score
        )
    epochs.clear()
    search.architecture(TEXT, x, labels, train_options={"patience": 50}, **options)
    assert sorted(epochs) == [(0, 3)] * 8 + [(0, 6)] * 4 + [(0, 12)] * 2


def test_successive_halving_gives_the_better_half_twice_the_epochs():
    marks = find_marks("range(0, 1000)")
    plan = search.STRATEGIES["successive_halving"](marks, Budget(16, 4, 24), np.random.Generator(np.random.Philox(0)))
    requests = next(plan)
    rungs = []
    while True:
        rungs.append(requests)
        try:
            requests = plan.send([Outcome(float(levels[0]), 1) for levels, _ in requests])
        except StopIteration:
            break
    assert [len(rung) for rung in rungs] == [16, 8, 4, 2]
    assert [rung[0][1] for rung in rungs] == [3, 6, 12, 24]
    assert {levels for levels, _ in rungs[1]} == set(sorted((levels for levels, _ in rungs[0]), reverse=True)[:8])


def test_fronts_are_those_that_nothing_dominates():
    ranks = rank([Outcome(0.9, 10), Outcome(0.8, 5), Outcome(0.7, 7), Outcome(0.95, 20), Outcome(-np.inf, 0)])
    assert [front for front, _ in ranks] == [0, 0, 1, 0, 0]
    assert ranks[0][1] > ranks[3][1] == -np.inf


@pytest.mark.parametrize("strategy", search.STRATEGIES)
def test_networks_are_found_trained_and_given_as_text(strategy):
    x, labels = corners()
    result = search.architecture(
        TEXT,
        x,
        labels,
        strategy=strategy,
        population=8,
        generations=3,
        epochs=12,
        train_options={"learning_rate": 0.02},
    )
    assert result.best.score > 0.9
    assert result.best.score == max(candidate.score for candidate in result.candidates)
    assert find_marks(result.best.text) == []
    net = result.best.network()
    assert net.parameter_count == result.best.parameters
    history = net.train(x, labels, epochs=result.best.epochs, learning_rate=0.02, validation_split=0.2)
    assert history.validation_accuracy[-1] == result.best.score
    front = result.pareto
    assert [one.parameters for one in front] == sorted(one.parameters for one in front)
    assert [one.score for one in front] == sorted(one.score for one in front)
    for candidate in result.candidates:
        assert any(one.score >= candidate.score and one.parameters <= candidate.parameters for one in front)


def choices(result):
    return [(one.levels, one.epochs, one.score) for one in result.candidates]


def test_a_search_follows_from_its_seed_whatever_the_workers():
    x, labels = corners(100)
    options = {"population": 6, "generations": 3, "epochs": 2}
    first = search.architecture(TEXT, x, labels, workers=1, **options)
    second = search.architecture(TEXT, x, labels, workers=3, **options)
    other = search.architecture(TEXT, x, labels, seed=1, **options)
    assert choices(first) == choices(second)
    assert choices(first) != choices(other)


class Stop(Exception):
    """What the test throws into a search."""


@pytest.mark.parametrize("strategy", search.STRATEGIES)
def test_a_search_goes_on_from_its_journal(strategy, tmp_path):
    x, labels = corners(100)
    options = {"strategy": strategy, "population": 6, "generations": 3, "epochs": 4}
    whole = search.architecture(TEXT, x, labels, **options)
    journal = tmp_path / "search.jsonl"

    def stop(at):
        if at.done == 8:
            raise Stop

    with pytest.raises(Stop):
        search.architecture(TEXT, x, labels, journal=journal, progress=stop, **options)
    kept = len(journal.read_text().splitlines()) - 1
    assert kept >= 8
    # A crash in the middle of a line.
    with journal.open("a") as file:
        file.write('{"text": "lay')
    trained = []
    result = search.architecture(TEXT, x, labels, journal=journal, progress=trained.append, **options)
    assert choices(result) == choices(whole)
    assert len(trained) == len(whole.candidates) - kept
    assert len(journal.read_text().splitlines()) - 1 == len(whole.candidates)
    again = []
    search.architecture(TEXT, x, labels, journal=journal, progress=again.append, **options)
    assert again == []


def test_journals_of_other_searches_are_left_alone(tmp_path):
    x, labels = corners(60)
    options = {"population": 2, "generations": 1, "epochs": 1}
    journal = tmp_path / "search.jsonl"
    search.architecture(TEXT, x, labels, journal=journal, **options)
    content = journal.read_bytes()
    for change in ({"seed": 2}, {"epochs": 2}, {"train_options": {"l2": 0.1}}):
        with pytest.raises(errors.InvalidArgumentError, match="another search"):
            search.architecture(TEXT, x, labels, journal=journal, **(options | change))
    with pytest.raises(errors.InvalidArgumentError, match="another search"):
        search.architecture(TEXT, x + 1, labels, journal=journal, **options)
    assert journal.read_bytes() == content
    for wrong in (b"a letter\n", b"no line", b'{"schema": 1}\nnonsense\n'):
        journal.write_bytes(wrong)
        with pytest.raises(errors.InvalidArgumentError, match=r"no journal|another search"):
            search.architecture(TEXT, x, labels, journal=journal, **options)
        assert journal.read_bytes() == wrong


def test_two_searches_do_not_share_a_journal(tmp_path):
    journal = tmp_path / "search.jsonl"
    seen = []

    def nested(net, epochs):
        with pytest.raises(errors.InvalidArgumentError, match="another process"):
            search.architecture(TEXT, evaluate=lambda *_: 0.0, journal=journal)
        seen.append(net)
        return 1.0

    search.architecture(TEXT, evaluate=nested, journal=journal, population=1, generations=1)
    assert len(seen) == 1


def test_candidates_that_fail_are_kept_with_their_reason():
    text = "layer a(2)\nlayer b(choice(2, 0))\nconnect a -> b\n"
    result = search.architecture(text, evaluate=lambda net, epochs: 1.0, population=8, generations=1)
    by_size = {candidate.values[0]: candidate for candidate in result.candidates}
    assert by_size["2"].score == 1.0
    assert by_size["0"].score is None
    assert "size" in by_size["0"].error
    assert result.best.values == ("2",)
    assert json.dumps([candidate.error for candidate in result.candidates])


def test_a_text_that_is_wrong_altogether_is_said():
    with pytest.raises(errors.NetworkError, match=r"(?s)no candidate could be trained.*line 2"):
        search.architecture("layer a(2)\nlayre b(choice(2, 3))\nconnect a -> b\n", evaluate=lambda *_: 0.0)


def test_errors_of_the_caller_end_the_search():
    def broken(net, epochs):
        raise ZeroDivisionError

    threads = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        search.architecture(TEXT, evaluate=broken)
    assert threading.active_count() <= threads


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"text": "layer a(2)"}, errors.InvalidArgumentError, "no marked range"),
        ({"strategy": "luck"}, errors.InvalidArgumentError, "evolution, successive_halving, quantum_inspired"),
        ({"population": 0}, errors.InvalidArgumentError, "population is 0; it must be from 1"),
        ({"generations": 0}, errors.InvalidArgumentError, "at least 1"),
        ({"epochs": 0}, errors.InvalidArgumentError, "at least 1"),
        ({"workers": 0}, errors.InvalidArgumentError, "at least 1"),
        (
            {"train_options": {"epoch": 3}},
            errors.InvalidArgumentError,
            "'epoch', which LayeredNetwork.train does not take",
        ),
        ({"y": None}, errors.InvalidArgumentError, "needs x and y"),
        ({"evaluate": lambda *_: 0.0}, errors.InvalidArgumentError, "leave them out"),
        ({"train_options": {"epochs": 3}}, errors.InvalidArgumentError, "sets itself"),
        ({"train_options": {"optimizer": "luck"}}, errors.InvalidArgumentError, "known are sgd"),
        ({"validation_split": 2}, errors.InvalidArgumentError, "below 1"),
    ],
)
def test_what_cannot_be_searched_is_said(changes, error, words):
    x, labels = corners(20)
    arguments = {"text": TEXT, "x": x, "y": labels, "population": 2, "generations": 1, "epochs": 1} | changes
    with pytest.raises(error, match=words):
        search.architecture(**arguments)
