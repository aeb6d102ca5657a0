"""ROCm's interface on a real GPU: the programs of tests/c_api with the GPU as device 0; of an NVIDIA GPU, it stands in for one of AMD."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import c_api_harness as harness
import pytest
from amdgpu import rocm


@pytest.mark.gpu
def test_every_name_of_the_layer(gpu: Any, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler")
    assert harness.run(harness.build("rocm.cpp", tmp_path), [gpu.name]).strip() == "ok"


@pytest.mark.gpu
def test_threads(gpu: Any, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler")
    assert harness.run(harness.build("rocm_threads.cpp", tmp_path), [gpu.name]).strip() == "ok"


@pytest.mark.gpu
def test_devices(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDGPU_ROCM_DEVICES", gpu.name)
    info = rocm.rocm_get_device_info(0)
    assert info["architecture"] == gpu.info().architecture
    assert 0 < info["free_memory"] <= info["total_memory"]
    rocm.rocm_set_device(0)
    assert rocm.matmul([[1.0, 2.0]], [[3.0], [4.0]]).item() == 11
    rocm.rocm_synchronize()
