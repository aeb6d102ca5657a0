"""`checked=True`: each kind of fault is found and named; kernels without faults give the same bits."""

from __future__ import annotations

import contextlib

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from corpus import CORPUS, KERNELS


def run(device, source, grid, block, *args, name=None, shared_bytes=0, **options):
    kernel = device.compile_kernel(source, name=name, checked=True, **options)
    assert kernel.is_checked
    kernel[grid, block, shared_bytes](*args)


def fault(device, error, source, grid, block, *args, **options):
    with pytest.raises(error) as caught:
        run(device, source, grid, block, *args, **options)
    return str(caught.value)


def test_an_index_past_the_end_names_argument_offset_block_thread_and_line(device):
    source = """
    __global__ void scale(const float* in, float* out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float x = in[i];
        if (i < n) out[i] = 2.0f * x;
    }"""
    x = np.arange(100, dtype="float32")
    out = np.zeros_like(x)
    message = fault(device, errors.KernelMemoryError, source, 4, 32, x, out, x.size)
    assert "scale: read of 4 bytes outside of argument `in` at byte offset 400 of 400" in message
    assert "block (3, 0, 0), thread (4, 0, 0), kernel.hip:4; 27 other faults" in message
    np.testing.assert_array_equal(out, 2 * x)


def test_negative_indices_are_told_by_their_sign(device):
    source = "__global__ void k(float* x) { x[(int)threadIdx.x - 1] = 1.0f; }"
    data = np.zeros(8, "float32")
    message = fault(device, errors.KernelMemoryError, source, 1, 8, data)
    assert "write of 4 bytes outside of argument `x` at byte offset -4 of 32" in message
    assert data.tolist() == [1] * 7 + [0]


def test_running_from_one_array_into_its_neighbour_is_found(device):
    both = np.zeros(16, "int32")
    source = "__global__ void k(int* a, int* b) { a[8] = 1; b[0] = 2; }"
    message = fault(device, errors.KernelMemoryError, source, 1, 1, both[:8], both[8:])
    assert "argument `a` at byte offset 32 of 32" in message


def test_a_loop_that_runs_past_an_array_ends_there(device):
    source = """
    __global__ void fill(int* p, int* steps) {
        for (int i = 0; i >= 0; ++i) { p[i] = i; steps[0] = i; }
    }"""
    data, steps = np.zeros(10, "int32"), np.zeros(1, "int32")
    message = fault(device, errors.KernelMemoryError, source, 1, 1, data, steps)
    assert "argument `p` at byte offset 40 of 40" in message
    assert (data.tolist(), steps[0]) == (list(range(10)), 9)


@pytest.mark.parametrize("level", ["none", "high", "max"])
def test_functions_templates_and_pointers_that_move_keep_their_argument(device, level):
    source = """
    template <typename T> __device__ T sum(const T* begin, const T* end) {
        T total = 0;
        for (const T* p = begin; p <= end; ++p) total += *p;
        return total;
    }
    __global__ void k(const double* x, double* out, int n) { out[threadIdx.x] = sum(x, x + n); }"""
    message = fault(
        device, errors.KernelMemoryError, source, 1, 1, np.ones(5), np.zeros(1), 5, optimization_level=level
    )
    assert "read of 8 bytes outside of argument `x` at byte offset 40 of 40" in message
    assert "kernel.hip:4" in message


def test_variables_of_work_item_block_and_module_have_bounds(device):
    for declaration, name in [
        ("float memory[4];", "a variable of the work-item"),
        ("__shared__ float memory[4];", "the shared variable `memory`"),
        ("extern __shared__ float memory[];", "the shared variable `memory`"),
        ("static float memory[4];", "the variable `memory`"),
    ]:
        source = f"""__global__ void k(float* out, int i) {{
            {declaration}
            memory[0] = 1.0f;
            out[0] = memory[i];
        }}"""
        message = fault(device, errors.KernelMemoryError, source, 1, 1, np.zeros(1, "float32"), 4, shared_bytes=16)
        assert f"read of 4 bytes outside of {name} at byte offset 16 of 16" in message
    source = "__device__ int table[3]; __global__ void k(int i) { table[i] = 1; }"
    assert "the variable `table` at byte offset 12 of 12" in fault(device, errors.KernelMemoryError, source, 1, 1, 3)


def test_null_freed_and_wild_pointers_in_memory(device):
    source = """
    struct View { int* data; int count; };
    __global__ void k(View v) { for (int i = 0; i < v.count; ++i) v.data[i] += 1; }"""
    layout = np.dtype([("data", "u8"), ("count", "i4")], align=True)

    def view(address, count):
        value = np.zeros((), layout)
        value["data"], value["count"] = address, count
        return value

    array = device.native.empty([4], "int32")
    array.fill(0)
    run(device, source, 1, 1, view(array.ptr, 4))
    assert array.numpy().tolist() == [1, 1, 1, 1]
    assert "through a null pointer" in fault(device, errors.KernelMemoryError, source, 1, 1, view(0, 4))
    assert "which no array of the launch has" in fault(
        device, errors.KernelMemoryError, source, 1, 1, view(array.ptr, 5)
    )
    address = array.ptr
    array.free()
    assert "of memory that was freed" in fault(device, errors.KernelMemoryError, source, 1, 1, view(address, 4))


def test_misaligned_pointers(device):
    source = "__global__ void k(char* bytes, int* out) { out[0] = *(int*)(bytes + 2); }"
    data = np.zeros(16, "int8")
    message = fault(device, errors.KernelMemoryError, source, 1, 1, data, np.zeros(1, "int32"))
    assert "misaligned read of argument `bytes` at byte offset 2, which needs a multiple of 4" in message


def test_a_missing_barrier_is_a_race_in_shared_memory(device):
    source = """
    __global__ void reverse(int* data) {
        __shared__ int memory[64];
        memory[threadIdx.x] = data[threadIdx.x];
        BARRIER
        data[threadIdx.x] = memory[63 - threadIdx.x];
    }"""
    data = np.arange(64, dtype="int32")
    message = fault(device, errors.DataRaceError, source.replace("BARRIER", ""), 1, 64, data)
    assert (
        "race: write of shared `memory` at byte offset 128, after the read of block (0, 0, 0), thread (31, 0, 0)"
        in message
    )
    assert "in line 6 with nothing to order the two; block (0, 0, 0), thread (32, 0, 0), kernel.hip:4" in message
    data = np.arange(64, dtype="int32")
    run(device, source.replace("BARRIER", "__syncthreads();"), 1, 64, data)
    assert data.tolist() == list(range(63, -1, -1))


def test_races_in_global_memory_within_and_between_blocks(device):
    source = "__global__ void count(int* total) { total[0] += 1; }"
    for grid, block, other in [
        (1, 2, "block (0, 0, 0), thread (0, 0, 0)"),
        (2, 1, "block (0, 0, 0), thread (0, 0, 0)"),
    ]:
        message = fault(device, errors.DataRaceError, source, grid, block, np.zeros(1, "int32"))
        assert "argument `total` at byte offset 0" in message
        assert other in message
    total = np.zeros(1, "int32")
    run(device, "__global__ void count(int* total) { atomicAdd(total, 1); }", 8, 32, total)
    assert total[0] == 256


def test_blocks_may_hand_work_over_by_fence_and_atomic(device):
    source = """
    __device__ unsigned int done;
    __global__ void sum(const float* x, float* partial, float* total) {
        __shared__ bool is_last;
        if (threadIdx.x == 0) {
            partial[blockIdx.x] = x[blockIdx.x];
            __threadfence();
            is_last = atomicAdd(&done, 1u) == gridDim.x - 1;
        }
        __syncthreads();
        if (is_last && threadIdx.x == 0) {
            float all = 0.0f;
            for (int i = 0; i < gridDim.x; ++i) all += partial[i];
            total[0] = all;
        }
    }"""
    total = np.zeros(1, "float32")
    run(device, source, 8, 32, np.ones(8, "float32"), np.zeros(8, "float32"), total)
    assert total[0] == 8
    message = fault(
        device,
        errors.DataRaceError,
        source.replace("__threadfence();", ""),
        8,
        32,
        np.ones(8, "float32"),
        np.zeros(8, "float32"),
        total,
        defines={"WITHOUT": "1"},
    )
    assert "argument `partial`" in message


def test_writing_the_same_value_is_no_race(device):
    flag = np.zeros(1, "int32")
    run(device, "__global__ void k(int* flag) { flag[0] = 7; }", 4, 64, flag)
    assert flag[0] == 7


def test_different_barriers_of_one_block(device):
    source = """
    __global__ void k(int* p) {
        if (threadIdx.x < 16) {
            __syncthreads();
        } else {
            __syncthreads();
        }
        p[threadIdx.x] = 1;
    }"""
    message = fault(device, errors.DivergentBarrierError, source, 1, 32, np.zeros(32, "int32"))
    assert "this barrier, while other work-items of the block wait in line 4" in message
    assert "thread (16, 0, 0), kernel.hip:6" in message


def test_work_items_that_return_before_a_barrier_are_fine(device):
    source = """
    __global__ void k(int* p, int n) {
        __shared__ int memory[64];
        if (threadIdx.x >= n) return;
        memory[threadIdx.x] = threadIdx.x;
        __syncthreads();
        p[threadIdx.x] = memory[n - 1 - threadIdx.x];
    }"""
    data = np.zeros(40, "int32")
    run(device, source, 1, 64, data, 40)
    assert data.tolist() == list(range(39, -1, -1))


def test_loops_without_end_are_stopped_and_the_device_goes_on(device):
    endless = "__global__ void k(int* p) { while (true) { } p[0] = 1; }"
    data = np.zeros(1, "int32")
    kernel = device.compile_kernel(endless, checked=True)
    for _ in range(2):
        with pytest.raises(errors.KernelTimeoutError, match="it was stopped"):
            device.execute(kernel, data, grid=64, block=64, timeout_ms=30)
    run(device, "__global__ void k(int* p) { p[0] = 5; }", 1, 1, data)
    assert data[0] == 5


def test_division_by_zero_and_wrapping_are_no_faults(device):
    out = np.zeros(3, "int32")
    source = "__global__ void k(int* out, int zero) { out[0] = 7 / zero; out[1] = 7 % zero; out[2] = 2147483647 + 1 - zero; }"
    run(device, source, 1, 1, out, 0)
    assert out.tolist() == [0, 7, -(2**31)]


def test_recursion_is_checked_too(device):
    source = """
    __device__ int walk(const int* next, int i, int depth) { return depth == 0 ? i : walk(next, next[i], depth - 1); }
    __global__ void k(const int* next, int* out) { out[0] = walk(next, 0, 5); }"""
    out = np.zeros(1, "int32")
    run(device, source, 1, 1, np.array([1, 2, 0], "int32"), out)
    assert out[0] == 2
    message = fault(device, errors.KernelMemoryError, source, 1, 1, np.array([1, 3, 0], "int32"), out)
    assert "`next` at byte offset 12 of 12" in message


def test_printing_and_assertions_work_in_checked_kernels(device, capsys):
    source = r'__global__ void k(int n) { printf("%d %s\n", n, "text"); assert(n > 0); }'
    run(device, source, 1, 1, 3)
    assert capsys.readouterr().out == "3 text\n"
    with pytest.raises(errors.KernelAssertionError, match="assertion 'n > 0' failed"):
        run(device, source, 1, 1, 0)


def test_execute_checks_a_kernel_that_was_compiled_without(device):
    kernel = device.compile_kernel(
        "__global__ void k(float* x) { x[threadIdx.x + OFFSET] = 1; }", defines={"OFFSET": "1"}
    )
    x = np.zeros(8, "float32")
    device.execute(kernel, x, grid=1, block=7, checked=True)
    assert x.tolist() == [0] + [1] * 7
    with pytest.raises(errors.KernelMemoryError, match="byte offset 32 of 32"):
        device.execute(kernel, x, grid=1, block=8, checked=True)
    with pytest.raises(errors.KernelMemoryError):
        device.execute(kernel, x, grid=1, block=8, checked=True, async_execution=True).result()


def test_what_cannot_be_checked_is_refused():
    with (
        amdgpu.initialize_device("null:gfx1100") as device,
        pytest.raises(errors.InvalidArgumentError, match="checked=True works on the CPU device"),
    ):
        device.compile_kernel("__global__ void k() {}", checked=True)


def test_prepared_launches_are_checked(device):
    kernel = device.compile_kernel("__global__ void k(int* p, int i) { p[i] = i; }", checked=True)
    data = np.zeros(4, "int32")
    right, wrong = kernel.prepare(1, 1, data, 3), kernel.prepare(1, 1, data, 4)
    stream = device.create_stream()
    in_stream = kernel.prepare(1, 1, data, -1, stream=stream)
    for _ in range(2):
        right()
        with pytest.raises(errors.KernelMemoryError, match="argument `p` at byte offset 16 of 16"):
            wrong()
        with contextlib.suppress(errors.KernelMemoryError):  # heard at once, if the kernel is that fast
            in_stream()
        with pytest.raises(errors.KernelMemoryError, match="at byte offset -4 of 16"):
            stream.synchronize()
    assert data.tolist() == [0, 0, 0, 3]


def test_graphs_are_checked_with_the_arguments_of_their_replay(device):
    kernel = device.compile_kernel("__global__ void k(int* p, int i) { p[i] = i; }", checked=True)
    data, shorter = np.zeros(4, "int32"), np.zeros(2, "int32")
    with amdgpu.CapturedGraph() as graph:
        kernel[1, 1](data, 3)
        kernel.prepare(1, 1, data, 2)()
    graph.replay()
    assert data.tolist() == [0, 0, 2, 3]
    graph.update(0, i=4)
    with pytest.raises(errors.KernelMemoryError, match="argument `p` at byte offset 16 of 16"):
        graph.replay()
    stream = device.create_stream()
    graph.replay(stream)
    with pytest.raises(errors.KernelMemoryError, match="argument `p` at byte offset 16 of 16"):
        stream.synchronize()
    graph.update(0, p=shorter, i=1)
    graph.update(1, shorter, 2)
    with pytest.raises(errors.KernelMemoryError, match="argument `p` at byte offset 8 of 8"):
        graph.replay()
    assert shorter.tolist() == [0, 1]
    graph.update(1, i=0)
    graph.replay()


def test_freed_memory_is_found_in_the_replay_that_comes_after(device):
    kernel = device.compile_kernel("__global__ void k(int** table) { table[0][1] = 5; }", checked=True)
    array = device.native.empty([2], "int32")
    table = np.array([array.ptr], "uint64")
    with amdgpu.CapturedGraph() as graph:
        kernel[1, 1](table)
    graph.replay()
    assert array.numpy()[1] == 5
    array.free()
    with pytest.raises(errors.KernelMemoryError, match="of memory that was freed"):
        graph.replay()


def test_an_endless_loop_in_a_graph_is_stopped(device):
    kernel = device.compile_kernel("__global__ void k(int* p) { while (true) { } p[0] = 1; }", checked=True)
    stream = device.create_stream()
    with amdgpu.CapturedGraph() as graph:
        kernel[1, 1](np.zeros(1, "int32"))
    graph.replay(stream)
    assert not stream.wait(20)
    assert stream.stop()
    assert stream.wait(20)


def same_bits_with_checks(device, entry):
    launch = entry.launch(entry.sizes[-1])
    checked, plain = (entry.run(device, launch, checked=checked) for checked in (True, False))
    assert launch.problem(checked) == ""
    if not launch.order_dependent:
        pairs = zip(checked, plain, strict=True)
        assert all(a.tobytes() == b.tobytes() for a, b in pairs if isinstance(a, np.ndarray))


@pytest.mark.parametrize("name", [name for name, entry in CORPUS.items() if entry.path.parent == KERNELS])
def test_kernels_without_faults_give_the_same_bits(device, name):
    same_bits_with_checks(device, CORPUS[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:amdgpu. codegen does not run as preferred")
@pytest.mark.parametrize("name", [name for name, entry in CORPUS.items() if entry.path.parent != KERNELS])
def test_the_whole_corpus_is_without_faults(device, name):
    same_bits_with_checks(device, CORPUS[name])
