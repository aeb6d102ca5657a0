"""`./x bench matmul`: contenders check their products, figures become tables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))

import frame
import matmul
from suite import page, products


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_a_right_product_agrees_and_one_wrong_element_does_not(dtype):
    a, b = products.Product("square", 70, 60, 50, transpose_b=True).operands(dtype)
    assert (a.shape, b.shape, b.flags.f_contiguous) == ((70, 50), (50, 60), True)
    out = a.astype(np.int32) @ b.astype(np.int32) if dtype == "int8" else a @ b
    epsilon = {"float32": 2**-24, "float64": 2**-53, "int8": 2**-50}[dtype]
    assert products.disagreement(a, b, out, epsilon) == ""
    out[33, 4] += 1
    assert "row 33 " in products.disagreement(a, b, out, epsilon)
    out = out.astype(np.float64)
    out[33, 4] = np.nan
    assert "row 33 " in products.disagreement(a, b, out, epsilon)


def test_names_of_products_are_unique_within_a_group():
    for group, cases in products.GROUPS.items():
        names = [case.name for case in cases]
        assert len(set(names)) == len(names)
        assert all(name.startswith(group) for name in names)


def test_a_whole_record_becomes_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(frame, "RESULTS", tmp_path)
    monkeypatch.setattr(frame, "ROOT", tmp_path)
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    monkeypatch.setattr(page, "ROOT", tmp_path)
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    this = page.place({"machine": frame.machine()})
    page.PAGE.write_text(f"before\n<!-- matmul: {this} -->\nold\n<!-- /matmul: {this} -->\nafter\n")
    report = frame.Report("matmul", matmul.PEER)
    with pytest.raises(SystemExit, match="no record of all groups"):
        matmul.write_page()
    for group, cases in products.GROUPS.items():
        for dtype in matmul.NARROW if group == "narrow" else matmul.DTYPES:
            report.add(f"{cases[0].name} / {dtype}, 1 thread", "GFLOP/s", 30.0, 20.0, higher_is_better=True)
            matmul.summarise(report, group, f"{dtype}, 1 thread", {cases[0].name: 1.5, "other": 0.5})
    report.write(command="./x bench matmul")
    matmul.write_page()
    text = page.PAGE.read_text()
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| square 64 | 30 | 20 | 1.50 | 30 | 20 | 1.50 |" in text
    assert "| narrow 256 | 30 | 20 | 1.50 | 30 | 20 | 1.50 | 30 | 20 | 1.50 |" in text
    assert "| square: worst |  |  | 0.50 |  |  | 0.50 |" in text


def test_both_parties_multiply_and_measure():
    contenders = [
        matmul.Contender.start(name, name, [sys.executable, str(matmul.WORKER), name], 1) for name in ("ours", "numpy")
    ]
    for contender in contenders:
        matmul.prepare(contender, "square", 0, "float32")
        assert contender.seconds(2) > 0
        contender.end()
        assert contender.process.returncode == 0
