"""Reductions over axes on a device: what each folds, and into which dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes
from amdgpu.device_ops.fold import Fold, Problem, plan
from amdgpu.device_ops.lines import resolve_axes
from amdgpu.device_ops.operand import lend, of_array, target
from amdgpu.device_ops.transpose import dense
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_JOINED_PLACES = """
    const bool is_first = a.place < b.place;
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (b.place < 0) return a;
    if (a.place < 0) return b;
    if (a_is_nan || b_is_nan) return a_is_nan && b_is_nan ? (is_first ? a : b) : a_is_nan ? a : b;
    if (a.value == b.value) return is_first ? a : b;
    return a.value {compare} b.value ? a : b;
"""
# Places come in order, so that of equal values the first stays.
_ABSORBED_PLACE = """
    if (a.place < 0 || x {compare} a.value || (x != x && a.value == a.value)) {{ a.value = (S)x; a.place = place; }}
    return a;
"""
# The value is the sum of squared deviations from the mean, of so many values. Joined as T. Chan, G. Golub, R. LeVeque: "Updating formulae
# and a pairwise algorithm for computing sample variances", 1979, equation 1.5.
_JOINED_DEVIATIONS = """
    if (b.count == 0) return a;
    if (a.count == 0) return b;
    const S count = a.count + b.count, share = b.count / count, apart = b.mean - a.mean;
    a.value += b.value + apart * apart * a.count * share;
    a.mean += apart * share;
    a.count = count;
    return a;
"""
# So far the mean is the sum of the differences from `shift`, and the value that of their squares.
_CLOSED_DEVIATIONS = """
    b.value = b.mean = b.count = 0;
    if (count == 0) return b;
    const S moved = (S)a.mean / count, rest = (S)a.value - (S)a.mean * moved;
    b.value = rest < 0 ? 0 : rest;
    b.mean = (S)shift + moved;
    b.count = count;
"""
_LIMITS = {
    ("float32", "max"): "-INFINITY",
    ("float32", "min"): "INFINITY",
    ("float64", "max"): "-INFINITY",
    ("float64", "min"): "INFINITY",
    ("int32", "max"): "-2147483647 - 1",
    ("int32", "min"): "2147483647",
    ("int64", "max"): "-9223372036854775807LL - 1",
    ("int64", "min"): "9223372036854775807LL",
    ("uint64", "max"): "0ULL",
    ("uint64", "min"): "18446744073709551615ULL",
}


def reduce(
    operation: str,
    x: Any,
    axes: Sequence[int] | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    correction: float = 0.0,
    dtype: str | None = None,
    device: AMDGPUDevice,
) -> Any:
    """What `amdgpu._native.reduce` does, on a device.

    Raises:
        As the functions of `amdgpu.ops.reduce`.
    """
    values = lend(operation, "x", x, device)
    if values.array is None:
        values = of_array(dense(device, values))
    rank = len(values.shape)
    reduced = tuple(sorted(resolve_axes(operation, values.shape, range(rank) if axes is None else axes)))
    kept = tuple(axis for axis in range(rank) if axis not in reduced)
    count = math.prod(values.shape[axis] for axis in reduced)
    computed, own = result_dtypes(operation, values.dtype)
    dtype = own if dtype is None else dtype
    shape = tuple(
        1 if axis in reduced else extent for axis, extent in enumerate(values.shape) if keepdims or axis not in reduced
    )
    made = target(operation, device, shape, dtype, out, inputs=(values,))
    if operation in ("max", "min", "argmax", "argmin") and made.operand.size and not count:
        raise InvalidArgumentError(f"{operation}: nothing is left to choose from in x of shape {list(values.shape)}")
    divisor, mean = float(count), None
    if operation in ("var", "std"):
        divisor = max(count - correction, 0.0)
    if operation in ("var", "std") and computed == "float64":
        # The mean first: deviations from anything else would leave fewer digits than values have.
        mean = plan(
            device,
            Problem(_fold("mean", values.dtype, computed), values, computed, "float64", kept, reduced, float(count)),
        )
    problem = Problem(_fold(operation, values.dtype, computed), values, computed, dtype, kept, reduced, divisor)
    steps = plan(device, problem)
    if steps is not None:
        shift = None
        if mean is not None:
            shift = device.native.empty((max(math.prod(shape), 1),), "float64")
            mean.run(device, values, shift)
        steps.run(device, values, made.array, shift)
    return made.deliver()


def result_dtypes(operation: str, x: str) -> tuple[str, str]:
    """What values are computed in and what the result is."""
    if operation in ("sum", "prod"):
        return (dtypes.compute(x), x) if x in dtypes.FLOATS else ("int64", dtypes.summed(x))
    if operation in ("mean", "var", "std"):
        wide = dtypes.as_float(x)
        return dtypes.compute(wide), wide
    result = {"max": x, "min": x, "any": "bool", "all": "bool"}.get(operation, "int64")
    return dtypes.compute(x), result


def _fold(operation: str, x: str, computed: str) -> Fold:
    is_float = computed in dtypes.FLOATS
    wide = "float64" if is_float else "int64"
    plain = "a.value = (S)x;"
    if operation in ("sum", "mean"):
        finished = "a.value / divisor" if operation == "mean" else "a.value"
        return Fold(operation, wide, "a.value = 0;", plain, "a.value += b.value; return a;", finished)
    if operation == "prod":
        return Fold(operation, wide, "a.value = 1;", plain, "a.value *= b.value; return a;")
    if operation in ("var", "std"):
        return _deviations(operation, x, computed)
    if operation in ("any", "all"):
        start, sign = ("0", "|") if operation == "any" else ("1", "&")
        mapped, joined = "a.value = x != 0;", f"a.value = a.value {sign} b.value; return a;"
        return Fold(operation, "int32", f"a.value = {start};", mapped, joined, "a.value != 0")
    is_largest = operation in ("max", "argmax")
    compare = ">" if is_largest else "<"
    limit = _LIMITS[computed, "max" if is_largest else "min"]
    if operation in ("max", "min"):
        # What is not a number stays: a comparison with it is false.
        joined = f"return a.value {compare}= b.value || a.value != a.value ? a : b;"
        return Fold(operation, computed, f"a.value = {limit};", plain, joined)
    return Fold(
        operation,
        computed,
        f"a.value = {limit}; a.place = -1;",
        plain + " a.place = place;",
        _JOINED_PLACES.format(compare=compare),
        "a.place",
        has_places=True,
        absorbed=_ABSORBED_PLACE.format(compare=compare),
    )


def _deviations(operation: str, x: str, computed: str) -> Fold:
    """In one pass where the sums have more digits than the values, else with a mean that is known."""
    start, finished = "a.value = 0;", "a.value / divisor" if operation == "var" else "sqrt(a.value / divisor)"
    if computed == "float64":
        squared = "const S d = (S)x - shift; a.value = d * d;"
        return Fold(operation, computed, start, squared, "a.value += b.value; return a;", finished, has_shift=True)
    fused = "fmaf" if x == "float16" else "fma"
    return Fold(
        operation,
        "float64",
        start + " a.mean = 0; a.count = 0;",
        "",
        _JOINED_DEVIATIONS,
        finished,
        more=("mean", "count"),
        # Differences of float32 have the digits that its squares keep.
        absorbed=f"const L d = (L)(x - shift); a.mean += d; a.value = {fused}(d, d, a.value); return a;",
        # Squares of float16, and their sum over the values of a lane, are far from the limits of float32.
        part="float32" if x == "float16" else "float64",
        closed=_CLOSED_DEVIATIONS,
    )
