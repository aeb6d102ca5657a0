"""Virtual environments of programs that ours is compared with or tested by, made on demand under .x/peers and kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STATE = ROOT / ".x" / "peers"
# Pinned, as what they compute is what ours is held to.
ENVIRONMENTS = {
    "opencl": ("numpy==2.4.6", "pyopencl==2026.1.4", "pocl-binary-distribution==3.0", "matplotlib==3.11.2"),
    "brian2": ("brian2==2.9.0", "numpy<2.4"),
    "nest": ("nest-simulator==3.10.0", "numpy"),
    "array-api": (
        "numpy==2.4.6",
        "llvmlite==0.50.0",
        "hypothesis==6.168.5",
        "ndindex==1.10.1",
        "pytest==9.2.0",
        "pytest-json-report==1.5.0",
    ),
}


class Absent(Exception):
    """A peer that cannot be had here; the text is the reason."""


def environment_python(name: str) -> Path:
    """Python of one of the `ENVIRONMENTS`, which is made when it is not there or not as it should be.

    Raises:
        Absent: It cannot be made; mostly for want of a network.
    """
    packages = ENVIRONMENTS[name]
    folder = STATE / name
    python = folder / "bin" / "python"
    stamp = folder / "packages.txt"
    wanted = "\n".join(packages)
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"making {folder.relative_to(ROOT)} with {', '.join(packages)}", flush=True)
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            tail = " ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
            raise Absent(f"`{' '.join(step[:4])} …` failed: {tail}")
    stamp.write_text(wanted)
    return python


def draw(script: Path) -> None:
    """Runs a script that needs matplotlib, which one of the environments has; ends the program where that cannot be had."""
    try:
        python = environment_python("opencl")
    except Absent as reason:
        raise SystemExit(f"nothing to draw with: {reason}") from None
    done = subprocess.run([str(python), str(script)], check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
