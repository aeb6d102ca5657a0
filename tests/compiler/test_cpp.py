"""C++ as people write it in kernels: each file of `tests/cpp` executed on this machine, compared with what the standard says.

The first line of a file has the values that its kernel writes to `p`, in order.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_harness import Kernels, emit

SOURCES = sorted((Path(__file__).parents[1] / "cpp").glob("*.hip"))


def test_there_are_sources() -> None:
    assert len(SOURCES) >= 19


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_feature_gives_what_the_standard_says(path: Path) -> None:
    source = path.read_text()
    expected = [int(word) for word in source.splitlines()[0].removeprefix("// p:").split()]
    p = np.zeros(64, np.int32)
    Kernels(source)("k", (1,), (1,), p)
    assert p[: len(expected)].tolist() == expected


@pytest.mark.parametrize("target", ["gfx1100", "sm_90"])
def test_every_feature_compiles_for_gpus(target: str) -> None:
    for path in SOURCES:
        assert "define" in emit(path.read_text(), "--target", target)["llvm_ir"], path.name
