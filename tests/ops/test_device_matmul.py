"""`matrix_multiply` by generated kernels, run on the CPU device and compared with the Zig library's results."""

from __future__ import annotations

from typing import Any

import amdgpu
import device_matmul_cases as cases
import numpy as np
import pytest
from amdgpu import _native, errors
from tolerances import PRODUCT_CALL

# There are no archives for the CPU device, which is told.
pytestmark = pytest.mark.filterwarnings("ignore:amdgpu. matrix_multiply does not run as preferred")


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def move(x: Any) -> Any:
    return amdgpu.array(x, device="cpu:0") if isinstance(x, np.ndarray) else x


def check(result: Any, operands: tuple[Any, Any], options: dict[str, Any], precision: str) -> None:
    """Against the library's result: within the bound of the precision for both."""
    expected = np.asarray(_native.matmul(*operands, precision=precision, **options))
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    if precision == "int8":
        assert np.array_equal(result, expected)
        return
    magnitudes = [np.abs(x.astype(np.float64)) for x in operands]
    flags = {name: flag for name, flag in options.items() if name.startswith("transpose")}
    scale = np.asarray(_native.matmul(*magnitudes, precision="fp64", **flags))
    for name in ("bias", "residual"):
        if name in options:
            scale = scale + np.abs(options[name].astype(np.float64))
    error = np.abs(result.astype(np.float64) - expected.astype(np.float64))
    # Slopes of the activations are below 1.13.
    bound = 2.3 * PRODUCT_CALL[precision] * (scale + 1)
    assert np.all(error <= bound), (
        f"{precision} {[x.shape for x in operands]} {options}: {np.max(error / bound)} times the bound"
    )


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("precision", list(PRODUCT_CALL))
def test_generated_products_agree_with_the_library(cpu: Any, precision: str) -> None:
    for operands, options in cases.calls(precision):
        moved = {name: move(value) for name, value in options.items()}
        result = _native.matmul_on_device(*(move(x) for x in operands), device=cpu, precision=precision, **moved)
        assert isinstance(result, amdgpu.Array)
        check(result.numpy(), operands, options, precision)


def test_results_are_numpy_arrays_unless_an_array_of_the_device_takes_part(cpu: Any) -> None:
    a, b = cases.values((4, 5), "float32"), cases.values((5, 6), "float32", 1)
    expected = _native.matmul(a, b)
    plain = _native.matmul_on_device(a, b, device=cpu, precision="fp32")
    assert isinstance(plain, np.ndarray)
    assert isinstance(_native.matmul_on_device(move(a), b, device=cpu, precision="fp32"), amdgpu.Array)
    for out in (np.empty((4, 6), np.float32), amdgpu.empty((4, 6), "float32", device="cpu:0")):
        assert _native.matmul_on_device(a, b, out, device=cpu, precision="fp32") is out
        assert np.allclose(np.asarray(out.numpy() if isinstance(out, amdgpu.Array) else out), expected, atol=1e-5)
    strided = np.zeros((4, 12), np.float32)
    _native.matmul_on_device(a, b, amdgpu.from_dlpack(strided[:, ::2]), device=cpu, precision="fp32")
    assert np.allclose(strided[:, ::2], expected, atol=1e-5)


@pytest.mark.parametrize("is_ours", [False, True])
def test_what_out_held_is_added(cpu: Any, is_ours: bool) -> None:
    a, b, held = (cases.values((66, 66), "float32", seed) for seed in (1, 2, 3))
    out = move(held) if is_ours else held.copy()
    _native.matmul_on_device(a, b, out, device=cpu, precision="fp32", alpha=2.0, beta=-0.5, activation="relu")
    expected = np.maximum(2 * (a.astype(np.float64) @ b) - 0.5 * held, 0)
    assert np.allclose(np.asarray(out.numpy() if is_ours else out), expected, rtol=1e-5, atol=1e-3)


def test_bad_products_are_refused_as_by_the_library(cpu: Any) -> None:
    x = cases.values((3, 4), "float32")
    square = cases.values((4, 4), "float32")
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x, x), {}),
        ((x, np.float32(3)), {}),
        ((np.ones((2, 3, 4)), np.ones((3, 4, 5))), {}),
        ((x, square.astype(complex)), {"alpha": 2.0}),
        ((x, square), {"precision": "int8"}),
        ((np.array([["a", "b"], ["c", "d"]]), square), {}),
        ((np.array([[object()]]), square), {}),
        (([[1.0, 2.0], [3.0]], square), {}),
        ((square, square, square), {}),
        ((x, square), {"activation": "swish"}),
        ((x, square), {"bias": np.ones(3, np.float32)}),
        ((x, square), {"residual": np.ones((2, 4), np.float32)}),
        ((x, square), {"beta": 1.0}),
        ((x, square, np.empty((4, 3), np.float32)), {}),
        ((x, square, np.empty((3, 4), np.float64)), {}),
    ]
    for operands, given in wrong:
        options = {"precision": "fp32", **given}
        with pytest.raises(errors.AmdgpuError) as expected:
            _native.matmul(*operands, **options)
        with pytest.raises(errors.AmdgpuError) as got:
            _native.matmul_on_device(*operands, device=cpu, **options)
        assert isinstance(got.value, ValueError | TypeError), options
        assert type(got.value) is type(expected.value), options
    ours = move(square)
    with pytest.raises(errors.InvalidArgumentError, match="overlaps"):
        _native.matmul_on_device(ours, square, ours, device=cpu, precision="fp32")


@pytest.mark.parametrize("architecture", ["gfx1100", "gfx942"])
def test_generated_products_compile_for_amd_gpus(architecture: str) -> None:
    with amdgpu.initialize_device(f"null:{architecture}") as device:
        for precision in ("fp64", "bf16", "int8"):
            for operands, options in list(cases.calls(precision))[:12]:
                result = _native.matmul_on_device(*operands, device=device, precision=precision, **options)
                assert result.shape == np.asarray(_native.matmul(*operands, precision=precision, **options)).shape
