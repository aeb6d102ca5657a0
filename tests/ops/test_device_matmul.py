"""`matrix_multiply` by generated kernels, run on the CPU device and compared with the Zig library's results."""

from __future__ import annotations

from typing import Any

import amdgpu
import device_matmul_cases as cases
import numpy as np
import pytest
from amdgpu import _native, errors
from amdgpu.gpu_kernels import host
from tolerances import PRODUCT_CALL


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no archives for these devices, which would be said."""
    monkeypatch.setattr(_native, "record_fallback", lambda operation, reason: None)


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


@pytest.mark.parametrize("precision", list(PRODUCT_CALL))
def test_generated_products_agree_with_the_library(cpu: Any, precision: str) -> None:
    for operands, options in cases.calls(precision):
        moved = {name: move(value) for name, value in options.items()}
        result = host.multiply(*(move(x) for x in operands), device=cpu, precision=precision, **moved)
        assert isinstance(result, amdgpu.Array)
        check(result.numpy(), operands, options, precision)


@pytest.mark.parametrize(
    ("precision", "has_wide"), [("fp32", False), ("bf16", True), ("bf16", False), ("int8", False), ("fp64", False)]
)
@pytest.mark.parametrize("are_large", [False, True])
def test_products_with_an_elementwise_kernel_behind_them_agree_with_the_library(
    cpu: Any, precision: str, has_wide: bool, are_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Archived kernels, which the CPU cannot run, are played by the library."""
    played = 0
    epilogues = set()

    def play(device: Any, a: Any, b: Any, *, out: Any, transpose_a: bool, transpose_b: bool, **options: Any) -> Any:
        nonlocal played
        narrow = str(a.dtype) in ("float16", "bfloat16")
        is_wide = narrow and str(out.dtype) == "float32"
        if is_wide and (not has_wide or options.get("bias") is not None):
            raise errors.NoImplementationError("no such kernel")
        played += 1
        epilogues.add((str(a.dtype), str(out.dtype), options.get("activation")))
        assert all(x.strides == np.empty(x.shape, x.dtype).strides for x in (a, b, out))
        assert a.ndim == b.ndim == out.ndim
        assert options.pop("precision") in (None, "tf32")
        sums = {"float64": "fp64", "int8": "int8"}.get(str(a.dtype), "fp32")
        bias = options.pop("bias", None)
        if narrow and not is_wide:
            sums = "fp16" if str(a.dtype) == "float16" else "bf16"
        if is_wide:
            a, b = (x.numpy().astype(np.float32) for x in (a, b))
        given = {"bias": None if bias is None else bias.numpy(), **options}
        return _native.matmul(
            a,
            b,
            out,
            precision=sums,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            **{k: v for k, v in given.items() if v is not None},
        )

    monkeypatch.setattr(host, "matmul", play)
    # The way past the closer look, which needs real kernels.
    monkeypatch.setattr(host, "_direct", lambda *given: None)
    monkeypatch.setattr(host, "_SMALL_PRODUCTS", 1)
    monkeypatch.setattr(host, "_SLOW_FROM_RESULTS", 1 if are_large else 1 << 60)
    monkeypatch.setattr(host, "archive_for", lambda architecture: architecture)
    refuse = lambda operation, reason: pytest.fail(f"{operation}: {reason}")  # noqa: E731
    monkeypatch.setattr(_native, "record_fallback", refuse)
    for operands, options in cases.calls(precision):
        moved = {name: move(value) for name, value in options.items()}
        result = host.multiply(*(move(x) for x in operands), device=cpu, precision=precision, **moved)
        check(result.numpy(), operands, options, precision)
    assert played > 20
    # Whether one kernel does all of it depends on the size, and on whether the sums can be had.
    are_apart = are_large and (precision == "fp32" or has_wide)
    if precision in ("fp32", "bf16"):
        assert any(activation == "gelu" for _, _, activation in epilogues) != are_apart
    assert has_wide == (("bfloat16", "float32", None) in epilogues)


def test_results_are_numpy_arrays_unless_an_array_of_the_device_takes_part(cpu: Any) -> None:
    a, b = cases.values((4, 5), "float32"), cases.values((5, 6), "float32", 1)
    expected = _native.matmul(a, b)
    plain = host.multiply(a, b, device=cpu, precision="fp32")
    assert isinstance(plain, np.ndarray)
    assert isinstance(host.multiply(move(a), b, device=cpu, precision="fp32"), amdgpu.Array)
    for out in (np.empty((4, 6), np.float32), amdgpu.empty((4, 6), device="cpu:0")):
        assert host.multiply(a, b, out, device=cpu, precision="fp32") is out
        assert np.allclose(np.asarray(out.numpy() if isinstance(out, amdgpu.Array) else out), expected, atol=1e-5)
    strided = np.zeros((4, 12), np.float32)
    host.multiply(a, b, amdgpu.from_dlpack(strided[:, ::2]), device=cpu, precision="fp32")
    assert np.allclose(strided[:, ::2], expected, atol=1e-5)


@pytest.mark.parametrize("is_ours", [False, True])
def test_what_out_held_is_added(cpu: Any, is_ours: bool) -> None:
    a, b, held = (cases.values((66, 66), "float32", seed) for seed in (1, 2, 3))
    out = move(held) if is_ours else held.copy()
    host.multiply(a, b, out, device=cpu, precision="fp32", alpha=2.0, beta=-0.5, activation="relu")
    expected = np.maximum(2 * (a.astype(np.float64) @ b) - 0.5 * held, 0)
    assert np.allclose(np.asarray(out.numpy() if is_ours else out), expected, rtol=1e-5, atol=1e-3)


def test_bad_products_are_refused_as_by_the_library(cpu: Any) -> None:
    x = cases.values((3, 4), "float32")
    square = cases.values((4, 4), "float32")
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x, x), {}),
        ((x, np.float32(3)), {}),
        ((np.ones((2, 3, 4)), np.ones((3, 4, 5))), {}),
        ((x, square.astype(complex)), {}),
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
            host.multiply(*operands, device=cpu, **options)
        assert isinstance(got.value, ValueError | TypeError), options
        assert type(got.value) is type(expected.value), options
    ours = move(square)
    with pytest.raises(errors.InvalidArgumentError, match="overlaps"):
        host.multiply(ours, square, ours, device=cpu, precision="fp32")


@pytest.mark.parametrize("architecture", ["gfx1100", "gfx942"])
def test_generated_products_compile_for_amd_gpus(architecture: str) -> None:
    with amdgpu.initialize_device(f"null:{architecture}") as device:
        for precision in ("fp64", "bf16", "int8"):
            for operands, options in list(cases.calls(precision))[:12]:
                result = host.multiply(*operands, device=device, precision=precision, **options)
                assert result.shape == np.asarray(_native.matmul(*operands, precision=precision, **options)).shape
