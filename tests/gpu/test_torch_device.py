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


def environment(folder: Path, devices: str) -> dict[str, str]:
    # The workers of pytest-xdist mark their environment, and plugins of the inner pytest would take it for a worker.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    return {
        **inherited,
        "PYTHONPATH": os.pathsep.join(
            [str(ROOT / "python"), str(ROOT / "tests" / "torch"), os.environ.get("PYTHONPATH", "")]
        ),
        "AMDGPU_CACHE_DIR": os.environ.get("AMDGPU_TORCH_TEST_CACHE", str(folder)),
        "AMDGPU_TORCH_DEVICE": devices,
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


def run_suite(folder: Path, devices: str, tests: str) -> None:
    """Builds the shim for the torch that is installed, and runs tests of the device in a process of their own."""
    pytest.importorskip("torch")
    variables = environment(folder, devices)
    build = subprocess.run(
        [sys.executable, "-m", "amdgpu.torch.build"],
        env=variables,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    suite = ROOT / "tests" / "torch"
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-c", str(suite / "pytest.ini")]
    command += [f"--rootdir={ROOT}", f"--confcutdir={suite}", str(suite / tests)]
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_suite_of_the_device_passes_over_a_gpu(tmp_path: Path) -> None:
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    # Two devices of torch over one GPU, as the suite expects two.
    run_suite(tmp_path, f"{GPU_NAMES[0]},{GPU_NAMES[0]}", "")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_collectives_between_two_gpus(tmp_path: Path) -> None:
    if len(GPU_NAMES) < 2:
        pytest.skip("list_devices() shows fewer than two GPUs")
    run_suite(tmp_path, ",".join(GPU_NAMES[:2]), "test_distributed.py")
