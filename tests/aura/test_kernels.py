"""Kernels from Python: compile, launch, results, errors."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

VECTOR_ADD = """
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
SAXPY = """
__global__ void saxpy(float a, const float* __restrict__ x, float* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = a * x[i] + y[i];
    }
}
"""
MAP_2D = """
__global__ void map2d(const double* in, double* out, int rows, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && column < columns) {
        out[row * columns + column] = in[row * columns + column] * row + column;
    }
}
"""
COLLATZ = """
__device__ int steps(unsigned long long n) {
    int count = 0;
    while (n != 1) {
        if (n % 2 == 0) { n /= 2; } else { n = 3 * n + 1; }
        if (++count >= 1000) break;
    }
    return count;
}
__global__ void collatz(const unsigned int* start, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = start[i] == 0 ? -1 : steps(start[i]);
}
"""


@pytest.mark.parametrize("n", [1, 255, 256, 257, 100_000])
def test_vector_add_equals_numpy_bit_for_bit(device, rng, n):
    a, b = rng.random((2, n), dtype=np.float32)
    c = np.empty_like(a)
    device.compile_kernel(VECTOR_ADD)[-(-n // 256), 256](a, b, c, n)
    assert np.array_equal(c, a + b)


def test_saxpy_contracts_to_one_rounding(device, rng):
    x, y = rng.random((2, 5000), dtype=np.float32)
    # The language fuses a*x+y into one rounding; float64 holds the product exactly, so rounding its sum once is the same value
    # except where float64 itself rounds the sum, which 2 * 24 bits of product and 24 of y at these magnitudes never need.
    expected = (np.float64(np.float32(2.5)) * x + y).astype(np.float32)
    device.compile_kernel(SAXPY)[7, 128](2.5, x, y, 5000)
    assert np.array_equal(y, expected)


def test_two_dimensional_map(device, rng):
    source = rng.random((37, 53))
    out = np.zeros_like(source)
    device.compile_kernel(MAP_2D)[(4, 5), (16, 8)](source, out, 37, 53)
    rows, columns = np.indices(source.shape)
    assert np.allclose(out, source * rows + columns, rtol=1e-15)


def test_loop_with_branches_and_device_function(device):
    start = np.arange(1000, dtype="uint32")
    out = np.zeros(1000, "int32")
    device.compile_kernel(COLLATZ)[4, 256](start, out, 1000)

    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    assert out.tolist() == [-1] + [steps(n) for n in range(1, 1000)]


def test_execute_returns_what_was_written_and_measured(device):
    kernel = device.compile_kernel(VECTOR_ADD)
    a = np.arange(1000, dtype="float32")
    c = np.zeros_like(a)
    result = device.execute(kernel, a, a, c, 1000, telemetry_level="detailed")
    assert result.output is c
    assert np.array_equal(c, 2 * a)
    assert result.execution_time > 0
    assert result.memory_usage == 3 * 4000
    assert result.performance_metrics["grid"] == (4,)
    assert result.performance_metrics["passes"]


def test_a_handle_is_text_that_finds_the_kernel_again(device):
    kernel = device.compile_kernel(VECTOR_ADD)
    a = np.ones(10, "float32")
    c = np.zeros_like(a)
    device.execute(str(kernel), a, a, c, 10)
    assert (c == 2).all()
    with pytest.raises(errors.InvalidHandleError, match="nonsense"):
        device.execute("nonsense", a)
    with pytest.raises(errors.InvalidArgumentError, match="timeout_ms is -1"):
        device.execute(kernel, a, a, c, 10, timeout_ms=-1)


def test_asynchronous_execution_gives_a_pending_result(device):
    kernel = device.compile_kernel(VECTOR_ADD)
    a = np.ones(100_000, "float32")
    c = np.zeros_like(a)
    pending = device.execute(kernel, a, a, c, a.size, async_execution=True)
    result = pending.result()
    assert pending.done()
    assert (result.output == 2).all()


def test_streams_keep_their_arguments_and_their_order(device):
    kernel = device.compile_kernel(
        "__global__ void inc(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }"
    )
    stream = device.create_stream()
    x = np.zeros(1000, "float32")
    for _ in range(200):
        kernel[4, 256, 0, stream](x, 1000)
        # Arguments that nobody else holds must survive until the stream has used them.
        kernel[4, 256, 0, stream](np.zeros(1000, "float32"), 1000)
    stream.synchronize()
    assert (x == 200).all()
    assert stream.is_idle


def test_a_prepared_launch_repeats_with_its_arguments(device):
    kernel = device.compile_kernel(VECTOR_ADD)
    a = np.ones(100, "float32")
    c = np.zeros_like(a)
    prepared = kernel.prepare(1, 128, a, a, c, 100)
    prepared()
    assert (c == 2).all()
    a[:] = 3
    prepared()
    assert (c == 6).all()
    stream = device.create_stream()
    # Nobody else holds the input: the prepared launch does.
    in_stream = kernel.prepare(1, 128, np.full(100, 5, "float32"), a, c, 100, stream=stream)
    in_stream()
    stream.synchronize()
    assert (c == 8).all()
    with pytest.raises(errors.ArgumentCountError):
        kernel.prepare(1, 128, a, a, c)
    with pytest.raises(errors.InvalidLaunchError):
        kernel.prepare(0, 128, a, a, c, 100)
    device.close()
    with pytest.raises(errors.ClosedError):
        prepared()


def test_device_arrays_and_dlpack_objects_are_arguments(device):
    kernel = device.compile_kernel(VECTOR_ADD)
    a = device.native.empty((100,), "float32")
    a.copy_from(np.arange(100, dtype="float32"))
    c = device.native.empty((100,), "float32")
    kernel[1, 128](a, amdgpu.from_dlpack(np.ones(100, "float32")), c, 100)
    assert np.array_equal(c.numpy(), np.arange(100) + 1)


def test_raw_kernel_has_the_signature_of_cupy():
    kernel = amdgpu.RawKernel(VECTOR_ADD, "vector_add")
    a = np.ones(10, "float32")
    c = np.zeros_like(a)
    kernel((1,), (32,), (a, a, c, 10))
    assert (c == 2).all()
    scaled = amdgpu.RawKernel("__global__ void f(float* x) { x[threadIdx.x] = SCALE; }", "f", options=("-DSCALE=3",))
    scaled((1,), (10,), (c,))
    assert (c == 3).all()
    with pytest.raises(errors.InvalidTypeError, match="--fast"):
        amdgpu.RawKernel(VECTOR_ADD, "vector_add", options=("--fast",))


def test_numbers_of_every_kind_are_scalars(device):
    kernel = device.compile_kernel(
        "__global__ void f(double* out, double d, float s, int i, unsigned char c, bool b, long long l) {"
        " out[0] = d; out[1] = s; out[2] = i; out[3] = c; out[4] = b; out[5] = l; }"
    )
    out = np.zeros(6)
    kernel[1, 1](out, 0.1, np.float32(0.5), np.int64(-7), np.uint8(200), True, 1 << 40)
    assert out.tolist() == [0.1, 0.5, -7, 200, 1, float(1 << 40)]
    kernel[1, 1](out, 3, np.array(2.0), np.bool_(True), 1, np.False_, -1)
    assert out.tolist() == [3, 2, 1, 1, 0, -1]


def test_same_source_twice_comes_from_memory_and_a_new_process_from_disk(device, run_python):
    unique = VECTOR_ADD.replace("vector_add", "cached_add")
    first, second = device.compile_kernel(unique), device.compile_kernel(unique)
    assert (first.cache_answer, second.cache_answer) == ("miss", "memory")
    # LLVM runs in a child; what comes from the disk starts none.
    code = f"import amdgpu, os\nk = amdgpu.initialize_device('cpu:0').compile_kernel({unique!r})\n"
    code += "tasks = os.listdir('/proc/self/task')\n"
    code += "print(k.cache_answer, any(open(f'/proc/self/task/{task}/children').read() for task in tasks))"
    assert run_python(code).stdout.split() == ["miss", "True"]
    assert run_python(code).stdout.split() == ["disk", "False"]


def test_a_damaged_cache_entry_is_rebuilt(run_python, tmp_path):
    code = f"import amdgpu\nprint(amdgpu.initialize_device('cpu:0').compile_kernel({VECTOR_ADD!r}).cache_answer)"
    run_python(code)
    entries = list((tmp_path / "cache").rglob("*.agpu"))
    assert entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-3] + b"bad")
    done = run_python(code)
    assert done.stdout.strip() == "miss"
    assert "checksum" in done.stderr
    assert run_python(code).stdout.strip() == "disk"


def test_all_errors_of_a_source_are_reported_with_line_column_and_caret(device):
    source = "__global__ void f(float* x) {\n    int i = undefined_name;\n    x[0] = 1 +;\n    flot y = 2;\n}\n"
    with pytest.raises(errors.CompileError) as caught:
        device.compile_kernel(source, file_name="mine.hip")
    message = str(caught.value)
    for line in ("mine.hip:2:13", "mine.hip:3:"):
        assert line in message
    assert "^" in message
    assert "undefined_name" in message


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("", errors.KernelNotFoundError),
        ("   \n// nothing\n", errors.KernelNotFoundError),
        ("__device__ int f() { return 1; }", errors.KernelNotFoundError),
        ("__global__ void f(float* x) { x[0] = 1; ", errors.CompileError),
        ("__global__ void f(float* x) { /* never closed", errors.CompileError),
        ("@#$%", errors.CompileError),
        ("__global__ int f(float* x) { return 1; }", errors.CompileError),
        ("x" * 10_000_000, errors.CompileError),
    ],
    ids=["empty", "comment only", "no kernel", "no brace", "open comment", "garbage", "returns int", "10 MB name"],
)
def test_bad_sources_get_a_clear_error(device, source, kind):
    with pytest.raises(kind) as caught:
        device.compile_kernel(source)
    assert 0 < len(str(caught.value)) < 10_000


def test_a_source_of_ten_megabytes_compiles(device):
    filler = "// a comment line that fills the file up to ten megabytes\n" * (10_000_000 // 58)
    assert device.compile_kernel(filler + VECTOR_ADD).name == "vector_add"


def test_a_source_that_is_no_text_is_refused(device):
    for bad in (b"__global__ void f() {}", None, 3):
        with pytest.raises(errors.InvalidTypeError):
            device.compile_kernel(bad)


def test_kernels_are_chosen_by_name(device):
    source = "__global__ void one(int* x) { x[0] = 1; }\n__global__ void two(int* x) { x[0] = 2; }"
    x = np.zeros(1, "int32")
    device.compile_kernel(source, name="two")[1, 1](x)
    assert x[0] == 2
    with pytest.raises(errors.KernelNotFoundError, match="one, two"):
        device.compile_kernel(source)
    with pytest.raises(errors.KernelNotFoundError, match="one, two"):
        device.compile_kernel(source, name="three")


class TestBadLaunches:
    @pytest.fixture
    def kernel(self, device):
        return device.compile_kernel(VECTOR_ADD)

    @pytest.fixture
    def good(self):
        return [np.ones(4, "float32"), np.ones(4, "float32"), np.zeros(4, "float32"), 4]

    @pytest.mark.parametrize("count", [0, 3, 5])
    def test_another_number_of_arguments_shows_the_signature(self, kernel, good, count):
        args = (good * 2)[:count]
        with pytest.raises(errors.ArgumentCountError, match=r"vector_add\(const float"):
            kernel[1, 32](*args)

    @pytest.mark.parametrize(
        ("position", "value", "kind"),
        [
            (0, 1.0, errors.InvalidTypeError),
            (0, [1.0, 2.0], errors.InvalidTypeError),
            (0, np.ones(4), errors.InvalidTypeError),
            (0, np.ones(4, "int32"), errors.InvalidTypeError),
            (0, np.ones(8, "float32")[::2], errors.NotContiguousError),
            (0, np.ones((2, 2), "float32").T[::-1], errors.NotContiguousError),
            (0, np.ones(4, ">f4"), errors.UnsupportedDtypeError),
            (3, "4", errors.InvalidTypeError),
            (3, 4.5, errors.InvalidTypeError),
            (3, 1 << 31, errors.InvalidArgumentError),
            (3, 1 << 200, errors.InvalidArgumentError),
            (3, np.ones(4, "int32"), errors.InvalidTypeError),
        ],
    )
    def test_arguments_of_the_wrong_kind_name_the_parameter(self, kernel, good, position, value, kind):
        good[position] = value
        with pytest.raises(kind) as caught:
            kernel[1, 32](*good)
        if kind is not errors.UnsupportedDtypeError:
            assert ["`a`", "`b`", "`c`", "`n`"][position] in str(caught.value)

    def test_read_only_arrays_cannot_be_written(self, kernel, good):
        good[2].flags.writeable = False
        good[0].flags.writeable = False
        with pytest.raises(errors.AmdgpuError, match="read-only") as caught:
            kernel[1, 32](*good)
        assert isinstance(caught.value, ValueError)
        assert "`c`" in str(caught.value)

    @pytest.mark.parametrize(
        ("grid", "block"),
        [
            (0, 32),
            (1, 0),
            (-1, 32),
            (1, 2000),
            ((1, 1, 1), (32, 32, 2)),
            ((), 32),
            ((1, 2, 3, 4), 32),
            (1 << 40, 32),
            ("1", 32),
            (1.5, 32),
            (None, 32),
        ],
    )
    def test_shapes_outside_the_limits_are_refused(self, kernel, good, grid, block):
        with pytest.raises((errors.InvalidLaunchError, errors.InvalidTypeError)):
            kernel[grid, block](*good)
        with pytest.raises((errors.InvalidLaunchError, errors.InvalidTypeError)):
            kernel.launch(grid, block, good)

    def test_subscripts_of_another_form_are_refused(self, kernel):
        for bad in (1, (1,), (1, 1, 0, None, 5)):
            with pytest.raises(errors.InvalidLaunchError, match="grid, block"):
                kernel[bad]

    def test_too_much_shared_memory_is_refused(self, kernel):
        with pytest.raises(errors.InvalidLaunchError, match="shared"):
            kernel[1, 32, 1 << 30]

    def test_arrays_of_another_device_are_refused(self, kernel, good):
        with amdgpu.initialize_device("null:gfx1100") as other:
            good[0] = other.native.empty((4,), "float32")
            with pytest.raises(errors.WrongDeviceError, match="null:gfx1100"):
                kernel[1, 32](*good)

    def test_freed_arrays_are_refused(self, kernel, good, device):
        array = device.native.empty((4,), "float32")
        array.free()
        good[0] = array
        with pytest.raises(errors.UseAfterFreeError):
            kernel[1, 32](*good)

    def test_zero_size_arrays_launch_over_nothing(self, kernel):
        empty = np.zeros(0, "float32")
        kernel[1, 32](empty, empty, empty, 0)

    def test_a_refused_launch_leaves_everything_usable(self, kernel, good):
        with pytest.raises(errors.AmdgpuError):
            kernel[1, 32](1, 2, 3, 4)
        kernel[1, 32](*good)
        assert (good[2] == 2).all()


def test_a_kernel_that_does_not_end_in_time_raises_and_the_process_goes_on(run_python):
    run_python(
        "import amdgpu, numpy as np, os\n"
        "dev = amdgpu.initialize_device('cpu:0', ['aura'])\n"
        "k = dev.compile_kernel('''__global__ void spin(unsigned* x, unsigned long long n) {"
        " unsigned s = x[0]; for (unsigned long long i = 0; i < n; ++i) { s = s * 1664525u + 1013904223u; } x[0] = s; }''')\n"
        "x = np.zeros(1, 'uint32')\n"
        "try:\n    dev.execute(k, x, 1 << 62, grid=1, block=1, timeout_ms=100)\n"
        "except TimeoutError as error:\n    assert '100 ms' in str(error), error\n"
        "else:\n    raise SystemExit('no error')\n"
        "y = np.zeros(1, 'uint32')\n"
        "assert dev.execute(k, y, 1000, grid=1, block=1).output is y and y[0] != 0\n"
        "os._exit(0)\n"
    )


def test_passes_can_be_switched_off_and_say_what_they_gained(device, tmp_path):
    source = "__global__ void k(float* p) { for (int i = 0; i < 4; ++i) p[i] = p[i] * 2.0f + i / 4; }"
    kernel = device.compile_kernel(source, dump_ir=tmp_path / "ir")
    passes = {entry["name"]: entry for entry in kernel.passes}
    assert passes["unrolling"]["transformations"] == 1
    assert {"runs", "duration_ns", "estimated_gain", "findings"} <= set(passes["unrolling"])
    without = device.compile_kernel(source, disabled_passes=["unrolling", "algebraic"])
    assert not {"unrolling", "algebraic"} & {entry["name"] for entry in without.passes}
    results = []
    for candidate in (kernel, without):
        data = np.arange(4, dtype="float32")
        candidate[1, 1](data)
        results.append(data.tobytes())
    assert results[0] == results[1]
    files = sorted(path.name for path in (tmp_path / "ir").iterdir())
    assert files[0] == "00.start.ir"
    assert len(files) > len(passes)
    with pytest.raises(errors.AmdgpuError, match="dead-code"):
        device.compile_kernel(source, disabled_passes=["sorcery"])
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.InvalidArgumentError, match="dump_ir"):
        device.compile_kernel(source, dump_ir=tmp_path / "file")
