"""Launches that cannot work: each ends in an error that says what is wrong and what would be right."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

SOURCE = """
__global__ void f(float* x, const int* y, float a, int n, unsigned char b) { x[threadIdx.x] = a + y[0] + n + b; }
"""
QUADS = "__global__ void q(const float4* v, float* out) { out[0] = v[0].x; }"
SHARED = """
__global__ void s(float* x) {
    __shared__ float fixed[1000];
    extern __shared__ float rest[];
    fixed[threadIdx.x] = x[0];
    rest[threadIdx.x] = 1;
    __syncthreads();
    x[0] = fixed[0] + rest[0];
}
"""
BOUNDED = "__global__ void __launch_bounds__(128) bounded(float* x) { x[0] = 1; }"
SIGNATURE = r"f\(float\* x, const int\* y, float a, int n, unsigned char b\)"


@pytest.fixture
def kernel(device):
    return device.compile_kernel(SOURCE)


@pytest.fixture
def x():
    return np.zeros(64, "float32")


@pytest.fixture
def y():
    return np.zeros(4, "int32")


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (1, 2048, "block.x is 2048; cpu:0 allows 1 to 1024"),
        (1, (64, 64, 2), "a block has 8192 threads; the limit is 1024"),
        (1, (1, 1, 65), "block.z is 65; cpu:0 allows 1 to 64"),
        (2**31, 1, "grid.x is 2147483648; cpu:0 allows 1 to 2147483647"),
        ((1, 70000), 1, "grid.y is 70000; cpu:0 allows 1 to 65535"),
        (2**63, 1, "grid is 9223372036854775808; pass 1 to 3 integers, none beyond the limits of the device"),
        (0, 1, "grid.x is 0; cpu:0 allows 1 to"),
        (1, -1, "block.x is -1; cpu:0 allows 1 to"),
        (1.5, 1, "grid is 1.5; pass 1 to 3 integers"),
        ("1", 1, "grid is '1'; pass 1 to 3 integers"),
        (None, 1, "grid is None; pass 1 to 3 integers"),
        ((1, 1, 1, 1), 1, "grid has 4 extents; pass 1 to 3 integers"),
        ((), 1, "grid has 0 extents; pass 1 to 3 integers"),
        (1, np.zeros((2, 2)), "block is"),
    ],
)
def test_shapes_outside_the_limits(kernel, x, y, grid, block, message):
    with pytest.raises(errors.InvalidLaunchError, match=message):
        kernel[grid, block]
    with pytest.raises(errors.InvalidLaunchError, match=message):
        kernel.prepare(grid, block, x, y, 1.0, 1, 1)


def test_blocks_beyond_the_launch_bounds(device):
    with pytest.raises(errors.InvalidLaunchError, match="a block has 129 threads; __launch_bounds__ allows 128"):
        device.compile_kernel(BOUNDED)[1, 129]


@pytest.mark.parametrize(
    ("shared_bytes", "message"),
    [
        (70000, "shared memory is 70000 bytes; cpu:0 allows 0 to 61536 beside the 4000 bytes that the kernel declares"),
        (-1, "shared memory is -1 bytes; cpu:0 allows 0 to 61536"),
        ("many", "shared memory is 'many'; pass a number of bytes"),
        (2**70, "shared memory is 1180591620717411303424; pass a number of bytes"),
    ],
)
def test_shared_memory_above_the_limit(device, shared_bytes, message):
    with pytest.raises(errors.InvalidLaunchError, match=message):
        device.compile_kernel(SHARED)[1, 1, shared_bytes]


def test_the_brackets_are_explained(kernel, device):
    for key in (1, (1, 1, 0, None, 3)):
        with pytest.raises(errors.InvalidLaunchError, match=r"write kernel\[grid, block\]"):
            kernel[key]
    with pytest.raises(errors.InvalidTypeError, match="is a stream of the device, not str"):
        kernel[1, 1, 0, "stream"]
    null = amdgpu.initialize_device("null:gfx1100")
    with pytest.raises(errors.WrongDeviceError, match="the stream is of null:gfx1100, and is used on cpu:0"):
        kernel[1, 1, 0, null.create_stream()]


@pytest.mark.parametrize("count", [0, 4, 6])
def test_another_number_of_arguments(kernel, x, y, count):
    arguments = [x, y, 1.0, 1, 1, 1][:count]
    with pytest.raises(errors.ArgumentCountError, match=f"{SIGNATURE} takes 5 arguments, {count} were given"):
        kernel[1, 1](*arguments)
    with pytest.raises(errors.ArgumentCountError, match=f"{SIGNATURE} takes 5 arguments, {count} were given"):
        kernel.prepare(1, 1, *arguments)


@pytest.mark.parametrize(
    ("index", "value", "error", "message"),
    [
        (0, np.zeros(4), errors.InvalidTypeError, "`float*` needs an array of float32, this one is of float64"),
        (
            1,
            np.zeros(4, "int64"),
            errors.InvalidTypeError,
            "`const int*` needs an array of int32, this one is of int64",
        ),
        (0, [1.0], errors.InvalidTypeError, "`float*` needs an array, or None for a null pointer, not list"),
        (0, 1.0, errors.InvalidTypeError, "`float*` needs an array, or None for a null pointer, not float"),
        (2, np.zeros(4), errors.InvalidTypeError, "an array was given where a number is expected"),
        (2, "1", errors.InvalidTypeError, "a number is expected, not str"),
        (2, 1j, errors.InvalidTypeError, "a number is expected, not complex"),
        (3, None, errors.InvalidTypeError, "a number is expected, not NoneType"),
        (3, 1.5, errors.InvalidTypeError, "`int` cannot be made from a float"),
        (
            3,
            2**31,
            errors.InvalidArgumentError,
            "2147483648 does not fit into `int`, which holds -2147483648 to 2147483647",
        ),
        (3, 2**200, errors.InvalidArgumentError, "the integer has more than 127 bits"),
        (4, 256, errors.InvalidArgumentError, "256 does not fit into `unsigned char`, which holds 0 to 255"),
        (4, -1, errors.InvalidArgumentError, "-1 does not fit into `unsigned char`, which holds 0 to 255"),
        (2, 1e39, errors.InvalidArgumentError, "does not fit into `float`"),
        (0, np.zeros(8, "float32")[::2], errors.NotContiguousError, "not contiguous in row-major order"),
        (0, np.zeros((4, 4), "float32").T[:, ::1], errors.NotContiguousError, "not contiguous in row-major order"),
        (0, np.asfortranarray(np.zeros((4, 4), "float32")), errors.NotContiguousError, "row-major"),
        (0, np.array([None]), errors.UnsupportedDtypeError, "dtype object is not a type of device memory"),
        (0, np.zeros(4, ">f4"), errors.UnsupportedDtypeError, "foreign byte order"),
        (0, np.zeros(4, "datetime64[s]"), errors.UnsupportedDtypeError, "is not a type of device memory"),
    ],
)
def test_arguments_that_do_not_fit(kernel, x, y, index, value, error, message):
    arguments = [x, y, 1.0, 1, 1]
    arguments[index] = value
    with pytest.raises(error) as caught:
        kernel[1, 1](*arguments)
    text = str(caught.value)
    assert text.startswith(f"argument {index} (`{'xyanb'[index]}`) of f: ")
    assert message in text
    with pytest.raises(error):
        kernel.prepare(1, 1, *arguments)


def test_read_only_arrays_are_not_written(kernel, x, y):
    x.setflags(write=False)
    with pytest.raises(errors.InvalidArgumentError, match="the array is read-only, but `float\\*` may be written"):
        kernel[1, 1](x, y, 1.0, 1, 1)


def test_freed_arrays(kernel, y):
    array = amdgpu.zeros(64, "float32", device="cpu:0")
    prepared = kernel.prepare(1, 1, array, y, 1.0, 1, 1)
    array.free()
    with pytest.raises(errors.UseAfterFreeError, match=r"argument 0 \(`x`\) of f: the array was freed"):
        kernel[1, 1](array, y, 1.0, 1, 1)
    # A launch prepared before holds the memory, which goes back when the launch is dropped.
    prepared()


def test_arrays_on_another_device(kernel, y):
    there = amdgpu.zeros(64, "float32", device="null:gfx1100")
    with pytest.raises(
        errors.WrongDeviceError, match=r"argument 0 \(`x`\) of f: the array is on null:gfx1100, the kernel on cpu:0"
    ):
        kernel[1, 1](there, y, 1.0, 1, 1)


def test_misaligned_memory(device, kernel, x, y):
    odd = np.frombuffer(bytearray(65), "uint8")[1:].view("float32")
    with pytest.raises(errors.InvalidArgumentError, match="`float\\*` needs a multiple of 4 bytes; pass a copy"):
        kernel[1, 1](odd, y, 1.0, 1, 1)
    quads = device.compile_kernel(QUADS)
    aligned = amdgpu.zeros(64, "float32", device="cpu:0")
    quads[1, 1](aligned, x)
    beside = np.asarray(aligned)[1:61]
    with pytest.raises(
        errors.InvalidArgumentError, match="`const float4\\*` needs a multiple of 16 bytes; pass a copy"
    ):
        quads[1, 1](beside, x)


def test_kernels_of_closed_devices(x, y):
    device = amdgpu.initialize_device("cpu:0")
    kernel = device.compile_kernel(SOURCE)
    prepared = kernel.prepare(1, 1, x, y, 1.0, 1, 1)
    device.close()
    with pytest.raises(errors.ClosedError, match="device cpu:0 is closed"):
        kernel[1, 1](x, y, 1.0, 1, 1)
    with pytest.raises(errors.ClosedError, match="device cpu:0 is closed"):
        prepared()


def test_prepared_launches_take_no_arguments(kernel, x, y):
    with pytest.raises(TypeError, match="takes 0 positional arguments but 1 was given"):
        kernel.prepare(1, 1, x, y, 1.0, 1, 1)(3)
