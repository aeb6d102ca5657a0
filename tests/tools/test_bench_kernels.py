"""`./x bench kernels`: the cases are well formed, results are compared, the C loops and our kernels agree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "bench"))

from suite import cases, environments, openmp, ours, peers

VERSUS_NVCC = Path(__file__).resolve().parents[1] / "gpu" / "kernels_vs_nvcc.py"


@pytest.fixture(scope="module")
def loops():
    """The loops of kernels.c, compiled."""
    try:
        return openmp.start(*map(str, peers.openmp_library()))
    except environments.Absent as reason:
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


def test_sources_for_nvcc_have_plain_names_and_no_header_of_hip(tmp_path):
    done = subprocess.run(
        [sys.executable, str(VERSUS_NVCC), "--sources", str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for name in cases.names():
        case = cases.build(name, "quick")
        source = (tmp_path / f"{case.file}.cu").read_text()
        assert "hip_runtime" not in source
        assert source.index('extern "C" {') < source.index(f"void {case.kernel}(")
        assert source.count("{") == source.count("}")
        assert f".entry {case.kernel}(" in (tmp_path / f"{case.file}.ptx").read_text()


def test_the_comparison_with_nvcc_says_what_is_missing():
    done = subprocess.run(
        [sys.executable, str(VERSUS_NVCC), "--nvcc", "/nowhere/nvcc"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "say where it is with --nvcc PATH" in done.stderr
    done = subprocess.run(
        [sys.executable, str(VERSUS_NVCC), "--only", "fft"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no kernel called fft" in done.stderr


def test_the_record_of_a_gpu_names_it_and_the_command(tmp_path, monkeypatch):
    import frame

    monkeypatch.setattr(frame, "ROOT", tmp_path)
    monkeypatch.setattr(frame, "RESULTS", tmp_path / "results")
    report = frame.Report("kernels_vs_nvcc", "nvcc")
    report.add("saxpy / nvcc", "ms", 1.0, 2.0)
    record = json.loads(report.write(command="python it.py", gpu="H200").read_text())
    assert record["machine"]["gpu"] == "H200"
    assert record["command"] == "python it.py"
