"""Elementwise operators, reductions, products, indexing, sorting and ranges beside torch's CPU; nothing may run on the CPU instead."""

from __future__ import annotations

import pytest
import torch
from beside_cpu import FLOATS, INTEGERS, check, compare, layouts, on_rdna, values


@pytest.fixture(autouse=True)
def no_fallback():
    before = torch.rdna.get_fallback_mode()
    torch.rdna.set_fallback_mode("error")
    yield
    torch.rdna.set_fallback_mode(before)


# Name in torch, and the range in which it is defined.
FUNCTIONS = [
    ("abs", -3, 3), ("neg", -3, 3), ("sign", -3, 3), ("floor", -3, 3), ("ceil", -3, 3), ("trunc", -3, 3), ("round", -3, 3),
    ("frac", -3, 3), ("reciprocal", 0.5, 3), ("sqrt", 0.1, 3), ("rsqrt", 0.1, 3), ("exp", -3, 3), ("exp2", -3, 3),
    ("expm1", -3, 3), ("log", 0.1, 3), ("log1p", 0.1, 3), ("log2", 0.1, 3), ("log10", 0.1, 3), ("erf", -3, 3),
    ("tanh", -3, 3), ("sigmoid", -3, 3), ("sin", -3, 3), ("cos", -3, 3), ("tan", -1, 1), ("asin", -1, 1), ("acos", -0.9, 0.9),
    ("atan", -3, 3), ("sinh", -3, 3), ("cosh", -3, 3), ("asinh", -3, 3), ("acosh", 1.1, 3), ("atanh", -0.9, 0.9),
    ("relu", -3, 3), ("square", -3, 3), ("isnan", -3, 3), ("isinf", -3, 3), ("isfinite", -3, 3), ("signbit", -3, 3),
    ("logical_not", -1, 1),
]  # fmt: skip
ACTIVATIONS = {
    "silu": {},
    "gelu": {},
    "leaky_relu": {"negative_slope": 0.2},
    "elu": {"alpha": 0.7},
    "selu": {},
    "celu": {"alpha": 1.5},
    "softplus": {"beta": 2.0, "threshold": 3.0},
    "hardtanh": {"min_val": -0.5, "max_val": 1.5},
    "relu6": {},
    "hardswish": {},
    "hardsigmoid": {},
    "mish": {},
    "threshold": {"threshold": 0.3, "value": -1.0},
}
ARITHMETIC = [
    "add",
    "sub",
    "mul",
    "div",
    "maximum",
    "minimum",
    "atan2",
    "hypot",
    "copysign",
    "logaddexp",
    "fmod",
    "remainder",
]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("name", "low", "high"), FUNCTIONS, ids=[name for name, *_ in FUNCTIONS])
def test_functions_of_one_tensor(name, low, high, dtype):
    function = getattr(torch, name)
    for x in layouts(dtype, low=low, high=high):
        check(function, x)


@pytest.mark.parametrize("name", ["sqrt", "exp", "sin", "reciprocal", "tanh"])
def test_functions_of_integers_give_floats(name):
    for dtype in (torch.int32, torch.int64, torch.uint8, torch.bool):
        check(getattr(torch, name), values((5,), dtype, low=1, high=3))


@pytest.mark.parametrize("name", ["abs", "neg", "sign", "floor"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_functions_that_keep_integers(name, dtype):
    check(getattr(torch, name), values((4, 5), dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("name", "options"), ACTIVATIONS.items(), ids=list(ACTIVATIONS))
def test_activations(name, options, dtype):
    function = getattr(torch.nn.functional, name)
    for x in layouts(dtype):
        check(function, x, **options)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_in_both_forms(approximate):
    check(torch.nn.functional.gelu, values((7, 9)), approximate=approximate)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name, dtype):
    function = getattr(torch, name)
    other = values((3, 4), dtype, low=0.5, high=2)
    for x in layouts(dtype):
        if x.dim() <= 2 and x.numel() != 0:
            check(function, x, other if x.dim() else other[0, 0])
    check(function, values((3, 1), dtype), values((1, 4), dtype, low=0.5, high=2))
    check(function, values((0, 4), dtype), values((4,), dtype, low=0.5, high=2))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "floor_divide", "remainder", "fmod", "maximum", "minimum"])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_arithmetic_of_integers(name, dtype):
    check(getattr(torch, name), values((4, 5), dtype, low=-9, high=9), values((5,), dtype, low=1, high=4).clamp(min=1))


@pytest.mark.parametrize("rounding_mode", [None, "floor", "trunc"])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.int8], ids=str)
def test_division_rounds_as_it_is_told(rounding_mode, dtype):
    a, b = values((4, 5), dtype, low=-9, high=9), values((4, 5), dtype, low=1, high=4)
    check(torch.div, a, torch.where(b == 0, 1, b).to(dtype), rounding_mode=rounding_mode)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name):
    function = getattr(torch, name)
    for dtype in (*FLOATS, *INTEGERS, torch.bool):
        check(function, values((3, 4), dtype), values((4,), dtype))
    if not name.startswith("logical"):
        check(function, values((3, 4)), 0.5)
        check(function, values((3, 4), torch.int32), 1)


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool], ids=str)
def test_bits(name, dtype):
    check(getattr(torch, name), values((3, 4), dtype), values((3, 4), dtype).T.contiguous().T.flip(0))
    check(torch.bitwise_not, values((3, 4), dtype))


# Dtypes that meet: torch's rules differ from NumPy's.
MEETINGS = [
    (torch.int32, torch.float32), (torch.int64, torch.float16), (torch.float16, torch.bfloat16), (torch.uint8, torch.int8),
    (torch.bool, torch.float64), (torch.float32, torch.float64), (torch.uint8, torch.int64), (torch.bool, torch.uint8),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), MEETINGS, ids=str)
def test_dtypes_meet_as_in_torch(one, other):
    for function in (torch.add, torch.mul, torch.lt):
        check(function, values((3, 4), one), values((3, 4), other))
        check(function, values((3, 4), one), values((), other))
        check(function, values((), one), values((3, 4), other))


@pytest.mark.parametrize("dtype", [torch.float16, torch.int32, torch.bool], ids=str)
def test_numbers_of_python_do_not_widen_tensors_of_their_kind(dtype):
    x = values((3, 4), dtype)
    for number in (2, 2.5, True):
        check(lambda x, number=number: x + number, x)
        check(lambda x, number=number: number * x, x)


@pytest.mark.parametrize("alpha", [1, 2, -0.5])
def test_sums_with_factors(alpha):
    a, b = values((3, 4)), values((4,))
    check(torch.add, a, b, alpha=alpha)
    check(torch.sub, a, b, alpha=alpha)
    check(torch.addcmul, a, b, values((3, 1)), value=alpha)
    check(torch.addcdiv, a, b, values((3, 1), low=1, high=2), value=alpha)
    check(torch.lerp, a, values((3, 4)).flip(0), alpha)
    check(torch.add, values((3,), torch.int32), values((3,), torch.int32), alpha=3)


@pytest.mark.parametrize("exponent", [2, 0.5, -1, 3, 1.7, 0])
def test_powers(exponent):
    for dtype in FLOATS:
        check(torch.pow, values((3, 4), dtype, low=0.3, high=2), exponent)
    check(torch.pow, 2.0, values((3, 4)))
    check(torch.pow, values((3, 4), low=0.3, high=2), values((3, 4)))
    check(torch.pow, values((5,), torch.int64), 3)


def test_values_are_kept_within_limits():
    x = values((4, 5))
    check(torch.clamp, x, -1, 1)
    check(torch.clamp, x, min=0.5)
    check(torch.clamp, x, max=0.5)
    check(torch.clamp, x, values((5,), low=-2, high=-1), values((5,), low=1, high=2))
    check(torch.clamp, torch.tensor([float("nan"), 2.0]), 0, 1)


def test_choices_by_masks():
    mask, x = values((3, 4), torch.bool), values((3, 4))
    check(torch.where, mask, x, values((4,)))
    check(torch.where, mask, x, 0.0)
    check(torch.where, mask, values((3, 4), torch.int32), 1.5)
    check(torch.masked_fill, x, mask, -1.0)
    check(torch.masked_select, x, mask)
    check(torch.nonzero, mask)
    check(torch.masked_fill, x.T, mask.T, values(()))


@pytest.mark.parametrize("name", ["add", "mul", "div", "sub"])
def test_work_in_place(name):
    def in_place(x, y):
        # Of the same strides, gaps included.
        own = torch.empty_strided((3, 4), x.stride(), dtype=x.dtype, device=x.device).copy_(x)
        assert getattr(own, f"{name}_")(y) is own
        return own

    for x in layouts():
        if x.shape == (3, 4) and 0 not in x.stride():
            check(in_place, x, values((4,), low=1, high=2))


def test_results_go_where_they_are_wanted():
    a, b = on_rdna((values((3, 4)), values((3, 4))))
    for out in (torch.empty(3, 4, device="rdna"), torch.empty(4, 3, device="rdna").T, torch.empty(0, device="rdna")):
        assert torch.add(a, b, out=out) is out
        compare(out, a.cpu() + b.cpu())
    wide = torch.empty(3, 4, dtype=torch.float64, device="rdna")
    torch.mul(a, b, out=wide)
    compare(wide, (a.cpu() * b.cpu()).double())
    with pytest.raises(RuntimeError, match="can't be cast"):
        torch.mul(a, b, out=torch.empty(3, 4, dtype=torch.int32, device="rdna"))


REDUCTIONS = ["sum", "mean", "prod", "amax", "amin", "std", "var"]
AXES = [0, 1, -1, (0, 1), (0, 2)]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_reductions(name, dtype):
    function = getattr(torch, name)
    x = values((3, 4, 5), dtype, low=0.5, high=1.5)
    for axis in AXES:
        if not (name == "prod" and isinstance(axis, tuple)):
            check(function, x, axis, keepdim=True)
            check(function, x.permute(2, 0, 1), axis)
    check(lambda x: getattr(x, name)(), x)


def test_reductions_of_integers_and_truth_values():
    for dtype in (*INTEGERS, torch.bool):
        x = values((3, 4), dtype)
        check(torch.sum, x)
        check(torch.sum, x, 1)
        check(torch.prod, x, 0)
        check(torch.all, x, 0)
        check(torch.any, x)
    check(torch.sum, values((3, 4), torch.float16), dtype=torch.float32)
    check(torch.mean, values((3, 4), torch.int32), dtype=torch.float32)


@pytest.mark.parametrize("name", ["max", "min"])
def test_best_values_and_where_they_are(name):
    for x in (values((3, 4)), values((3, 4), torch.int64), values((3, 4)).T):
        check(getattr(torch, name), x)
        check(getattr(torch, name), x, 1)
        check(getattr(torch, name), x, 0, keepdim=True)
        check(getattr(torch, f"arg{name}"), x)
        check(getattr(torch, f"arg{name}"), x, 1)


def test_empty_reductions():
    x = torch.empty(0, 3)
    for function in (torch.sum, torch.prod, torch.all, torch.any):
        check(function, x)
    check(torch.sum, x, 0)
    check(torch.mean, x, 1)
    with pytest.raises(RuntimeError, match="reduction dim"):
        on_rdna(x).max()


@pytest.mark.filterwarnings("ignore:.*degrees of freedom:UserWarning")
@pytest.mark.parametrize("correction", [0, 1, 2, 12])
def test_variances_with_corrections(correction):
    x = values((3, 4))
    check(torch.var, x, correction=correction)
    check(torch.std, x, 1, correction=correction)
    check(torch.var_mean, x, 0, correction=correction)


@pytest.mark.parametrize("order", [2, 1, 0, 3, float("inf"), float("-inf")])
def test_norms(order):
    check(torch.linalg.vector_norm, values((3, 4)), order)
    check(torch.linalg.vector_norm, values((3, 4)), order, dim=1, keepdim=True)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_prefixes(name):
    for x in (values((3, 4)), values((3, 4), torch.int32), values((3, 4)).T, values(())):
        check(getattr(torch, name), x, 0)
        check(getattr(torch, name), x, -1)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_best_values_so_far(name):
    check(getattr(torch, name), values((3, 4)), 1)
    check(getattr(torch, name), values((3, 4), torch.int64), 0)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_products_of_matrices(dtype):
    a, b = values((4, 5), dtype, low=-1, high=1), values((5, 3), dtype, low=-1, high=1)
    check(torch.mm, a, b)
    check(torch.mm, a.T.contiguous().T, b.T.contiguous().T)
    check(torch.mm, b.T, a.T)
    check(torch.mv, a, b[:, 0])
    check(torch.dot, a[0], b[:, 0])
    check(torch.addmm, values((3,), dtype), a, b)
    check(torch.addmm, values((4, 3), dtype), a, b, beta=0.5, alpha=2)
    check(torch.addmm, values((4, 1), dtype), a, b, beta=0)
    check(torch.bmm, values((2, 4, 5), dtype, low=-1, high=1), values((2, 5, 3), dtype, low=-1, high=1))
    check(
        torch.baddbmm,
        values((2, 4, 3), dtype),
        values((2, 4, 5), dtype),
        values((2, 5, 3), dtype),
        beta=0.5,
        tolerance=0.2,
    )
    check(torch.matmul, values((2, 3, 4, 5), dtype, low=-1, high=1), values((5, 3), dtype, low=-1, high=1))
    check(torch.mm, torch.empty(3, 0, dtype=dtype), torch.empty(0, 2, dtype=dtype))
    check(torch.nn.functional.linear, a, values((3, 5), dtype, low=-1, high=1), values((3,), dtype))


def test_indices():
    x = values((4, 5, 6))
    rows, columns = torch.tensor([3, 0, -1]), torch.tensor([[1], [4]])
    check(lambda x, i: x[i], x, rows)
    check(lambda x, i: x[:, i], x, columns)
    check(lambda x, i, j: x[i, j], x, rows, columns)
    check(lambda x, i, j: x[i, :, j], x, rows, columns)
    check(lambda x, i: x[:, :, i], x.permute(2, 1, 0), rows)
    check(lambda x: x[x > 0], x)
    check(lambda x, m: x[m], x, values((4,), torch.bool))
    check(torch.index_select, x, 1, torch.tensor([2, 2, 0]))
    check(torch.index_select, values((7, 3)), 0, torch.tensor([2, 2, 0]))
    check(torch.gather, x, 2, torch.randint(0, 6, (4, 5, 3), generator=torch.Generator().manual_seed(1)))
    check(torch.take_along_dim, x, x.argsort(1), 1)
    with pytest.raises((IndexError, RuntimeError), match="index"):
        # On a GPU the copy to the host tells of it.
        on_rdna(x)[torch.tensor([9], device="rdna")].cpu()


def test_indices_of_the_cpu_are_taken_along():
    x, y = values((4, 5)), on_rdna(values((4, 5)))
    rows, mask = torch.tensor([3, 0, -1]), values((4,), torch.bool)
    for index in (rows, mask, (rows, torch.tensor([[1], [4]])), (slice(None), rows)):
        compare(y[index], x[index])
    x[rows], y[rows] = 2.0, 2.0
    x[mask] += 1
    y[mask] += 1
    compare(y, x)


def test_values_are_put_at_indices():
    x, index = values((4, 5)), torch.tensor([0, 2, 0])

    def put(x, i, v, accumulate):
        return x.clone().index_put_((i,), v, accumulate=accumulate)

    check(put, x, torch.tensor([0, 2]), values((2, 5)), False)
    check(put, x, index, values((3, 5)), True)
    check(put, x, index, values(()), True)
    check(torch.index_add, x, 1, index, values((4, 3)))
    check(torch.index_add, x, 0, index, values((3, 5)), alpha=2)
    check(torch.index_fill, x, 0, index, 7.0)
    check(torch.index_copy, x, 1, torch.tensor([3, 1]), values((4, 2)))

    def assign(x, m):
        y = x.clone()
        y[m] = 0
        y[1:3, ::2] = 5
        return y

    check(assign, x, x > 1)


def test_scattered_values():
    x, source = values((4, 5)), values((3, 5))
    index = torch.tensor([[0, 1, 2, 0, 0], [1, 2, 3, 1, 1], [2, 3, 0, 2, 2]])
    check(torch.scatter, x, 0, index, source)
    check(torch.scatter, x, 0, index, 1.5)
    check(torch.scatter_add, x, 0, torch.zeros_like(index), source)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for include_self in (True, False):
            check(torch.scatter_reduce, x, 0, index, source, reduce, include_self=include_self)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8], ids=str)
def test_sorted_lines(descending, dtype):
    x = torch.randperm(60, generator=torch.Generator().manual_seed(2)).reshape(3, 4, 5).to(dtype)
    check(torch.sort, x, 1, descending)
    check(torch.argsort, x.permute(2, 0, 1), -1, descending)
    check(torch.topk, x, 2, 2, descending)


def test_the_first_of_equal_values_comes_first():
    x = torch.tensor([1.0, 3.0, 1.0, 3.0, float("nan"), 2.0])
    check(torch.sort, x, stable=True)
    check(torch.sort, x, stable=True, descending=True)


def test_tensors_are_joined_and_turned():
    parts = [values((2, 3)), values((1, 3)).double(), values((3, 2)).T]
    check(torch.cat, parts)
    check(torch.cat, [parts[0], torch.empty(0)], 1)
    check(torch.stack, [parts[0], parts[2]], 1)
    check(torch.flip, values((3, 4)), [0, 1])
    check(torch.roll, values((3, 4)), 3, 1)
    check(torch.roll, values((3, 4)), (1, -2), (0, 1))
    check(torch.roll, values((3, 4)), 5)
    check(torch.tril, values((4, 5)), -1)
    check(torch.triu, values((2, 4, 5)), 1)
    check(torch.nn.functional.pad, values((2, 3)), (1, 2), value=3.0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
def test_values_among_others(dtype):
    x, others = values((3, 4), dtype), values((5,), dtype, low=0)
    check(torch.isin, x, others)
    check(torch.isin, x, others.reshape(5, 1), invert=True)
    check(torch.isin, x, others[:0])
    check(torch.isin, x[:0], others)
    check(torch.isin, values(()), others.double())
    check(torch.isin, x, 1)
    check(torch.isin, x, 1, invert=True)


def test_values_among_more_than_are_compared_at_once():
    x = torch.arange(100_000)
    check(torch.isin, x, x[:900] * 3)


def test_histograms():
    x = values((40, 25))
    check(torch.histc, x, 7, -2, 2)
    check(torch.histc, x.double(), 5)
    check(torch.histc, x, 4, 1, 1)
    check(torch.histc, torch.ones(3), 4)
    check(torch.histc, x[:0], 4)
    check(torch.histc, torch.tensor([-1.0, 0.0, 1.0, 2.0, float("nan")]), 2, 0, 2)
    # torch's CPU has none of integers.
    experts = torch.tensor([0, 3, 3, 1, 7, -1], dtype=torch.int32, device="rdna")
    assert torch.histc(experts, bins=4, min=0, max=3).tolist() == [1, 1, 0, 2]
    for wrong in ({"bins": 0}, {"bins": 2, "min": 3, "max": 1}, {"bins": 2, "max": float("inf")}):
        with pytest.raises(RuntimeError, match=r"bins must be|larger than min|not finite"):
            torch.histc(on_rdna(x), **wrong)


def test_numbers_are_counted():
    x, weights = torch.tensor([3, 0, 3, 1]), values((4,))
    check(torch.bincount, x)
    check(torch.bincount, x.int(), minlength=7)
    check(torch.bincount, x, weights)
    check(torch.bincount, x, weights.double(), 2)
    check(torch.bincount, x, values((4,), torch.int64))
    check(torch.bincount, x[:0], minlength=2)
    for wrong in (x - 1, x[None], weights):
        with pytest.raises(RuntimeError, match="bincount only supports"):
            torch.bincount(on_rdna(wrong))


def test_ranges():
    for arguments in [(5,), (1, 7, 2), (5, -2, -1.5), (0.0, 1.0, 0.25)]:
        compare(torch.arange(*arguments, device="rdna"), torch.arange(*arguments))
    compare(torch.linspace(-1, 2, 7, device="rdna"), torch.linspace(-1, 2, 7))
    compare(torch.eye(3, 5, device="rdna"), torch.eye(3, 5))
    compare(torch.full((2, 3), 1.5, device="rdna"), torch.full((2, 3), 1.5))
    compare(torch.ones(0, device="rdna"), torch.ones(0))


def test_complex_numbers():
    a, b = torch.complex(values((3, 4)), values((3, 4)).flip(0)), torch.complex(values((4,)), values((4,)).flip(0))
    for function in (torch.add, torch.mul, torch.sub, torch.div):
        check(function, a, b, tolerance=1e-5)
    check(torch.abs, a)
    check(torch.mul, a, 2.0)


def test_wrong_arguments_are_exceptions_and_the_process_lives():
    x = on_rdna(values((3, 4)))
    with pytest.raises(RuntimeError):
        torch.mm(x, x)
    with pytest.raises(RuntimeError):
        torch.add(x, torch.ones(2, 3, device="rdna"))
    with pytest.raises(RuntimeError, match="same device"):
        torch.mm(x, values((4, 2)))
    with pytest.raises(IndexError):
        torch.sum(x, 2)
    with pytest.raises(RuntimeError, match="out of range"):
        torch.topk(x, 9)
    compare(x + 1, x.cpu() + 1)


def test_native_calls_are_counted():
    before = torch.rdna.native_report().get("aten::add.out", 0)
    on_rdna(values((3,))) + 1
    assert torch.rdna.native_report()["aten::add.out"] == before + 1


def test_operators_that_do_not_take_arguments_leave_them_to_the_cpu():
    torch.rdna.set_fallback_mode("silent")
    torch.rdna.reset_fallback_report()
    a = torch.ones(2, 2, dtype=torch.int64)
    check(torch.mm, a, a)
    assert [one.operator for one in torch.rdna.fallback_report()] == ["aten::mm.out"]
