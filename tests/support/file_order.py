"""The files that took longest the last time come first, so that the processes of pytest-xdist end together.

The seconds of each file are kept in `.x/test-seconds.json`; files that it does not know come before all others. Before the first run of a
working tree nothing is known but which files are the longest.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

RECORD = Path(__file__).resolve().parents[2] / ".x" / "test-seconds.json"
# The longest first. One that came last would keep one processor busy for minutes while the others have nothing to do.
LONGEST = (
    "tests/ops/test_device_ops.py",
    "tests/c_api/test_c_api.py",
    "tests/compiler/test_hostile.py",
    "tests/ops/test_kernel_archives.py",
    "tests/compiler/test_nontemporal.py",
    "tests/ops/test_vendor_convolutions.py",
    "tests/compiler/test_random_waves.py",
    "tests/graph/test_fused_reductions.py",
    "tests/server/test_soak.py",
)
_seconds: dict[str, float] = defaultdict(float)


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def known(record: Path = RECORD) -> dict[str, float]:
    """Seconds of each file the last time it ran; empty where nothing is known."""
    try:
        content = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: float(seconds) for name, seconds in content.items()} if isinstance(content, dict) else {}


def sort(items: list[pytest.Item], record: Path = RECORD) -> None:
    """Files in the order of their seconds; the tests of a file stay as they are."""
    seconds = known(record)
    if seconds:
        items.sort(key=lambda item: -seconds.get(file_of(item.nodeid), float("inf")))
        return
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(file_of(item.nodeid), len(place)))


def count(report: pytest.TestReport) -> None:
    """Adds the seconds of a test, or of its fixtures, to those of its file."""
    _seconds[file_of(report.nodeid)] += report.duration


def keep(record: Path = RECORD) -> None:
    """Writes what was counted beside what is known of other files."""
    record.parent.mkdir(parents=True, exist_ok=True)
    draft = record.with_suffix(f".{os.getpid()}")
    rounded = {name: round(seconds, 2) for name, seconds in sorted({**known(record), **_seconds}.items())}
    draft.write_text(json.dumps(rounded, indent=0), encoding="utf-8")
    draft.replace(record)
