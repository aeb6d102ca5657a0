"""Sums of matrices by cuBLAS and rocBLAS, with fake libraries and drivers.

The fakes compute on the host in float64; kernels of ours do nothing on their devices, so what is right was computed by a library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LIBRARIES = [("cuda", "cublas."), ("hip", "rocblas")]
Run = Callable[..., Any]

HELPERS = """
from amdgpu import ops
random = np.random.default_rng(0)
def whole(shape, dtype):
    made = random.integers(-9, 10, shape)
    return (made + 1j * random.integers(-9, 10, shape) if np.dtype(dtype).kind == "c" else made).astype(dtype)
def put(x):
    return amdgpu.array(x, device=NAME)
def counter(metric):
    counters = amdgpu.telemetry.snapshot()["counters"]
    return sum(one["value"] for one in counters if one["metric"] == metric)
"""

EVERY = (
    HELPERS
    + """
import itertools
wrong = []
for dtype, ta, tb in itertools.product(("float32", "float64", "complex64", "complex128"), (False, True), (False, True)):
    a, b = whole((6, 5) if ta else (5, 6), dtype), whole((6, 5) if tb else (5, 6), dtype)
    expected = 2 * (a.T if ta else a) - 3 * (b.T if tb else b)
    options = dict(alpha=2, beta=-3, transpose_a=ta, transpose_b=tb)
    out = put(np.zeros((5, 6), dtype))
    for result in (ops.geam(put(a), put(b), **options), ops.geam(put(a), put(b), out=out, **options)):
        if not np.array_equal(result.numpy(), expected):
            wrong.append([dtype, ta, tb])
a = whole((4, 4), "float32")
held = put(a)
ops.geam(held, put(a), alpha=3, beta=0, out=held)
assert np.array_equal(held.numpy(), 3 * a)
print(json.dumps([wrong, counter("amdgpu_fallbacks_total")]))
"""
)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_every_format_and_transpose_reaches_the_library(run: Run, kind: str, library: str) -> None:
    assert run(EVERY, kind, (library,), AMDGPU_MATMUL="vendor") == [[], 0]


REFUSED = (
    HELPERS
    + """
a = put(whole((4, 5), "float32"))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    shapes = [ops.geam(a, a).shape for _ in range(2)]
print(json.dumps([list(shapes[0]), [str(one.message) for one in said], counter("amdgpu_fallbacks_total")]))
"""
)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [("wrong", "gives other results than our own kernels"), ("fail", "fails with DriverFaultError")],
)
def test_a_library_that_is_wrong_is_refused_said_once_and_counted(
    run: Run, kind: str, library: str, fault: str, reason: str
) -> None:
    shape, said, fallbacks = run(REFUSED, kind, (library,), AMDGPU_MATMUL="vendor", STAND_IN_FAULT=fault)
    name = library.strip(".")
    assert shape == [4, 5]
    assert f"geam does not run as preferred: {name} {reason} for f32 sums of matrices on" in said[0]
    assert f"AMDGPU_MATMUL=vendor: {name} is not used for f32 sums; our own kernels compute" in said[1]
    # The refusal once, and every call that ours computes though a library is demanded.
    assert (len(said), fallbacks) == (2, 3)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_a_library_that_is_missing_is_said_only_where_it_is_demanded(run: Run, kind: str, library: str) -> None:
    _, said, fallbacks = run(REFUSED, kind, (), AMDGPU_MATMUL="vendor")
    assert [f"{library.strip('.')} is not installed" in text for text in said] == [True]
    assert fallbacks == 2
    assert run(REFUSED, kind, ())[1:] == [[], 0]


OTHERS = (
    HELPERS
    + """
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    half = put(whole((4, 5), "float16"))
    shapes = [ops.geam(half, half).shape]
    stack = put(whole((2, 4, 5), "float32"))
    shapes.append(ops.geam(stack, stack).shape)
    shapes.append(ops.geam(stack[0, :, ::2], stack[1, :, ::2]).shape)
    empty = amdgpu.empty((0, 5), "float32", device=NAME)
    shapes.append(ops.geam(empty, empty).shape)
print(json.dumps([[list(shape) for shape in shapes], [str(one.message) for one in said]]))
"""
)


def test_what_no_library_adds_is_added_by_ours(run: Run) -> None:
    shapes, said = run(OTHERS, AMDGPU_MATMUL="vendor")
    assert shapes == [[4, 5], [2, 4, 5], [4, 3], [0, 5]]
    assert [text.split(": ", 1)[1] for text in said] == [
        "geam does not run as preferred: AMDGPU_MATMUL=vendor: cublas is not used for sums of this kind; our own kernels compute"
    ]
