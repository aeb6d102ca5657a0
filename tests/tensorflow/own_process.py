"""Programs that need a process of their own."""

import os
import subprocess
import sys
import textwrap


def run(program, **variables):
    """Runs a program in a process of its own; `variables` of the environment are added."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **variables},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
