"""What a wheel must hold beside the Python package, and what must not get into it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

_LIBRARY_FOLDER = "amdgpu/_lib"
_LIBRARIES = ("libamdgpu.so", "libamdgpu_torch.so", "libamdgpu_tensorflow.so", "libagpu_matrix.so", "libagpu_neuro.so")
# Of working trees alone: the path of their own interpreter, and what Python compiled.
_STRANGERS = ("python-interpreter", "__pycache__", ".pyc")


def required(root: Path) -> list[str]:
    """Paths inside of a wheel that is built from the tree `root`."""
    interface = root / "crates" / "amdgpu-capi"
    copied = {
        "include/amdgpu": (interface / "include" / "amdgpu").iterdir(),
        "pkgconfig": (interface / "packages" / "pkgconfig").iterdir(),
        "cmake": (interface / "packages" / "cmake").iterdir(),
        "torch/shim": (root / "integrations" / "torch" / "shim").iterdir(),
        "julia/src": (root / "julia" / "src").glob("*.jl"),
    }
    files = [f"{folder}/{path.name}" for folder, paths in copied.items() for path in paths]
    return [
        "amdgpu/_native.abi3.so",
        "amdgpu/py.typed",
        "amdgpu_torch_autoload/__init__.py",
        "tf_rdna/__init__.py",
        *(f"{_LIBRARY_FOLDER}/{name}" for name in (*_LIBRARIES, *files)),
    ]


def problems(names: Iterable[str], root: Path) -> list[str]:
    """A sentence for each path that a wheel with these names lacks, and for each that it should not have."""
    found = set(names)
    missing = [f"{name} is missing" for name in required(root) if name not in found]
    strangers = [f"{name} should not be there" for name in sorted(found) if name.endswith(_STRANGERS)]
    return missing + strangers


def problems_of(wheel: Path, root: Path) -> list[str]:
    """The same of a file."""
    with zipfile.ZipFile(wheel) as archive:
        return problems(archive.namelist(), root)
