"""Calls of `amdgpu.ops` that the tests of generated kernels share: on the CPU device, on `null:` devices and on real GPUs.

A case has the name of the dispatcher's operation, its arguments as NumPy arrays, and a tolerance by dtype: two implementations that round
in different places. Results that are no floats must be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import amdgpu
import ml_dtypes
import numpy as np
from amdgpu import _native
from amdgpu._generated.operations import COMPLEX
from amdgpu._generated.operations import ELEMENTWISE as OPERATIONS
from amdgpu._generated.operations import REDUCTIONS as TABLE_OF_REDUCTIONS
from tolerances import ELEMENTWISE, SUMMED

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16)
INTEGERS = tuple(
    np.dtype(name) for name in ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
)
DTYPES = (*FLOATS, *INTEGERS)


def _named(inputs: int, *classes: str) -> tuple[str, ...]:
    """Operations of the table that users call."""
    rows = (row for row in OPERATIONS.values() if row.call and len(row.inputs) == inputs and row.dtypes in classes)
    return tuple(row.name for row in rows)


# Infinities have no sine, cosine or tangent.
PERIODIC = ("sin", "cos", "tan")
UNARY = tuple(
    name
    for name in _named(1, "float", "number", "numeric", "signed", "rounding", "predicate", "float_predicate")
    if name not in PERIODIC
)
# Exact in both kinds of numbers.
PARTS = ("fmod", "remainder", "floor_divide")
FLOAT_BINARY = ("power", *(row.name for row in OPERATIONS.values() if row.gradient_of))
INTEGER_BINARY = _named(2, "bits", "integer")
# For dtypes that are computed as another one is, after a conversion.
SOME_UNARY = ("negative", "absolute", "sign", "square", "relu", "sqrt", "gelu", "floor", "logical_not")
SOME_BINARY = ("add", "divide", "maximum", "less", "logical_and")
BINARY = tuple(
    name for name in _named(2, "float", "number", "signed", "predicate") if name not in (*FLOAT_BINARY, *PARTS)
)
# Others are converted to one of these and folded as it is.
OWN_REDUCTIONS = ("float32", "float64", "float16", "int32", "int64", "uint64", "bool")
REDUCTIONS = tuple(name for name, row in TABLE_OF_REDUCTIONS.items() if row.result != "int64")
INDICES = tuple(name for name, row in TABLE_OF_REDUCTIONS.items() if row.result == "int64")
# Values that are only moved: what is left is a NaN that equals itself.
EXACT = dict.fromkeys(("float16", "bfloat16", "float32", "float64"), 1e-15)
SPECIAL = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 1.5, -2.5, 30.0, -30.0, 100.0, -100.0)


def on_host(operation: str) -> Any:
    """The function of the library that computes an operation, which takes a number of threads."""
    return getattr(_native, operation)


def on_device(operation: str) -> Any:
    """The function that computes an operation by kernels of the device that it is given."""
    return getattr(_native, f"{operation}_on_device", None) or getattr(_native, operation)


def fallbacks(*expected: str) -> dict[str, int]:
    """How often the CPU computed what a device did not, by operation and reason, but for operations that are expected to."""
    counters = amdgpu.telemetry.snapshot()["counters"]
    counted = [counter for counter in counters if counter["metric"] == "amdgpu_fallbacks_total"]
    found = {": ".join(counter["labels"].values()): int(counter["value"]) for counter in counted}
    return {name: value for name, value in found.items() if not name.startswith(tuple(f"{one}:" for one in expected))}


@dataclass
class Case:
    """One call."""

    operation: str
    arguments: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=lambda: ELEMENTWISE)
    # Beside the relative tolerance, of float32; in proportion for the others: of values of order 1 that cancel.
    absolute: float = 1e-6

    def moved(self, move: Any) -> tuple[Any, ...]:
        """The arguments with every array that has axes passed through a function."""

        def one(argument: Any) -> Any:
            if isinstance(argument, tuple) and any(isinstance(inner, np.ndarray) for inner in argument):
                return tuple(one(inner) for inner in argument)
            return move(argument) if isinstance(argument, np.ndarray) else argument

        return tuple(one(argument) for argument in self.arguments)

    def check(self, results: Any, expected: Any) -> None:
        """Whether results on a device are those of the CPU's own implementation."""
        pairs = zip(results, expected, strict=True) if isinstance(expected, tuple) else [(results, expected)]
        for result, wanted in pairs:
            got, want = result.numpy(), np.asarray(wanted)
            assert (got.dtype, got.shape) == (want.dtype, want.shape), self.label
            if got.dtype.kind == "c":
                got, want = (np.stack([x.real, x.imag]) for x in (got, want))
            if got.dtype.name not in self.tolerances:
                assert np.array_equal(got, want), self.label
                continue
            relative = self.tolerances[got.dtype.name]
            got, want = got.astype(np.float64), want.astype(np.float64)
            absolute = self.absolute * relative / self.tolerances["float32"]
            is_close = np.isclose(got, want, rtol=relative, atol=absolute, equal_nan=True)
            assert is_close.all(), f"{self.label}: {got[~is_close][:4]}, not {want[~is_close][:4]}"

    @property
    def label(self) -> str:
        """What a failing test says."""
        shapes = [f"{x.dtype}{list(x.shape)}" for x in self._arrays()]
        return f"{self.operation} {[x for x in self.arguments if isinstance(x, str)]} {shapes} {self.options}"

    def _arrays(self) -> list[Any]:
        flat = [x for one in self.arguments for x in (one if isinstance(one, tuple) else (one,))]
        return [x for x in flat if isinstance(x, np.ndarray)]


def values(shape: tuple[int, ...], dtype: Any, seed: int = 0, *, special: bool = False) -> Any:
    """Random values of order 2; the first of them special ones where asked for."""
    dtype = np.dtype(dtype)
    random = np.random.default_rng(seed)
    if dtype.kind in "biu":
        low, high = (0, 2) if dtype.kind == "b" else (0, 100) if dtype.kind == "u" else (-100, 100)
        return np.asarray(random.integers(low, high, shape)).astype(dtype)
    result = np.asarray(random.standard_normal(shape) * 2)
    if special and result.size >= len(SPECIAL):
        result.flat[: len(SPECIAL)] = SPECIAL
    return result.astype(dtype)


def elementwise(dtypes: tuple[Any, ...] = DTYPES) -> Iterator[Case]:
    """Every function for every dtype, on dense and on broadcast arrays, with numbers."""
    for dtype in dtypes:
        x = values((5, 37), dtype, special=True)
        is_own = dtype.name in ("float32", "float64", "int32")
        refused = ("negative", "sign", "subtract") if dtype.name == "bool" else ()
        for operation in UNARY if is_own else SOME_UNARY:
            if operation not in refused:
                yield Case("elementwise", (operation, (x,)), {"alpha": 0.5})
        for operation in BINARY if is_own else SOME_BINARY:
            yield Case("elementwise", (operation, (x, values((37,), dtype, 1))))
            if dtype == np.float32:
                yield Case("elementwise", (operation, (x, values((5, 37), dtype, 2))))
        yield from _of_kind(dtype, x)
        yield Case("elementwise", ("add", (x, 1)))
        yield Case("elementwise", ("clip", (x, values((5, 1), dtype, 3), 1)))
        yield Case("elementwise", ("where", (values((5, 37), "bool", 5), x, values((), dtype, 4))))
    x = values((4, 3, 5), "float32")
    statistics = tuple(values((3, 1), "float32", seed) for seed in (1, 2, 3))
    yield Case("elementwise", ("standardize", (x, *statistics)))


def _of_kind(dtype: Any, x: Any) -> Iterator[Case]:
    """What floats have and integers do not, and the other way round; remainders, which are exact in both."""
    y = values((37,), dtype, 7)
    if dtype.name in ("float32", "float64"):
        for operation in PERIODIC:
            yield Case("elementwise", (operation, (np.where(np.isfinite(x), x, 1).astype(dtype),)))
        for operation in FLOAT_BINARY:
            yield Case("elementwise", (operation, (x, y)), {"alpha": 0.5}, SUMMED)
    if dtype.kind in "biu":
        for operation in INTEGER_BINARY:
            yield Case("elementwise", (operation, (x, y)))
        yield Case("elementwise", ("invert", (x,)))
        # Negative exponents are refused, so that those of signed arrays are left to the CPU, which looks at them.
        exponents = [0, 1, 7] if dtype.kind != "b" else []
        for exponent in exponents:
            yield Case("elementwise", ("power", (x, exponent)))
        if dtype.kind == "u":
            yield Case("elementwise", ("power", (x, y % 20)))
    if dtype.name in ("float32", "float64", "int32", "int8"):
        for operation in PARTS:
            yield Case("elementwise", (operation, (x, y)))


def complex_values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Any:
    """Random complex numbers of order 2."""
    return (values((*shape, 2), "float64", seed) @ [1, 1j]).astype(dtype)


def complex_numbers() -> Iterator[Case]:
    """Every operation on complex numbers, on dense and on broadcast arrays, and what reduces, scans and multiplies them."""
    for dtype in ("complex64", "complex128"):
        x, y = complex_values((7, 33), dtype), complex_values((33,), dtype, 1)
        for name, row in COMPLEX.items():
            if name != "where":
                yield Case("elementwise", (name, (x,) if len(row.inputs) == 1 else (x, y)), absolute=1e-5)
        yield Case("elementwise", ("where", (x.real > 0, x, y)))
        yield Case("elementwise", ("multiply", (x, y.real.astype("float32"))))
        for name in ("sum", "mean", "prod", "any", "all", "var", "std"):
            for axes in ((0,), (1,), None):
                yield Case("reduce", (name, x / 2, axes), tolerances=SUMMED, absolute=1e-4)
        for number in (2 - 3j, complex("inf"), 1j):
            yield Case("elementwise", ("multiply", (x, number)), absolute=1e-5)
            yield Case("elementwise", ("power", (number, x)), absolute=1e-4)
            yield Case("elementwise", ("where", (x.real > 0, number, x)))
        yield Case("scan", ("cumsum", x, 1), tolerances=SUMMED, absolute=1e-4)
        for axis in (0, 1):
            for exclusive in (False, True):
                for reverse in (False, True):
                    options = {"exclusive": exclusive, "reverse": reverse}
                    yield Case("scan", ("cumprod", x / 2, axis), options, SUMMED, 1e-4)
        yield Case("matmul", (x, complex_values((33, 5), dtype, 2)), tolerances=SUMMED, absolute=1e-4)


def promotions() -> Iterator[Case]:
    """Two dtypes that meet."""
    for other in DTYPES:
        yield Case("elementwise", ("multiply", (values((3, 4), "float16"), values((4,), other))))
        yield Case("elementwise", ("subtract", (values((3, 4), other), values((4,), "int8"))))


def reductions(dtypes: tuple[Any, ...] = DTYPES) -> Iterator[Case]:
    """Every reduction over rows, columns, pairs of axes and everything; shapes that take one launch, two and three."""
    for dtype in dtypes:
        for shape, axes in (((5, 37), (0,)), ((5, 37), (1,)), ((3, 4, 5), (0, 2)), ((3, 4, 5), (1,)), ((7, 9), None)):
            x = values(shape, dtype, special=dtype == np.float32)
            for operation in REDUCTIONS if dtype.name in OWN_REDUCTIONS else ("sum", "mean", "max"):
                small = 1 + x / 50 if operation == "prod" and x.dtype.kind == "f" else x
                for keepdims in (False, True):
                    options = {"keepdims": keepdims, "correction": 0.5}
                    yield Case("reduce", (operation, np.asarray(small, dtype), axes), options, SUMMED)
            for operation in INDICES if axes is None or len(axes) == 1 else ():
                yield Case("reduce", (operation, x, axes))
    for shape, axes in (((70_000,), None), ((2, 3000), (1,)), ((3000, 40), (0,)), ((600_000, 1), (0,))):
        for operation in ("sum", "var", "max", "argmin"):
            yield Case("reduce", (operation, values(shape, "float32"), axes), {}, SUMMED, 1e-3)
    for shape in ((0, 3), (3, 0), ()):
        yield Case("reduce", ("sum", values(shape, "float32"), None))
        yield Case("reduce", ("mean", values(shape, "int32"), None))


def normalizations(dtypes: tuple[Any, ...] = (*FLOATS, np.dtype(np.int32))) -> Iterator[Case]:
    """Softmax and norms along every axis, with parameters."""
    for dtype in dtypes:
        for operation in ("softmax", "log_softmax"):
            for shape, axis in (((5, 37), -1), ((5, 37), 0), ((3, 4, 5), 1), ((2, 1000), 1), ((0, 3), 1)):
                yield Case("normalize", (operation, values(shape, dtype), (), (axis,)), {}, SUMMED)
        for operation, count in (("layer_norm", 0), ("layer_norm", 1), ("layer_norm", 2), ("rms_norm", 1)):
            for shape, row in (((3, 4, 5), (4, 5)), ((7, 1000), (1000,))):
                parameters = tuple(values(row, "float32", seed + 1) for seed in range(count))
                options = {"row_shape": row, "epsilon": 1e-5}
                yield Case("normalize", (operation, values(shape, dtype), parameters, ()), options, SUMMED, 1e-5)


def normalization_gradients(dtypes: tuple[Any, ...] = FLOATS) -> Iterator[Case]:
    """Gradients of softmax and norms."""
    for dtype in dtypes:
        for operation in ("softmax", "log_softmax"):
            for shape, axis in (((5, 37), -1), ((3, 4, 5), 1)):
                y = values(shape, dtype) / 10
                arguments = (operation, np.asarray(y, dtype), values(shape, dtype, 1), None, (axis,))
                yield Case("normalize_gradient", arguments, {}, SUMMED, 1e-5)
        for operation in ("layer_norm", "rms_norm"):
            for shape, row in (((3, 4, 5), (4, 5)), ((7, 300), (300,))):
                for weight in (None, values(row, "float32", 2)):
                    arguments = (operation, values(shape, dtype), values(shape, dtype, 1), weight, ())
                    options = {"row_shape": row, "epsilon": 1e-5}
                    yield Case("normalize_gradient", arguments, options, SUMMED, 1e-5)


def running_sums_and_best(
    dtypes: tuple[Any, ...] = (*FLOATS, np.dtype(np.int32), np.dtype(np.bool_)),
) -> Iterator[Case]:
    """Running sums and products, and the best values of short lines."""
    for dtype in dtypes:
        for shape, axis in (((5, 37), 1), ((5, 37), 0), ((3, 4, 5), 1), ((2, 3000), 1), ((0, 3), 1)):
            x = values(shape, dtype)
            # Long products of numbers that differ from one by a rounding overflow.
            for operation in ("cumsum", "cumprod") if x.size < 1000 else ("cumsum",):
                small = x if operation == "cumsum" or x.dtype.kind != "f" else np.asarray(1 + x / 1000, dtype)
                yield Case("scan", (operation, small, axis), {}, SUMMED, 1e-2)
            with_nan = values(shape, dtype, special=True)
            for k in (0, 1, 3):
                for largest in (True, False):
                    yield Case("top_k", (with_nan, k, axis), {"largest": largest})


def many_best_values(dtypes: tuple[Any, ...] = (*FLOATS, np.dtype(np.int8), np.dtype(np.uint64))) -> Iterator[Case]:
    """More values than are taken one by one, of short lines and of long ones."""
    for dtype in dtypes:
        # One block for each line; many values are equal.
        x = values((2, 9000), dtype, special=dtype.kind not in "biu")
        yield Case("top_k", (x, 1000, 1), {"largest": dtype != np.int8})
        yield Case("top_k", (np.repeat(x[:, :90], 100, axis=1), 250, 1), {"largest": dtype != np.int8})
        x = values((20_000, 2), dtype, special=dtype.kind not in "biu")
        for k, largest in ((1, True), (300, False), (6000, True)):
            yield Case("top_k", (x, k, 0), {"largest": largest})


def running_bests(dtypes: tuple[Any, ...] = DTYPES) -> Iterator[Case]:
    """The best value so far, in every direction."""
    for dtype in dtypes:
        for shape, axis in (((5, 37), 1), ((5, 37), 0), ((1, 40_000), 1)):
            x = values(shape, dtype, special=dtype.kind not in "biu")
            for operation in ("cummax", "cummin"):
                for exclusive, reverse in ((False, False), (True, False), (False, True), (True, True)):
                    options = {"exclusive": exclusive, "reverse": reverse}
                    yield Case("scan", (operation, x, axis), options, EXACT, 0.0)
                yield Case("cumulative_best", (operation, x, axis), {}, EXACT, 0.0)


def long_scans() -> Iterator[Case]:
    """Running sums of lines that several blocks walk, truth values so far, and best values of awkward lines."""
    yield Case("scan", ("cumsum", values((1, 100_000), "float64"), 1), {}, SUMMED, 1e-2)
    yield Case("top_k", (values((2, 5000), "float32", special=True), 700, 1), {"largest": True})
    yield Case("top_k", (values((300, 3), "float64", special=True), 20, 0), {"largest": False})
    truth = values((3, 70), "int8") > 50
    for operation in ("cumulative_any", "cumulative_all"):
        for options in ({"exclusive": True}, {"reverse": True}):
            yield Case("scan", (operation, truth, 1), options)
    whole = values((2, 50_000), "int32")
    for options in ({"exclusive": True}, {"reverse": True}, {"exclusive": True, "reverse": True}):
        yield Case("scan", ("cumsum", whole, 1), options)
    # Several groups of tiles.
    yield Case("scan", ("cumsum", values((1, 1_200_000), "int32"), 1))


def moves() -> Iterator[Case]:
    """Transposes and embeddings."""
    for dtype in ("float32", "float64", "float16", "uint8"):
        for shape, axes in (
            ((5, 37), None),
            ((70, 45), (1, 0)),
            ((3, 40, 50), (0, 2, 1)),
            ((3, 40, 50), (2, 0, 1)),
            ((33, 2, 34, 3), (2, 3, 0, 1)),
            ((), None),
            ((0, 2), None),
        ):
            yield Case("transpose", (values(shape, dtype), axes))
        table = values((11, 3), dtype)
        for places in (np.array([[1, 2], [10, 0]]), np.array([1], np.int32), np.zeros((0,), np.int64)):
            yield Case("embedding", (table, places))


def segments(dtypes: tuple[Any, ...] = DTYPES) -> Iterator[Case]:
    """Segmented reductions, values added and reduced by index, gradients of embeddings: short and long rows, rows without values."""
    rng = np.random.default_rng(6)
    for dtype in dtypes:
        x, many = values((300, 3), dtype), values((5000,), dtype)
        small = x if dtype.kind in "biu" else np.asarray(1 + x / 1000, dtype)
        ids = rng.integers(0, 40, 300)
        for reduce in ("sum", "prod", "mean", "amax", "amin"):
            if reduce == "mean" and dtype.kind == "b":
                continue
            own = small if reduce == "prod" else x
            yield Case("segment_reduce", (reduce, own, ids, 50), {}, SUMMED, 1e-2)
            yield Case("segment_reduce", (reduce, own.T.copy(), np.sort(ids).astype(np.int32), 40, 1), {}, SUMMED, 1e-2)
            offsets = np.array([0, 0, 100, 299, 300])
            yield Case("segment_reduce", (reduce, own, offsets), {"offsets": True}, SUMMED, 1e-2)
            index = rng.integers(-5, 5, (40, 2))
            for include in (True, False):
                arguments = (values((5, 3), dtype), 0, index, own[:40, :2].copy(), reduce)
                yield Case("scatter_reduce", arguments, {"include_self": include}, SUMMED, 1e-2)
        # One row for all values, long rows that cross chunks, and rows in order already.
        yield Case("segment_reduce", ("sum", many, np.zeros(5000, np.int64), 3), {}, SUMMED, 1e-2)
        for index in (np.sort(rng.integers(-4, 4, 5000)), rng.integers(-4, 4, 5000)):
            yield Case("index_add", (many[:4], 0, index, many), {}, SUMMED, 1e-2)
            arguments = (many[:4], 0, index, np.asarray(1 + many % 2, dtype), "sum" if dtype.kind == "b" else "mean")
            yield Case("scatter_reduce", arguments, {"include_self": False}, SUMMED, 1e-2)
        yield Case("segment_reduce", ("sum", x[:0], ids[:0], 4), {}, SUMMED, 1e-2)
        yield Case(
            "index_add",
            (values((4, 7, 3), dtype), 1, rng.integers(-7, 7, 20), values((4, 20, 3), dtype, 1)),
            {},
            SUMMED,
            1e-2,
        )
    for dtype in (np.dtype(np.float32), np.dtype(np.float16)):
        gradient, looked_up = values((20, 30, 8), dtype), rng.integers(0, 11, (20, 30))
        for padding, scale in ((None, False), (3, False), (-1, True)):
            yield Case(
                "embedding_gradient", (gradient, looked_up, 11, padding), {"scale_by_frequency": scale}, SUMMED, 1e-2
            )


def losses(dtypes: tuple[Any, ...] = FLOATS) -> Iterator[Case]:
    """Losses of elements and of classes, and their gradients."""
    rng = np.random.default_rng(8)
    for dtype in dtypes:
        x, target = (rng.uniform(0.05, 0.95, (5, 37)).astype(dtype) for _ in range(2))
        logits, weight = values((6, 11, 4), dtype), rng.uniform(0.5, 2, 11).astype(dtype)
        labels = rng.integers(0, 11, (6, 4))
        labels[2, 1] = -100
        shares = rng.uniform(0, 0.2, logits.shape).astype(dtype)
        for reduction in ("none", "mean", "sum"):
            options: dict[str, Any] = {"reduction": reduction}
            upper = values((5, 37) if reduction == "none" else (), dtype, 1)
            for loss in ("mse_loss", "bce_loss", "bce_with_logits_loss"):
                for gradient in (None, upper):
                    factors = None if loss == "mse_loss" else target[:1]
                    yield Case("element_loss", (loss, x, target, factors, gradient), options, SUMMED, 1e-5)
            upper = values((6, 4) if reduction == "none" else (), dtype, 2)
            for smoothing, factors in ((0.0, None), (0.2, weight)):
                options = {"reduction": reduction, "ignore_index": -100, "label_smoothing": smoothing}
                for given in (labels if factors is None else labels.astype(np.int32), shares):
                    for gradient in (None, upper):
                        arguments = ("cross_entropy_loss", logits, given, factors, gradient)
                        yield Case("class_loss", arguments, options, SUMMED, 1e-5)
            options = {"reduction": reduction, "ignore_index": 3}
            for gradient in (None, upper):
                given = np.where(labels < 0, 3, labels)
                yield Case("class_loss", ("nll_loss", logits, given, weight, gradient), options, SUMMED, 1e-5)
        yield Case(
            "geam", (values((3, 5, 7), dtype), values((7, 5), dtype, 1)), {"transpose_b": True, "alpha": 0.5}, SUMMED
        )


def attentions(dtypes: tuple[Any, ...] = FLOATS) -> Iterator[Case]:
    """Attention with and without masks, of groups of heads, and its gradients."""
    rng = np.random.default_rng(9)
    for dtype in dtypes:
        for heads, key_heads, lengths, sizes in (
            ((2, 4), (2, 2), (7, 11), (8, 5)),
            ((3,), (3,), (70, 70), (16, 16)),
            ((), (), (1, 5), (3, 4)),
        ):
            q = values((*heads, lengths[0], sizes[0]), dtype)
            k, v = (values((*key_heads, lengths[1], size), dtype, 1 + place) for place, size in enumerate(sizes))
            upper = values((*heads, lengths[0], sizes[1]), dtype, 3)
            seen = rng.random((lengths[0], lengths[1])) > 0.3
            added = values((*heads[:-1], *(1 for _ in heads[-1:]), *lengths), dtype, 4)
            # Every text of a kernel is compiled for each dtype: few of them.
            masks = ((None, False), (seen, False), (added, True)) if len(heads) == 2 else ((seen[:1], True),)
            for mask, is_causal in masks:
                options = {"is_causal": is_causal, "scale": None if is_causal else 0.3}
                yield Case("attention", (q, k, v, mask), options, SUMMED, 1e-5)
                yield Case("attention_gradient", (q, k, v, upper, mask), options, SUMMED, 1e-4)


def conversions_and_sorts(dtypes: tuple[Any, ...] = DTYPES) -> Iterator[Case]:
    """Conversions to every dtype, indices of what is not zero, sorted lines."""
    for source in dtypes:
        x = values((5, 37), source, special=True)
        for target in DTYPES:
            yield Case("cast", (x, target.name), {}, EXACT, 0.0)
        yield Case("nonzero", (x,))
        for shape, axis in (((5, 37), 1), ((5, 37), 0), ((3, 3000), 1), ((2, 1, 3), -1), ((2, 9000), 1)):
            line = values(shape, source, special=True)
            for descending in (False, True):
                yield Case("sort", (line, axis), {"descending": descending}, EXACT, 0.0)
                yield Case("sort", (line, axis), {"descending": descending, "places": True})


def indexing() -> Iterator[Case]:
    """Long sorted lines, offsets, gathers, selections."""
    for dtype in ("float32", "uint64", "bool"):
        # More chunks than a block looks at in one step.
        line = values((70_000,), dtype, special=dtype == "float32")
        yield Case("sort", (line, 0), {}, EXACT, 0.0)
        yield Case("sort", (line, 0), {"descending": True, "places": True})
    # More groups of chunks than that, of several lines, and keys of which some digits are the same everywhere.
    any_bits = np.random.default_rng(3).integers(0, 2**64, (2, 300_000), dtype=np.uint64)
    yield Case("sort", (any_bits, 1), {"places": True})
    yield Case("sort", (any_bits.astype(np.float32), 1), {}, EXACT, 0.0)
    yield Case("sort", (values((2, 300_000), "int64") % 1000, 1), {"places": True})
    yield Case("sort", (values((300_000,), "int32") % 1000, 0), {}, EXACT, 0.0)
    for dtype in DTYPES:
        for length in (0, 1, 9000):
            runs = np.sort(values((length,), dtype, special=dtype.kind == "f"))
            yield Case("unique_consecutive", (runs,), {}, EXACT, 0.0)
    rows, columns = np.array([[1, -2], [4, 0]]), np.array([3, -37], np.int8)
    yield Case("offsets", ((rows, columns), (5, 37), (37, 1)))
    for dtype in ("uint8", "float16", "float32", "float64"):
        x = values((5, 37), dtype)
        yield Case("gather", (x, np.array([[37, 0], [74, 111]]), (37,), (1,)), {}, EXACT, 0.0)
        yield Case("gather", (x, np.array([36, 0]), (5,), (37,)), {}, EXACT, 0.0)
        yield Case("gather", (x, np.array([36, 0, 184]), (), ()), {}, EXACT, 0.0)
    yield Case("nonzero", (values((3, 40, 50), "int8") > 50,))
    for dtype in ("uint8", "float16", "float32", "float64"):
        for shape in ((3, 40, 50), (0, 3)):
            arguments = (values(shape, dtype), values(shape, "int8") > 50)
            yield Case("masked_select", arguments, {}, EXACT, 0.0)
    yield Case("search_sorted", (np.sort(values((100,), "float32")), values((3, 5), "float32", 1)), {"right": True})


def images(dtypes: tuple[Any, ...] = FLOATS) -> Iterator[Case]:
    """Convolutions with both gradients and pooling, in both layouts."""
    shapes = (
        # images, channels, rows, columns, outputs, window, stride, padding, dilation, groups
        ((2, 3, 9, 10), (4, 3, 3), (1, 1), (1, 1), (1, 1), 1),
        ((2, 4, 9, 10), (6, 3, 2), (2, 1), (0, 1), (1, 2), 2),
        ((1, 6, 7, 7), (6, 3, 3), (3, 2), (1, 0), (1, 1), 6),
        ((2, 70, 13, 13), (66, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    )
    for dtype in dtypes:
        for layout in ("NCHW", "NHWC"):
            for image, (outputs, *window), stride, padding, dilation, groups in shapes:
                weight = values((outputs, image[1] // groups, *window), dtype, 1)
                x = _laid_out(values(image, dtype), layout)
                sliding = {"stride": stride, "padding": padding, "dilation": dilation}
                options = {**sliding, "groups": groups, "layout": layout}
                extents = [
                    (size + 2 * pad - dil * (taps - 1) - 1) // step + 1
                    for size, taps, step, pad, dil in zip(image[2:], window, stride, padding, dilation, strict=True)
                ]
                gradient = _laid_out(values((image[0], outputs, *extents), dtype, 2), layout)
                bias = values((outputs,), dtype, 3)
                yield Case("convolve", ("forward", (x, weight, bias)), options, SUMMED, 1e-2)
                backward = {**options, "shape": x.shape}
                yield Case("convolve", ("image_gradient", (gradient, weight)), backward, SUMMED, 1e-2)
                backward = {**options, "shape": weight.shape}
                yield Case("convolve", ("weight_gradient", (x, gradient)), backward, SUMMED, 1e-1)
            yield from _pools(dtype, layout)
            yield from _images_of_other_axes(dtype, layout == "NHWC")


def _images_of_other_axes(dtype: Any, is_last: bool) -> Iterator[Case]:
    """Convolutions of one and three axes and transposed ones, and pools that windows of two axes do not reach."""
    for image, window, outputs, groups, stride, padding, dilation in (
        ((2, 4, 11), (3,), 6, 2, (2,), (1,), (2,)),
        ((1, 3, 5, 6, 7), (2, 3, 2), 4, 1, (1, 2, 1), (1, 0, 1), (2, 1, 1)),
        ((2, 4, 4, 3, 5), (3, 2, 1), 4, 4, (2, 1, 2), (1, 1, 0), (1, 2, 1)),
    ):
        layout = {3: ("NCL", "NLC"), 5: ("NCDHW", "NDHWC")}[len(image)][is_last]
        sliding = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "layout": layout}
        weight = values((outputs, image[1] // groups, *window), dtype, 1)
        extents = [
            (size + 2 * pad - dil * (taps - 1) - 1) // step + 1
            for size, taps, step, pad, dil in zip(image[2:], window, stride, padding, dilation, strict=True)
        ]
        x = _channels_last(values(image, dtype), is_last)
        gradient = _channels_last(values((image[0], outputs, *extents), dtype, 2), is_last)
        name = f"{len(window)}d"
        for operation, given, result in ((f"conv{name}", x, gradient), (f"conv_transpose{name}", gradient, x)):
            options = {**sliding, "operation": operation}
            bias = values((result.shape[-1 if is_last else 1],), dtype, 3)
            yield Case("convolve", ("forward", (given, weight, bias)), options, SUMMED, 1e-1)
            of_result = result
            if operation.startswith("conv_"):
                # What is left behind the last window is in no transposed result.
                made = np.asarray(_native.convolve("forward", (given, weight), **options))
                of_result = values(made.shape, dtype, 4)
            yield Case(
                "convolve", ("image_gradient", (of_result, weight)), {**options, "shape": given.shape}, SUMMED, 1e-1
            )
            options["shape"] = weight.shape
            yield Case("convolve", ("weight_gradient", (given, of_result)), options, SUMMED, 1e-1)
        yield from _other_pools(np.random.default_rng(5).integers(0, 9, image).astype(dtype), window, layout)
    same = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1, "same": True}
    same["layout"] = "NHWC" if is_last else "NCHW"
    x = _channels_last(values((2, 3, 6, 5), dtype), is_last)
    yield Case("convolve", ("forward", (x, values((4, 3, 2, 4), dtype, 1))), same, SUMMED, 1e-1)


def _other_pools(x: Any, window: tuple[int, ...], layout: str) -> Iterator[Case]:
    """Pools of images whose channels stand second: windows rounded up, divisors, adaptive windows, indices."""
    x, axes = _channels_last(x, layout.endswith("C")), len(window)
    sliding = {"window": window, "stride": (2,) * axes, "padding": tuple(one // 2 for one in window)}
    adaptive = {"output_size": (None, 2, 3)[-axes:], "layout": layout}
    plain = {**sliding, "layout": layout, "ceil_mode": True}
    for operation, options in (
        (f"max_pool{axes}d", plain),
        (f"avg_pool{axes}d", plain),
        (f"avg_pool{axes}d", {**plain, "divisor_override": 3, "counts_padding": False}),
        (f"adaptive_max_pool{axes}d", adaptive),
        (f"adaptive_avg_pool{axes}d", adaptive),
    ):
        result = _native.pool(operation, x, **options)
        gradient = values(result.shape, x.dtype, 6)
        yield Case("pool", (operation, x), options, SUMMED)
        yield Case("pool", (operation, x, gradient), options, SUMMED, 1e-2)
        if "max" in operation:
            yield Case("pool", (operation, x), {**options, "direction": "with_indices"}, SUMMED)
            _, indices = _native.pool(operation, x, **options, direction="with_indices")
            from_indices = {**options, "direction": "indices_gradient", "shape": x.shape}
            yield Case("pool", (operation, gradient, indices), from_indices, SUMMED, 1e-2)


def _channels_last(x: Any, is_last: bool) -> Any:
    return np.ascontiguousarray(np.moveaxis(x, 1, -1)) if is_last else x


def _pools(dtype: Any, layout: str) -> Iterator[Case]:
    for window, stride, padding, dilation in (
        ((2, 2), (2, 2), (0, 0), (1, 1)),
        ((3, 2), (1, 2), (1, 0), (1, 1)),
        ((2, 3), (1, 1), (0, 1), (2, 1)),
    ):
        # Whole numbers, some of them equal.
        x = _laid_out(np.random.default_rng(5).integers(0, 9, (2, 3, 8, 7)).astype(dtype), layout)
        extents = [
            (size + 2 * pad - dil * (taps - 1) - 1) // step + 1
            for size, taps, step, pad, dil in zip((8, 7), window, stride, padding, dilation, strict=True)
        ]
        gradient = _laid_out(values((2, 3, *extents), dtype, 6), layout)
        for operation in ("max_pool2d", "avg_pool2d"):
            if operation == "avg_pool2d" and dilation != (1, 1):
                continue
            for counts_padding in (True, False):
                options = {"window": window, "stride": stride, "padding": padding, "dilation": dilation}
                options |= {"layout": layout, "counts_padding": counts_padding}
                yield Case("pool", (operation, x), options, SUMMED)
                yield Case("pool", (operation, x, gradient), options, SUMMED, 1e-2)


def _laid_out(x: Any, layout: str) -> Any:
    return _channels_last(x, layout == "NHWC")
