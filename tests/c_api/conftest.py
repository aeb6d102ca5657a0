"""The C++ layer of ROCm's interface, built once."""

from __future__ import annotations

import pytest
import rocm_layer


@pytest.fixture(scope="session")
def built_layer(tmp_path_factory: pytest.TempPathFactory) -> rocm_layer.Layer:
    return rocm_layer.load(tmp_path_factory.mktemp("rocm"))


@pytest.fixture
def layer(built_layer: rocm_layer.Layer, monkeypatch: pytest.MonkeyPatch) -> rocm_layer.Layer:
    """With the CPU as device 0."""
    monkeypatch.setenv("AMDGPU_ROCM_DEVICES", "cpu")
    return built_layer
