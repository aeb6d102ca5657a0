"""The C++ layer of ROCm's interface, compared with NumPy: its functions take host memory here, which is the CPU device's."""

from __future__ import annotations

import ctypes
import itertools
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import c_api_harness as harness
import numpy as np
import pytest

NONE, TRANSPOSE, CONJUGATE = 111, 112, 113
OPERATIONS = (NONE, TRANSPOSE, CONJUGATE)
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
# The newest that is installed; that of the machine where there is no other.
CLANGS = [f"clang++-{version}" for version in range(25, 14, -1)] + ["clang++"]
FAKE_DRIVER = harness.ROOT / "tests" / "ops" / "fakes" / "driver.c"
FLOATS = ("float32", "float64", "float16")
TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "float16": 4e-3}


def compiler(kind: str) -> str:
    found = next((name for name in (["g++"] if kind == "g++" else CLANGS) if shutil.which(name)), None)
    if found is None:
        pytest.skip(f"{kind} is not installed")
    return found


def compile_program(source: Path, folder: Path, command: Sequence[str], *libraries: str) -> Path:
    program = folder / source.stem
    link = [f"-L{harness.LIBRARIES}", "-lamdgpu", f"-Wl,-rpath,{harness.LIBRARIES}", *libraries]
    whole = [*command, *STRICT, f"-I{harness.HEADERS}", str(source), "-o", str(program), *link]
    done = subprocess.run(whole, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("kind", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_layer_has_no_warnings(kind: str, standard: str, tmp_path: Path) -> None:
    program = compile_program(harness.SOURCES / "rocm.cpp", tmp_path, [compiler(kind), f"-std={standard}"])
    assert harness.run(program).strip() == "ok"


@pytest.mark.parametrize("kind", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++17", "c++20"])
def test_the_layer_with_the_headers_of_hip(kind: str, standard: str, tmp_path: Path) -> None:
    """Those of the machine: streams and errors are HIP's own types."""
    command = [compiler(kind), f"-std={standard}"]
    probe = tmp_path / "probe.cpp"
    probe.write_text("#if !__has_include(<hip/hip_runtime_api.h>)\n#error absent\n#endif\n")
    if subprocess.run([*command, "-fsyntax-only", str(probe)], capture_output=True, check=False).returncode != 0:
        pytest.skip("the headers of HIP are not installed (Debian: libamdhip64-dev)")
    program = compile_program(harness.SOURCES / "rocm.cpp", tmp_path, [*command, "-DWITH_ROCM_HEADERS"], "-lamdhip64")
    assert harness.run(program).strip() == "ok"


@pytest.mark.parametrize("header", ["rocblas/rocblas.h", "miopen/miopen.h"])
def test_the_layer_with_the_headers_of_the_libraries(header: str, tmp_path: Path) -> None:
    source = tmp_path / "headers.cpp"
    source.write_text(f"#if !__has_include(<{header}>)\n#error absent\n#endif\n")
    command = [compiler("g++"), "-std=c++17", "-fsyntax-only"]
    if subprocess.run([*command, str(source)], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{header} is not installed")
    source.write_text("#define WITH_ROCM_HEADERS\n" + (harness.SOURCES / "rocm.cpp").read_text())
    subprocess.run([*command, *STRICT, f"-I{harness.HEADERS}", str(source)], check=True)


def test_both_layers_of_cpp_in_one_file(tmp_path: Path) -> None:
    source = tmp_path / "both.cpp"
    source.write_text(
        "#define AMDGPU_ROCM_NO_HEADERS\n#include <amdgpu/rocm.hpp>\n#include <amdgpu/amdgpu.hpp>\n#include <amdgpu/rocm.hpp>\n"
        "int main() { return amdgpu::rocm::get_device_count() - pyflame::backend::rocm::get_device_count(); }\n"
    )
    harness.run(compile_program(source, tmp_path, [*harness.compiler_of(source), "-std=c++20"]))


def test_an_amd_gpu(tmp_path: Path) -> None:
    """Memory and streams through a driver that stands in for HIP's."""
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DHIP", "-shared", "-fPIC"]
    library = tmp_path / "libamdhip64.so.7"
    subprocess.run([*harness.compiler_of(FAKE_DRIVER), *flags, "-o", str(library), str(FAKE_DRIVER)], check=True)
    source = harness.SOURCES / "rocm_hip.cpp"
    program = compile_program(source, tmp_path, [*harness.compiler_of(source), "-std=c++17"])
    assert harness.run(program, more={"LD_LIBRARY_PATH": str(tmp_path)}).strip() == "ok"


def test_example(tmp_path: Path) -> None:
    source = harness.ROOT / "examples" / "c_api" / "train_rocm.cpp"
    program = compile_program(source, tmp_path, [*harness.compiler_of(source), "-std=c++17"])
    printed = harness.run(program, more={"AMDGPU_ROCM_DEVICES": "cpu"}).splitlines()
    assert printed[0].startswith("step    0  loss")
    assert printed[-1] == "learned"
    assert len(source.read_text().splitlines()) <= 80


@pytest.mark.slow
def test_threads_under_the_thread_sanitizer(tmp_path: Path) -> None:
    """Of the headers: the library, which is not instrumented, is left out."""
    source = harness.SOURCES / "rocm_threads.cpp"
    program = compile_program(source, tmp_path, [compiler("g++"), "-std=c++17", "-g", "-fsanitize=thread"])
    assert (
        harness.run(program, more={"TSAN_OPTIONS": "ignore_noninstrumented_modules=1 halt_on_error=1"}).strip() == "ok"
    )


class Layer:
    """The functions of rocm_numpy.cpp; each raises what the C++ function threw."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        for name in ("name_of_op", "name_of_dtype"):
            getattr(self._library, name).restype = ctypes.c_char_p
        self.ops = dict(self._names("name_of_op"))
        self.dtypes = dict(self._names("name_of_dtype"))

    def _names(self, function: str) -> Iterator[tuple[str, int]]:
        for number in itertools.count():
            name = getattr(self._library, function)(number).decode()
            if name == "unknown":
                return
            yield name, number

    def __call__(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, name)
        function.restype = ctypes.c_char_p
        # Held until the call is over.
        held = [self._convert(argument) for argument in arguments]
        thrown = function(*held)
        if thrown is not None:
            kind, _, message = thrown.decode().partition(": ")
            raise {"invalid_argument": ValueError, "runtime_error": RuntimeError}[kind](message)

    @staticmethod
    def _convert(argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            return ctypes.c_void_p(argument.ctypes.data)
        if isinstance(argument, float):
            return ctypes.c_float(argument)
        if isinstance(argument, tuple):
            return (ctypes.c_int64 * len(argument))(*argument)
        if isinstance(argument, list):
            return (ctypes.c_int * len(argument))(*argument)
        return argument


def long(value: int) -> ctypes.c_int64:
    return ctypes.c_int64(value)


def size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


def double(value: float) -> ctypes.c_double:
    return ctypes.c_double(value)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    path = tmp_path_factory.mktemp("rocm") / "librocm_numpy.so"
    source = harness.SOURCES / "rocm_numpy.cpp"
    command = [
        *harness.compiler_of(source),
        "-std=c++17",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-shared",
        "-fPIC",
    ]
    link = [f"-L{harness.LIBRARIES}", "-lamdgpu", f"-Wl,-rpath,{harness.LIBRARIES}"]
    subprocess.run([*command, f"-I{harness.HEADERS}", str(source), "-o", str(path), *link], check=True)
    return Layer(path)


@pytest.fixture
def layer(built: Layer, monkeypatch: pytest.MonkeyPatch) -> Layer:
    monkeypatch.setenv("AMDGPU_ROCM_DEVICES", "cpu")
    return built


def columns(matrix: np.ndarray, leading: int) -> np.ndarray:
    """Column-major memory of a matrix, with NaN in the gaps that a larger leading dimension leaves."""
    memory = np.full((matrix.shape[1], leading), np.nan, matrix.dtype)
    memory[:, : matrix.shape[0]] = matrix.T
    return memory


def op(matrix: np.ndarray, operation: int) -> np.ndarray:
    return matrix if operation == NONE else matrix.T


class Problem:
    """op(A) is m x k, op(B) is k x n; leading dimensions are `more` larger than needed."""

    def __init__(
        self, seed: int, sizes: tuple[int, int, int], operations: tuple[int, int], more: tuple[int, int, int]
    ) -> None:
        rng = np.random.default_rng(seed)
        m, n, k = sizes
        self.a = rng.standard_normal((m, k) if operations[0] == NONE else (k, m)).astype(np.float32)
        self.b = rng.standard_normal((k, n) if operations[1] == NONE else (n, k)).astype(np.float32)
        self.c = rng.standard_normal((m, n)).astype(np.float32)
        self.lda, self.ldb, self.ldc = (
            matrix.shape[0] + gap for matrix, gap in zip((self.a, self.b, self.c), more, strict=True)
        )
        wide = [matrix.astype(np.float64) for matrix in (self.a, self.b)]
        self.product = op(wide[0], operations[0]) @ op(wide[1], operations[1])


@pytest.mark.parametrize("operations", list(itertools.product(OPERATIONS, OPERATIONS)))
@pytest.mark.parametrize("more", [(0, 0, 0), (3, 5, 7)], ids=["dense", "gaps"])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.5, 2.0), (2.0, 1.0)])
def test_gemm(layer: Layer, operations: tuple[int, int], more: tuple[int, int, int], alpha: float, beta: float) -> None:
    m, n, k = 7, 5, 9
    problem = Problem(1, (m, n, k), operations, more)
    a, b, c = columns(problem.a, problem.lda), columns(problem.b, problem.ldb), columns(problem.c, problem.ldc)
    layer("gemm", *operations, m, n, k, alpha, a, problem.lda, b, problem.ldb, beta, c, problem.ldc)
    wanted = alpha * problem.product + beta * problem.c.astype(np.float64)
    np.testing.assert_allclose(c[:, :m].T, wanted, rtol=2e-5, atol=2e-5)
    assert np.isnan(c[:, m:]).all()


@pytest.mark.parametrize("sizes", [(1, 1, 1), (64, 33, 128), (130, 1, 70), (1, 90, 3)])
def test_gemm_of_other_sizes(layer: Layer, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    problem = Problem(2, sizes, (NONE, TRANSPOSE), (1, 2, 3))
    a, b, c = columns(problem.a, problem.lda), columns(problem.b, problem.ldb), columns(problem.c, problem.ldc)
    layer("gemm", NONE, TRANSPOSE, m, n, k, 1.0, a, problem.lda, b, problem.ldb, 0.0, c, problem.ldc)
    np.testing.assert_allclose(c[:, :m].T, problem.product, rtol=2e-5, atol=1e-4)


def test_gemm_does_not_read_what_factors_leave_out(layer: Layer) -> None:
    problem = Problem(3, (4, 3, 5), (NONE, NONE), (0, 0, 2))
    a, b = columns(problem.a, 4), columns(problem.b, 5)
    c = np.full((3, 6), np.nan, np.float32)
    layer("gemm", NONE, NONE, 4, 3, 5, 1.0, a, 4, b, 5, 0.0, c, 6)
    np.testing.assert_allclose(c[:, :4].T, problem.product, rtol=2e-5, atol=2e-5)
    # With alpha 0, A and B may be NaN, or not be there.
    for missing in (np.full((9, 9), np.nan, np.float32), None):
        c = columns(problem.c, 6)
        layer("gemm", NONE, NONE, 4, 3, 5, 0.0, missing, 4, missing, 5, 3.0, c, 6)
        np.testing.assert_allclose(c[:, :4].T, 3 * problem.c, rtol=1e-6)
        c = np.full((3, 6), np.nan, np.float32)
        layer("gemm", NONE, NONE, 4, 3, 5, 0.0, missing, 4, missing, 5, 0.0, c, 6)
        assert (c[:, :4] == 0).all()
        assert np.isnan(c[:, 4:]).all()
    # Without K the product is 0; with beta 1 nothing changes.
    c = columns(problem.c, 6)
    layer("gemm", NONE, NONE, 4, 3, 0, 1.0, None, 4, None, 1, 0.5, c, 6)
    np.testing.assert_allclose(c[:, :4].T, 0.5 * problem.c, rtol=1e-6)
    layer("gemm", NONE, NONE, 4, 3, 0, 1.0, None, 4, None, 1, 1.0, c, 6)
    np.testing.assert_allclose(c[:, :4].T, 0.5 * problem.c, rtol=1e-6)
    # Without M, N or batches there is nothing to do, and nothing is looked at.
    layer("gemm", NONE, NONE, 0, 3, 5, 1.0, None, 1, None, 5, 0.0, None, 1)
    layer("gemm", NONE, NONE, 4, 0, 5, 1.0, None, 4, None, 5, 0.0, None, 4)


@pytest.mark.parametrize("operations", list(itertools.product(OPERATIONS[:2], OPERATIONS[:2])))
@pytest.mark.parametrize("shared", ["", "a", "b"])
def test_gemm_strided_batched(layer: Layer, operations: tuple[int, int], shared: str) -> None:
    m, n, k, batches = 6, 4, 5, 3
    problems = [Problem(seed, (m, n, k), operations, (1, 2, 3)) for seed in range(batches)]
    lda, ldb, ldc = problems[0].lda, problems[0].ldb, problems[0].ldc

    def memory(matrices: list[np.ndarray], leading: int, is_shared: bool) -> tuple[np.ndarray, int]:
        all_columns = [np.append(columns(matrix, leading).ravel(), [np.nan] * 4) for matrix in matrices]
        joined = np.concatenate(all_columns).astype(np.float32)
        return joined, 0 if is_shared else all_columns[0].size

    a, stride_a = memory([one.a for one in problems], lda, shared == "a")
    b, stride_b = memory([one.b for one in problems], ldb, shared == "b")
    c, stride_c = memory([one.c for one in problems], ldc, False)
    strides = long(stride_a), long(stride_b), long(stride_c)
    arguments = [1.5, a, lda, strides[0], b, ldb, strides[1], -1.0, c, ldc, strides[2], batches]
    layer("gemm_strided_batched", *operations, m, n, k, *arguments)
    for i, one in enumerate(problems):
        left = problems[0] if shared == "a" else one
        right = problems[0] if shared == "b" else one
        product = op(left.a.astype(np.float64), operations[0]) @ op(right.b.astype(np.float64), operations[1])
        found = c[i * stride_c : i * stride_c + n * ldc].reshape(n, ldc)
        np.testing.assert_allclose(found[:, :m].T, 1.5 * product - one.c, rtol=2e-5, atol=2e-5)
        assert np.isnan(found[:, m:]).all()
        assert np.isnan(c[i * stride_c + n * ldc : (i + 1) * stride_c]).all()
    layer(
        "gemm_strided_batched",
        *operations,
        m,
        n,
        k,
        1.0,
        None,
        lda,
        long(0),
        None,
        ldb,
        long(0),
        0.0,
        None,
        ldc,
        long(0),
        0,
    )


BAD_GEMM = [
    ({"m": -1}, "M is -1"),
    ({"n": -2}, "N is -2"),
    ({"k": -3}, "K is -3"),
    ({"trans_a": 0}, "trans_a is 0"),
    ({"trans_b": 114}, "trans_b is 114"),
    ({"lda": 3}, "lda is 3; the columns of the matrix have 4"),
    ({"lda": 4, "trans_a": TRANSPOSE}, "lda is 4; the columns of the matrix have 5"),
    ({"ldb": 4}, "ldb is 4; the columns of the matrix have 5"),
    ({"ldb": 0, "k": 0}, "ldb is 0; the columns of the matrix have 1"),
    ({"ldc": 3}, "ldc is 3; the columns of the matrix have 4"),
    ({"a": None}, "A is NULL"),
    ({"b": None}, "B is NULL"),
    ({"c": None}, "C is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_GEMM, ids=[words for _, words in BAD_GEMM])
def test_gemm_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    c = np.ones((8, 8), np.float32)
    given: dict[str, Any] = {
        "trans_a": NONE,
        "trans_b": NONE,
        "m": 4,
        "n": 3,
        "k": 5,
        "alpha": 1.0,
        "a": np.ones((8, 8), np.float32),
    }
    given |= {"lda": 6, "b": np.ones((8, 8), np.float32), "ldb": 6, "beta": 0.0, "c": c, "ldc": 6} | wrong
    with pytest.raises(ValueError, match=words):
        layer("gemm", *given.values())
    assert (c == 1).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"stride_a": -1}, "stride_a is -1"),
        ({"stride_b": -1}, "stride_b is -1"),
        ({"stride_c": 15}, "stride_c is 15; it must be 16"),
        ({"batches": -1}, "batch_count is -1"),
    ],
)
def test_gemm_strided_batched_refuses(layer: Layer, wrong: dict[str, int], words: str) -> None:
    strides = {"stride_a": 64, "stride_b": 64, "stride_c": 64, "batches": 2} | wrong
    a, b, c = (np.ones(128, np.float32) for _ in range(3))
    given = [
        1.0,
        a,
        6,
        long(strides["stride_a"]),
        b,
        6,
        long(strides["stride_b"]),
        0.0,
        c,
        6,
        long(strides["stride_c"]),
        strides["batches"],
    ]
    with pytest.raises(ValueError, match=words):
        layer("gemm_strided_batched", NONE, NONE, 4, 3, 5, *given)


def test_gemm_refuses_operands_that_overlap_the_result(layer: Layer) -> None:
    memory = np.ones(64, np.float32)
    with pytest.raises(ValueError, match="shares memory"):
        layer("gemm", NONE, NONE, 4, 4, 4, 1.0, memory, 4, memory, 4, 0.0, memory, 4)
    with pytest.raises(ValueError, match="not aligned"):
        layer("gemm", NONE, NONE, 1, 1, 1, 1.0, memory.view(np.uint8)[1:], 1, memory, 1, 0.0, memory[8:], 1)


@pytest.mark.parametrize("operations", list(itertools.product(OPERATIONS, OPERATIONS)))
@pytest.mark.parametrize("more", [(0, 0, 0), (3, 5, 7)], ids=["dense", "gaps"])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (-0.5, 2.0), (0.0, 3.0), (3.0, 0.0), (0.0, 0.0)])
def test_geam(layer: Layer, operations: tuple[int, int], more: tuple[int, int, int], alpha: float, beta: float) -> None:
    m, n = 7, 5
    rng = np.random.default_rng(11)
    matrices = [
        rng.standard_normal((m, n) if operation == NONE else (n, m)).astype(np.float32) for operation in operations
    ]
    # What a factor of 0 leaves out may be NaN.
    given = [
        np.full_like(one, np.nan) if factor == 0 else one for one, factor in zip(matrices, (alpha, beta), strict=True)
    ]
    lda, ldb, ldc = (one.shape[0] + gap for one, gap in zip((*matrices, matrices[0]), more, strict=True))
    ldc = m + more[2]
    a, b, c = columns(given[0], lda), columns(given[1], ldb), np.full((n, ldc), np.nan, np.float32)
    layer("geam", *operations, m, n, alpha, a, lda, beta, b, ldb, c, ldc)
    wanted = alpha * op(matrices[0], operations[0]) + beta * op(matrices[1], operations[1])
    np.testing.assert_allclose(c[:, :m].T, wanted, rtol=2e-6, atol=2e-6)
    assert np.isnan(c[:, m:]).all()


def test_geam_in_place_and_without_operands(layer: Layer) -> None:
    a, b = (np.random.default_rng(12).standard_normal((6, 4)).astype(np.float32) for _ in range(2))
    c = columns(a, 8)
    layer("geam", NONE, TRANSPOSE, 6, 4, 2.0, c, 8, -1.0, columns(b.T.copy(), 4), 4, c, 8)
    np.testing.assert_allclose(c[:, :6].T, 2 * a - b, rtol=2e-6, atol=2e-6)
    layer("geam", NONE, NONE, 6, 4, 0.0, None, 6, 0.5, c, 8, c, 8)
    np.testing.assert_allclose(c[:, :6].T, a - b / 2, rtol=2e-6, atol=2e-6)
    layer("geam", NONE, NONE, 6, 4, 0.0, None, 6, 0.0, None, 6, c, 8)
    assert (c[:, :6] == 0).all()
    assert np.isnan(c[:, 6:]).all()
    layer("geam", NONE, NONE, 0, 4, 1.0, None, 1, 1.0, None, 1, None, 1)
    layer("geam", NONE, NONE, 4, 0, 1.0, None, 4, 1.0, None, 4, None, 4)


BAD_SUMS = [
    ({"m": -1}, "M is -1"),
    ({"n": -1}, "N is -1"),
    ({"trans_a": 1}, "trans_a is 1"),
    ({"trans_b": 0}, "trans_b is 0"),
    ({"lda": 3}, "lda is 3; the columns of the matrix have 4"),
    ({"ldb": 2, "trans_b": TRANSPOSE}, "ldb is 2; the columns of the matrix have 3"),
    ({"ldc": 3}, "ldc is 3; the columns of the matrix have 4"),
    ({"a": None}, "A is NULL"),
    ({"b": None}, "B is NULL"),
    ({"c": None}, "C is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_SUMS, ids=[words for _, words in BAD_SUMS])
def test_geam_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "trans_a": NONE,
        "trans_b": NONE,
        "m": 4,
        "n": 3,
        "alpha": 1.0,
        "a": np.ones(32, np.float32),
        "lda": 6,
    }
    given |= {"beta": 1.0, "b": np.ones(32, np.float32), "ldb": 6, "c": np.ones(32, np.float32), "ldc": 6} | wrong
    with pytest.raises(ValueError, match=words):
        layer("geam", *given.values())
    memory = np.ones(32, np.float32)
    with pytest.raises(ValueError, match="memory"):
        layer("geam", TRANSPOSE, NONE, 4, 4, 1.0, memory, 4, 1.0, np.ones(32, np.float32), 4, memory, 4)


def direct_convolution(
    x: np.ndarray, weight: np.ndarray, padding: Any, stride: Any, dilation: Any, groups: int
) -> np.ndarray:
    x, weight = x.astype(np.float64), weight.astype(np.float64)
    x = np.pad(x, ((0, 0), (0, 0), (padding[0],) * 2, (padding[1],) * 2))
    out = [(x.shape[2 + i] - dilation[i] * (weight.shape[2 + i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    result = np.zeros((x.shape[0], weight.shape[0], *out))
    inputs, outputs = x.shape[1] // groups, weight.shape[0] // groups
    for o, i, r, s in np.ndindex(weight.shape):
        channel = o // outputs * inputs + i
        rows = slice(r * dilation[0], r * dilation[0] + (out[0] - 1) * stride[0] + 1, stride[0])
        cells = slice(s * dilation[1], s * dilation[1] + (out[1] - 1) * stride[1] + 1, stride[1])
        result[:, o] += weight[o, i, r, s] * x[:, channel, rows, cells]
    return result


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("params", "groups"), [([0, 0, 1, 1, 1, 1], 1), ([1, 2, 2, 1, 1, 2], 1), ([2, 1, 1, 2, 2, 1], 2), ([], 4)], ids=str
)
def test_conv2d_forward(layer: Layer, dtype: str, params: list[int], groups: int) -> None:
    rng = np.random.default_rng(4)
    x, weight = (rng.standard_normal(shape).astype(dtype) for shape in ((2, 4, 9, 8), (8, 4 // groups, 3, 2)))
    pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w = params or [0, 0, 1, 1, 1, 1]
    wanted = direct_convolution(x, weight, (pad_h, pad_w), (stride_h, stride_w), (dilation_h, dilation_w), groups)
    found = np.full(wanted.shape, np.nan, dtype)
    layer(
        "conv2d",
        layer.dtypes[dtype],
        x.shape,
        x,
        weight.shape,
        weight,
        found.shape,
        found,
        params,
        len(params),
        groups,
        None,
        size(0),
    )
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=16 * TOLERANCE[dtype])


BAD_CONVOLUTIONS = [
    ({"dtype": "int32"}, "dtype is int32; known are float32"),
    ({"x": (2, 4, -1, 8)}, "input_shape is .2, 4, -1, 8.; extents are not negative"),
    ({"x": (2, 3, 9, 8)}, "each group takes its share of the 3 channels"),
    ({"weight": (8, 4, 10, 2)}, "larger than the padded images"),
    ({"weight": (8, 4, 0, 2)}, "larger than the padded images"),
    ({"output": (2, 8, 7, 8)}, r"output_shape is .2, 8, 7, 8.; the other arguments give .2, 8, 7, 7."),
    ({"params": [-1, 0, 1, 1, 1, 1]}, "padding is -1"),
    ({"params": [0, 0, 0, 1, 1, 1]}, "stride is 0; it must be 1 or more"),
    ({"params": [0, 0, 1, 1, 1, 0]}, "dilation is 0; it must be 1 or more"),
    ({"params": [1]}, "padding has 1 numbers; it has two"),
    ({"groups": 0}, "groups is 0"),
    ({"groups": 3}, "groups is 3"),
    ({"workspace_size": 8}, "workspace is NULL and workspace_size is 8"),
    ({"input": None}, "input is NULL"),
    ({"weights": None}, "weight is NULL"),
    ({"result": None}, "output is NULL"),
    ({"x": (2**62, 4, 9, 8)}, "no memory is that large"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_CONVOLUTIONS, ids=[words for _, words in BAD_CONVOLUTIONS])
def test_conv2d_forward_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    memory = np.zeros(4096, np.float32)
    given: dict[str, Any] = {
        "dtype": "float32",
        "x": (2, 4, 9, 8),
        "input": memory,
        "weight": (8, 4, 3, 2),
        "weights": memory,
    }
    given |= {"output": (2, 8, 7, 7), "result": memory[2048:], "params": [], "groups": 1, "workspace_size": 0} | wrong
    shapes = given["x"], given["input"], given["weight"], given["weights"], given["output"], given["result"]
    with pytest.raises(ValueError, match=words):
        layer(
            "conv2d",
            layer.dtypes[given["dtype"]],
            *shapes,
            given["params"],
            len(given["params"]),
            given["groups"],
            None,
            size(given["workspace_size"]),
        )


def windows(x: np.ndarray, params: list[int], fill: float) -> np.ndarray:
    window_h, window_w, pad_h, pad_w, stride_h, stride_w = params
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad_h, pad_h), (pad_w, pad_w)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, (window_h, window_w), axis=(2, 3))
    return view[:, :, ::stride_h, ::stride_w]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("params", [[2, 2, 0, 0, 2, 2], [3, 2, 1, 1, 2, 1], [3, 3, 1, 0, 1, 3]], ids=str)
def test_pooling2d_forward(layer: Layer, dtype: str, params: list[int]) -> None:
    x = np.random.default_rng(5).standard_normal((2, 3, 7, 8)).astype(dtype)
    for name, wanted in (
        ("MAX_POOL2D", windows(x, params, -np.inf).max(axis=(4, 5))),
        ("AVG_POOL2D", np.nanmean(windows(x, params, np.nan), axis=(4, 5))),
    ):
        found = np.full(wanted.shape, np.nan, dtype)
        layer("pooling2d", layer.ops[name], layer.dtypes[dtype], x.shape, x, found.shape, found, params, 0)
        np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("params", [[2, 2, 0, 0, 2, 3], [3, 2, 1, 1, 2, 3], [2, 3, 1, 1, 3, 2]], ids=str)
def test_pooling2d_forward_with_ceil_mode(layer: Layer, params: list[int]) -> None:
    x = np.random.default_rng(15).standard_normal((2, 3, 7, 8)).astype(np.float32)
    window, padding, stride = params[:2], params[2:4], params[4:]
    out = []
    for i in range(2):
        count = -(-(x.shape[2 + i] + 2 * padding[i] - window[i]) // stride[i]) + 1
        # A window that would begin behind the image is none.
        out.append(count - ((count - 1) * stride[i] >= x.shape[2 + i] + padding[i]))
    wanted: dict[str, np.ndarray] = {name: np.zeros((2, 3, *out)) for name in ("MAX_POOL2D", "AVG_POOL2D")}
    for row, column in np.ndindex(*out):
        begin = [row * stride[0] - padding[0], column * stride[1] - padding[1]]
        rows, cells = (slice(max(first, 0), first + size) for first, size in zip(begin, window, strict=True))
        seen = x[:, :, rows, cells].astype(np.float64)
        wanted["MAX_POOL2D"][:, :, row, column] = seen.max(axis=(2, 3))
        wanted["AVG_POOL2D"][:, :, row, column] = seen.mean(axis=(2, 3))
    for name, values in wanted.items():
        found = np.full(values.shape, np.nan, np.float32)
        layer("pooling2d", layer.ops[name], layer.dtypes["float32"], x.shape, x, found.shape, found, params, 1)
        np.testing.assert_allclose(found, values, rtol=2e-6, atol=2e-6, err_msg=name)


BAD_POOLS = [
    ({"op": "CONV2D"}, "pool_type is CONV2D; known are MAX_POOL2D, AVG_POOL2D"),
    ({"dtype": "bool"}, "dtype is bool"),
    ({"x": (2, 3, 7, -8)}, "extents are not negative"),
    ({"params": [0, 2, 0, 0, 1, 1]}, "kernel_size is 0"),
    ({"params": [2, 2, -1, 0, 1, 1]}, "padding is -1"),
    ({"params": [2, 2, 2, 0, 1, 1]}, "at most half of the window"),
    ({"params": [2, 2, 0, 0, 0, 1]}, "stride is 0"),
    ({"params": [9, 2, 0, 0, 1, 1]}, "larger than the padded images"),
    ({"output": (2, 3, 4, 4)}, "the other arguments give"),
    ({"input": None}, "input is NULL"),
    ({"result": None}, "output is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_POOLS, ids=[words for _, words in BAD_POOLS])
def test_pooling2d_forward_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "op": "MAX_POOL2D",
        "dtype": "float32",
        "x": (2, 3, 7, 8),
        "input": np.zeros(1024, np.float32),
    }
    given |= {"output": (2, 3, 3, 4), "result": np.zeros(1024, np.float32), "params": [2, 2, 0, 0, 2, 2]} | wrong
    shapes = given["x"], given["input"], given["output"], given["result"]
    with pytest.raises(ValueError, match=words):
        layer("pooling2d", layer.ops[given["op"]], layer.dtypes[given["dtype"]], *shapes, given["params"], 0)


class Channels:
    """An array with channels, and one value for each of them."""

    def __init__(self, dtype: str, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(6)
        self.x = rng.standard_normal(shape).astype(dtype)
        of_channels = "float64" if dtype == "float64" else "float32"
        self.scale, self.bias, self.mean = (rng.standard_normal(shape[1]).astype(of_channels) for _ in range(3))
        self.variance = rng.uniform(0.5, 2, shape[1]).astype(of_channels)
        self.axes = tuple(axis for axis in range(len(shape)) if axis != 1)
        self.place = tuple(-1 if axis == 1 else 1 for axis in range(len(shape)))

    def normalized(self, mean: np.ndarray, variance: np.ndarray, epsilon: float) -> np.ndarray:
        mean, variance, scale, bias = (
            one.astype(np.float64).reshape(self.place) for one in (mean, variance, self.scale, self.bias)
        )
        return (self.x.astype(np.float64) - mean) / np.sqrt(variance + epsilon) * scale + bias


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(4, 3, 5, 6), (8, 5), (2, 2, 3)], ids=str)
def test_batchnorm_forward_training(layer: Layer, dtype: str, shape: tuple[int, ...]) -> None:
    given = Channels(dtype, shape)
    out = np.full(shape, np.nan, dtype)
    running_mean, running_var = given.mean.copy(), given.variance.copy()
    saved_mean, saved_inv_var = np.full_like(given.mean, np.nan), np.full_like(given.mean, np.nan)
    statistics = running_mean, running_var, saved_mean, saved_inv_var
    start = layer.dtypes[dtype], shape, len(shape), given.x, out, given.scale, given.bias
    layer("batchnorm_training", *start, *statistics, double(1e-3), double(0.25), 1)
    wide = given.x.astype(np.float64)
    mean, variance = wide.mean(axis=given.axes), wide.var(axis=given.axes)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": 4 * TOLERANCE[dtype]}
    np.testing.assert_allclose(out, given.normalized(mean, variance, 1e-3), **tolerance)
    np.testing.assert_allclose(saved_mean, mean, **tolerance)
    np.testing.assert_allclose(saved_inv_var, 1 / np.sqrt(variance + 1e-3), **tolerance)
    np.testing.assert_allclose(running_mean, 0.75 * given.mean + 0.25 * mean, **tolerance)
    np.testing.assert_allclose(
        running_var, 0.75 * given.variance + 0.25 * wide.var(axis=given.axes, ddof=1), **tolerance
    )
    # Without statistics the result is the same, and in place too.
    again = given.x.copy()
    layer(
        "batchnorm_training",
        *start[:3],
        again,
        again,
        *start[5:],
        None,
        None,
        None,
        None,
        double(1e-3),
        double(0.25),
        1,
    )
    np.testing.assert_array_equal(again, out)


@pytest.mark.parametrize("dtype", FLOATS)
def test_batchnorm_forward_inference(layer: Layer, dtype: str) -> None:
    given = Channels(dtype, (4, 3, 5, 6))
    out = np.full(given.x.shape, np.nan, dtype)
    start = layer.dtypes[dtype], given.x.shape, 4, given.x, out, given.scale, given.bias
    layer("batchnorm_inference", *start, given.mean, given.variance, double(1e-5))
    wanted = given.normalized(given.mean, given.variance, 1e-5)
    np.testing.assert_allclose(out, wanted, rtol=TOLERANCE[dtype], atol=4 * TOLERANCE[dtype])
    # `training` false: the same, and the statistics stay.
    mean, variance, trained = given.mean.copy(), given.variance.copy(), np.full_like(out, np.nan)
    start = *start[:4], trained, *start[5:]
    layer("batchnorm_training", *start, mean, variance, None, None, double(1e-5), double(0.1), 0)
    np.testing.assert_array_equal(trained, out)
    np.testing.assert_array_equal([mean, variance], [given.mean, given.variance])


BAD_NORMS = [
    ({"dtype": "int8"}, "dtype is int8"),
    ({"shape": (4,)}, "it has a batch and channels at least"),
    ({"shape": (4, -3)}, "extents are not negative"),
    ({"x": None}, "input is NULL"),
    ({"out": None}, "output is NULL"),
    ({"scale": None}, "scale is NULL"),
    ({"bias": None}, "bias is NULL"),
    ({"running_mean": None}, "one of running_mean and running_var is NULL"),
    ({"running_var": None}, "one of running_mean and running_var is NULL"),
    ({"epsilon": double(-1)}, "epsilon is -1"),
    ({"epsilon": double(float("nan"))}, "epsilon is -?nan"),
    ({"momentum": double(1.5)}, "momentum is 1.5"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_NORMS, ids=[words for _, words in BAD_NORMS])
def test_batchnorm_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    names = ["x", "out", "scale", "bias", "running_mean", "running_var", "saved_mean", "saved_inv_var"]
    given: dict[str, Any] = {"dtype": "float32", "shape": (4, 3)} | {name: np.ones(12, np.float32) for name in names}
    given |= {"epsilon": double(1e-5), "momentum": double(0.1)} | wrong
    start = layer.dtypes[given["dtype"]], given["shape"], len(given["shape"])
    with pytest.raises(ValueError, match=words):
        layer("batchnorm_training", *start, *(given[name] for name in names), given["epsilon"], given["momentum"], 1)
    if "one of" not in words and "momentum" not in words:
        with pytest.raises(ValueError, match=words):
            layer("batchnorm_inference", *start, *(given[name] for name in names[:6]), given["epsilon"])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def erf_gelu(x: np.ndarray) -> np.ndarray:
    from math import erf

    return x / 2 * (1 + np.vectorize(erf)(x / np.sqrt(2)))


ACTIVATIONS = {
    "RELU": lambda x: np.maximum(x, 0),
    "LEAKY_RELU": lambda x: np.where(x > 0, x, 0.25 * x),
    "SIGMOID": sigmoid,
    "TANH": np.tanh,
    "GELU": erf_gelu,
    "SILU": lambda x: x * sigmoid(x),
    "SOFTPLUS": lambda x: np.log1p(np.exp(x)),
    "ELU": lambda x: np.where(x > 0, x, 0.25 * np.expm1(x)),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_forward(layer: Layer, dtype: str, name: str) -> None:
    x = (3 * np.random.default_rng(7).standard_normal((3, 5, 7))).astype(dtype)
    wanted, found = ACTIVATIONS[name](x.astype(np.float64)), np.full_like(x, np.nan)
    layer("activation", layer.ops[name], layer.dtypes[dtype], x.shape, 3, x, found, 0.25)
    np.testing.assert_allclose(found, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
    layer("activation", layer.ops[name], layer.dtypes[dtype], x.shape, 3, x, x, 0.25)
    np.testing.assert_array_equal(x, found)


def test_leaky_relu_without_a_slope_is_relu(layer: Layer) -> None:
    x, found = np.array([-2, 3], np.float32), np.full(2, np.nan, np.float32)
    layer("activation", layer.ops["LEAKY_RELU"], layer.dtypes["float32"], (2,), 1, x, found, 0.0)
    assert found.tolist() == [0, 3]


def test_activation_forward_refuses(layer: Layer) -> None:
    x, kind = np.ones(4, np.float32), layer.dtypes["float32"]
    for arguments, words in (
        ((layer.ops["ADD"], kind, (4,), 1, x, x, 0.0), "activation_type is ADD; known are RELU"),
        ((layer.ops["RELU"], layer.dtypes["uint8"], (4,), 1, x, x, 0.0), "dtype is uint8"),
        ((layer.ops["RELU"], kind, (-4,), 1, x, x, 0.0), "extents are not negative"),
        ((layer.ops["RELU"], kind, (1,) * 17, 17, x, x, 0.0), "at most 16"),
        ((layer.ops["RELU"], kind, (4,), 1, None, x, 0.0), "input is NULL"),
        ((layer.ops["RELU"], kind, (4,), 1, x, None, 0.0), "output is NULL"),
        ((layer.ops["RELU"], kind, (3,), 1, x, x[1:], 0.0), "may share memory"),
    ):
        with pytest.raises(ValueError, match=words):
            layer("activation", *arguments)
    layer("activation", layer.ops["RELU"], kind, (0, 4), 2, None, None, 0.0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axis", [-1, 0, 1, -3])
@pytest.mark.parametrize("is_log", [0, 1])
def test_softmax_forward(layer: Layer, dtype: str, axis: int, is_log: int) -> None:
    x = (4 * np.random.default_rng(8).standard_normal((3, 5, 7))).astype(dtype)
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    found = np.full_like(x, np.nan)
    layer("softmax", layer.dtypes[dtype], x.shape, 3, x, found, axis, is_log)
    np.testing.assert_allclose(
        found, logs if is_log else np.exp(logs), rtol=4 * TOLERANCE[dtype], atol=4 * TOLERANCE[dtype]
    )


def test_softmax_forward_refuses(layer: Layer) -> None:
    x, kind = np.ones(4, np.float32), layer.dtypes["float32"]
    for arguments, words in (
        ((layer.dtypes["int64"], (4,), 1, x, x, -1, 0), "dtype is int64"),
        ((kind, (4,), 1, x, x, 1, 0), "axis is 1; the shape .4,. has 1 axes"),
        ((kind, (4,), 1, x, x, -2, 0), "axis is -2"),
        ((kind, (), 0, x, x, -1, 0), "has 0 axes"),
        ((kind, (-4,), 1, x, x, -1, 0), "extents are not negative"),
        ((kind, (4,), 1, None, x, -1, 0), "input is NULL"),
        ((kind, (4,), 1, x, None, -1, 0), "output is NULL"),
    ):
        with pytest.raises(ValueError, match=words):
            layer("softmax", *arguments)


REDUCTIONS = {
    "REDUCE_SUM": np.sum,
    "REDUCE_MEAN": np.mean,
    "REDUCE_MAX": np.max,
    "REDUCE_MIN": np.min,
    "REDUCE_PROD": np.prod,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dims", [[], [0], [-1], [2, 0], [0, 1, 2]], ids=str)
def test_reduce(layer: Layer, dtype: str, name: str, dims: list[int]) -> None:
    x = np.random.default_rng(9).uniform(0.5, 1.5, (3, 5, 4)).astype(dtype)
    for keeps in (False, True):
        wanted = np.asarray(REDUCTIONS[name](x.astype(np.float64), axis=tuple(dims) or None, keepdims=keeps))
        found = np.full(wanted.shape, np.nan, dtype)
        start = layer.ops[name], layer.dtypes[dtype], x.shape, 3, x
        layer("reduce", *start, wanted.shape, wanted.ndim, found, dims, len(dims), None, size(0))
        np.testing.assert_allclose(found, wanted, rtol=8 * TOLERANCE[dtype])


BAD_REDUCTIONS = [
    ({"op": "SOFTMAX"}, "reduce_type is SOFTMAX; known are REDUCE_SUM"),
    ({"dtype": "int32"}, "dtype is int32"),
    ({"shape": (3, -4)}, "extents are not negative"),
    ({"output": (4,)}, r"output_shape is .4,.; the other arguments give .3,."),
    ({"dims": [2]}, "an axis of reduce_dims is 2"),
    ({"dims": [1, -1]}, "reduce_dims names axis 1 twice"),
    ({"size": 4}, "workspace is NULL"),
    ({"x": None}, "input is NULL"),
    ({"out": None}, "output is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_REDUCTIONS, ids=[words for _, words in BAD_REDUCTIONS])
def test_reduce_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "op": "REDUCE_SUM",
        "dtype": "float32",
        "shape": (3, 4),
        "x": np.ones(12, np.float32),
        "output": (3,),
    }
    given |= {"out": np.ones(12, np.float32), "dims": [1], "size": 0} | wrong
    start = layer.ops[given["op"]], layer.dtypes[given["dtype"]], given["shape"], len(given["shape"]), given["x"]
    with pytest.raises(ValueError, match=words):
        layer(
            "reduce",
            *start,
            given["output"],
            len(given["output"]),
            given["out"],
            given["dims"],
            len(given["dims"]),
            None,
            size(given["size"]),
        )


UNARY = {"NEG": np.negative, "ABS": np.abs, "SQRT": np.sqrt, "EXP": np.exp, "LOG": np.log, "SIN": np.sin, "COS": np.cos}
UNARY |= {name: ACTIVATIONS[name] for name in ("TANH", "SIGMOID", "RELU", "GELU", "SILU", "SOFTPLUS")}
BINARY = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply, "DIV": np.divide, "POW": np.power}
BINARY |= {"MAXIMUM": np.maximum, "MINIMUM": np.minimum}
COMPARISONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


@pytest.fixture
def values() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(10)
    x, y = (rng.uniform(0.25, 2, 1003).astype(np.float32) for _ in range(2))
    y[::7] = x[::7]
    return x, y, np.full(1003, np.nan, np.float32)


def test_elementwise_launches(layer: Layer, values: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, out = values
    near = {"rtol": 4e-6, "atol": 2e-6}
    for name, function in UNARY.items():
        layer("unary", layer.ops[name], out, x, long(x.size))
        np.testing.assert_allclose(out, function(x.astype(np.float64)), **near, err_msg=name)
    for name, function in BINARY.items():
        layer("binary", layer.ops[name], out, x, y, long(x.size))
        np.testing.assert_allclose(out, function(x.astype(np.float64), y.astype(np.float64)), **near, err_msg=name)
    for name, function in COMPARISONS.items():
        layer("comparison", layer.ops[name], out, x, y, long(x.size))
        np.testing.assert_array_equal(out, function(x, y).astype(np.float32), err_msg=name)
    for name, function in (("gelu", ACTIVATIONS["GELU"]), ("silu", ACTIVATIONS["SILU"])):
        layer(name, out, x - 1, long(x.size))
        np.testing.assert_allclose(out, function((x - 1).astype(np.float64)), **near, err_msg=name)


def test_comparisons_with_nan(layer: Layer) -> None:
    x, y, out = (
        np.array([np.nan, 1, np.inf], np.float32),
        np.array([np.nan, np.nan, np.inf], np.float32),
        np.zeros(3, np.float32),
    )
    for name, function in COMPARISONS.items():
        layer("comparison", layer.ops[name], out, x, y, long(3))
        np.testing.assert_array_equal(out, function(x, y).astype(np.float32), err_msg=name)


def test_where_and_clamp(layer: Layer, values: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, out = values
    condition = np.array([0, -0.0, 1, np.nan, -2, np.inf], np.float32)
    layer("where", out, condition, x, y, long(6))
    np.testing.assert_array_equal(out[:6], np.where(condition != 0, x[:6], y[:6]))
    x[3] = np.nan
    layer("clamp", out, x, 0.5, 1.25, long(x.size))
    np.testing.assert_array_equal(out, np.clip(x, np.float32(0.5), np.float32(1.25)))
    # In place.
    layer("clamp", x, x, 0.5, 1.25, long(x.size))
    np.testing.assert_array_equal(x, out)


def test_losses(layer: Layer, values: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, out = values
    layer("mse", out, x, y, long(x.size))
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    np.testing.assert_allclose(out[0], np.mean((wide_x - wide_y) ** 2), rtol=2e-6)
    chance, target = x / 2.5, y / 2.5
    chance[:2], target[:2] = (0, 1), (1, 0)
    layer("bce", out, chance, target, long(x.size))
    with np.errstate(divide="ignore"):
        logs = [np.maximum(np.log(one.astype(np.float64)), -100) for one in (chance, 1 - chance)]
    np.testing.assert_allclose(out[0], -np.mean(target * logs[0] + (1 - target) * logs[1]), rtol=2e-5)
    logits = (5 * np.random.default_rng(13).standard_normal((37, 11))).astype(np.float32)
    classes = np.random.default_rng(14).integers(0, 11, 37).astype(np.int32)
    layer("cross_entropy", out, logits, classes, long(37), long(11))
    shifted = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    rows = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(37), classes]
    np.testing.assert_allclose(out[0], rows.mean(), rtol=4e-6)
    assert np.isnan(out[1:]).all()
    # Of nothing.
    for name, sizes in (("mse", [long(0)]), ("bce", [long(0)]), ("cross_entropy", [long(0), long(3)])):
        out[0] = 1
        layer(name, out, None, None, *sizes)
        assert np.isnan(out[0]), name


def test_losses_refuse(layer: Layer) -> None:
    x, classes = np.ones(8, np.float32), np.zeros(2, np.int32)
    for name, arguments, words in (
        ("mse", (x, x, x, long(-1)), "launch_mse_loss: numel is -1"),
        ("mse", (None, x, x, long(8)), "output is NULL"),
        ("mse", (x, None, x, long(8)), "predictions is NULL"),
        ("bce", (x, x, None, long(8)), "launch_bce_loss: targets is NULL"),
        ("bce", (x, x, x, long(-3)), "numel is -3"),
        ("cross_entropy", (x, x, classes, long(-2), long(4)), "N is -2"),
        ("cross_entropy", (x, x, classes, long(2), long(0)), "C is 0; it must be 1 or more"),
        ("cross_entropy", (x, None, classes, long(2), long(4)), "logits is NULL"),
        ("cross_entropy", (x, x, None, long(2), long(4)), "targets is NULL"),
        ("cross_entropy", (None, x, classes, long(2), long(4)), "output is NULL"),
        ("cross_entropy", (x, x, classes + 4, long(2), long(4)), "4"),
        ("cross_entropy", (x, x, classes - 1, long(2), long(4)), "-1"),
    ):
        with pytest.raises(ValueError, match=words):
            layer(name, *arguments)
    assert (x == 1).all()


def test_launches_refuse(layer: Layer) -> None:
    x = np.ones(8, np.float32)
    for name, arguments, words in (
        ("gelu", (x, x, long(-1)), "launch_gelu_forward: numel is -1"),
        ("gelu", (None, x, long(8)), "output is NULL"),
        ("silu", (x, None, long(8)), "launch_silu_forward: input is NULL"),
        ("unary", (layer.ops["ELU"], x, x, long(8)), "op is ELU; known are NEG"),
        ("unary", (999, x, x, long(8)), "op is unknown"),
        ("binary", (layer.ops["NEG"], x, x, x, long(8)), "op is NEG; known are ADD"),
        ("binary", (layer.ops["ADD"], x, None, x, long(8)), "a is NULL"),
        ("binary", (layer.ops["ADD"], x[1:], x, x, long(7)), "may share memory with a"),
        ("comparison", (layer.ops["ADD"], x, x, x, long(8)), "op is ADD; known are EQ"),
        ("comparison", (layer.ops["EQ"], x, x, None, long(8)), "b is NULL"),
        ("where", (x, None, x, x, long(8)), "condition is NULL"),
        ("clamp", (x, x, 2.0, 1.0, long(8)), "min_val is 2.000000 and max_val is 1.000000"),
        ("clamp", (x, x, float("nan"), 1.0, long(8)), "min_val is -?nan"),
        ("clamp", (x, x, 0.0, 1.0, long(2**61)), "reach beyond the address space"),
    ):
        with pytest.raises(ValueError, match=words):
            layer(name, *arguments)
    assert (x == 1).all()
    layer("gelu", None, None, long(0))
