"""Convolutions by cuDNN and MIOpen, with fake libraries and drivers: arguments, choice, refusals, errors, fallbacks.

The fakes compute on the host in float64; kernels of ours do nothing on their devices, so what is right was computed by a library.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LIBRARIES = [("cuda", "cudnn"), ("hip", "miopen")]
Run = Callable[..., Any]

# Whole numbers whose sums every format holds exactly; the CPU's results in float64 are what is expected.
HELPERS = """
import ml_dtypes
from amdgpu import _native, ops
device = amdgpu.device.default_device(NAME)
DTYPES = dict(f64=np.float64, f32=np.float32, f16=np.float16, bf16=ml_dtypes.bfloat16)
random = np.random.default_rng(0)
def whole(shape, number):
    return random.integers(-2, 3, shape).astype(DTYPES[number])
def put(x):
    return amdgpu.array(x, device=NAME)
def put_weight(weight, is_last):
    # With channels last the library takes weights as they lie here: a copy by a kernel of ours would do nothing.
    if not is_last:
        return put(weight)
    rank = weight.ndim
    stored = put(np.ascontiguousarray(np.moveaxis(weight, 1, -1)))
    return stored.transpose(0, rank - 1, *range(1, rank - 1))
def is_equal(result, expected):
    return bool(np.array_equal(np.asarray(result.numpy()).astype(float), expected))
def counter(metric):
    counters = amdgpu.telemetry.snapshot()["counters"]
    return sum(one["value"] for one in counters if one["metric"] == metric)
"""

FIRST = (
    HELPERS
    + """
x, weight = whole((2, 4, 7, 6), "f32"), whole((3, 4, 3, 2), "f32")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    result = ops.conv2d(put(x), put(weight), padding=1)
expected = ops.conv2d(x.astype(float), weight.astype(float), padding=1)
print(json.dumps({
    "is_right": is_equal(result, expected),
    "ways": _native.convolve_choices(device),
    "libraries": _native.convolve_libraries(device),
    "said": [str(warning.message) for warning in said],
    "fallbacks": counter("amdgpu_fallbacks_total"),
}))
"""
)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_a_library_that_is_right_is_used_where_it_is_demanded(run: Run, kind: str, library: str) -> None:
    found = run(FIRST, kind, (library,), AMDGPU_MATMUL="vendor")
    assert found == {"is_right": True, "ways": [library], "libraries": [library], "said": [], "fallbacks": 0}


EVERY = (
    HELPERS
    + """
import itertools
wrong, computed = [], []
CASES = [
    dict(groups=1, stride=1, padding=0, dilation=1), dict(groups=2, stride=(2, 1), padding=(1, 2), dilation=1),
    dict(groups=1, stride=1, padding=2, dilation=2), dict(groups=4, stride=2, padding=1, dilation=(1, 2)),
]
for number, is_last, options in itertools.product(NUMBERS, (False, True), CASES):
    groups = options["groups"]
    x, weight = whole((2, 8, 9, 8), number), whole((4, 8 // groups, 3, 2), number)
    options = dict(options, layout="NHWC" if is_last else "NCHW")
    x = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if is_last else x
    wide, wide_weight = x.astype(float), weight.astype(float)
    expected = ops.conv2d(wide, wide_weight, **options)
    gradient = whole(expected.shape, number)
    wide_gradient = gradient.astype(float)
    lent, lent_weight, lent_gradient = put(x), put_weight(weight, is_last), put(gradient)
    results = {
        "forward": (ops.conv2d(lent, lent_weight, **options), expected),
        "image": (
            ops.conv2d_input_gradient(lent_gradient, lent_weight, x.shape, **options),
            ops.conv2d_input_gradient(wide_gradient, wide_weight, x.shape, **options),
        ),
    }
    if not is_last:
        # With channels last the gradient is copied to its order by a kernel of ours.
        results["weight"] = (
            ops.conv2d_weight_gradient(lent, lent_gradient, weight.shape, **options),
            ops.conv2d_weight_gradient(wide, wide_gradient, weight.shape, **options),
        )
    for name, (result, wanted) in results.items():
        key = f"{number} {options} {name}"
        assert result.dtype == DTYPES[number]
        (computed if is_equal(result, wanted) else wrong).append(key)
print(json.dumps([len(computed), wrong, sorted(set(_native.convolve_choices(device))), counter("amdgpu_fallbacks_total")]))
"""
)


@pytest.mark.parametrize(
    ("kind", "library", "has_graphs"), [("cuda", "cudnn", True), ("cuda", "cudnn", False), ("hip", "miopen", False)]
)
def test_every_format_layout_pass_and_step_reaches_the_library(
    run: Run, kind: str, library: str, has_graphs: bool
) -> None:
    pytest.importorskip("ml_dtypes")
    # MIOpen has float64 for a part of its functions only.
    numbers = ["f32", "f16", "bf16"] + (["f64"] if library == "cudnn" else [])
    settings = {"AMDGPU_MATMUL": "vendor"} if has_graphs else {"AMDGPU_MATMUL": "vendor", "STAND_IN_FAULT": "graphs"}
    computed, wrong, ways, fallbacks = run(f"NUMBERS = {numbers}\n" + EVERY, kind, (library,), **settings)
    assert wrong == []
    assert computed == len(numbers) * 4 * (3 + 2)
    assert ways == [library]
    assert fallbacks == 0


OTHERS = (
    HELPERS
    + """
found = {}
def check(name, result, wanted):
    found[name] = is_equal(result, wanted)
def wide(*arrays):
    return [x.astype(float) for x in arrays]
line, taps = whole((2, 4, 11), "f32"), whole((6, 2, 3), "f32")
check("line", ops.conv1d(put(line), put(taps), stride=2, groups=2), ops.conv1d(*wide(line, taps), stride=2, groups=2))
volume, window = whole((1, 3, 5, 4, 6), "f32"), whole((2, 3, 2, 3, 2), "f32")
check("volume", ops.conv3d(put(volume), put(window), padding=(1, 0, 1)), ops.conv3d(*wide(volume, window), padding=(1, 0, 1)))
x, weight, bias = whole((2, 4, 7, 6), "f32"), whole((3, 4, 3, 3), "f32"), whole((3,), "f32")
check("bias", ops.conv2d(put(x), put(weight), put(bias)), ops.conv2d(*wide(x, weight, bias)))
last = np.ascontiguousarray(np.moveaxis(x, 1, -1))
check("bias_last", ops.conv2d(put(last), put_weight(weight, True), put(bias), layout="NHWC"),
      ops.conv2d(*wide(last, weight, bias), layout="NHWC"))
kernels = whole((4, 3, 3, 3), "f32")
steps = dict(stride=2, padding=1, output_padding=1)
check("transposed", ops.conv_transpose2d(put(x), put(kernels), **steps), ops.conv_transpose2d(*wide(x, kernels), **steps))
gradient = whole(ops.conv_transpose2d(x, kernels, **steps).shape, "f32")
check("transposed_image", ops.conv_transpose2d_input_gradient(put(gradient), put(kernels), x.shape, **steps),
      ops.conv_transpose2d_input_gradient(*wide(gradient, kernels), x.shape, **steps))
check("transposed_weight", ops.conv_transpose2d_weight_gradient(put(x), put(gradient), kernels.shape, **steps),
      ops.conv_transpose2d_weight_gradient(*wide(x, gradient), kernels.shape, **steps))
one, last_gradient = whole((3, 4, 1, 1), "f32"), whole((2, 7, 6, 3), "f32")
check("weight_of_one_tap", ops.conv2d_weight_gradient(put(last), put(last_gradient), one.shape, layout="NHWC"),
      ops.conv2d_weight_gradient(*wide(last, last_gradient), one.shape, layout="NHWC"))
out = put(np.full((2, 3, 5, 4), 9, np.float32))
assert ops.conv2d(put(x), put(weight), out=out) is out
check("out", out, ops.conv2d(*wide(x, weight)))
check("lent", ops.conv2d(_native.from_dlpack(put(x)), put(weight)), ops.conv2d(*wide(x, weight)))
found["ways"] = sorted(set(_native.convolve_choices(device)))
print(json.dumps(found))
"""
)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_lines_volumes_biases_and_transposed_ones_reach_the_library(run: Run, kind: str, library: str) -> None:
    found = run(OTHERS, kind, (library,), AMDGPU_MATMUL="vendor")
    assert found.pop("ways") == [library]
    assert found == dict.fromkeys(found, True)
    assert len(found) == 10


PRECISIONS = (
    HELPERS
    + """
x, weight = put(whole((1, 8, 5, 5), "f32")), put(whole((8, 8, 3, 3), "f32"))
for precision in ("fp32", "tf32"):
    ops.conv2d(x, weight, precision=precision)
half = [put(whole(shape, "f16")) for shape in ((1, 8, 5, 5), (8, 8, 3, 3))]
ops.conv2d(*half)
print(json.dumps(_native.convolve_choices(device)))
"""
)


def test_float32_keeps_its_digits_unless_tf32_is_asked_for(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    # The two examples of a kind come before its first use; 1: float32, 0: float16.
    expected = ["cudnn forward 1 fma"] * 3 + ["cudnn forward 1 units"] * 3 + ["cudnn forward 0 units"] * 3
    assert run(PRECISIONS, AMDGPU_MATMUL="vendor", STAND_IN_LOG=str(log)) == ["cudnn"] * 3
    assert log.read_text().splitlines() == [f"{line} graph" for line in expected]
    log.unlink()
    settings = {"AMDGPU_MATMUL": "vendor", "STAND_IN_LOG": str(log), "STAND_IN_FAULT": "graphs"}
    assert run(PRECISIONS, **settings) == ["cudnn"] * 3
    assert log.read_text().splitlines() == expected


def test_units_of_amd_have_no_tf32_and_keep_the_digits(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run(PRECISIONS, "hip", AMDGPU_MATMUL="vendor", STAND_IN_LOG=str(log)) == ["miopen"] * 2
    assert log.read_text().splitlines() == ["miopen forward 1"] * 4 + ["miopen forward 0"] * 3


REFUSED = (
    HELPERS
    + """
x, weight = whole((2, 4, 7, 6), "f32"), whole((3, 4, 3, 2), "f32")
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    for _ in range(2):
        result = ops.conv2d(put(x), put(weight), padding=1)
print(json.dumps({
    "shape": list(result.shape), "ways": _native.convolve_choices(device), "said": [str(one.message) for one in said],
    "fallbacks": counter("amdgpu_fallbacks_total"),
}))
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
    found = run(REFUSED, kind, (library,), AMDGPU_MATMUL="vendor", STAND_IN_FAULT=fault)
    sentence = f"convolve does not run as preferred: {library} {reason} for f32 convolutions (forward) on"
    assert len([text for text in found["said"] if sentence in text]) == 1
    assert any(f"{library} is not used for f32 convolutions of this kind" in text for text in found["said"])
    assert (found["shape"], found["fallbacks"]) == ([2, 3, 7, 7], 2)
    assert library not in found["ways"]


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_a_library_that_does_not_start_is_said_and_counted(run: Run, kind: str, library: str) -> None:
    found = run(REFUSED, kind, (library,), AMDGPU_MATMUL="vendor", STAND_IN_FAULT="start")
    assert found["said"][0].endswith(f"convolve does not run as preferred: {library} does not start: DriverFaultError")
    assert (
        f"AMDGPU_MATMUL=vendor: {library} is not installed or does not start; our own kernels compute"
        in found["said"][1]
    )
    assert (found["fallbacks"], library in found["ways"]) == (2, False)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_a_library_that_is_missing_is_said_only_where_it_is_demanded(run: Run, kind: str, library: str) -> None:
    found = run(REFUSED, kind, (), AMDGPU_MATMUL="vendor")
    (sentence,) = found["said"]
    assert f"AMDGPU_MATMUL=vendor: {library} is not installed or does not start; our own kernels compute" in sentence
    assert found["fallbacks"] == 1
    assert run(REFUSED, kind, ())["said"] == []


@pytest.mark.parametrize(
    ("kind", "library", "file"), [("cuda", "cudnn", "libcudnn.so.9"), ("hip", "miopen", "libMIOpen.so.1")]
)
def test_a_library_without_a_function_is_said_and_counted(
    run: Run, stand_ins: Path, tmp_path: Path, kind: str, library: str, file: str
) -> None:
    (tmp_path / "empty.c").write_text("int nothing;\n")
    drivers = tmp_path / "drivers"
    drivers.mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(drivers / file), str(tmp_path / "empty.c")], check=True)
    driver = "libcuda.so.1" if kind == "cuda" else "libamdhip64.so.7"
    (drivers / driver).symlink_to(stand_ins / kind / driver)
    found = run(REFUSED, kind, (), AMDGPU_MATMUL="vendor", LD_LIBRARY_PATH=str(drivers))
    assert found["said"][0].endswith(
        f"convolve does not run as preferred: {library} does not start: LibraryMissingError"
    )
    assert found["fallbacks"] == 2


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_what_a_library_does_not_compute_is_said_only_where_it_is_demanded(run: Run, kind: str, library: str) -> None:
    found = run(REFUSED, kind, (library,), AMDGPU_MATMUL="vendor", STAND_IN_FAULT="refuse")
    (sentence,) = found["said"]
    assert f"AMDGPU_MATMUL=vendor: {library} is not used for f32 convolutions of this kind" in sentence
    assert run(REFUSED, kind, (library,), STAND_IN_FAULT="refuse")["said"] == []


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_algorithms_that_want_too_much_workspace_are_not_taken(run: Run, kind: str, library: str) -> None:
    found = run(REFUSED, kind, (library,), AMDGPU_MATMUL="vendor", STAND_IN_WORKSPACE_BYTES=str((1 << 30) + 1))
    assert library not in found["ways"]
    (sentence,) = found["said"]
    assert f"{library} is not used for f32 convolutions of this kind" in sentence


WORKSPACE = (
    HELPERS
    + """
import ctypes
x, weight = put(whole((2, 4, 7, 6), "f32")), put(whole((3, 4, 3, 2), "f32"))
ops.conv2d(x, weight)
# Shapes that were not asked before want more than the device has left.
ctypes.CDLL(None).setenv(b"STAND_IN_WORKSPACE_BYTES", str(200 << 20).encode(), 1)
ctypes.CDLL(None).setenv(b"STAND_IN_MEMORY_BYTES", str(1 << 20).encode(), 1)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    results = [ops.conv2d(x, weight, padding=1).shape for _ in range(2)]
print(json.dumps([[list(shape) for shape in results], [str(one.message) for one in said], counter("amdgpu_fallbacks_total"),
                  sorted(_native.convolve_choices(device))]))
"""
)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_a_workspace_that_the_device_has_no_memory_for_is_said_and_counted(run: Run, kind: str, library: str) -> None:
    shapes, said, fallbacks, ways = run(WORKSPACE, kind, (library,), AMDGPU_MATMUL="vendor")
    assert shapes == [[2, 3, 7, 7]] * 2
    (sentence,) = said
    assert sentence.endswith(
        f"convolve does not run as preferred: {library} fails with OutOfMemoryError; our own kernels compute"
    )
    assert fallbacks == 2
    assert ways == [library, library]


UNSUPPORTED = (
    HELPERS
    + """
results = []
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    x, even = put(whole((1, 4, 6, 6), "f32")), put(whole((2, 4, 2, 2), "f32"))
    results.append(ops.conv2d(x, even, padding="same").shape)
    kernels, bias = put(whole((4, 3, 2, 2), "f32")), put(whole((3,), "f32"))
    results.append(ops.conv_transpose2d(x, kernels, bias).shape)
    volume, window = put(whole((1, 4, 4, 4, 3), "f32")), put_weight(whole((2, 3, 2, 2, 2), "f32"), True)
    results.append(ops.conv3d(volume, window, layout="NDHWC").shape)
    empty = amdgpu.empty((0, 4, 6, 6), "float32", device=NAME)
    results.append(ops.conv2d(empty, even).shape)
print(json.dumps([[list(shape) for shape in results], sorted(set(_native.convolve_choices(device))), [str(one.message) for one in said]]))
"""
)


def test_what_no_library_can_be_asked_for_is_computed_by_ours(run: Run) -> None:
    shapes, ways, said = run(UNSUPPORTED, AMDGPU_MATMUL="vendor")
    assert shapes == [[1, 2, 6, 6], [1, 3, 7, 7], [1, 3, 3, 3, 2], [0, 2, 5, 5]]
    # Of the first three; whoever has archives tries them first.
    assert set(ways) <= {"generated", "archived", "lowered"}
    assert all("cudnn is not used for f32 convolutions of this kind" in text for text in said)


CHOICE = (
    HELPERS
    + """
import contextlib
def ways(size):
    gradient, weight = (amdgpu.empty(shape, "float16", device=NAME) for shape in ((16, 64, size, size), (64, 64, 3, 3)))
    # What is chosen counts: the fake allows small grids only.
    with contextlib.suppress(amdgpu.errors.InvalidLaunchError):
        ops.conv2d_input_gradient(gradient, weight, (16, 64, 2 * size - 1, 2 * size - 1), stride=2, padding=1)
    return sorted(_native.convolve_choices(device))
print(json.dumps([ways(8), ways(56)]))
"""
)


def test_without_measurements_the_library_computes_what_is_large_or_demanded_of_it(run: Run) -> None:
    # Whatever is larger than the examples the fake leaves out.
    small, both = run(CHOICE, STAND_IN_LARGEST="1000000")
    assert "cudnn" not in small
    assert both.count("cudnn") == 1
    assert "cudnn" not in run(CHOICE, AMDGPU_MATMUL="ours")[1]
    assert run(CHOICE, AMDGPU_MATMUL="vendor", STAND_IN_LARGEST="1000000")[1] == ["cudnn", "cudnn"]
    # What the library computes wrongly stays ours.
    assert "cudnn" not in run(CHOICE, STAND_IN_FAULT="wrong")[1]


def test_a_setting_that_cannot_be_understood_is_an_error(run: Run) -> None:
    program = CHOICE.replace("print(json.dumps([ways(8), ways(56)]))", "") + (
        "try:\n    ways(8)\nexcept amdgpu.errors.InvalidArgumentError as error:\n"
        "    print(json.dumps(str(error).splitlines()[0]))\n"
    )
    assert run(program, AMDGPU_MATMUL="mine") == "AMDGPU_MATMUL is 'mine'; it may be auto, ours, vendor"


MEASURED = (
    HELPERS
    + """
x, weight, bias = (amdgpu.empty(shape, "float32", device=NAME) for shape in ((1, 4, 8, 8), (4, 4, 3, 3), (4,)))
database = _native.TuningDatabase("sm_90")
subject = "convolution forward f32 nchw image 1x4x8x8 weight 4x4x3x3 result 1x4x6x6 stride 1x1 padding 0x0 dilation 1x1 groups 1"
def way(**seconds):
    if seconds:
        database.add_record((subject, seconds, {}, "", f"2026-11-2{len(seconds)}T18:00:00Z"))
    ops.conv2d(x, weight)
    # One with a bias goes the way of one without.
    ops.conv2d(x, weight, bias)
    return _native.convolve_choices(device)
print(json.dumps([way(), way(cudnn=1.0, generated=2.0), way(cudnn=1.0, generated=1.01, archived=3.0)]))
"""
)


def test_the_choice_follows_the_database(run: Run) -> None:
    before, library, ours = run(MEASURED)
    assert "cudnn" not in before
    assert library == ["cudnn"] * 2
    assert ours == ["generated"] * 2
    # A library that the database prefers and that is wrong here is passed over.
    assert run(MEASURED, STAND_IN_FAULT="wrong")[1] == ["generated"] * 2
    assert run(MEASURED, AMDGPU_MATMUL="ours")[1] == ["generated"] * 2


LIFE = (
    HELPERS
    + """
import ctypes
x, weight = put(whole((1, 2, 5, 5), "f32")), put(whole((2, 2, 2, 2), "f32"))
bias = put(whole((2,), "f32"))
for _ in range(3):
    ops.conv2d(x, weight)
    ops.conv2d(x, weight, bias)
print(json.dumps(ctypes.CDLL(FILE).stand_in_live_objects()))
"""
)


def test_descriptors_are_kept_for_shapes_and_for_nothing_else(run: Run) -> None:
    # A handle; images, weights, results and steps of two examples and a shape; the same with a bias and an activation.
    # Graphs keep the operation, the graph, the engine's configuration and the plan beside the first four, and have no bias.
    life = "FILE = 'libcudnn.so.9'\n" + LIFE
    assert run(life, AMDGPU_MATMUL="vendor") == 1 + 3 * 8 + 3 * 6
    assert run(life, AMDGPU_MATMUL="vendor", STAND_IN_FAULT="graphs") == 1 + 3 * 4 + 3 * 6
    assert run("FILE = 'libcudnn.so.9'\n" + LIFE, AMDGPU_MATMUL="vendor", STAND_IN_FAULT="refuse") == 1
    assert run("FILE = 'libMIOpen.so.1'\n" + LIFE, "hip", AMDGPU_MATMUL="vendor") == 1 + 3 * 4 + 3 * 5


MANY = (
    HELPERS
    + """
import ctypes, os
from amdgpu import errors
live = ctypes.CDLL("libcudnn.so.9").stand_in_live_objects
weight, most = put(np.ones((1, 1, 1, 1), np.float32)), 0
for width in range(1, 1101):
    result = ops.conv2d(put(np.full((1, 1, 1, width), width, np.float32)), weight)
    assert result.numpy().max() == result.numpy().min() == width
    most = max(most, live())
print(json.dumps([most, live(), counter("amdgpu_fallbacks_total")]))
"""
)


def test_descriptors_of_many_shapes_are_let_go(run: Run) -> None:
    most, left, fallbacks = run(MANY, AMDGPU_MATMUL="vendor")
    # A handle, and for each remembered shape images, weights, results, steps, operation, graph, configuration and plan.
    assert most == 1 + 8 * 1024
    assert left == 1 + 8 * (1100 + 2 - 1024)
    assert fallbacks == 0


FORKED = (
    HELPERS
    + """
import os
x, weight = put(whole((1, 2, 5, 5), "f32")), put(whole((2, 2, 2, 2), "f32"))
ops.conv2d(x, weight)
reading, writing = os.pipe()
if os.fork() == 0:
    try:
        ops.conv2d(x, weight)
        answer = "computed"
    except amdgpu.errors.AmdgpuError as error:
        answer = type(error).__name__
    os.write(writing, answer.encode())
    os._exit(0)
os.wait()
print(json.dumps(os.read(reading, 100).decode()))
"""
)


def test_a_forked_child_is_refused(run: Run) -> None:
    assert run(FORKED, AMDGPU_MATMUL="vendor") == "ForkedProcessError"


THREADS = (
    HELPERS
    + """
from concurrent.futures import ThreadPoolExecutor
def work(seed):
    numbers = np.random.default_rng(seed)
    failures = 0
    for step in range(20):
        x = numbers.integers(-2, 3, (1, 2, 4 + step % 3, 5)).astype(np.float32)
        weight = numbers.integers(-2, 3, (2, 2, 2, 2)).astype(np.float32)
        result = ops.conv2d(put(x), put(weight), padding=seed % 2)
        failures += not is_equal(result, ops.conv2d(x.astype(float), weight.astype(float), padding=seed % 2))
    return failures
with ThreadPoolExecutor(8) as pool:
    print(json.dumps(sum(pool.map(work, range(8)))))
"""
)


def test_threads_do_not_disturb_each_other(run: Run) -> None:
    assert run(THREADS, AMDGPU_MATMUL="vendor") == 0


GRAPH = (
    HELPERS
    + """
x, weight = put(whole((1, 2, 5, 5), "f32")), put(whole((2, 2, 2, 2), "f32"))
out = amdgpu.empty((1, 2, 4, 4), "float32", device=NAME)
stream, graph = device.create_stream(), amdgpu.CapturedGraph()
ops.conv2d(x, weight, out=out)
before = _native.convolve_choices(device)
with graph.capture(stream) if hasattr(graph, "capture") else graph:
    ops.conv2d(x, weight, out=out)
print(json.dumps([before, sorted(_native.convolve_choices(device))]))
"""
)


def test_a_graph_holds_kernels_of_ours(run: Run) -> None:
    before, after = run(GRAPH, AMDGPU_MATMUL="vendor")
    assert before == ["cudnn"]
    # Archived kernels are there where they were built.
    assert after in (["archived", "cudnn"], ["cudnn", "generated"])


COUNTED = (
    HELPERS
    + """
def counts():
    counters = amdgpu.telemetry.snapshot()["counters"]
    return sum(one["value"] for one in counters
               if one["metric"] == "amdgpu_operations_total" and one["labels"]["language"] == "c")
x, weight = put(whole((1, 2, 5, 5), "f32")), put(whole((2, 2, 2, 2), "f32"))
ops.conv2d(x, weight)
first = counts()
for _ in range(3):
    ops.conv2d(x, weight)
print(json.dumps([first, counts()]))
"""
)


def test_calls_of_a_library_are_counted(run: Run) -> None:
    # Two examples are compared before the first use.
    assert run(COUNTED, AMDGPU_MATMUL="vendor") == [3, 6]


TUNED = (
    HELPERS
    + """
from amdgpu import tuning
directions = ["forward", "image_gradient", "weight_gradient"]
wanted = tuning.convolutions_of("2x4x7x6:3x3x2:p1,2x4x7x6:4x3x3:g2:s2", NUMBERS, ["NCHW"], directions)
report = tuning.tune(wanted, NAME, budget_seconds=100)
again = tuning.tune(wanted, NAME, budget_seconds=100, is_missing_only=True)
x, weight = put(whole((2, 4, 7, 6), "f32")), put(whole((3, 4, 3, 2), "f32"))
ops.conv2d(x, weight, padding=1)
ops.conv2d(x, weight)
print(json.dumps({
    "ways": sorted({name for one in report.tuned for name in one.seconds}),
    "failed": sorted({reason.split(" by ")[0] for one in report.tuned for reason in one.failed.values()}),
    "counts": [len(report.tuned), len(report.skipped), len(again.known), len(again.tuned)],
    "choices": _native.convolve_choices(device),
}))
"""
)


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_tuning_measures_every_way_and_the_choice_follows(run: Run, kind: str, library: str) -> None:
    pytest.importorskip("ml_dtypes")
    found = run("NUMBERS = ['f32', 'bf16']\n" + TUNED, kind, (library,))
    # Kernels of ours do nothing here, so measuring finds them wrong.
    assert found["ways"] == [library]
    # Those of the archive, where there is one, take no few channels of 16 bits.
    wrong, *others = found["failed"]
    assert wrong == "InvalidArgumentError: the result is wrong"
    assert others in ([], ["NoImplementationError: archived does not compute this conv2d"])
    assert found["counts"] == [12, 0, 12, 0]
    # The one that was measured, and a small one of which nothing is known.
    assert len(found["choices"]) == 2
    assert found["choices"].count(library) == 1


COMMAND = """
import contextlib, io
from amdgpu.cli.main import main
def cli(*arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["tune", *arguments])
    return [status, out.getvalue(), err.getvalue()]
print(json.dumps([cli(*arguments) for arguments in ARGUMENTS]))
"""


def test_the_command_measures_convolutions(run: Run) -> None:
    calls = [
        ["--convolutions", "1x2x5x5:2x2x2", "--formats", "f32,i8", "--json"],
        ["--convolutions", "1x2x5x5:2x2x2", "--formats", "f32", "--passes", "image_gradient"],
        ["--convolutions", "1x2x5x5:2x2x2", "--formats", "f32", "--missing"],
        ["--convolutions", "1x2x5x5"],
        ["--convolutions", "1x2x5x5:2x2x2", "--passes", "back"],
    ]
    first, gradient, missing, wrong, back = run(f"ARGUMENTS = {calls!r}\n" + COMMAND, libraries=("cudnn",))
    (tuned,) = json.loads(first[1])["tuned"]
    assert tuned["convolution"].startswith("convolution forward f32 nchw image 1x2x5x5 weight 2x2x2x2 result 1x2x4x4")
    assert list(tuned["seconds"]) == ["cudnn"]
    assert "image_gradient f32 nchw image 1x2x5x5" in gradient[1].replace("\n", " ")
    assert "1 convolutions tuned" in gradient[1]
    assert "1 convolutions were measured before" in missing[1]
    assert (wrong[0], back[0]) == (2, 2)
    assert "'1x2x5x5' is no convolution" in wrong[2]
    assert "direction 'back' is not known" in back[2]
