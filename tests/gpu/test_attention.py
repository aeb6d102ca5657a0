"""Attention and its gradients in float16 and bfloat16 on a real GPU against their formulas in float64: lengths, head sizes, masks, strides.

PYTHONPATH=python:tests:tests/support python -m pytest -c /dev/null --rootdir=. tests/gpu/test_attention.py
"""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import ops
from amdgpu.device import default_device
from tolerances import SUMMED

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
pytestmark = pytest.mark.gpu
# Queries and keys: whole tiles, less than one, one more, and neither.
LENGTHS = ((128, 128), (64, 64), (1, 1), (1, 200), (200, 1), (65, 129), (127, 191), (257, 384), (384, 255))


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU as functions of the package open it: where their arrays and operations are."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    return default_device(GPU_NAMES[0])


def drawn(gpu: Any, rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> tuple[amdgpu.Array, np.ndarray]:
    """Numbers that are in the dtype, on the device and in float64."""
    array = amdgpu.array(rng.standard_normal(shape).astype(np.float32), device=gpu).astype(dtype)
    return array, array.astype("float32").numpy().astype(np.float64)


def formula(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, g: np.ndarray, *, is_causal: bool = False, addend: Any = 0.0
) -> tuple[np.ndarray, ...]:
    """The result, and the gradients by queries, keys and values."""
    group = q.shape[-3] // k.shape[-3]
    keys, values = np.repeat(k, group, axis=-3), np.repeat(v, group, axis=-3)
    scale = q.shape[-1] ** -0.5
    scores = q @ np.swapaxes(keys, -1, -2) * scale + addend
    if is_causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    totals = powers.sum(-1, keepdims=True)
    shares = powers / np.where(totals == 0, 1, totals)
    slopes = g @ np.swapaxes(values, -1, -2)
    by_scores = shares * (slopes - (shares * slopes).sum(-1, keepdims=True)) * scale

    def joined(x: np.ndarray) -> np.ndarray:
        return x.reshape(*k.shape[:-2], group, *k.shape[-2:]).sum(-3)

    by_keys, by_values = (np.swapaxes(x, -1, -2) @ y for x, y in ((by_scores, q), (shares, g)))
    return shares @ values, by_scores @ keys, joined(by_keys), joined(by_values)


def close(got: amdgpu.Array, wanted: np.ndarray, dtype: str) -> None:
    """Within the bound of sums in the dtype, of the largest value: shares are rounded before they are summed."""
    found = got.astype("float32").numpy().astype(np.float64)
    bound = SUMMED[dtype] * max(np.abs(wanted).max(), 0.05)
    assert np.abs(found - wanted).max() <= bound


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("size", [32, 64, 96, 128, 40, 36])
def test_any_length_and_size(gpu: Any, dtype: str, size: int) -> None:
    rng = np.random.default_rng(size)
    for queries, keys in LENGTHS:
        for is_causal in (False, True):
            shapes = ((2, 2, queries, size), (2, 1, keys, size), (2, 1, keys, size), (2, 2, queries, size))
            arrays, numbers = zip(*(drawn(gpu, rng, shape, dtype) for shape in shapes), strict=True)
            wanted = formula(*numbers, is_causal=is_causal)
            close(ops.scaled_dot_product_attention(*arrays[:3], is_causal=is_causal), wanted[0], dtype)
            found = ops.scaled_dot_product_attention_gradient(*arrays, is_causal=is_causal)
            for one, other in zip(found, wanted[1:], strict=True):
                close(one, other, dtype)


@pytest.mark.parametrize("size", [64, 128])
@pytest.mark.parametrize("length", [1024, 4096])
def test_long_sequences(gpu: Any, length: int, size: int) -> None:
    rng = np.random.default_rng(length)
    for is_causal in (False, True):
        arrays, numbers = zip(*(drawn(gpu, rng, (1, 1, length, size), "float16") for _ in range(4)), strict=True)
        wanted = formula(*numbers, is_causal=is_causal)
        close(ops.scaled_dot_product_attention(*arrays[:3], is_causal=is_causal), wanted[0], "float16")
        found = ops.scaled_dot_product_attention_gradient(*arrays, is_causal=is_causal)
        for one, other in zip(found, wanted[1:], strict=True):
            close(one, other, "float16")


def test_heads_between_tokens_are_read_where_they_lie(gpu: Any) -> None:
    rng = np.random.default_rng(0)
    arrays, numbers = zip(*(drawn(gpu, rng, (2, 100, 3, 64), "float16") for _ in range(4)), strict=True)
    arrays = tuple(amdgpu.permute_dims(x, (0, 2, 1, 3)) for x in arrays)
    wanted = formula(*(np.swapaxes(x, 1, 2) for x in numbers))
    close(ops.scaled_dot_product_attention(*arrays[:3]), wanted[0], "float16")
    for one, other in zip(ops.scaled_dot_product_attention_gradient(*arrays), wanted[1:], strict=True):
        close(one, other, "float16")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_masks(gpu: Any, dtype: str) -> None:
    rng = np.random.default_rng(1)
    for shape in ((2, 3, 70, 130), (2, 1, 1, 130), (1, 3, 70, 1), (70, 130)):
        arrays, numbers = zip(
            *(
                drawn(gpu, rng, one, dtype)
                for one in ((2, 3, 70, 64), (2, 3, 130, 64), (2, 3, 130, 64), (2, 3, 70, 64))
            ),
            strict=True,
        )
        narrow, added = drawn(gpu, rng, shape, dtype)
        seen = rng.random(shape) > 0.5
        for mask, addend in (
            (narrow, added),
            (amdgpu.array(seen, device=gpu), np.where(seen, 0, -np.inf)),
        ):
            for is_causal in (False, True):
                wanted = formula(*numbers, is_causal=is_causal, addend=addend)
                options = {"mask": mask, "is_causal": is_causal}
                close(ops.scaled_dot_product_attention(*arrays[:3], **options), wanted[0], dtype)
                found = ops.scaled_dot_product_attention_gradient(*arrays, **options)
                for one, other in zip(found, wanted[1:], strict=True):
                    close(one, other, dtype)


def test_the_same_bits_in_every_run(gpu: Any) -> None:
    rng = np.random.default_rng(2)
    arrays = [drawn(gpu, rng, (2, 3, 300, 64), "float16")[0] for _ in range(4)]
    first = [x.numpy() for x in ops.scaled_dot_product_attention_gradient(*arrays)]
    for _ in range(3):
        for one, other in zip(ops.scaled_dot_product_attention_gradient(*arrays), first, strict=True):
            np.testing.assert_array_equal(one.numpy(), other)
