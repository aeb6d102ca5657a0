"""Import time of amdgpu, beside that of NumPy.

Every figure is the median over fresh interpreters, the two alternating; the cumulative time is the one that
`python -X importtime` reports for the package.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from frame import Report

PEER = "import numpy"
INTERPRETERS = 15


def cumulative_ms(package: str) -> float:
    """Milliseconds that `-X importtime` reports for `package`, what it imports included."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {package}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in reversed(done.stderr.splitlines()):
        _, cumulative_us, name = line.removeprefix("import time:").split("|")
        if name.strip() == package:
            return int(cumulative_us) / 1000
    raise RuntimeError(f"-X importtime does not mention {package}")


def run(report: Report, arguments: list[str]) -> None:
    """Measures the whole import; whether NumPy is part of it is said with the figure."""
    samples: dict[str, list[float]] = {"amdgpu": [], "numpy": []}
    for _ in range(INTERPRETERS):
        for package, collected in samples.items():
            collected.append(cumulative_ms(package))
    ours, peer = (statistics.median(samples[package]) for package in ("amdgpu", "numpy"))
    probe = "import amdgpu, sys; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    note = "NumPy included" if done.stdout.strip() == "True" else "NumPy is loaded at first use"
    report.add("import, cumulative", "ms", ours, peer, note=note)
