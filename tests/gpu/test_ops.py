"""`amdgpu.ops` and all of `matrix_multiply` on real GPUs: the same calls as `test_device_ops.py`, and the bits of the CPU device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors

pytest.importorskip("ml_dtypes")
import device_matmul_cases as products
import device_ops_cases as cases
from tolerances import PRODUCT_CALL

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
pytestmark = pytest.mark.gpu
BY_ARCHIVED_KERNELS = ("matmul", "convolve", "attention", "attention_gradient")


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU, opened."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(GPU_NAMES[0]) as opened:
        yield opened


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def bits(array: Any) -> Any:
    values = np.atleast_1d(array.numpy())
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag])
    words = values.view(f"u{values.dtype.itemsize}")
    if values.dtype not in cases.FLOATS:
        return words, None
    # Which NaN it is is not promised.
    is_nan = np.isnan(values)
    return np.where(is_nan, 0, words), is_nan


def compare(gpu: Any, cpu: Any, wanted: Iterator[cases.Case]) -> None:
    """Right, and the same bits as the same kernels on the CPU device."""
    before = cases.fallbacks()
    for case in wanted:
        expected = getattr(_native, case.operation)(*case.arguments, **case.options)
        results = []
        for device in (gpu, cpu):
            moved = case.moved(lambda x, name=device.name: amdgpu.array(x, device=name))
            results.append(cases.on_device(case.operation)(*moved, device=device, **case.options))
        case.check(results[0], expected)
        for on_gpu, on_cpu in zip(*(x if isinstance(x, tuple) else (x,) for x in results), strict=True):
            assert on_gpu.device == gpu.name
            if case.operation in BY_ARCHIVED_KERNELS:
                # They sum in the order of their matrix units.
                continue
            for left, right in zip(bits(on_gpu), bits(on_cpu), strict=True):
                assert np.array_equal(left, right), f"other bits than on the CPU device: {case.label}"
    # A fallback would compare the CPU with itself.
    assert cases.fallbacks() == before


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_elementwise_operations(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.elementwise((dtype,)))


def test_promotions(gpu: Any, cpu: Any) -> None:
    compare(gpu, cpu, cases.promotions())


def test_operations_on_complex_numbers(gpu: Any, cpu: Any) -> None:
    compare(gpu, cpu, cases.complex_numbers())


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_reductions(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.reductions((dtype,)))


@pytest.mark.parametrize("dtype", [*cases.FLOATS, np.dtype(np.int32)], ids=str)
def test_normalizations(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.normalizations((dtype,)))


@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_gradients_of_normalizations(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.normalization_gradients((dtype,)))


@pytest.mark.parametrize("dtype", [*cases.FLOATS, np.dtype(np.int32), np.dtype(np.bool_)], ids=str)
def test_running_sums_and_best_values(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.running_sums_and_best((dtype,)))


@pytest.mark.parametrize("dtype", [*cases.FLOATS, np.dtype(np.int8), np.dtype(np.uint64)], ids=str)
def test_many_best_values(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.many_best_values((dtype,)))


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_running_bests(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.running_bests((dtype,)))


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_conversions_and_sorts(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.conversions_and_sorts((dtype,)))


@pytest.mark.parametrize("group", [cases.long_scans, cases.moves, cases.indexing])
def test_scans_moves_and_indices(gpu: Any, cpu: Any, group: Any) -> None:
    compare(gpu, cpu, group())


@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_losses(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.losses((dtype,)))


@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_attention(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.attentions((dtype,)))


@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_segments(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.segments((dtype,)))


@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_images(gpu: Any, cpu: Any, dtype: Any) -> None:
    compare(gpu, cpu, cases.images((dtype,)))


@pytest.mark.parametrize("precision", list(PRODUCT_CALL))
@pytest.mark.parametrize("are_ours", [False, True])
def test_every_call_of_matrix_multiply_runs_on_the_gpu(
    gpu: Any, precision: str, are_ours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(_native, "record_fallback", lambda operation, reason: said.append(reason))
    for operands, options in products.calls(precision):
        given = {name: amdgpu.array(x, device=gpu.name) if are_ours and isinstance(x, np.ndarray) else x
                 for name, x in options.items()}  # fmt: skip
        moved = [amdgpu.array(x, device=gpu.name) if are_ours else x for x in operands]
        result = amdgpu.matrix_multiply(*moved, gpu.name, precision, **given)
        assert isinstance(result, amdgpu.Array if are_ours else np.ndarray)
        expected = np.asarray(_native.matmul(*operands, precision=precision, **options))
        got = result.numpy() if are_ours else result
        assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
        magnitudes = [np.abs(x.astype(np.float64)) for x in operands]
        flags = {name: flag for name, flag in options.items() if name.startswith("transpose")}
        scale = np.asarray(_native.matmul(*magnitudes, precision="fp64", **flags)) + 1
        for name in ("bias", "residual"):
            scale = scale + np.abs(options[name].astype(np.float64)) if name in options else scale
        error = np.abs(got.astype(np.float64) - expected.astype(np.float64))
        assert np.all(error <= 2.3 * PRODUCT_CALL[precision] * scale), (
            operands[0].shape,
            operands[1].shape,
            options,
        )
    assert not [reason for reason in said if reason.startswith("the CPU computes")]


def test_functions_of_the_package_keep_arrays_on_the_gpu(gpu: Any) -> None:
    x = cases.values((6, 40), "float32")
    ours = amdgpu.array(x, device=gpu.name)
    hidden = amdgpu.ops.gelu(amdgpu.ops.add(ours, 1.0))
    assert hidden.device == gpu.name
    assert np.allclose(hidden.numpy(), amdgpu.ops.gelu(x + 1), atol=1e-6)
    assert amdgpu.ops.argmax(ours, 1).numpy().tolist() == x.argmax(1).tolist()
    normalized, mean, variance = amdgpu.ops.batch_norm_training(ours)
    assert {one.device for one in (normalized, mean, variance)} == {gpu.name}
    assert np.allclose(normalized.numpy(), (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), atol=1e-5)
    out = np.empty_like(x)
    assert amdgpu.ops.softmax(ours, out=out) is out
    assert np.allclose(out.sum(1), 1, atol=1e-5)
    with pytest.raises(errors.InvalidArgumentError, match="index 6"):
        amdgpu.ops.embedding(amdgpu.array([6], device=gpu.name), ours)


def test_weights_are_added_in_a_fixed_order(gpu: Any) -> None:
    rng = np.random.default_rng(3)
    places = rng.integers(0, 9, 100_000)
    weights = rng.normal(size=100_000) * 10.0 ** rng.integers(-8, 9, 100_000)
    given = [amdgpu.array(values, device=gpu) for values in (places, weights)]
    first = amdgpu.bincount(*given)
    np.testing.assert_allclose(first.numpy(), np.bincount(places, weights), rtol=1e-9)
    for _ in range(5):
        assert amdgpu.bincount(*given).numpy().tobytes() == first.numpy().tobytes()
    counts, _ = amdgpu.histogram(given[0], bins=list(range(10)), weights=given[1])
    assert counts.numpy().tobytes() == first.numpy().tobytes()


def test_long_lines_give_the_same_bits_in_every_run(gpu: Any) -> None:
    rng = np.random.default_rng(7)
    values = rng.standard_normal(5_000_000, np.float32)
    x = amdgpu.array(values, device=gpu.name)
    sums = [amdgpu.ops.cumsum(x, 0).numpy().view(np.uint32) for _ in range(5)]
    for other in sums[1:]:
        np.testing.assert_array_equal(other, sums[0])
    np.testing.assert_array_equal(amdgpu.ops.sort(x).numpy(), np.sort(values))
    whole = rng.integers(0, 1000, 3_000_000)
    places = amdgpu.ops.argsort(amdgpu.array(whole, device=gpu.name)).numpy()
    np.testing.assert_array_equal(places, np.argsort(whole, kind="stable"))


def test_arrays_of_torch_on_the_gpu_are_taken_with_their_strides(gpu: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    x = torch.randn(64, 48, device="cuda")
    for view in (x, x.T, x[::2, ::3]):
        torch.cuda.synchronize()
        assert np.allclose(amdgpu.ops.exp(view).numpy(), view.exp().cpu().numpy(), rtol=1e-5)
        assert np.allclose(amdgpu.ops.sum(view, 0).numpy(), view.sum(0).cpu().numpy(), atol=1e-4)
    product = amdgpu.matrix_multiply(x.T, x, gpu.name)
    assert np.allclose(
        product if isinstance(product, np.ndarray) else product.numpy(), (x.T @ x).cpu().numpy(), atol=1e-3
    )
