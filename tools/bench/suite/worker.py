"""The process of one contender: `python worker.py ours|openmp|opencl [LIBRARY]`, commanded by JSON lines on standard input.

Each command gets one JSON line back. `prepare` builds a case and runs it once on fresh data, leaving the results in a file for
comparison; `time` calls it again and again and says how long that took. Each contender measures itself, in its own process, so
that neither pipes nor another contender's threads are in the figure.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from suite import cases


def main(contender: str, arguments: list[str]) -> None:
    """Serves until standard input ends."""
    # Whatever else writes to standard output must not look like an answer.
    answers = sys.stdout
    sys.stdout = sys.stderr
    module = importlib.import_module(f"suite.{contender}")
    run = module.start(*arguments)
    calls: Callable[[], Any] | None = None
    print(json.dumps({"about": run.about}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer: dict[str, Any] = {}
        if command["do"] == "prepare":
            case = cases.build(command["case"], command["size"])
            started = time.perf_counter()
            calls, results = run.prepare(case)
            answer["seconds"] = time.perf_counter() - started
            np.savez(command["results"], *results)
        elif command["do"] == "time":
            if calls is None:
                raise SystemExit("asked for the time of nothing")
            answer["seconds"] = timed(calls, command["count"])
        print(json.dumps(answer), file=answers, flush=True)


def timed(function: Callable[[], Any], count: int, untimed: int = 1) -> float:
    """Seconds per call, after calls that are not counted: they wake the contender's threads and bring its data back into the caches."""
    for _ in range(untimed):
        function()
    started = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - started) / count


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
