"""Products by cuBLASLt, hipBLASLt and rocBLAS, with stand-ins for libraries and drivers: loading, arguments, refusals, errors, choice.

The stand-ins compute on the host in float64; kernels of ours do nothing on their devices, so what is right was computed by a library.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = [("cuda", "cublaslt"), ("hip", "hipblaslt"), ("hip", "rocblas")]

Run = Callable[..., Any]


EVERY_PRODUCT = """
import itertools
import ml_dtypes
from amdgpu import _native
device = amdgpu.initialize_device(NAME)
session = _native.VendorSession(device.native, LIBRARY, [])
assert session.library == LIBRARY and LIBRARY in repr(session)
dtypes = dict(f64=np.float64, f32=np.float32, tf32=np.float32, f16=np.float16, bf16=ml_dtypes.bfloat16, i8=np.int8)
random = np.random.default_rng(0)
computed, refused = [], []
for number, ta, tb, batch, epilogue in itertools.product(dtypes, (False, True), (False, True), (1, 3), ("", "bias", "relu")):
    dtype = dtypes[number]
    result = np.int32 if number == "i8" else dtype
    a, b = (random.integers(-4, 5, shape).astype(dtype) for shape in ((batch, 5, 7), (batch, 7, 3)))
    held, bias = random.integers(-9, 9, (batch, 5, 3)).astype(result), random.integers(-9, 9, 3).astype(result)
    stored = [np.ascontiguousarray(x.swapaxes(1, 2)) if turned else x for x, turned in ((a, ta), (b, tb))]
    left, right, out, given = (amdgpu.array(x, device=NAME) for x in (*stored, held, bias))
    stream = device.create_stream() if batch == 1 else None
    options = dict(extents=(5, 3, 7, batch), number=number, transposes=(ta, tb), alpha=2, beta=-1, stream=stream)
    if epilogue:
        options |= dict(bias=given, relu=epilogue == "relu")
    key = f"{number} {'nt'[ta]}{'nt'[tb]} {batch} {epilogue}"
    if not session.multiply(left, right, out, **options):
        assert np.array_equal(out.numpy(), held), key
        refused.append(key)
        continue
    if stream is not None:
        stream.synchronize()
    expected = 2 * (a.astype(float) @ b.astype(float)) - held.astype(float) + (bias.astype(float) if epilogue else 0)
    expected = np.maximum(expected, 0) if epilogue == "relu" else expected
    assert np.array_equal(out.numpy().astype(float), expected), key
    computed.append(key)
print(json.dumps([len(computed), sorted({key.rsplit(" ", 2)[0] for key in refused})]))
"""


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_every_format_layout_stack_and_epilogue_reaches_the_library(run: Run, kind: str, library: str) -> None:
    pytest.importorskip("ml_dtypes")
    computed, refused = run(f"LIBRARY = {library!r}\n" + EVERY_PRODUCT, kind)
    if library == "rocblas":
        # Neither tf32 nor epilogues.
        assert computed == 5 * 8
    else:
        assert computed == 5 * 24 + 6
        assert refused == ["i8 nn", "i8 tn", "i8 tt"]


REFUSALS = """
from amdgpu import _native, errors
device = amdgpu.initialize_device(NAME)
session = _native.VendorSession(device.native, "cublaslt", [])
a, b, out = (amdgpu.array(np.zeros(shape, np.float32), device=NAME) for shape in ((4, 8), (8, 6), (4, 6)))
def refusal(*arrays, **changes):
    options = dict(extents=(4, 6, 8, 1), number="f32") | changes
    try:
        return session.multiply(*arrays, **options)
    except errors.AmdgpuError as error:
        return type(error).__name__ + ": " + str(error).splitlines()[0]
host = amdgpu.empty((4, 8), "float32", device="cpu:0")
foreign = amdgpu.from_dlpack(np.zeros((4, 8), np.float32))
freed = amdgpu.array(np.zeros((4, 8), np.float32), device=NAME)
freed.free()
print(json.dumps([
    refusal(a, b, out, number="f8"),
    refusal(a, b, out, extents=(5, 6, 8, 1)),
    refusal(a, b, out, extents=(2**32, 2**32, 8, 1)),
    refusal(a, b, out, number="f64"),
    refusal(host, b, out),
    refusal(freed, b, out),
    refusal(foreign, b, out),
    refusal(a, b, out, stream=amdgpu.initialize_device("cpu:0").create_stream()),
    refusal(a, b, amdgpu.array(np.zeros((4, 6), np.float32), device=NAME), bias=out),
    refusal(a, b, out),
]))
"""


def test_arguments_that_do_not_fit_are_refused(run: Run) -> None:
    found = run(REFUSALS)
    assert found[0] == 'InvalidArgumentError: number is "f8"; known are f64, f32, tf32, f16, bf16, i8'
    assert found[1] == "InvalidArgumentError: a does not hold 40 elements of the product's type"
    assert found[2].startswith("InvalidArgumentError: a does not hold")
    assert found[3].startswith("InvalidArgumentError: a does not hold")
    assert found[4].startswith("WrongDeviceError: the a is of cpu:0")
    assert found[5].startswith("UseAfterFreeError")
    assert found[6] is False
    assert found[7].startswith("WrongDeviceError: the stream is of cpu:0")
    assert found[8].startswith("InvalidArgumentError: bias does not hold 6")
    assert found[9] is True


LIFE = """
import ctypes, gc, os
from amdgpu import _native, errors
device = amdgpu.initialize_device(NAME)
session = _native.VendorSession(device.native, LIBRARY, [])
live = ctypes.CDLL(FILE).stand_in_live_objects
a, out = amdgpu.array(np.ones(1100, np.float32), device=NAME), amdgpu.array(np.zeros(1, np.float32), device=NAME)
most = 0
for depth in range(1, 1101):
    part = a.reshape(1100) if depth == 1100 else amdgpu.array(np.ones(depth, np.float32), device=NAME)
    assert session.multiply(part, part, out, extents=(1, 1, depth, 1), number="f32")
    assert out.numpy()[0] == depth
    most = max(most, live())
def in_a_child():
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            session.multiply(a, a, out, extents=(1, 1, 1100, 1), number="f32")
            answer = "computed"
        except errors.AmdgpuError as error:
            answer = type(error).__name__
        os.write(writing, answer.encode())
        os._exit(0)
    os.wait()
    return os.read(reading, 100).decode()
child = in_a_child()
del session
gc.collect()
device.close()
print(json.dumps([most, child, live()]))
"""


@pytest.mark.parametrize(
    ("kind", "library", "file"), [("cuda", "cublaslt", "libcublasLt.so.13"), ("hip", "hipblaslt", "libhipblaslt.so.1")]
)
def test_nothing_of_a_library_is_left_and_a_forked_child_is_refused(
    run: Run, stand_ins: Path, kind: str, library: str, file: str
) -> None:
    most, child, left = run(f"LIBRARY = {library!r}\nFILE = {file!r}\n" + LIFE, kind)
    # A handle, and for each remembered shape a description of the product and of three matrices.
    assert most == 1 + 4 * 1024
    assert child == "ForkedProcessError"
    assert left == 0


OPENING = """
from amdgpu import _native, errors
def attempt(name, library, folders=()):
    try:
        return _native.VendorSession(amdgpu.initialize_device(name).native, library, list(folders)).library
    except errors.AmdgpuError as error:
        return type(error).__name__ + ": " + str(error).splitlines()[0]
print(json.dumps([attempt(NAME, "cublaslt"), attempt(NAME, "mkl"), attempt(NAME, "rocblas"), attempt("cpu:0", "cublaslt"),
                  attempt(NAME, "cublaslt", FOLDERS)]))
"""


def test_a_library_is_found_by_the_loader_or_in_the_given_folders(run: Run, stand_ins: Path) -> None:
    folders = f"FOLDERS = [{str(stand_ins / 'cuda')!r}]\n"
    there = run(folders + OPENING)
    assert there[0] == there[4] == "cublaslt"
    assert there[1] == 'InvalidArgumentError: library is "mkl"; known are cublaslt, hipblaslt, rocblas'
    assert there[2] == "WrongDeviceError: rocblas drives hip devices, not cuda:0"
    assert there[3] == "WrongDeviceError: cublaslt drives cuda devices, not cpu:0"
    missing = run(folders + OPENING, libraries=())
    assert missing[0].startswith("LibraryMissingError: cublaslt cannot be opened (libcublasLt.so.13")
    assert missing[4] == "cublaslt"


def test_a_library_that_does_not_start_or_lacks_a_function_says_so(run: Run, tmp_path: Path) -> None:
    failing = run("FOLDERS = []\n" + OPENING, STAND_IN_FAULT="start")
    assert failing[0] == "DriverFaultError: cuBLASLt: starting failed: NOT_INITIALIZED (1)"
    empty = tmp_path / "empty.c"
    empty.write_text("int nothing;\n")
    (tmp_path / "old").mkdir()
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", str(tmp_path / "old" / "libcublasLt.so.12"), str(empty)], check=True
    )
    old = run(f"FOLDERS = [{str(tmp_path / 'old')!r}]\n" + OPENING, libraries=())
    assert old[4] == "LibraryMissingError: cublaslt is too old: it lacks cublasLtCreate"


PRODUCT = """
import ml_dtypes
device = amdgpu.device.default_device(NAME)
random = np.random.default_rng(1)
a, b = (random.integers(-3, 4, (64, 64)).astype(DTYPE) for _ in range(2))
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from amdgpu import gpu_kernels
    left, right = (amdgpu.array(x, device=NAME) for x in (a, b))
    for _ in range(2):
        result = gpu_kernels.matmul(device, left, right, transpose_b=True)
counters = amdgpu.telemetry.snapshot()["counters"]
fallbacks = sum(counter["value"] for counter in counters if counter["metric"] == "amdgpu_fallbacks_total")
from amdgpu import _native
choices = _native.matmul_choices(device)
print(json.dumps({
    "is_right": bool(np.array_equal(result.numpy().astype(float), a.astype(float) @ b.astype(float).T)),
    "ways": [choice and choice[0] for choice in choices],
    "said": [str(warning.message) for warning in said],
    "fallbacks": fallbacks,
}))
"""


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
@pytest.mark.parametrize("dtype", ["np.float64", "np.float32", "np.float16", "ml_dtypes.bfloat16", "np.int8"])
def test_a_library_that_is_right_is_used_where_it_is_demanded(run: Run, kind: str, library: str, dtype: str) -> None:
    pytest.importorskip("ml_dtypes")
    program = PRODUCT.replace("DTYPE", dtype)
    found = run(program, kind, (library,), AMDGPU_MATMUL="vendor")
    assert found == {"is_right": True, "ways": [library], "said": [], "fallbacks": 0}


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
@pytest.mark.parametrize(
    ("fault", "reason"),
    [("wrong", "gives other results than our own kernels"), ("fail", "fails with DriverFaultError")],
)
def test_a_library_that_is_wrong_is_refused_said_once_and_counted(
    run: Run, kind: str, library: str, fault: str, reason: str
) -> None:
    pytest.importorskip("ml_dtypes")
    program = PRODUCT.replace("DTYPE", "np.float32").replace("result = gpu", "try:\n            result = gpu")
    # Without an archive for the device ours has no kernel either, and the call says so.
    program = program.replace(
        "transpose_b=True)", "transpose_b=True)\n        except amdgpu.AmdgpuError:\n            result = left"
    )
    found = run(program, kind, (library,), AMDGPU_MATMUL="vendor", STAND_IN_FAULT=fault)
    first = [text for text in found["said"] if f"{library} {reason} for f32 products on" in text]
    assert len(first) == 1
    assert found["fallbacks"] >= 1
    assert library not in found["ways"]


def test_what_a_library_does_not_compute_is_not_said(run: Run) -> None:
    pytest.importorskip("ml_dtypes")
    program = PRODUCT.replace("DTYPE", "np.int8").replace("transpose_b=True", "transpose_b=True, transpose_a=True")
    program = program.replace('"is_right": ', '"is_right": True or ').replace(
        "result = gpu", "try:\n            result = gpu"
    )
    program = program.replace(
        "transpose_a=True)", "transpose_a=True)\n        except Exception:\n            result = left"
    )
    found = run(program, AMDGPU_MATMUL="vendor")
    assert found["said"] == []


CHOICE = """
from amdgpu import gpu_kernels, tuning
from amdgpu.tuning.entries import Entry, Product
device = amdgpu.initialize_device(NAME)
product = Product(512, 512, 512, 1, "f32", "f32", "nn")
problem = gpu_kernels.Problem(**product._asdict())
names = [way.name for way in gpu_kernels.ways(device, problem)]
def choice(**seconds):
    tuning.database_of("sm_90").add([Entry(product, seconds, {}, "", "2026-11-21T18:00:00Z")])
    return gpu_kernels.choose(device, problem).name
ours = next(name for name in names if name != "cublaslt")
other = next(name for name in names if name not in ("cublaslt", ours))
print(json.dumps([
    names.count("cublaslt"),
    choice(cublaslt=1.0, **{ours: 2.0, other: 3.0}) == "cublaslt",
    choice(cublaslt=1.0, **{ours: 1.01, other: 3.0}) == ours,
    choice(cublaslt=2.0, **{ours: 3.0, other: 1.0}) == other,
    choice(something_else=1.0, **{other: 3.0}) == other,
    choice(something_else=1.0) in names,
]))
"""


def test_the_choice_follows_the_database(run: Run) -> None:
    needs_archive("sm_90")
    assert run(CHOICE) == [1, True, True, True, True, True]
    # A library that the database prefers and that is wrong here is passed over.
    count, prefers_vendor, *rest = run(CHOICE, STAND_IN_FAULT="wrong")
    assert (count, prefers_vendor, rest) == (1, False, [True, True, True, True])
    assert run(CHOICE, AMDGPU_MATMUL="ours")[1:3] == [False, True]


DEFAULTS = """
from amdgpu import gpu_kernels
device = amdgpu.initialize_device(NAME)
def way(operand, m, n, k, *, aligned=True, layout="nn"):
    output = {"i8": "i32", "tf32": "f32"}.get(operand, operand)
    found = gpu_kernels.choose(device, gpu_kernels.Problem(m, n, k, 1, operand, output, layout, "", aligned))
    return found and found.name
print(json.dumps([
    way("f64", 16, 4096, 4096), way("bf16", 1001, 1001, 1001, aligned=False), way("f32", 16, 4096, 4096),
    way("f64", 2048, 2048, 2048), way("f64", 1001, 1001, 1001, aligned=False),
    way("f64", 128, 128, 128), way("bf16", 1001, 101, 101, aligned=False), way("f32", 4096, 4096, 512), way("bf16", 16, 4096, 4096),
]))
"""


def test_without_measurements_the_library_takes_what_ours_is_behind_in(run: Run) -> None:
    needs_archive("sm_80")
    found = run(DEFAULTS, STAND_IN_ARCHITECTURE="80")
    assert found[:3] == ["cublaslt"] * 3
    assert "cublaslt" not in found[3:]
    assert None not in found
    without = run(DEFAULTS, libraries=(), STAND_IN_ARCHITECTURE="80")
    assert "cublaslt" not in without
    assert None not in without


def test_measurements_that_come_with_the_package_decide(run: Run) -> None:
    needs_archive("sm_90")
    few_rows, unaligned, *_ = run(DEFAULTS)
    assert few_rows == "cublaslt"
    assert unaligned.startswith("padded-wgmma")
    assert run(DEFAULTS, AMDGPU_MATMUL="ours")[0] != "cublaslt"


def needs_archive(architecture: str) -> None:
    from amdgpu import gpu_kernels

    if architecture not in gpu_kernels.architectures():
        pytest.skip("./x kernels was not run")


TUNED = """
device = amdgpu.device.default_device(NAME)
from amdgpu import gpu_kernels
a = amdgpu.array(np.ones((96, 96), np.float32), device=NAME)
for _ in range(2):
    result = gpu_kernels.matmul(device, a, a)
print(json.dumps([float(result.numpy().max()), [way[0] for way in amdgpu._native.matmul_choices(device)]]))
"""


def test_a_new_shape_is_measured_where_the_variable_allows_it(run: Run, tmp_path: Path) -> None:
    needs_archive("sm_90")
    files = tmp_path / "cache" / "tuning"
    # Kernels of ours do nothing here, so measuring finds them wrong.
    found = run(TUNED, AMDGPU_TUNE="on")
    assert found == [96.0, ["cublaslt"]]
    (entry,) = json.loads((files / "sm_90.json").read_text())["entries"]
    assert list(entry["seconds"]) == ["cublaslt"]
    assert all("the result is wrong" in reason for reason in entry["failed"].values())
    (files / "sm_90.json").unlink()
    assert run(TUNED, AMDGPU_TUNE="off")[1] != ["cublaslt"]
    assert not (files / "sm_90.json").exists()


def test_a_library_that_hangs_costs_its_time_and_no_more(run: Run, tmp_path: Path) -> None:
    needs_archive("sm_90")
    log = tmp_path / "log"
    found = run(TUNED, AMDGPU_TUNE="4", STAND_IN_FAULT="hang", STAND_IN_LOG=str(log))
    assert found[1] != ["cublaslt"]
    assert not log.exists()


def test_a_graph_holds_kernels_of_ours(run: Run) -> None:
    needs_archive("sm_90")
    program = """
device = amdgpu.initialize_device(NAME)
from amdgpu import gpu_kernels
a = amdgpu.array(np.ones((96, 96), np.float32), device=NAME)
out = amdgpu.empty((96, 96), "float32", device=NAME)
stream = device.create_stream()
graph = amdgpu.CapturedGraph()
gpu_kernels.matmul(device, a, a, out=out)
before = [way[0] for way in amdgpu._native.matmul_choices(device)]
with graph.capture(stream) if hasattr(graph, "capture") else graph:
    gpu_kernels.matmul(device, a, a, out=out)
print(json.dumps([before, [way[0] for way in amdgpu._native.matmul_choices(device)]]))
"""
    before, after = run(program, AMDGPU_MATMUL="vendor")
    assert before == ["cublaslt"]
    assert len(after) == 2


WHOLE_CALL = """
random = np.random.default_rng(3)
a, b = (random.standard_normal((96, 80)).astype(np.float32) for _ in range(2))
wide = [x.astype(np.float64) for x in (a, b)]
single = amdgpu.matrix_multiply(a, b, NAME, transpose_b=True)
double = amdgpu.matrix_multiply(*wide, NAME, "fp64", transpose_a=True)
written = np.empty((96, 96), np.float32)
amdgpu.matrix_multiply(a, b, NAME, transpose_b=True, out=written, alpha=2.0)
names = {way and way[0] for way in amdgpu._native.matmul_choices(amdgpu.device.default_device(NAME))}
exact = wide[0] @ wide[1].T
print(json.dumps([
    float(np.abs(single - exact).max()), float(np.abs(double - wide[0].T @ wide[1]).max()),
    float(np.abs(written - 2 * exact).max()), sorted(names),
]))
"""


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_the_whole_call_reaches_the_library(run: Run, kind: str, library: str) -> None:
    single, double, written, names = run(WHOLE_CALL, kind, (library,), AMDGPU_MATMUL="vendor")
    assert (single < 1e-4, double < 1e-12, written < 1e-4) == (True, True, True)
    assert names == [library]


ON_THE_DEVICE = """
from amdgpu import _native
device = amdgpu.device.default_device(NAME)
random = np.random.default_rng(4)
a, b = (random.standard_normal((96, 96)) for _ in range(2))
bias = random.standard_normal(96)
own = [amdgpu.array(x, device=NAME) for x in (a, b, bias)]
# As arrays of another library come.
lent = [_native.from_dlpack(x) for x in own]
results = [amdgpu.matrix_multiply(x, y, NAME, "fp64") for x, y, _ in (own, lent)]
biased = [amdgpu.matrix_multiply(x, y, NAME, "fp64", bias=z) for x, y, z in (own, lent) if "LIBRARY" != "rocblas"]
errors = [float(np.abs(x.numpy() - a @ b).max()) for x in results]
errors += [float(np.abs(x.numpy() - a @ b - bias).max()) for x in biased]
ways = [way and way[0] for way in _native.matmul_choices(device)]
print(json.dumps([errors, ways, len({x.ptr for x in own} & {x.ptr for x in lent})]))
"""


@pytest.mark.parametrize(("kind", "library"), LIBRARIES)
def test_arrays_of_the_device_and_of_other_libraries_on_it_reach_the_library(run: Run, kind: str, library: str) -> None:
    program = "import amdgpu.gpu_kernels\n" + ON_THE_DEVICE.replace("LIBRARY", library)
    errors, ways, shared = run(program, kind, (library,), AMDGPU_MATMUL="vendor")
    assert max(errors) < 1e-12
    # rocBLAS adds no bias; the library took everything else, and both kinds of arrays are the same memory.
    assert len(errors) == (2 if library == "rocblas" else 4)
    # Kernels of ours do nothing on these devices, so what is right is the library's.
    assert (set(ways), shared) == ({library}, 3)


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


def test_the_command_measures_exports_and_imports(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    calls = [
        ["--shapes", "32,16x32x48x2", "--formats", "f32", "--layouts", "nn", "--json"],
        ["--shapes", "32", "--formats", "f32", "--layouts", "nn", "--missing"],
        ["--no-measure", "--export", str(file)],
        ["--import", str(file)],
        ["--import", "/nowhere"],
        ["--shapes", "x"],
        ["--shapes", "1000000x1000000x100000", "--formats", "f32", "--layouts", "nn", "--verbose"],
        ["--no-measure", "--architecture", "sm_90", "--export", str(file), "--json"],
    ]
    measured, missing, exported, imported, nowhere, wrong, large, again = run(f"ARGUMENTS = {calls!r}\n" + COMMAND)
    report = json.loads(measured[1])
    assert report["schema"] == "amdgpu.tune/1"
    assert [entry["product"]["m"] for entry in report["tuned"]] == [32, 16]
    assert all(list(entry["seconds"]) == ["cublaslt"] for entry in report["tuned"])
    assert "1 products were measured before" in missing[1]
    assert large[0] == 0
    assert "1 products are computed by no kernel here" in large[1]
    assert "operands and result take 4800000000000 bytes, and cuda:0 has" in large[2]
    assert exported[1].startswith(f"{file}: ")
    assert imported[:2] == [0, "sm_90: 0 products changed\n"]
    assert (nowhere[0], wrong[0]) == (1, 2)
    assert "nowhere" in nowhere[2]
    assert "'x' is no shape" in wrong[2]
    assert json.loads(again[1])["exported"] >= 2


def test_functions_and_numbers_are_those_of_nvidia() -> None:
    folders = [
        Path(entry) / folder for entry in sys.path for folder in ("nvidia/cu13/include", "nvidia/cublas/include")
    ]
    headers = [folder / "cublasLt.h" for folder in (*folders, Path("/usr/local/cuda/include"))]
    header = next((path for path in headers if path.exists()), None)
    if header is None:
        pytest.skip("no cublasLt.h: install the wheel nvidia-cublas")
    text = header.read_text() + header.with_name("cublas_api.h").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"\b(CUBLAS\w+) = (\d+)\b", text)}
    source = (ROOT / "crates" / "amdgpu-matrix" / "src" / "vendor" / "lt.rs").read_text()
    table = source[source.index("static CUDA") : source.index("/// hipBLASLt.\n")]
    functions = re.findall(r'c"(cublasLt\w+)"', table)
    assert len(functions) == 13
    assert all(re.search(rf"\b{name}\(", text) for name in functions)
    ours = {
        "CUBLAS_OP_N": 0,
        "CUBLAS_OP_T": 1,
        "CUBLASLT_MATMUL_DESC_TRANSA": 3,
        "CUBLASLT_MATMUL_DESC_TRANSB": 4,
        "CUBLASLT_MATMUL_DESC_EPILOGUE": 7,
        "CUBLASLT_MATMUL_DESC_BIAS_POINTER": 8,
        "CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE": 26,
        "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": 5,
        "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": 6,
        "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": 1,
        "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": 3,
        "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES": 5,
        "CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES": 8,
        "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": 2,
        "CUBLASLT_EPILOGUE_RELU": 2,
        "CUBLASLT_EPILOGUE_BIAS": 4,
        "CUBLAS_COMPUTE_64F": 70,
        "CUBLAS_COMPUTE_32F": 68,
        "CUBLAS_COMPUTE_32F_FAST_TF32": 77,
        "CUBLAS_COMPUTE_32I": 72,
        "CUBLAS_STATUS_NOT_SUPPORTED": 15,
    }
    assert {name: numbers[name] for name in ours} == ours
    assert "product_transpose: [3, 4]," in table
    assert "compute: [70, 68, 77, 72]," in table


def test_functions_and_numbers_are_those_of_amd(request: pytest.FixtureRequest) -> None:
    # Without pytest's cache (`-p no:cacheprovider`) there is no folder to which anything was fetched.
    cache = getattr(request.config, "cache", None)
    wheels = [] if cache is None else list(Path(cache.mkdir("hip-python")).glob("*.whl"))
    if not wheels:
        pytest.skip("tests/gpu/test_hip_names.py did not fetch hip-python")
    with zipfile.ZipFile(wheels[0]) as wheel:
        text = wheel.read("hip/chipblas.pxd").decode()
    # hipBLASLt takes its types from hipBLAS, whose declarations the wheel has in the order of their numbers.
    block = re.search(r"ctypedef enum hipblasComputeType_t:\n((?:\s+HIPBLAS_\w+\n)+)", text)
    assert block is not None
    names = block[1].split()
    ours = {
        "HIPBLAS_COMPUTE_32F": 2,
        "HIPBLAS_COMPUTE_32F_FAST_TF32": 6,
        "HIPBLAS_COMPUTE_64F": 7,
        "HIPBLAS_COMPUTE_32I": 9,
    }
    assert {name: names.index(name) for name in ours} == ours
