"""The archived kernels of attention on no GPU: their PTX, run by an interpreter, against the formulas in float64."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from ptx_interpreter import Machine, Program
from x import kernels
from x.kernel_catalog import Plain, attention
from x.paths import ROOT

# Shares and sums are rounded to float16: of the largest value.
BOUND = 2e-3
# Where arrays and descriptors lie.
OUT, SECOND, GRADIENT, LOGARITHMS, LEVELS, MASK, MAPS = (number << 32 for number in range(1, 8))


class Case(NamedTuple):
    """Extents: batches, heads, key heads, queries, keys, elements."""

    extents: tuple[int, int, int, int, int, int]
    is_causal: bool = False
    mask: str = ""


PLAIN = (Case((1, 2, 1, 65, 130, 40)), Case((2, 1, 1, 150, 129, 64), is_causal=True), Case((1, 1, 1, 70, 200, 96)))
CASES = {
    "attention": PLAIN,
    "attention_masked": (
        Case((2, 2, 1, 5, 70, 64), mask="keys"),
        Case((1, 1, 1, 70, 100, 96), is_causal=True, mask="truth"),
    ),
    "attention_levels": PLAIN[1:],
    "attention_by_queries": PLAIN,
    "attention_by_keys": PLAIN,
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], tuple[str, str]]:
    """Names and texts of the kernels of float16, by kind and elements."""
    folder = tmp_path_factory.mktemp("kernels")
    chosen = [one for one in attention() if dict(one.fields)["number"] == "f16"]
    builder = kernels.Builder(ROOT, sys.executable, folder / "state", folder / "kernels")
    builder.build(("sm_90",), lambda done, wanted, name: None, lambda architecture: chosen)
    return {(one.kind, size_of(one)): (one.name, text_of(folder, one)) for one in chosen}


def size_of(kernel: Plain) -> int:
    return int(dict(kernel.fields)["size"])


def text_of(folder: Path, kernel: Plain) -> str:
    return (folder / "state" / "kernels" / f"sm_90-{kernel.name}.ptx").read_text()


class Scene:
    """Inputs of a case, and what their formulas give."""

    def __init__(self, case: Case) -> None:
        batches, heads, key_heads, queries, keys, size = case.extents
        rng = np.random.default_rng(keys)
        shapes = ((heads, queries), (key_heads, keys), (key_heads, keys), (heads, queries))
        self.inputs = [rng.standard_normal((batches, *shape, size)).astype(np.float16) for shape in shapes]
        self.scale = size**-0.5
        group = heads // key_heads
        q, k, v, g = (one.astype(np.float64) for one in self.inputs)
        k, v = (np.repeat(one, group, axis=1) for one in (k, v))
        scores = q @ np.swapaxes(k, 2, 3) * self.scale
        self.mask = np.zeros(1, np.float16)
        if case.mask == "keys":
            self.mask = rng.standard_normal((batches, 1, 1, keys)).astype(np.float16)
            scores = scores + self.mask
        elif case.mask:
            self.mask = rng.random(scores.shape) > 0.5
            scores = np.where(self.mask, scores, -np.inf)
        if case.is_causal:
            scores = np.where(np.tril(np.ones(scores.shape[2:], bool)), scores, -np.inf)
        largest = scores.max(-1, keepdims=True)
        largest = np.where(np.isfinite(largest), largest, 0)
        powers = np.exp(scores - largest)
        totals = powers.sum(-1, keepdims=True)
        shares = powers / np.where(totals == 0, 1, totals)
        self.result = shares @ v
        with np.errstate(divide="ignore"):
            self.logarithms = ((largest + np.log(totals)) / np.log(2))[..., 0]
        self.levels = (self.result * g).sum(-1)
        by_scores = shares * (g @ np.swapaxes(v, 2, 3) - self.levels[..., None]) * self.scale
        self.by_queries = by_scores @ k
        self.by_keys, self.by_values = (
            (np.swapaxes(left, 2, 3) @ right).reshape(batches, key_heads, group, keys, size).sum(2)
            for left, right in ((by_scores, q), (shares, g))
        )


def run(kind: str, case: Case, scene: Scene, kernel: tuple[str, str]) -> list[Any]:
    """What the kernel writes: two results, logarithms and levels."""
    batches, heads, key_heads, queries, keys, size = case.extents
    following = -(-queries // 128) * 128
    is_by_keys = kind == "attention_by_keys"
    rows, own_heads = (keys, key_heads) if is_by_keys else (queries, heads)
    made = [np.full((batches, own_heads, rows, size), np.nan, np.float16) for _ in range(2)]
    lines = [np.full((batches, heads, following), np.nan, np.float32) for _ in range(2)]
    if kind.startswith("attention_by"):
        # Rows that are not there have no share.
        for line, values, rest in zip(lines, (scene.logarithms, scene.levels), (np.inf, 0.0), strict=True):
            line[...] = rest
            line[..., :queries] = values
    scale = struct.unpack("<Q", struct.pack("<d", scene.scale))[0]
    extents = [queries, keys, heads // key_heads, size, heads]
    if kind == "attention_masked":
        mask = scene.mask
        strides = [
            0 if extent == 1 else step // mask.itemsize for extent, step in zip(mask.shape, mask.strides, strict=True)
        ]
        arguments = [OUT, *extents, int(case.is_causal), scale, MAPS, MASK, int(mask.dtype == bool), *strides]
    else:
        arguments = [OUT, SECOND, GRADIENT, LOGARITHMS, LEVELS, *extents, following, int(case.is_causal), scale, MAPS]
    memory = {
        OUT: made[0],
        SECOND: made[1],
        GRADIENT: scene.inputs[3],
        LOGARITHMS: lines[0],
        LEVELS: lines[1],
        MASK: scene.mask,
    }
    program = Program.of(kernel[1], kernel[0])
    Machine(program, arguments, memory, scene.inputs, MAPS).run(batches * own_heads * -(-rows // 128), 384)
    return [*made, *lines]


def close(found: Any, wanted: Any) -> None:
    assert np.abs(found.astype(np.float64) - wanted).max() <= BOUND * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("kind", "number"), [(kind, number) for kind, cases in CASES.items() for number in range(len(cases))]
)
def test_kernels_compute_their_formulas(texts: dict[tuple[str, int], tuple[str, str]], kind: str, number: int) -> None:
    case = CASES[kind][number]
    scene = Scene(case)
    queries, size = case.extents[3], case.extents[5]
    found = run(kind, case, scene, texts[kind, -(-size // 64) * 64])
    if kind == "attention_levels":
        close(found[2][..., :queries], scene.logarithms)
        close(found[3][..., :queries], scene.levels)
        assert (found[2][..., queries:] == np.inf).all()
        assert (found[3][..., queries:] == 0).all()
    elif kind == "attention_by_queries":
        close(found[0], scene.by_queries)
    elif kind == "attention_by_keys":
        close(found[0], scene.by_keys)
        close(found[1], scene.by_values)
    else:
        close(found[0], scene.result)
