"""`printf`, `assert`, `abort` and `__trap` in kernels."""

from __future__ import annotations

import ctypes

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors

# Formats and their arguments, by names of the kernel's parameters; C's own printf says what is right.
LINES = {
    r"plain\n": "",
    r"%d|%i|%5d|%-5d|%05d|%+d|% d|%.4d\n": "i, i, i, i, i, i, i, i",
    r"%u|%x|%X|%#x|%o|%#o|%08x\n": "u, u, u, u, u, u, u",
    r"%lld|%ld|%llu|%zu|%llx\n": "l, l, ul, ul, ul",
    r"%hhd|%hd|%hhu|%hu\n": "i, i, i, i",
    r"%f|%5.2f|%.0f|%e|%.3e|%g|%G|%a|%A\n": "d, d, d, d, d, d, d, d, d",
    r"%+.1f|%010.3f|%#g|%.2a\n": "d, d, d, d",
    r"%f|%g\n": "f, f",
    r"%c|%5c|%-3c|\n": "c, c, c",
    r"%s|%10s|%-10s|%.2s|\n": "s, s, s, s",
    r"%*d|%-*d|%.*f|%*.*f|\n": "i, i, i, i, c, d, c, c, d",
    r"100%% %p\n": "p",
}
TYPES = {
    "i": ("int", ctypes.c_int),
    "u": ("unsigned int", ctypes.c_uint),
    "l": ("long long", ctypes.c_longlong),
    "ul": ("unsigned long long", ctypes.c_ulonglong),
    "f": ("float", ctypes.c_double),
    "d": ("double", ctypes.c_double),
    "c": ("int", ctypes.c_int),
    "s": ("const char*", ctypes.c_void_p),
    "p": ("const char*", ctypes.c_void_p),
}
EVERYTHING = (
    f"__global__ void everything({', '.join(f'{kind} {name}' for name, (kind, _) in TYPES.items())}) {{\n"
    + "".join(f'printf("{text}"{", " if names else ""}{names});\n' for text, names in LINES.items())
    + "}"
)


def printed_by_c(values):
    """What C's printf makes of all lines."""
    buffer = ctypes.create_string_buffer(4096)
    text = b""
    for line, names in LINES.items():
        arguments = [TYPES[name][1](values[name]) for name in names.split(", ") if name]
        ctypes.CDLL(None).snprintf(buffer, len(buffer), line.replace(r"\n", "\n").encode(), *arguments)
        text += buffer.value
    return text.decode()


@pytest.mark.parametrize("level", ["none", "high", "max"])
@pytest.mark.parametrize("number", [42, -7, 0, 65])
def test_every_conversion_prints_what_c_prints(device, capsys, level, number):
    text = np.frombuffer(b"a string\0", "int8")
    values = {
        "i": number,
        "u": abs(number) * 3,
        "l": number * 10**12,
        "ul": abs(number) + 2**40,
        "f": 1.5 * number,
        "d": number / 7.0,
        "c": 9 + abs(number),
        "s": text,
        "p": text,
    }
    device.compile_kernel(EVERYTHING, optimization_level=level)[1, 1](*values.values())
    assert capsys.readouterr().out == printed_by_c(values | {"s": text.ctypes.data, "p": text.ctypes.data})


def test_work_items_print_one_line_each(device, capsys):
    source = r'__global__ void k() { printf("%d.%d\n", blockIdx.x, threadIdx.x); }'
    device.compile_kernel(source)[3, 50]()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"{block}.{thread}" for block in range(3) for thread in range(50))


def test_printing_works_in_functions_branches_loops_and_between_barriers(device, capsys):
    source = r"""
    template <typename T> __device__ void show(const char* name, T value) { printf("%s = %g\n", name, (double)value); }
    __global__ void k(const float* x, int n) {
        __shared__ float sum;
        if (threadIdx.x == 0) sum = 0.0f;
        __syncthreads();
        for (int i = threadIdx.x; i < n; i += blockDim.x) {
            atomicAdd(&sum, x[i]);
            if (x[i] < 0.0f) show("negative", x[i]);
        }
        __syncthreads();
        if (threadIdx.x == 0) show("sum", sum);
    }"""
    device.compile_kernel(source)[1, 4](np.array([1, -2, 3, -4, 5], "float32"), 5)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines[:-1]) == ["negative = -2", "negative = -4"]
    assert lines[-1] == "sum = 3"


def test_strings_may_come_from_tables_and_arrays(device, capsys):
    source = r"""
    __global__ void k(const char* given, char* null) {
        char own[8];
        for (int i = 0; i < 5; ++i) own[i] = "abcde"[4 - i];
        own[5] = 0;
        const char* words[2] = {"zero", "one"};
        printf("%s %s %s %s\n", given, own, words[threadIdx.x], R"(raw\n)");
    }"""
    given = np.frombuffer(b"from the host\0", "int8")
    device.compile_kernel(source)[1, 2](given, np.zeros(1, "int8"))
    assert capsys.readouterr().out == "from the host edcba zero raw\\n\nfrom the host edcba one raw\\n\n"


def test_printf_tells_the_number_of_its_arguments(device):
    source = r'__global__ void k(int* out) { out[0] = printf("%d %s\n", 1, "x"); }'
    out = np.zeros(1, "int32")
    device.compile_kernel(source)[1, 1](out)
    assert out[0] == 2


def test_lines_without_room_are_counted(device, capsys):
    source = r'__global__ void k() { for (int i = 0; i < 1000; ++i) printf("%d %d %d\n", blockIdx.x, threadIdx.x, i); }'
    kernel = device.compile_kernel(source)
    for _ in range(2):
        kernel[10, 10]()
        *lines, last = capsys.readouterr().out.splitlines()
        assert len(lines) == 262_144 // 4
        assert last == f"[amdgpu] {100_000 - len(lines)} lines of printf were lost: a launch has room for 1024 KiB"
        assert all(len(line.split()) == 3 for line in lines)


def test_launches_in_streams_print_when_they_are_waited_for(device, capsys):
    kernel = device.compile_kernel(r'__global__ void k(int n) { printf("%d\n", n); }')
    stream = device.create_stream()
    for number in range(3):
        kernel[1, 1, 0, stream](number)
    stream.synchronize()
    assert capsys.readouterr().out == "0\n1\n2\n"
    device.execute(kernel, 3, grid=1, block=1)
    device.execute(kernel, 4, grid=1, block=1, async_execution=True).result()
    kernel.prepare(1, 1, 5)()
    assert capsys.readouterr().out == "3\n4\n5\n"
    kernel[1, 1, 0, stream](6)
    device.native.synchronize()
    assert capsys.readouterr().out == "6\n"


@pytest.mark.parametrize(
    ("call", "column", "message"),
    [
        (r'printf("%d\n");', 12, "the format takes 1 argument(s), and 0 are given"),
        (r'printf("x\n", 1);', 19, "the format takes 0 argument(s), and 1 are given"),
        (r'printf("%*d\n", 1);', 12, "the format takes 2 argument(s), and 1 are given"),
        (r'printf("%d\n", 1.5);', 20, "'%d' prints an integer, and this is 'double'"),
        (r'printf("%f\n", 1);', 20, "'%f' prints a float or double, and this is 'int'"),
        (r'printf("%s\n", 1);', 20, "'%s' prints a string, and this is 'int'"),
        (r'printf("%s\n", p);', 20, "'%s' prints a string, and this is 'int*'"),
        (r'printf("%p\n", 1);', 20, "'%p' prints a pointer, and this is 'int'"),
        (r'printf("%d\n", p);', 20, "'%d' prints an integer, and this is 'int*'"),
        (r'printf("%y\n", 1);', 12, "'%y' is no conversion"),
        (r'printf("%n\n", p);', 12, "%n, which writes memory, is not supported"),
        (r'printf("100%");', 12, "the format ends within a conversion"),
        (r"printf(p);", 12, "the format of printf must be a string in quotes"),
        (r"printf();", 5, "printf needs a format"),
    ],
)
def test_formats_that_do_not_fit_are_told_at_their_place(device, call, column, message):
    with pytest.raises(errors.CompileError) as caught:
        device.compile_kernel(f"__global__ void k(int* p) {{\n    {call}\n}}")
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"kernel.hip:2:{column}: error:")


ASSERTS = """
__device__ int checked(const int* data, int i) {
    assert(i >= 0 && data[i] < 100);
    return data[i];
}
__global__ void sum(const int* data, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = checked(data, i);
}
"""


def test_a_failed_assertion_names_itself_and_ends_its_work_item_only(device):
    kernel = device.compile_kernel(ASSERTS)
    data = np.arange(64, dtype="int32")
    data[37] = 100
    out = np.full(64, -1, "int32")
    with pytest.raises(errors.KernelAssertionError) as caught:
        kernel[4, 16](data, out, 64)
    assert "sum: assertion 'i >= 0 && data[i] < 100' failed at kernel.hip:3, block (2, 0, 0), thread (5, 0, 0)" in str(
        caught.value
    )
    assert isinstance(caught.value, AssertionError)
    expected = data.copy()
    expected[37] = -1
    assert out.tolist() == expected.tolist()
    data[37] = 0
    kernel[4, 16](data, out, 64)
    assert out.tolist() == data.tolist()


def test_the_others_are_counted(device):
    kernel = device.compile_kernel(ASSERTS)
    data = np.full(64, 200, "int32")
    with pytest.raises(errors.KernelAssertionError, match="; 63 other work-items failed too"):
        kernel[4, 16](data, data.copy(), 64)


@pytest.mark.parametrize("define", ["source", "option"])
def test_ndebug_switches_assertions_off(device, define):
    source, defines = ("#define NDEBUG\n" + ASSERTS, {}) if define == "source" else (ASSERTS, {"NDEBUG": "1"})
    data = np.full(16, 200, "int32")
    out = np.zeros_like(data)
    device.compile_kernel(source, defines=defines)[1, 16](data, out, 16)
    assert out.tolist() == data.tolist()


def test_barriers_go_on_without_the_work_items_that_failed(device):
    source = """
    __global__ void k(int* out) {
        __shared__ int count;
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        assert(threadIdx.x % 8 != 3);
        atomicAdd(&count, 1);
        __syncthreads();
        out[threadIdx.x] = count;
    }"""
    out = np.zeros(32, "int32")
    with pytest.raises(
        errors.KernelAssertionError, match=r"kernel.hip:6, block \(0, 0, 0\), thread \(3, 0, 0\); 3 other"
    ):
        device.compile_kernel(source)[1, 32](out)
    assert out.tolist() == [0 if i % 8 == 3 else 28 for i in range(32)]


@pytest.mark.parametrize("call", ["abort()", "__trap()"])
def test_abort_and_trap_fail_like_assertions(device, call):
    source = f"__global__ void k(int* out) {{ if (threadIdx.y == 1) {call}; out[threadIdx.y] = 1; }}"
    out = np.zeros(3, "int32")
    with pytest.raises(errors.KernelAssertionError) as caught:
        device.compile_kernel(source)[1, (1, 3)](out)
    assert f"{call} was called at kernel.hip:1" in str(caught.value)
    assert "thread (0, 1, 0)" in str(caught.value)
    assert out.tolist() == [1, 0, 1]


def test_the_kernel_that_failed_is_named_and_streams_report_when_waited_for(device):
    source = "__global__ void good(int* p) { assert(p); }\n__global__ void bad(int* p) { assert(p[0] > 0); }"
    good, bad = (device.compile_kernel(source, name=name) for name in ("good", "bad"))
    data = np.zeros(1, "int32")
    stream = device.create_stream()
    good[1, 1, 0, stream](data)
    bad[1, 1, 0, stream](data)
    with pytest.raises(errors.KernelAssertionError, match=r"bad: assertion 'p\[0\] > 0' failed at kernel.hip:2"):
        stream.synchronize()
    good[1, 1, 0, stream](data)
    stream.synchronize()
    with pytest.raises(errors.KernelAssertionError):
        device.execute(bad, data, grid=1, block=1)


def test_assertions_in_recursion_are_refused(device):
    source = (
        "__device__ int f(int n) { assert(n < 9); return n ? f(n - 1) : 0; } __global__ void k(int* p) { p[0] = f(5); }"
    )
    with pytest.raises(
        errors.UnsupportedFeatureError, match="recursion of a function with barriers, __shared__ memory or assert"
    ):
        device.compile_kernel(source)


@pytest.mark.parametrize("target", ["gfx906", "gfx1100", "sm_70", "sm_90"])
@pytest.mark.parametrize("source", [EVERYTHING, ASSERTS])
def test_gpus_get_the_same_messages(target, source):
    unit = _native.compile_source(source, target)
    assert len(unit["content"]) > 1000


def test_null_devices_print_nothing(capsys):
    with amdgpu.initialize_device("null:gfx1100") as device:
        kernel = device.compile_kernel(r'__global__ void k() { printf("x\n"); }')
        kernel[1, 1]()
    assert capsys.readouterr().out == ""
