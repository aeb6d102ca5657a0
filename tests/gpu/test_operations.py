"""Transposes, elementwise operations, reductions and convolutions by the archived kernels on real GPUs, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import gpu_kernels

ml_dtypes = pytest.importorskip("ml_dtypes")

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
EPSILONS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU, opened, when there is an archive for it."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(GPU_NAMES[0]) as opened:
        if not gpu_kernels.architectures():
            pytest.skip("./x kernels was not run")
        yield opened


def values(shape: tuple[int, ...], number: str, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(DTYPES[number])


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_transposes_move_every_element(gpu: Any, dtype: str) -> None:
    for shape in ((1, 1), (64, 64), (65, 130), (3, 33, 100), (1, 1000)):
        x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        result = gpu_kernels.transpose(gpu, amdgpu.array(x, device=gpu.name)).numpy()
        assert np.array_equal(result, np.swapaxes(x, -1, -2))


def convolution_of_float64(images: Any, filters: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    count, height, width, _ = images.shape
    taps_y, taps_x, own, out = filters.shape
    padded = np.pad(images.astype(np.float64), ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    rows = (height + 2 * padding - dilation * (taps_y - 1) - 1) // stride + 1
    columns = (width + 2 * padding - dilation * (taps_x - 1) - 1) // stride + 1
    result = np.zeros((count, rows, columns, out))
    for y in range(taps_y):
        for x in range(taps_x):
            part = padded[:, y * dilation :: stride, x * dilation :: stride][:, :rows, :columns]
            for group in range(groups):
                own_out = slice(group * out // groups, (group + 1) * out // groups)
                result[..., own_out] += part[..., group * own : (group + 1) * own] @ filters[y, x, :, own_out].astype(
                    np.float64
                )
    return result


@pytest.mark.gpu
@pytest.mark.parametrize("number", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(
    ("image", "taps", "out", "stride", "padding", "dilation", "groups"),
    [
        ((2, 14, 14, 64), (3, 3), 64, 1, 1, 1, 1),
        ((1, 56, 56, 8), (1, 1), 24, 1, 0, 1, 1),
        ((2, 15, 13, 3), (7, 7), 10, 2, 3, 1, 1),
        ((1, 20, 20, 32), (3, 3), 32, 1, 2, 2, 2),
        ((3, 5, 5, 5), (5, 5), 1, 1, 0, 1, 1),
        ((1, 9, 9, 6), (3, 1), 6, 3, 1, 1, 6),
    ],
)
def test_convolutions_are_those_of_float64(
    gpu: Any,
    number: str,
    image: tuple[int, ...],
    taps: tuple[int, int],
    out: int,
    stride: int,
    padding: int,
    dilation: int,
    groups: int,
) -> None:
    images, filters = values(image, number), values((*taps, image[3] // groups, out), number, 2)
    settings = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    arrays = [amdgpu.array(a, device=gpu.name) for a in (images, filters)]
    result = gpu_kernels.convolve(gpu, *arrays, **settings).numpy().astype(np.float64)
    expected = convolution_of_float64(images, filters, **settings)
    scale = convolution_of_float64(np.abs(images), np.abs(filters), **settings)
    assert result.shape == expected.shape
    assert np.all(np.abs(result - expected) <= EPSILONS[number] * np.abs(expected) + 1e-6 * scale + 1e-30)


@pytest.mark.gpu
def test_a_convolution_adds_a_bias_and_clips(gpu: Any) -> None:
    images, filters, bias = values((1, 8, 8, 16), "f16"), values((3, 3, 16, 32), "f16", 2), values((32,), "f16", 3)
    arrays = [amdgpu.array(a, device=gpu.name) for a in (images, filters)]
    result = gpu_kernels.convolve(
        gpu, *arrays, bias=amdgpu.array(bias, device=gpu.name), activation="relu", padding=1
    ).numpy()
    expected = np.maximum(convolution_of_float64(images, filters, 1, 1, 1, 1) + bias.astype(np.float64), 0)
    assert np.all(np.abs(result.astype(np.float64) - expected) <= 2.0**-10 * (np.abs(expected) + 1))
