"""What the contenders need beside an environment (environments.py): a C compiler with OpenMP."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from suite.environments import Absent

ROOT = Path(__file__).resolve().parents[3]
STATE = ROOT / ".x" / "bench"
FOLDER = Path(__file__).resolve().parent
# The floating-point results are those of plain -O3; without errno the square root may become one instruction.
FLAGS = ("-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-shared", "-fPIC", "-std=c11")
CLANGS = ("clang", *(f"clang-{version}" for version in range(24, 13, -1)))


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
