"""What the parties need: a virtual environment with PoCL, a C compiler with OpenMP. Absent means absent, with the reason."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
STATE = ROOT / ".x" / "bench"
FOLDER = Path(__file__).resolve().parent
PACKAGES = ("numpy==2.4.6", "pyopencl==2026.1.4", "pocl-binary-distribution==3.0", "matplotlib==3.11.2")
# The floating-point results are those of plain -O3; without errno the square root may become one instruction.
FLAGS = ("-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-shared", "-fPIC", "-std=c11")
CLANGS = ("clang", *(f"clang-{version}" for version in range(24, 13, -1)))


class Absent(Exception):
    """A peer that cannot be had here; the text is the reason."""


def environment_python() -> Path:
    """Python of the benchmark's own virtual environment, which is made when it is not there or not as it should be."""
    folder = STATE / "venv"
    python = folder / "bin" / "python"
    stamp = folder / "packages.txt"
    wanted = "\n".join(PACKAGES)
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"making {folder.relative_to(ROOT)} with {', '.join(PACKAGES)}", flush=True)
    steps = (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PACKAGES],
    )
    for step in steps:
        done = subprocess.run(step, capture_output=True, text=True, check=False)
        if done.returncode:
            tail = " ".join((done.stderr or done.stdout).strip().splitlines()[-3:])
            raise Absent(f"`{' '.join(step[:4])} …` failed: {tail}")
    stamp.write_text(wanted)
    return python


def openmp_library() -> tuple[Path, str]:
    """kernels.c compiled by the best C compiler with OpenMP at hand, and what that was."""
    source = FOLDER / "kernels.c"
    reasons = []
    for compiler in (*CLANGS, "gcc", "cc"):
        path = shutil.which(compiler)
        if path is None:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        about = f"{version.partition(chr(10))[0]}, {' '.join(FLAGS[:4])}"
        key = hashlib.sha256(source.read_bytes() + about.encode()).hexdigest()[:16]
        library = STATE / f"openmp-{key}.so"
        if library.exists():
            return library, about
        STATE.mkdir(parents=True, exist_ok=True)
        partial = library.with_suffix(".partial")
        command = [path, *FLAGS, str(source), "-o", str(partial), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            partial.replace(library)
            return library, about
        reasons.append(f"{compiler}: {done.stderr.strip().splitlines()[-1]}")
    raise Absent("; ".join(reasons) or "no C compiler; install clang and libomp-dev")
