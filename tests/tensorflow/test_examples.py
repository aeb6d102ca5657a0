"""The programs of `examples/tensorflow` run on the device and learn."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "tensorflow"


def run(name):
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--device", "RDNA:0", "--small"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    assert "on the CPU: []" in done.stdout
    first, last = re.search(r"([\d.]+) -> ([\d.]+)", done.stdout).groups()
    return float(first), float(last)


@pytest.mark.parametrize("name", ["text_classification", "spiking"])
def test_classifiers_learn(name):
    first, last = run(name)
    assert last > max(first, 0.9)


def test_resnet50_learns():
    first, last = run("resnet50")
    assert last < first
