"""Programs in processes of their own."""

import os
import subprocess
import sys


def run(program, *, check=True, module=False, **variables):
    """Runs a program's text, or with `module` what `python -m` would; `variables` change the environment, None takes one out of it."""
    environment = {**os.environ, **{name: value for name, value in variables.items() if value is not None}}
    for name, value in variables.items():
        if value is None:
            environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m" if module else "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    if check:
        assert done.returncode == 0, done.stdout + done.stderr
    return done
