"""Plugin of pytest: the processor time of each test and of what it started, summed by file. `./x test --durations` loads it.

Wall time tells little on a machine that others use as well, and nothing of tests that wait.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from typing import Any

import pytest

PROPERTY = "processor_seconds"
SHOWN_FILES = 25
SHOWN_TESTS = 25
_started: dict[str, float] = {}
_by_test: dict[str, float] = {}


def processor_seconds() -> float:
    """Of this process and of its children that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    _started[item.nodeid] = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    if call.when == "teardown" and item.nodeid in _started:
        item.user_properties.append((PROPERTY, processor_seconds() - _started.pop(item.nodeid)))
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, value in report.user_properties:
        if name == PROPERTY:
            _by_test[report.nodeid] = float(str(value))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    by_file: dict[str, float] = defaultdict(float)
    for test, seconds in _by_test.items():
        by_file[test.partition("::")[0]] += seconds
    terminalreporter.section(f"processor time: {sum(by_file.values()):.0f} s in {len(_by_test)} tests")
    for found, count in ((by_file, SHOWN_FILES), (_by_test, SHOWN_TESTS)):
        for name, seconds in sorted(found.items(), key=lambda pair: -pair[1])[:count]:
            terminalreporter.write_line(f"{seconds:8.1f} s  {name}")
