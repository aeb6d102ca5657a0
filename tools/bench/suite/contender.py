"""A contender of a benchmark: a worker process that measures itself, commanded by JSON lines.

Each contender has a process of its own, so that neither another contender's threads nor pipes are in its figures.
Contenders alternate in every round.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from typing import Any

# Threads of OpenMP go on spinning after a parallel loop, 20 ms here.
SPINNING = {"KMP_BLOCKTIME": "20", "GOMP_SPINCOUNT": "100000"}


@dataclass
class Contender:
    """A worker process and the seconds per call that it has measured for the case at hand."""

    name: str
    process: subprocess.Popen[str]
    title: str
    about: str = ""
    samples: list[float] = field(default_factory=list)

    @classmethod
    def start(cls, name: str, title: str, command: list[str], threads: int) -> Contender:
        """Starts the worker and waits until it is ready."""
        environment = {
            **os.environ,
            **SPINNING,
            "AMDGPU_CPU_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": str(threads),
            "OMP_PROC_BIND": "false",
            "POCL_MAX_PTHREAD_COUNT": str(threads),
        }
        process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None
        )
        contender = cls(name, process, title)
        contender.about = contender.answer()["about"]
        return contender

    def answer(self) -> dict[str, Any]:
        """The next line of the worker."""
        assert self.process.stdout is not None  # asked for with PIPE
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process of {self.name} ended with exit code {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, **command: Any) -> dict[str, Any]:
        """Sends a command and returns its answer."""
        assert self.process.stdin is not None  # asked for with PIPE
        print(json.dumps(command), file=self.process.stdin, flush=True)
        return self.answer()

    def seconds(self, count: int, untimed: int = 1) -> float:
        """Seconds per call, after some that are not counted."""
        value: float = self.ask(do="time", count=count, untimed=untimed)["seconds"]
        return value

    def end(self) -> None:
        """Lets the worker end."""
        assert self.process.stdin is not None  # asked for with PIPE
        self.process.stdin.close()
        self.process.wait()
        assert self.process.stdout is not None  # asked for with PIPE
        self.process.stdout.close()
