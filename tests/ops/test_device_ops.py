"""The generated kernels of operations on devices, run on the CPU device and compared with the Zig library's results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import _native, errors

NAMES = ("elementwise", "reduce", "normalize", "scan", "top_k", "transpose", "embedding", "convolve", "pool")


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def compare(cpu: Any, wanted: Iterator[cases.Case]) -> None:
    count = 0
    for case in wanted:
        expected = getattr(_native, case.operation)(*case.arguments, **case.options)
        moved = case.moved(lambda x: amdgpu.array(x, device="cpu:0"))
        case.check(cases.on_device(case.operation)(*moved, device=cpu, **case.options), expected)
        count += 1
    assert count > 0


@pytest.fixture(autouse=True)
def expected_fallbacks() -> Iterator[list[str]]:
    """Operations that a test lets the CPU compute in the device's place: elsewhere that would compare the CPU with itself."""
    before, expected = cases.fallbacks(), list[str]()
    yield expected
    assert cases.fallbacks(*expected) == {
        name: value for name, value in before.items() if name.split(":", 1)[0] not in expected
    }


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_elementwise_kernels_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.elementwise((dtype,)))


def test_mixed_dtypes_are_promoted_as_by_the_library(cpu: Any) -> None:
    compare(cpu, cases.promotions())


def test_operations_on_complex_numbers_agree_with_the_library(cpu: Any) -> None:
    compare(cpu, cases.complex_numbers())


@pytest.mark.sampled(0.25)
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_reductions_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.reductions((dtype,)))


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", [*cases.FLOATS, np.dtype(np.int32)], ids=str)
def test_normalizations_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.normalizations((dtype,)))


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_gradients_of_normalizations_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.normalization_gradients((dtype,)))


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", [*cases.FLOATS, np.dtype(np.int32), np.dtype(np.bool_)], ids=str)
def test_running_sums_and_best_values_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.running_sums_and_best((dtype,)))


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", [*cases.FLOATS, np.dtype(np.int8), np.dtype(np.uint64)], ids=str)
def test_many_best_values_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.many_best_values((dtype,)))


@pytest.mark.sampled(0.25)
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_running_bests_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.running_bests((dtype,)))


@pytest.mark.sampled(0.2)
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_conversions_and_sorts_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.conversions_and_sorts((dtype,)))


@pytest.mark.parametrize("group", [cases.long_scans, cases.moves, cases.indexing])
def test_scans_moves_and_indices_agree_with_the_library(cpu: Any, group: Any) -> None:
    compare(cpu, group())


@pytest.mark.parametrize("bad_places", [(700, 2000), (0,), (2999,)], ids=str)
def test_the_first_bad_index_is_refused_and_the_next_call_works(cpu: Any, bad_places: tuple[int, ...]) -> None:
    x, ones = (amdgpu.array(np.full(n, k, np.float32), device="cpu:0") for n, k in ((5, 0), (3000, 1)))
    good = np.arange(3000) % 5
    bad = good.copy()
    bad[list(bad_places)] = 9
    for operation, options in (("index_add", ()), ("scatter_reduce", ("amax",))):
        compute = cases.on_device(operation)
        with pytest.raises(errors.IndexOutOfRangeError, match=f"index 9 .*place {bad_places[0]}"):
            compute(x, 0, amdgpu.array(bad, device="cpu:0"), ones, *options, device=cpu)
        joined = compute(x, 0, amdgpu.array(good, device="cpu:0"), ones, *options, device=cpu)
        assert joined.tolist() == [1.0 if options else 600.0] * 5
    bad_offsets = amdgpu.array(np.array([0, 5, 3, 3000]), device="cpu:0")
    with pytest.raises(errors.IndexOutOfRangeError, match="offset 3 at place 2"):
        cases.on_device("segment_reduce")("sum", ones, bad_offsets, offsets=True, device=cpu)


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", cases.DTYPES, ids=str)
def test_segments_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.segments((dtype,)))


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_losses_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.losses((dtype,)))


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_attention_agrees_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.attentions((dtype,)))


@pytest.mark.sampled(0.25)
@pytest.mark.parametrize("dtype", cases.FLOATS, ids=str)
def test_images_agree_with_the_library(cpu: Any, dtype: Any) -> None:
    compare(cpu, cases.images((dtype,)))


def test_arrays_with_gaps_are_walked(cpu: Any) -> None:
    base = cases.values((12, 20), "float32")
    for view in (base[::2, ::3], base.T, base[:, ::-1], np.broadcast_to(base[0], (5, 20))):
        lent = amdgpu.from_dlpack(view) if view.flags.writeable else amdgpu.array(view, device="cpu:0")
        assert (
            cases.on_device("elementwise")("square", (lent,), device=cpu).numpy().tolist() == np.square(view).tolist()
        )
        assert cases.on_device("transpose")(lent, device=cpu).numpy().tolist() == view.T.tolist()
        assert np.allclose(cases.on_device("reduce")("sum", lent, (0,), device=cpu).numpy(), view.sum(0), atol=1e-5)
        softmax = _native.normalize("softmax", np.ascontiguousarray(view), (), (0,))
        assert np.allclose(
            cases.on_device("normalize")("softmax", lent, (), (0,), device=cpu).numpy(), softmax, atol=1e-6
        )


def test_out_receives_the_result_wherever_it_lies(cpu: Any) -> None:
    x = cases.values((3, 4), "float32")
    ours = amdgpu.array(x, device="cpu:0")
    for out in (np.empty((3, 4), np.float32), amdgpu.empty((3, 4), "float32", device="cpu:0"), ours):
        assert cases.on_device("elementwise")("negative", (ours,), out, device=cpu) is out
        assert np.asarray(out.numpy() if isinstance(out, amdgpu.Array) else out).tolist() == (-x).tolist()
    strided = np.empty((3, 8), np.float32)
    lent = amdgpu.from_dlpack(strided[:, ::2])
    assert cases.on_device("elementwise")("negative", (ours,), lent, device=cpu) is lent
    assert strided[:, ::2].tolist() == x.tolist()


def test_bad_arguments_are_refused_as_by_the_library(cpu: Any) -> None:
    x = cases.values((3, 4), "float32")
    wrong: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("elementwise", ("add", (x, x[:2])), {}),
        ("elementwise", ("negative", (x > 0,)), {}),
        ("elementwise", ("where", (x, x, x)), {}),
        ("elementwise", ("add", (x.astype(np.uint8), 300)), {}),
        ("elementwise", ("less", (x, np.ones(4, complex))), {}),
        ("elementwise", ("floor_divide", (x, np.ones(4, complex))), {}),
        ("reduce", ("max", np.ones(4, complex), (0,)), {}),
        ("scan", ("cummax", np.ones(4, complex), 0), {}),
        ("elementwise", ("exp", (x,), np.empty((4, 3), np.float32)), {}),
        ("elementwise", ("exp", (x,), np.empty((3, 4), np.float64)), {}),
        ("reduce", ("sum", x, (2,)), {}),
        ("reduce", ("sum", x, (0, 0)), {}),
        ("reduce", ("max", x[:0], (0,)), {}),
        ("normalize", ("softmax", x, (), (2,)), {}),
        ("normalize", ("layer_norm", x, (), ()), {"row_shape": (3,)}),
        ("normalize", ("layer_norm", x, (), ()), {"row_shape": (4,), "epsilon": -1.0}),
        ("normalize", ("layer_norm", x, (np.ones(4),), ()), {"row_shape": (4,)}),
        ("scan", ("cumsum", x, 2), {}),
        ("top_k", (x, 5, 1), {}),
        ("transpose", (x, (0, 0)), {}),
        ("embedding", (x, np.array([0, 3])), {}),
        ("embedding", (x, np.array([0, -1])), {}),
        ("embedding", (x, np.array([0.5])), {}),
    ]
    for operation, arguments, options in wrong:
        with pytest.raises(errors.AmdgpuError) as expected:
            getattr(_native, operation)(*arguments, **options)
        with pytest.raises(type(expected.value)):
            cases.on_device(operation)(*arguments, device=cpu, **options)
    ours = amdgpu.array(x, device="cpu:0")
    with pytest.raises(errors.InvalidArgumentError, match="overlaps"):
        cases.on_device("transpose")(ours, None, ours.reshape(4, 3), device=cpu)
    base = x.copy()
    base.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        cases.on_device("elementwise")("exp", (ours,), base, device=cpu)


SEARCHES = (cases.running_sums_and_best, cases.many_best_values, cases.running_bests, cases.long_scans, cases.moves)


@pytest.mark.sampled(0.5)
@pytest.mark.parametrize("architecture", ["gfx1100", "gfx90a"])
def test_kernels_compile_for_amd_gpus(architecture: str) -> None:
    with amdgpu.initialize_device(f"null:{architecture}") as device:
        wanted: list[cases.Case] = [
            *list(cases.elementwise((np.dtype(np.float32),)))[::3],
            *list(cases.reductions((cases.BFLOAT16,)))[::9],
            *list(cases.normalizations((np.dtype(np.float16),)))[::4],
            *[case for group in SEARCHES for case in group() if case.operation != "embedding"][::5],
            *list(cases.images((np.dtype(np.float64),)))[::5],
            *list(cases.losses((np.dtype(np.float16),)))[::5],
            *list(cases.attentions((cases.BFLOAT16,)))[::5],
            # How many elements are not zero, or chosen, is not known where nothing runs.
            *[
                case
                for group in (cases.conversions_and_sorts, cases.indexing)
                for case in group()
                if case.operation not in ("nonzero", "masked_select", "unique_consecutive")
            ][::7],
        ]
        for case in wanted:
            moved = case.moved(lambda x: amdgpu.empty(x.shape, str(x.dtype), device=device.name))
            expected = getattr(_native, case.operation)(*case.arguments, **case.options)
            result = cases.on_device(case.operation)(*moved, device=device, **case.options)
            for made, want in zip(*((x if isinstance(x, tuple) else (x,)) for x in (result, expected)), strict=True):
                assert (made.device, made.shape, str(made.dtype)) == (device.name, want.shape, str(want.dtype)), (
                    case.label
                )


def test_operations_run_where_their_arrays_lie() -> None:
    x = amdgpu.empty((2, 3), "float32", device="null:gfx1100")
    assert amdgpu.ops.add(x, 1).device == "null:gfx1100"
    assert amdgpu.ops.add([1.0, 2.0, 3.0], x).device == "null:gfx1100"
    assert amdgpu.ops.sum(x, 0).shape == (3,)
    assert amdgpu.ops.softmax(x).shape == (2, 3)
    assert amdgpu.ops.batch_norm(x, [0.0] * 3, [1.0] * 3).device == "null:gfx1100"
    assert amdgpu.ops.batch_norm_gradient(x, x)[0].device == "null:gfx1100"
    assert amdgpu.ops.layer_norm_gradient(x, x, 3)[1].shape == (3,)
    normalized, mean, variance = amdgpu.ops.batch_norm_training(x)
    assert {one.device for one in (normalized, mean, variance)} == {"null:gfx1100"}
    assert isinstance(amdgpu.ops.add(amdgpu.array([1.0], device="cpu:0"), 1), amdgpu.Array)


def test_what_a_device_does_not_compute_falls_back_aloud(expected_fallbacks: list[str]) -> None:
    expected_fallbacks.append("elementwise")
    x = amdgpu.empty((20,), "int32", device="null:gfx1100")
    before = cases.fallbacks()
    with pytest.warns(RuntimeWarning, match="powers of integers") as said:
        result = amdgpu.ops.power(x, x)
    assert (result.device, result.shape) == ("null:gfx1100", (20,))
    (reason,) = (name for name in cases.fallbacks() if name not in before)
    assert reason.split(": ", 1)[1] in str(said[0].message)
    assert cases.fallbacks() == {**before, reason: 1}
    # It is said once, and counted each time.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        amdgpu.ops.power(x, x)
    assert cases.fallbacks()[reason] == 2


def test_values_are_put_at_indices_by_the_cpu_aloud(expected_fallbacks: list[str]) -> None:
    expected_fallbacks.append("pool")
    x = amdgpu.empty((1, 2, 3, 3), "float32", device="null:gfx1100")
    indices = amdgpu.zeros((1, 2, 3, 3), "int64", device="null:gfx1100")
    with pytest.warns(RuntimeWarning, match="values at indices are put by the CPU"):
        result = amdgpu.ops.max_unpool2d(x, indices, 2)
    assert (result.device, result.shape) == ("null:gfx1100", (1, 2, 6, 6))


def test_top_k_of_any_k_stays_on_the_device() -> None:
    x = amdgpu.empty((2000,), "float32", device="null:gfx1100")
    values, places = amdgpu.ops.top_k(x, 1500)
    assert (values.device, values.shape, places.shape) == ("null:gfx1100", (1500,), (1500,))
