"""The PyTorch device rdna over a real GPU: its own suite, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import amdgpu
import pytest

ROOT = Path(__file__).resolve().parents[2]
GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]


def environment(folder: Path) -> dict[str, str]:
    # Two devices of torch over one GPU, as the suite expects two.
    # The workers of pytest-xdist mark their environment, and plugins of the inner pytest would take it for a worker.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(
            [str(ROOT / "python"), str(ROOT / "tests" / "torch"), os.environ.get("PYTHONPATH", "")]
        ),
        "AMDGPU_CACHE_DIR": os.environ.get("AMDGPU_TORCH_TEST_CACHE", str(folder)),
        "AMDGPU_TORCH_DEVICE": f"{GPU_NAMES[0]},{GPU_NAMES[0]}",
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_suite_of_the_device_passes_over_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    variables = environment(tmp_path)
    build = subprocess.run(
        [sys.executable, "-m", "amdgpu.torch.build"],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    folder = ROOT / "tests" / "torch"
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-c", str(folder / "pytest.ini")]
    command += [f"--rootdir={ROOT}", f"--confcutdir={folder}", str(folder)]
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:]
