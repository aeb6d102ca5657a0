"""PyTorch on the CPU as a peer: a virtual environment of its own, without gigabytes of NVIDIA's libraries.

Nothing here runs on a GPU, so stubs take the place of those libraries (`x/library_stubs.py`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from x.failure import Failure
from x.library_stubs import must, write_stubs

from suite.peers import ROOT, STATE, Absent

TORCH = "torch==2.8.0"
# What `import torch` needs beside NVIDIA's libraries.
PACKAGES = ("numpy", "typing_extensions", "sympy", "networkx", "jinja2", "fsspec", "filelock")
PROBE = "import torch; assert torch.backends.mkldnn.is_available()"


def torch_python() -> Path:
    """Python of an environment whose `torch` computes convolutions with oneDNN; made when it is not there."""
    folder = STATE / "torch"
    python = folder / "bin" / "python"
    if python.exists() and starts(python):
        return python
    print(f"making {folder.relative_to(ROOT)} with {TORCH}; about 900 MB are fetched", flush=True)
    try:
        make(folder, python)
    except Failure as failure:
        raise Absent(failure.sentence) from failure
    if not starts(python):
        done = subprocess.run([str(python), "-c", PROBE], capture_output=True, text=True, check=False)
        raise Absent(f"torch does not start: {done.stderr.strip().splitlines()[-1]}")
    return python


def make(folder: Path, python: Path) -> None:
    """The environment; raises Failure."""
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for step in ([sys.executable, "-m", "venv", "--clear", str(folder)], [*pip, *PACKAGES], [*pip, "--no-deps", TORCH]):
        must(step)
    libraries = next(folder.glob("lib/python*/site-packages/torch/lib"), None)
    if libraries is not None and not starts(python):
        write_stubs(libraries)


def starts(python: Path) -> bool:
    """Whether torch can be imported there and has oneDNN."""
    return subprocess.run([str(python), "-c", PROBE], capture_output=True, check=False).returncode == 0
