"""`./x validate`: what it runs, and the list of tests of the array API standard's suite that may fail."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from x import validation
from x.failure import Failure
from x.paths import ROOT

FOLDER = ROOT / "tools" / "array_api"


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("array_api_runner", FOLDER / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_validate_runs_networks_or_the_suite_in_a_folder() -> None:
    assert "validation" in validation.command([], [])
    assert validation.command(["networks"], ["-x"])[-1] == "-x"
    line = validation.command(["array-api", "folder"], ["--device", "cpu"])
    assert line[1:] == [str(FOLDER), "folder", "--device", "cpu"]
    for wrong in (["array-api"], ["array-api", "a", "b"], ["sparse"], ["networks", "x"]):
        with pytest.raises(Failure, match="is not understood"):
            validation.command(wrong, [])


def test_every_expected_failure_has_a_reason(runner: ModuleType) -> None:
    found = runner.expected_failures(runner.EXPECTED_FAILURES.read_text())
    assert found
    assert all(test.startswith("array_api_tests/test_") for test in found)
    # Beside the two extensions no more than in the list that NumPy keeps of itself: 49 in August 2026.
    besides = [test for test in found if "linalg" not in test and "fft" not in test]
    assert len(besides) <= 49
    with pytest.raises(ValueError, match="without a reason"):
        runner.expected_failures("# a reason\na::b\n\nc::d\n")


def test_the_run_names_device_examples_and_list(runner: ModuleType) -> None:
    options = runner.parser().parse_args(["folder", "--device", "cuda:0", "--max-examples", "7", "--skip-complex"])
    names = runner.environment(options)
    assert names["AMDGPU_DEVICES"] == "cuda:0,cpu"
    assert names["ARRAY_API_TESTS_SKIP_DTYPES"] == "complex64,complex128"
    line = runner.command(Path("python"), options, [])
    assert {"--max-examples=7", "xfail_strict=true", f"--xfails-file={runner.EXPECTED_FAILURES}"} <= set(line)
    assert line[-1] == "array_api_tests"
    numpys = runner.parser().parse_args(["folder", "--module", "numpy"])
    assert not [part for part in runner.command(Path("python"), numpys, ["-x"]) if "xfails-file" in part]


def test_a_folder_without_the_suite_is_refused(
    runner: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.main([str(tmp_path)]) == 2
    assert "git clone --recurse-submodules" in capsys.readouterr().err
