"""The fast paths in front of the functions of `amdgpu.ops`: who calls sees the Python function, and telemetry sees every call."""

import contextlib
import copy
import gc
import inspect
import pickle
import time
import weakref

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops

FAST = [
    *(
        "add",
        "exp",
        "where",
        "clip",
        "leaky_relu",
        "gelu",
        "remainder",
        "bitwise_and",
        "relu_gradient",
        "sigmoid_gradient",
    ),
    *(
        "sum",
        "argmax",
        "var",
        "any",
        "softmax",
        "log_softmax",
        "layer_norm",
        "rms_norm",
        "matrix_multiply",
        "transpose",
    ),
    "conv2d",
]


def call_count(of, name, languages):
    boundaries = amdgpu.telemetry.snapshot()["boundaries"]
    found = [b for b in boundaries if (b["name"], b["from"], b["to"]) == (name, *languages)]
    return sum(b[of] for b in found)


def decisions(operation, since_ns):
    snapshot = amdgpu.telemetry.snapshot()
    number = snapshot["names"]["names"].index(operation)
    fitting = (record for record in snapshot["records"] if record["kind"] == "dispatch" and record["name_id"] == number)
    return sum(record["start_ns"] >= since_ns for record in fitting)


@pytest.mark.parametrize("name", FAST)
def test_functions_are_documented_named_and_pickled_as_functions_are(name):
    function = getattr(ops, name)
    assert function.__name__ == name
    assert function.__module__.startswith("amdgpu.ops.")
    assert inspect.getdoc(function)
    assert function.__wrapped__.__name__ == name
    assert inspect.signature(function) == inspect.signature(function.__wrapped__)
    assert name in repr(function)
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function
    assert weakref.ref(function)() is function


def test_the_type_makes_no_objects_that_lack_a_function():
    with pytest.raises(TypeError, match="cannot create"):
        type(ops.add)()
    assert type(ops.add).__call__(ops.add, [1], [2]).tolist() == [3]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ops.add(x, x),
        lambda x: ops.add(x, b=x),
        lambda x: ops.add(a=x, b=x),
        lambda x: ops.add(x, x, out=None),
        lambda x: ops.add(*(x, x), **{"".join(["o", "ut"]): None}),
        lambda x: ops.add(x, x.tolist()),
        lambda x: ops.add(amdgpu.array(x, device="cpu:0"), x).numpy(),
        lambda x: ops.add(amdgpu.array(x, device="cpu:0"), amdgpu.array(x, device="cpu:0")).numpy(),
        lambda x: ops.add(x.astype(np.float16), x.astype(np.float16)),
        lambda x: ops.add(np.stack([x, x]), x)[1],
    ],
)
def test_every_way_to_add_gives_the_same_values(call):
    x = np.arange(5, dtype=np.float32)
    for _ in range(2):
        assert call(x).tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.uint8, bool])
@pytest.mark.parametrize("name", ["sum", "max", "mean", "argmin", "any", "prod"])
def test_reductions_give_what_the_python_function_gives(name, dtype, rng):
    function = getattr(ops, name)
    x = rng.integers(0, 2 if dtype is bool else 5, (6, 7)).astype(dtype)
    for arguments, options in [
        ((), {}),
        ((0,), {}),
        ((-1,), {"keepdims": True}),
        ((), {"axis": 1}),
        ((None,), {"keepdims": False}),
        ((np.int64(1),), {}),
    ]:
        result = function(x, *arguments, **options)
        expected = function.__wrapped__(x, *arguments, **options)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert result.tobytes() == expected.tobytes()
        out = np.empty_like(expected)
        assert function(x, *arguments, **options, out=out) is out
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("correction", [0.0, 1.0, 1])
def test_variances_take_their_correction(correction, rng):
    x = rng.standard_normal(30).astype(np.float32)
    np.testing.assert_allclose(ops.var(x, correction=correction), x.var(ddof=correction), rtol=1e-5)
    with pytest.raises(TypeError, match="correction"):
        ops.sum(x, correction=correction)


def test_norms_give_what_the_python_function_gives(rng):
    x, weight, bias = (rng.standard_normal(shape).astype(np.float32) for shape in [(4, 9), 9, 9])
    for function, arguments, options in [
        (ops.softmax, (), {}),
        (ops.softmax, (0,), {}),
        (ops.log_softmax, (), {"axis": 1}),
        (ops.layer_norm, (9,), {}),
        (ops.layer_norm, (9, weight), {"eps": 0.5}),
        (ops.layer_norm, (9, weight, bias, 0.25), {}),
        (ops.layer_norm, (9,), {"bias": bias}),
        (ops.layer_norm, ((4, 9),), {}),
        (ops.rms_norm, (9, weight), {}),
        (ops.rms_norm, (9,), {"weight": None, "eps": 0.125}),
    ]:
        expected = function.__wrapped__(x, *arguments, **options)
        assert function(x, *arguments, **options).tobytes() == expected.tobytes()
        out = np.empty_like(x)
        assert function(x, *arguments, **options, out=out) is out
        assert out.tobytes() == expected.tobytes()


def same_on_both_paths(function, arguments, options):
    expected = function.__wrapped__(*arguments, **options)
    result = function(*arguments, **options)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    assert result.tobytes() == expected.tobytes()
    out = np.empty_like(expected)
    assert function(*arguments, **options, out=out) is out
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_transposes_give_what_the_python_function_gives(dtype, rng):
    x = rng.integers(0, 100, (3, 4, 5)).astype(dtype)
    for arguments, options in [
        ((), {}),
        ((None,), {}),
        (((1, 2, 0),), {}),
        (([2, 0, 1],), {}),
        ((), {"axes": (-1, 0, 1)}),
        (((np.int64(1), 0, 2),), {}),
    ]:
        same_on_both_paths(ops.transpose, (x, *arguments), options)
    for axes in [(0, 1), (0, 1, 1), (0, 1, 3)]:
        with pytest.raises(errors.InvalidArgumentError):
            ops.transpose(x, axes)


def test_convolutions_give_what_the_python_function_gives(rng):
    x, weight, bias = (rng.standard_normal(shape).astype(np.float32) for shape in [(2, 4, 9, 8), (6, 4, 3, 2), 6])
    grouped = rng.standard_normal((4, 2, 3, 3)).astype(np.float32)
    rows_first = rng.standard_normal((2, 9, 8, 4)).astype(np.float32)
    for arguments, options in [
        ((x, weight), {}),
        ((x, weight, bias), {"stride": 2}),
        ((x, weight), {"bias": bias, "padding": (1, 0), "precision": "tf32"}),
        ((x, weight, None), {"dilation": (2, 1), "stride": (1, 2), "precision": "fp32"}),
        ((x, grouped), {"groups": 2, "padding": [1, 2]}),
        ((rows_first, weight), {"layout": "NHWC", "groups": np.int64(1)}),
    ]:
        same_on_both_paths(ops.conv2d, arguments, options)
    for wrong, text in [
        ({"layout": "HWC"}, "layout"),
        ({"precision": "fp16"}, "precision"),
        ({"stride": 0}, "stride"),
        ({"groups": 3}, "groups"),
        ({"padding": (1, 2, 3)}, "padding"),
    ]:
        with pytest.raises(errors.AmdgpuError, match=text):
            ops.conv2d(x, weight, **wrong)


def test_defaults_of_activations_hold_on_the_fast_path():
    x = np.array([-2.0, 3.0], np.float32)
    assert ops.leaky_relu(x).tolist() == ops.leaky_relu(x, alpha=0.01).tolist()
    assert ops.elu(x).tolist() == ops.elu(x, alpha=1.0).tolist()
    assert ops.elu(x, alpha=2.0).tolist() != ops.elu(x).tolist()
    assert ops.gelu(x).tolist() == ops.gelu(x, approximate="none").tolist()
    assert ops.gelu(x, approximate="tanh").tolist() != ops.gelu(x).tolist()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (ops.add, TypeError, "missing 1 required positional argument: 'b'"),
        (lambda x: ops.add(), TypeError, "missing 2 required positional arguments"),
        (lambda x: ops.add(x, x, x), TypeError, "takes 2 positional arguments but 3 were given"),
        (lambda x: ops.add(x, x, output=x), TypeError, "unexpected keyword argument 'output'"),
        (lambda x: ops.add(x, x, b=x), TypeError, "multiple values for argument 'b'"),
        (lambda x: ops.add(x, x[:3]), errors.ShapeMismatchError, "shapes do not broadcast together"),
        (lambda x: ops.add(x, "text"), errors.InvalidTypeError, "is no array of numbers"),
        (lambda x: ops.sum(x, 0, x), TypeError, "positional argument"),
        (lambda x: ops.sum(x, x=x), TypeError, "multiple values for argument 'x'"),
        (lambda x: ops.sum(x, 1), errors.InvalidArgumentError, "axis 1 is out of range"),
        (lambda x: ops.sum(x, 0.5), errors.InvalidTypeError, "axis is 0.5"),
        (lambda x: ops.sum(x, 2**70), errors.InvalidArgumentError, "beyond what 64 bits hold"),
        (lambda x: ops.max(x[:0]), errors.InvalidArgumentError, "nothing is left to choose from"),
        (lambda x: ops.softmax(x, 1), errors.InvalidArgumentError, "axis 1 is out of range"),
        (ops.layer_norm, TypeError, "missing 1 required positional argument"),
        (lambda x: ops.layer_norm(x, 4), errors.ShapeMismatchError, "does not end in the normalised shape"),
        (lambda x: ops.layer_norm(x, 5, eps=-1.0), errors.InvalidArgumentError, "eps is -1"),
        (ops.matrix_multiply, TypeError, "missing 1 required positional argument: 'b'"),
    ],
)
def test_what_is_wrong_is_said_as_by_the_python_function(call, error, text):
    x = np.ones(5, np.float32)
    ops.add(x, x), ops.sum(x), ops.softmax(x)
    with pytest.raises(error, match=text):
        call(x)


def test_a_freed_array_is_refused():
    x = amdgpu.array(np.ones(3, np.float32), device="cpu:0")
    x.free()
    with pytest.raises(errors.UseAfterFreeError):
        ops.add(x, 1.0)


@pytest.fixture
def all_records():
    """While the flight recorder runs, every call has its records."""
    amdgpu.telemetry.recorder.start()
    yield
    amdgpu.telemetry.recorder.stop()


@pytest.mark.usefixtures("all_records")
def test_every_call_is_counted_once_at_each_boundary():
    x = np.ones((4, 6), np.float32)
    calls = [
        ("elementwise", "agpu_matrix_elementwise", lambda: ops.add(x, x)),
        ("elementwise", "agpu_matrix_elementwise", lambda: ops.add(x, x[0])),
        ("reduce", "agpu_matrix_reduce", lambda: ops.sum(x)),
        ("normalize", "agpu_matrix_normalize", lambda: ops.softmax(x)),
        ("transpose", "agpu_matrix_transpose", lambda: ops.transpose(x)),
        ("matmul", "agpu_matrix_matmul", lambda: amdgpu.matrix_multiply(x, x.T)),
    ]
    for function, symbol, call in calls:
        call()
        operation = "matrix_multiply" if function == "matmul" else function
        sites = [(function, ("python", "rust")), (symbol, ("rust", "zig"))]
        before = [call_count("count", *site) for site in sites]
        begun_ns = time.monotonic_ns()
        for _ in range(7):
            call()
        assert [call_count("count", *site) - old for site, old in zip(sites, before, strict=True)] == [7, 7]
        assert decisions(operation, begun_ns) == 7


def grown(x, times):
    """By how much calls, timed calls and seconds at both boundaries of an addition have grown after so many."""
    sites = [("elementwise", ("python", "rust")), ("agpu_matrix_elementwise", ("rust", "zig"))]

    def figures():
        return np.array([[call_count(of, *site) for of in ("count", "timed_count", "total_seconds")] for site in sites])

    before = figures()
    for _ in range(times):
        ops.add(x, x)
    return figures() - before


def test_all_brief_calls_are_counted_and_a_sample_of_those_that_come_often_is_timed():
    brief, long = np.ones(8, np.float32), np.ones(100_000, np.float32)
    grown(brief, 1100)
    for count, timed, seconds in grown(brief, 6400):
        assert count == 6400
        assert 80 <= timed <= 120
        assert seconds > 0
    for count, timed, seconds in grown(long, 10):
        assert (count, timed) == (10, 10)
        assert seconds > 0


@pytest.mark.usefixtures("all_records")
def test_every_brief_call_is_timed_while_somebody_takes_all_records():
    x = np.ones(8, np.float32)
    for count, timed, _ in grown(x, 2000):
        assert (count, timed) == (2000, 2000)


def test_nothing_is_recorded_while_telemetry_is_off_and_all_of_it_afterwards():
    x = np.ones(5, np.float32)
    ops.add(x, x)
    site = ("count", "elementwise", ("python", "rust"))
    before = call_count(*site)
    amdgpu.telemetry.set_enabled(False)
    try:
        assert ops.add(x, x).tolist() == [2.0] * 5
    finally:
        amdgpu.telemetry.set_enabled(True)
    assert call_count(*site) == before
    ops.add(x, x)
    assert call_count(*site) == before + 1


def test_a_plug_in_takes_reductions_over_and_gives_them_back():
    entry = amdgpu.dispatch.Implementation(
        "reduce", "matrix", "cpu", "python", "seven", f"{__name__}:seven", priority=9
    )
    x = np.ones(5, np.float32)
    assert ops.sum(x) == 5
    amdgpu.dispatch.register(entry)
    try:
        assert ops.sum(x) == 7
    finally:
        amdgpu.dispatch.unregister(entry)
    assert ops.sum(x) == 5


def seven(operation, x, axes, out, *, keepdims, correction):
    return 7


def test_calls_leave_no_objects_behind():
    x = np.ones((3, 4), np.float32)
    out = np.empty_like(x)

    def all_ways():
        ops.add(x, 1.5, out=out), ops.sum(x, 0), ops.softmax(x, out=out), amdgpu.matrix_multiply(x, x.T)
        for call in (lambda: ops.add(x, out=out), lambda: ops.add(x, x[:2]), lambda: ops.add(x, x, out=None)):
            with contextlib.suppress(TypeError, errors.AmdgpuError):
                call()

    all_ways()
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(50):
        all_ways()
    gc.collect()
    assert len(gc.get_objects()) - before < 20
