"""Graphs and bars of the command line: size, direction, alphabet."""

import math

import pytest
from amdgpu.cli import output
from amdgpu.cli.top.graph import BRAILLE, graph, scaled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# A machine that does other things too is no reason to fail.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
values = st.lists(st.one_of(st.none(), st.floats(0, 1), st.just(math.nan)), max_size=50)


@unhurried
@given(values, st.integers(0, 30), st.integers(1, 8), st.booleans())
def test_a_graph_has_the_size_it_was_asked_for(shares, width, height, is_ascii):
    lines = graph(shares, width, height, is_ascii=is_ascii)
    assert [len(line) for line in lines] == [width] * height
    if is_ascii:
        assert "".join(lines).isascii()
    else:
        assert all(BRAILLE <= ord(cell) < BRAILLE + 256 for line in lines for cell in line)


@unhurried
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(1, 20), st.integers(1, 6))
def test_columns_are_filled_from_the_bottom_and_the_newest_is_right(shares, width, height):
    lines = graph(shares, width, height, is_ascii=True)
    shown = ([0.0] * width + shares)[-width:]
    for place, share in enumerate(shown):
        column = [line[place] for line in lines]
        steps = sum(" .:|#".index(cell) for cell in column)
        assert steps == (max(round(share * height * 4), 1) if share > 0 else 0)
        assert column == sorted(column, key=" .:|#".index)


def test_braille_shows_two_values_a_cell():
    assert graph([1.0, 0.0], 1, 1) == ["⡇"]
    assert graph([0.0, 1.0], 1, 1) == ["⢸"]
    assert graph([1.0], 2, 1) == ["⠀⢸"]
    assert graph([None, 0.5], 1, 2) == ["⠀", "⢸"]


def test_what_is_not_known_leaves_a_gap_and_what_is_not_nothing_is_seen():
    assert graph([None, 1e-9, 0.0], 3, 1, is_ascii=True) == [" . "]


def test_values_without_a_bound_are_scaled_to_the_largest():
    assert scaled([1.0, None, 4.0]) == ([0.25, None, 1.0], 4.0)
    assert scaled([0.0, None]) == ([0.0, None], 0.0)
    assert scaled([]) == ([], 0.0)


@unhurried
@given(st.floats(-1, 2), st.integers(1, 40), st.booleans())
def test_a_bar_is_as_wide_as_asked_for(share, width, is_ascii):
    text = output.bar(share, width, is_ascii=is_ascii)
    assert len(text) == width
    assert text.isascii() is is_ascii or not is_ascii


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "░░░░"), (0.5, "██░░"), (0.53, "██▏░"), (1.0, "████"), (7.0, "████")]
)
def test_bars_have_eighths_of_cells(share, text):
    assert output.bar(share, 4, is_ascii=False) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (12_345, "12.3k"), (123_456, "123k"), (2_500_000, "2.5M"), (3e12, "3.0T")],
)
def test_counts_are_short(value, text):
    assert output.count_text(value) == text
