"""The programs of `examples` run and say what they promise."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def test_the_cortical_microcircuit_reports_memory_speed_and_the_rates_of_all_populations() -> None:
    command = [sys.executable, str(EXAMPLES / "potjans_diesmann" / "run.py"), "--scale", "0.05", "--seconds", "0.2"]
    done = subprocess.run([*command, "--device", "cpu:0", "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert list(found["rates_hz"]) == ["l23e", "l23i", "l4e", "l4i", "l5e", "l5i", "l6e", "l6i"]
    assert 0.5 < sum(found["rates_hz"].values()) / 8 < 20.0
    # 299 million synapses, of which 5 % of 5 % are left.
    assert abs(found["synapses"] / (299e6 * 0.05**2) - 1) < 0.01
    assert found["predicted_bytes"] > 0
    assert found["realtime_factor"] > 0
    table = subprocess.run(
        [*command, "--drive", "dc", "--device", "cpu:0"], capture_output=True, text=True, check=False
    )
    assert table.returncode == 0, table.stderr
    assert "published" in table.stdout
