"""`./x bench kernels`: the cases are well formed, results are compared, the C loops and our kernels agree."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools" / "bench"))

from suite import cases, openmp, ours, peers


@pytest.fixture(scope="module")
def loops():
    """The loops of kernels.c, compiled."""
    try:
        return openmp.start(*map(str, peers.openmp_library()))
    except peers.Absent as reason:
        pytest.skip(f"no C compiler with OpenMP: {reason}")


@pytest.mark.parametrize("name", cases.names())
def test_ours_and_the_loops_in_c_compute_the_same(name, loops):
    case = cases.build(name, "quick")
    results = ours.start().prepare(case)[1]
    assert any(result.any() for result in results)
    assert case.disagreement(results, loops.prepare(case)[1]) == ""


def test_twelve_kernels_grow_with_the_size():
    assert len(cases.names()) == 12
    for name in cases.names():
        small, full = (
            sum(value.nbytes for value in cases.build(name, size).arguments if isinstance(value, np.ndarray))
            for size in ("quick", "full")
        )
        assert small < full


def test_a_wrong_element_is_a_disagreement():
    case = cases.build("transpose", "quick")
    result = np.zeros((4, 4), np.float32)
    wrong = result.copy()
    wrong[2, 3] = 1
    assert case.disagreement([result], [result.copy()]) == ""
    assert "1 of 16 elements of argument 1 differ, first at (2, 3)" in case.disagreement([result], [wrong])
    wrong[2, 3] = np.nan
    assert case.disagreement([result], [wrong])
