"""One buffer, one error, one counter, seen from every language."""

import gc
import os
import threading
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors
from amdgpu.errors import BY_CODE


def test_a_rust_buffer_is_multiplied_in_place_by_zig_and_read_by_numpy(device, rng):
    a_host, b_host = (rng.standard_normal((96, 96)).astype("float32") for _ in range(2))
    a, b, product = (device.native.empty((96, 96), "float32") for _ in range(3))
    gc.collect()
    before = device.memory_stats()
    a.copy_from(a_host)
    b.copy_from(b_host)
    address = product.ptr
    view = np.from_dlpack(product)
    assert _native.matmul(a, b, product) is product
    assert product.ptr == address == view.__array_interface__["data"][0]
    assert view.tobytes() == product.numpy().tobytes() == amdgpu.matrix_multiply(a_host, b_host).tobytes()
    assert np.allclose(view, a_host @ b_host, atol=1e-4)
    freed = before["allocation.all.freed"]
    product.free()
    assert device.memory_stats()["allocation.all.freed"] in (freed, freed + 1)
    del view, product
    gc.collect()
    assert device.memory_stats()["allocation.all.freed"] == freed + 1


def test_an_error_of_each_language_arrives_with_class_code_hint_and_message():
    cases = {
        "rust": (lambda: amdgpu.initialize_device(0, ["tensor"]), errors.UnknownCoreTypeError, "tensor"),
        "nim": (lambda: amdgpu.Network("neuralNetwork n:\n  layer a(0)\n"), errors.NetworkError, "line 2"),
        "zig": (overlapping_product, errors.InvalidArgumentError, "shares memory"),
        "python": (lambda: amdgpu.benchmark_operation("nothing"), errors.InvalidArgumentError, "nothing"),
    }
    for language, (cause, cls, words) in cases.items():
        with pytest.raises(cls, match=words) as caught:
            cause()
        assert caught.value.language == language
        assert caught.value.code in BY_CODE
        assert caught.value.hint == type(caught.value).hint
        assert isinstance(caught.value, amdgpu.AmdgpuError)
    assert amdgpu.matrix_multiply(np.eye(2), np.eye(2)).tolist() == [[1, 0], [0, 1]]


def overlapping_product():
    a = np.eye(3, dtype="float32")
    amdgpu.matrix_multiply(a, a, out=a)


@pytest.mark.usefixtures("needs_julia")
def test_an_error_of_julia_arrives_and_leaves_julia_usable():
    with pytest.raises(errors.AmdgpuError) as caught:
        amdgpu.math.activation([1.0], "softmax")
    assert caught.value.language in ("julia", "rust")
    assert amdgpu.math.activation([2.0], "relu").tolist() == [2]


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def mixed_calls(device, kernel, network, count, failures, use_julia):
    rng = np.random.default_rng(threading.get_ident() % 1000)
    a = rng.random((16, 16), dtype=np.float32)
    x, c = np.ones(64, "float32"), np.empty(64, "float32")
    row = np.ones(8, "float32")
    try:
        for index in range(count):
            choice = index % 8
            if choice == 0:
                assert np.allclose(amdgpu.matrix_multiply(a, a), a @ a, atol=1e-4)
            elif choice in (1, 2):
                kernel[1, 64](x, x, c, 64)
                assert c[0] == 2
            elif choice == 3:
                assert abs(network.forward(row).sum() - 1) < 1e-5
            elif choice == 4:
                array = device.native.empty((256,), "float32")
                array.fill(0)
                array.free()
            elif choice == 5:
                with pytest.raises(errors.ShapeMismatchError):
                    amdgpu.matrix_multiply(a, a[:3])
            elif choice == 6 and use_julia:
                assert amdgpu.math.activation(row, "relu")[0] == 1
            else:
                view = np.asarray(device.native.empty((8,), "int32"))
                view[:] = index
    except BaseException as error:  # noqa: BLE001  (reported by the main thread)
        failures.append(error)


def test_100_000_mixed_calls_from_8_threads_leave_nothing_behind(device):
    kernel = device.compile_kernel(
        "__global__ void add(const float* a, const float* b, float* c, int n)"
        " { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }"
    )
    network = amdgpu.Network({"architecture": [8, 4, 3], "output_activation": "softmax"})
    use_julia = amdgpu.math.availability()["found"]
    failures = []

    def run(count):
        threads = [
            threading.Thread(target=mixed_calls, args=(device, kernel, network, count, failures, use_julia))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()

    run(1_000)
    bus = launches()
    before = resident_bytes()
    # Of the whole process, which has run other tests before.
    allocated = device.memory_stats()["allocated_bytes.all.current"]
    run(12_500)
    assert not failures
    assert launches() == bus + 8 * launches_of_one_thread(12_500)
    assert device.memory_stats()["allocated_bytes.all.current"] <= allocated
    grown = resident_bytes() - before
    assert grown < 16 << 20, f"resident memory grew by {grown / 2**20:.1f} MiB"


def launches_of_one_thread(count):
    """`mixed_calls` launches in calls 1 and 2 of each round of eight."""
    return sum(index % 8 in (1, 2) for index in range(count))


def launches():
    return sum(
        row["value"]
        for row in amdgpu.telemetry.snapshot()["counters"]
        if row["metric"] == "amdgpu_kernel_launches_total" and row["labels"]["core"] == "aura"
    )


def test_devices_cannot_be_used_after_fork_and_new_ones_can(run_python):
    run_python(
        "import amdgpu, numpy as np, os\n"
        "dev = amdgpu.initialize_device('cpu:0', ['aura'])\n"
        "k = dev.compile_kernel('__global__ void f(float* x, int n) {'\n"
        "  ' int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = 1; }')\n"
        "x = np.zeros(1 << 20, 'float32')\n"
        "k[1 << 12, 256](x, x.size)\n"
        "a = np.ones((300, 300), 'float32')\n"
        "amdgpu.matrix_multiply(a, a)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try:\n"
        "        dev.create_stream()\n"
        "        os._exit(3)\n"
        "    except amdgpu.errors.ForkedProcessError:\n"
        "        pass\n"
        "    ok = amdgpu.matrix_multiply(a, a)[0, 0] == 300\n"
        "    fresh = amdgpu.initialize_device('cpu:0', ['aura'])\n"
        "    y = np.zeros(1 << 20, 'float32')\n"
        "    fresh.compile_kernel(k.source)[1 << 12, 256](y, y.size)\n"
        "    os._exit(0 if ok and y.all() else 4)\n"
        "_, status = os.waitpid(child, 0)\n"
        "assert os.waitstatus_to_exitcode(status) == 0, status\n"
    )
