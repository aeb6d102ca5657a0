"""Stand-ins of the GPU vendors' libraries and drivers, and programs that run on a device of theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCES = Path(__file__).resolve().with_name("fakes")
# Source, library, options.
BUILDS = {
    "cuda": (
        ("driver.c", "libcuda.so.1", ()),
        ("lt.c", "libcublasLt.so.13", ()),
        ("cublas.c", "libcublas.so.13", ()),
        ("cudnn.c", "libcudnn.so.9", ()),
    ),
    "hip": (
        ("driver.c", "libamdhip64.so.7", ("-DHIP",)),
        ("lt.c", "libhipblaslt.so.1", ("-DHIP",)),
        ("rocblas.c", "librocblas.so.5", ("-DHIP",)),
        ("miopen.c", "libMIOpen.so.1", ("-DHIP",)),
    ),
}


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each kind of device with the libraries in it."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    root = tmp_path_factory.mktemp("fakes")
    for kind, builds in BUILDS.items():
        (root / kind).mkdir()
        for source, library, options in builds:
            command = [
                compiler,
                "-std=gnu11",
                "-D_GNU_SOURCE",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-shared",
                "-fPIC",
            ]
            command += [*options, "-o", str(root / kind / library), str(SOURCES / source), "-lm", "-ldl"]
            subprocess.run(command, check=True)
    return root


@pytest.fixture
def run(stand_ins: Path, run_python: Any, tmp_path: Path) -> Callable[..., Any]:
    """Runs a program on a device of the fake driver; what it prints last is JSON. `libraries` are those that the loader finds.

    Programs share compiled kernels with all tests of the run, and nothing else: each test has tuning databases of its own.
    """
    kernels = Path(os.environ["AMDGPU_CACHE_DIR"]) / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "kernels").symlink_to(kernels)

    def start(code: str, kind: str = "cuda", libraries: tuple[str, ...] | None = None, **environment: str) -> Any:
        folder = tmp_path / f"loader-{kind}"
        folder.mkdir(exist_ok=True)
        for path in (stand_ins / kind).iterdir():
            is_driver = path.name in ("libcuda.so.1", "libamdhip64.so.7")
            link = folder / path.name
            link.unlink(missing_ok=True)
            if is_driver or libraries is None or any(name in path.name.lower() for name in libraries):
                link.symlink_to(path)
        prelude = f"import json, warnings\nimport amdgpu\nimport numpy as np\nNAME = '{kind}:0'\n"
        settings = {"LD_LIBRARY_PATH": str(folder), "AMDGPU_DEVICES": f"{kind},cpu"} | environment
        done = run_python(prelude + code, **settings)
        return json.loads(done.stdout.splitlines()[-1])

    return start
