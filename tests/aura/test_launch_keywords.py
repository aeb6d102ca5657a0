"""Launches as NumPy's and CuPy's users write them: keywords, null pointers, arrays of structs, compiler options, pickles."""

import pickle

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

FILL = """
__global__ void fill(float* x, const float* scale, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = scale ? scale[i] : VALUE;
}
"""
BODIES = """
struct Body { double mass; int id; float at[3]; };
__global__ void move(Body* bodies, int n) {
    int i = threadIdx.x;
    if (i < n) { bodies[i].at[2] += 1; bodies[i].mass *= 2; bodies[i].id = i; }
}
"""
BODY = np.dtype([("mass", "f8"), ("id", "i4"), ("at", "f4", 3)], align=True)


@pytest.fixture
def fill(device):
    return device.compile_kernel(FILL, defines={"VALUE": "7"})


def test_a_kernel_is_called_with_grid_and_block_as_keywords(device, fill):
    x = np.zeros(10, "float32")
    fill(x, np.full(10, 3, "float32"), 10, grid=1, block=(16,))
    assert (x == 3).all()
    stream = device.create_stream()
    fill(x, None, 10, grid=(1, 1), block=16, shared_mem=64, stream=stream)
    stream.synchronize()
    assert (x == 7).all()


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({}, r"kernel\(\.\.\., grid=\.\.\., block=\.\.\.\)"),
        ({"grid": 1}, "grid and block"),
        ({"grid": 1, "block": "wide"}, "block is 'wide'"),
        ({"grid": 0, "block": 1}, "grid"),
        ({"grid": 1, "block": 1, "shared_mem": 1 << 40}, "shared"),
    ],
)
def test_keywords_that_do_not_make_a_launch_are_refused(fill, keywords, match):
    with pytest.raises(errors.InvalidLaunchError, match=match):
        fill(np.zeros(1, "float32"), None, 1, **keywords)


def test_a_stream_of_another_type_or_device_is_refused(fill):
    x = np.zeros(1, "float32")
    with pytest.raises(errors.InvalidTypeError, match="a Stream is expected"):
        fill(x, None, 1, grid=1, block=1, stream=5)
    other = amdgpu.initialize_device("null:gfx1100").create_stream()
    with pytest.raises(errors.WrongDeviceError):
        fill(x, None, 1, grid=1, block=1, stream=other)


def test_none_is_a_null_pointer_in_every_kind_of_launch(device, fill):
    def launches(x):
        yield lambda: fill[1, 32](x, None, 20)
        yield lambda: fill.launch(1, 32, (x, None, 20))
        yield fill.prepare(1, 32, x, None, 20)
        yield lambda: device.execute(fill, x, None, 20)
        yield lambda: amdgpu.RawKernel(FILL, "fill", ("-DVALUE=7",))((1,), (32,), (x, None, 20))

    for memory in (np.zeros(20, "float32"), amdgpu.zeros(20, "float32", device=device)):
        for launch in launches(memory):
            memory[...] = 0
            launch()
            assert (np.asarray(memory) == 7).all()


def test_a_checked_kernel_tells_of_a_null_pointer_that_it_follows(device):
    kernel = device.compile_kernel("__global__ void f(float* x) { x[0] = 1; }", checked=True)
    with pytest.raises(errors.KernelMemoryError):
        kernel[1, 1](None)


def test_none_is_no_number(device):
    kernel = device.compile_kernel("__global__ void f(int* x, int n) { x[0] = n; }")
    with pytest.raises(errors.InvalidTypeError, match="a number is expected, not NoneType"):
        kernel[1, 1](np.zeros(1, "int32"), None)


def test_arrays_of_structs_are_numpy_arrays_of_structured_dtypes(device):
    move = device.compile_kernel(BODIES)
    bodies = np.zeros(4, BODY)
    bodies["mass"] = [1, 2, 3, 4]
    move[1, 4](bodies, 4)
    assert bodies["mass"].tolist() == [2, 4, 6, 8]
    assert bodies["id"].tolist() == [0, 1, 2, 3]
    assert bodies["at"][:, 2].tolist() == [1, 1, 1, 1]
    # Memory of a device holds them as bytes.
    raw = amdgpu.array(bodies.view("uint8"), device=device)
    move[1, 4](raw, 4)
    assert raw.numpy().view(BODY)["mass"].tolist() == [4, 8, 12, 16]


def test_structs_of_another_size_are_refused_with_both_sizes(device):
    move = device.compile_kernel(BODIES)
    packed = np.zeros(4, np.dtype([("mass", "f8"), ("id", "i4"), ("at", "f4", 2)]))
    with pytest.raises(
        errors.InvalidTypeError, match=r"structs of 24 bytes, and the elements of the array have 20.*align=True"
    ):
        move[1, 4](packed, 4)
    numbers = device.compile_kernel("__global__ void f(float* x) { x[0] = 1; }")
    with pytest.raises(errors.InvalidTypeError, match="needs an array of numbers"):
        numbers[1, 1](np.zeros(4, BODY))


def test_read_only_structs_are_not_written(device):
    bodies = np.zeros(4, BODY)
    bodies.flags.writeable = False
    with pytest.raises(errors.InvalidArgumentError, match="read-only"):
        device.compile_kernel(BODIES)[1, 4](bodies, 4)


def test_scalars_of_numpy_and_arrays_without_axes_are_numbers(device, fill):
    x = np.zeros(4, "float32")
    for n in (np.int32(2), np.uint8(2), np.asarray(2), amdgpu.asarray(2)):
        x[:] = 0
        fill(x, None, n, grid=1, block=4)
        assert x.tolist() == [7, 7, 0, 0]
    with pytest.raises(errors.InvalidTypeError, match="cannot be made from a float"):
        fill(x, None, np.float32(2), grid=1, block=4)


@pytest.mark.parametrize("option", ["-std=c++11", "-std=c++14", "--std=c++17", "-std=c++20", "-std=gnu++17"])
def test_standards_of_the_language_are_accepted(device, option):
    x = np.zeros(1, "float32")
    device.compile_kernel(FILL, options=(option, "-DVALUE=2"))[1, 1](x, None, 1)
    assert x[0] == 2
    amdgpu.RawKernel(FILL, "fill", (option, "-DVALUE=3"))((1,), (1,), (x, None, 1))
    assert x[0] == 3


def test_fast_math_is_an_option(device):
    for option in ("--use_fast_math", "-ffast-math"):
        kernel = device.compile_kernel(FILL, options=("-DVALUE=1", option))
        assert pickle.loads(pickle.dumps(kernel)).source == FILL
        assert kernel.__reduce__()[1][0]["fast_math"] is True


@pytest.mark.parametrize("option", ["-std=c++03", "--std=", "-O3", "-D", "--gpu-architecture=sm_90"])
def test_options_without_a_meaning_are_refused(device, option):
    with pytest.raises(errors.InvalidTypeError, match=r"compile_kernel: option .* is not understood; known are"):
        device.compile_kernel(FILL, options=[option])
    with pytest.raises(errors.InvalidTypeError, match="RawKernel: option"):
        amdgpu.RawKernel(FILL, "fill", [option])


def test_defines_win_over_options(device):
    x = np.zeros(1, "float32")
    device.compile_kernel(FILL, options=["-DVALUE=2"], defines={"VALUE": "5"})[1, 1](x, None, 1)
    assert x[0] == 5


def test_a_pickled_kernel_is_compiled_again_with_its_options(device):
    kernel = device.compile_kernel(
        "template <typename T> __global__ void fill(T* x) { *x = VALUE; }",
        name="fill<double>",
        defines={"VALUE": "2.5"},
        optimization_level="low",
        file_name="own.hip",
        disabled_passes=["unrolling"],
        checked=True,
    )
    again = pickle.loads(pickle.dumps(kernel))
    assert (again.name, again.device, again.is_checked) == (kernel.name, kernel.device, True)
    assert again.__reduce__() == kernel.__reduce__()
    x = np.zeros(1)
    again[1, 1](x)
    assert x[0] == 2.5


def test_a_pickled_raw_kernel_has_its_source_and_options(device):
    kernel = amdgpu.RawKernel(FILL, "fill", ("-DVALUE=4",), device=device)
    x = np.zeros(1, "float32")
    kernel((1,), (1,), (x, None, 1))
    again = pickle.loads(pickle.dumps(kernel))
    x[0] = 0
    again((1,), (1,), (x, None, 1))
    assert x[0] == 4
