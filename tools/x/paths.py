"""Where things are in the working tree."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATE = ROOT / ".x"
STAMPS = STATE / "stamps"
LOGS = STATE / "logs"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
PYTHON_SOURCES = ROOT / "python"
PACKAGE = PYTHON_SOURCES / "amdgpu"
LIBRARIES = PACKAGE / "_lib"
EXTENSION = PACKAGE / "_native.abi3.so"
CORE_LIBRARY = LIBRARIES / "libamdgpu.so"
TORCH_KERNELS = LIBRARIES / "libamdgpu_torch.so"
TENSORFLOW_PLUG_IN = LIBRARIES / "libamdgpu_tensorflow.so"
REQUIREMENTS = ROOT / "tools" / "x" / "requirements-dev.txt"
BENCH_RESULTS = ROOT / "bench-results"


def shown(path: Path) -> str:
    """`path` as a person in the working tree would type it."""
    try:
        return str(path.relative_to(ROOT))
    except ValueError:
        return str(path)
