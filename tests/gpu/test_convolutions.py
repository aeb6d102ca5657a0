"""Convolutions of 16-bit numbers by kernels of ours whose patches the copy engine of the GPU gathers, against float64."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import ops, tuning
from tolerances import PRODUCT_KERNEL

ml_dtypes = pytest.importorskip("ml_dtypes")

DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}
# Steps of channels that are not filled, tiles that end in the middle of images, strides, dilation, groups, windows of one tap and of many,
# padding as wide as the window, images of less and more than 128 KiB.
SHAPES = (
    "1x64x7x7:64x3x3:p1",
    "2x8x5x6:8x3x3:p1",
    "3x72x13x11:40x3x3:p1",
    "5x64x9x10:200x1x1",
    "2x128x28x28:256x1x1:s2",
    "2x64x29x31:64x3x3:s2:p1",
    "2x40x17x19:24x3x3:p2:d2",
    "2x128x14x14:128x3x3:p1:g2",
    "1x16x33x20:16x5x3:s3:p2",
    "1x64x12x12:64x7x7:p6",
    "1x256x56x56:64x1x1",
    "16x64x56x56:64x3x3:p1",
    "4x512x7x7:512x3x3:p1",
)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("number", list(DTYPES))
@pytest.mark.parametrize("shape", SHAPES)
def test_convolutions_are_those_of_float64(gpu: Any, shape: str, number: str, layout: str) -> None:
    (asked,) = tuning.convolutions_of(shape, [number], [layout])
    random = np.random.default_rng(len(shape))
    x, weight = (random.standard_normal(one).astype(DTYPES[number]) for one in (asked.image_shape, asked.filters))
    bias = random.standard_normal(asked.filters[0]).astype(DTYPES[number])
    wide = [one.astype(np.float64) for one in (x, weight, bias)]
    exact = ops.conv2d(*wide, **asked.keywords)
    scale = ops.conv2d(*map(np.abs, wide), **asked.keywords)
    lent = [amdgpu.array(one, device=gpu.name) for one in (x, weight, bias)]
    result = ops.conv2d(*lent, **asked.keywords)
    error = np.abs(result.numpy().astype(np.float64) - exact)
    assert np.all(error <= PRODUCT_KERNEL[number] * scale), float((error / scale).max())
    # The same bits in every run, and into memory that is there.
    out = amdgpu.full(result.shape, np.nan, result.dtype, device=gpu.name)
    ops.conv2d(*lent, **asked.keywords, out=out)
    assert out.numpy().tobytes() == result.numpy().tobytes()


@pytest.mark.gpu
def test_what_lies_in_the_padding_is_zero_whatever_is_beside_it(gpu: Any) -> None:
    # Other images, other rows and the channels behind the last one hold infinities that no result may see.
    x = np.full((3, 8, 8, 24), np.inf, np.float16)
    x[1, 2:6, 2:6] = 1
    weight = np.ones((8, 24, 3, 3), np.float16)
    result = ops.conv2d(*(amdgpu.array(one, device=gpu.name) for one in (x, weight)), layout="NHWC").numpy()
    assert (result[1, 2:4, 2:4] == 24 * 9).all()
    only = np.ones((1, 4, 4, 24), np.float16)
    padded = ops.conv2d(*(amdgpu.array(one, device=gpu.name) for one in (only, weight)), padding=1, layout="NHWC")
    assert padded.numpy()[0, 0, 0, 0] == 24 * 4
