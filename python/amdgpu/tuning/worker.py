"""The program of the child that measures.

Reads one question as a line of JSON, answers with one, until its input ends or nobody asks for a while.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import Any

# A child that nobody asks gives the device's memory back.
IDLE_SECONDS = 20.0
# The parent kills first; this is for a child whose parent was killed.
GRACE_SECONDS = 5.0


def main() -> int:
    """Answer questions."""
    # Whatever prints, here or in a library, must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # The default action ends the process also while a library holds it in native code.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    from amdgpu.tuning.measure import Bench
    from amdgpu.tuning.measure_convolutions import ConvolutionBench
    from amdgpu.tuning.measure_forms import FormBench
    from amdgpu.tuning.measure_kernels import KernelBench

    # By the field that questions for it have.
    forms = FormBench()
    benches: dict[str, Any] = {
        "kernel": KernelBench(),
        "convolution": ConvolutionBench(),
        "product": Bench(),
        "reduction": forms,
        "fused": forms,
    }
    while True:
        ready, _, _ = select.select([0], [], [], IDLE_SECONDS)
        line = sys.stdin.readline() if ready else ""
        if not line:
            return 0
        question = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, float(question["limit_seconds"]) + GRACE_SECONDS)
        answer = _answer(next(bench for field, bench in benches.items() if field in question), question)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps(answer), file=answers, flush=True)
        if any(bench.is_lost for bench in benches.values()):
            # A way that broke the device must not take the next one with it.
            return 0


def _answer(bench: Any, question: dict[str, Any]) -> dict[str, Any]:
    try:
        seconds = bench.answer(question)
    except Exception as error:  # noqa: BLE001  (whatever a way to compute raises is its answer)
        return {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
    return {"seconds": seconds}


def run() -> None:
    """Answer questions, and end the process."""
    # Nothing of the interpreter's end is worth waiting for, and a library's exit handlers may hang.
    os._exit(main())


if __name__ == "__main__":
    run()
