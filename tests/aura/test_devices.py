"""Listing and opening devices."""

import os
import pickle

import amdgpu
import pytest
from amdgpu import errors


def test_the_cpu_is_a_device_with_real_facts():
    held = amdgpu.zeros(1000, "float32")
    cpu = next(device for device in amdgpu.list_devices() if device.kind == "cpu")
    assert cpu.device == "cpu:0"
    assert cpu.name
    assert 1 <= cpu.compute_units <= os.cpu_count()
    assert 0 < cpu.free_memory_bytes <= cpu.total_memory_bytes - held.nbytes
    assert cpu.core_types == ["aura", "matrix", "neuromorphic"]
    assert all(count >= 1 for count in cpu.core_counts.values())


def test_device_info_is_picklable():
    info = amdgpu.list_devices()[0]
    assert pickle.loads(pickle.dumps(info)) == info


def test_two_steps_and_one_step_give_the_same_device():
    two_steps = amdgpu.AMDGPUDevice(0, ["aura"])
    info = two_steps.initialize()
    one_step = amdgpu.initialize_device(0, ["aura"])
    assert info.device == one_step.name == two_steps.name
    assert one_step.core_types == ["aura"]


def test_an_index_past_the_list_names_the_devices():
    with pytest.raises(errors.DeviceNotFoundError, match="cpu:0"):
        amdgpu.initialize_device(99)


@pytest.mark.parametrize("bad", [-1, "gpu:0", "cpu:7", "", "hip:0", "sim:gfx1100"])
def test_unknown_devices_are_refused_with_a_reason(bad):
    with pytest.raises(errors.DeviceNotFoundError) as caught:
        amdgpu.initialize_device(bad)
    assert isinstance(caught.value, ValueError)
    assert caught.value.hint


@pytest.mark.parametrize("bad", [1.5, None, object(), [0]])
def test_a_device_of_another_type_is_refused(bad):
    with pytest.raises(errors.InvalidTypeError):
        amdgpu.initialize_device(bad)


def test_unknown_core_types_list_the_known_ones():
    with pytest.raises(errors.UnknownCoreTypeError, match="aura, matrix, neuromorphic"):
        amdgpu.initialize_device(0, ["tensor"])


def test_a_core_that_was_not_enabled_is_refused():
    device = amdgpu.initialize_device(0, ["matrix"])
    with pytest.raises(errors.CoreNotEnabledError, match="aura"):
        device.compile_kernel("__global__ void f(float* x) { x[0] = 1; }")


def test_unknown_optimization_levels_list_the_known_ones():
    with pytest.raises(errors.InvalidArgumentError, match="none, low, high, max"):
        amdgpu.initialize_device(0, optimization_level="turbo")


def test_everything_of_a_closed_device_says_closed():
    device = amdgpu.initialize_device("cpu:0")
    kernel = device.compile_kernel("__global__ void f(float* x) { x[0] = 1; }")
    array = device.native.empty((4,), "float32")
    array.fill(0)
    stream = device.create_stream()
    prepared, in_stream = kernel.prepare(1, 1, array), kernel.prepare(1, 1, array, stream=stream)
    device.close()
    device.close()
    for use in (device.create_stream, device.memory_stats, device.synchronize, lambda: device.compile_kernel("x")):
        with pytest.raises(errors.ClosedError):
            use()
    launches = {
        "waited for": lambda: kernel[1, 1](array),
        "in a stream": lambda: kernel[1, 1, 0, stream](array),
        "prepared": prepared,
        "prepared for a stream": in_stream,
        "queued": lambda: kernel.queue(1, 1, [array]),
    }
    for name, launch in launches.items():
        with pytest.raises(errors.ClosedError, match="cpu:0 is closed"):
            launch()
        assert array.numpy().tolist() == [0, 0, 0, 0], name
    assert array.nbytes == 16


def test_queued_launches_run_in_order_and_reading_waits_for_them():
    device = amdgpu.initialize_device("cpu:0")
    step = device.compile_kernel("__global__ void step(float* x, float a) { x[threadIdx.x] = x[threadIdx.x] * 2 + a; }")
    for is_named in (False, True):
        array = device.native.empty((4,), "float32")
        array.fill(0)
        expected = 0
        for number in range(20):
            step.queue(1, 4, [array, float(number % 3)], memory=[array] if is_named else [])
            expected = expected * 2 + number % 3
        assert array.numpy().tolist() == [expected] * 4


def test_kernels_and_arrays_outlive_a_device_that_nobody_holds():
    import gc

    import numpy as np

    kernel = amdgpu.initialize_device("cpu:0").compile_kernel("__global__ void f(float* x) { x[threadIdx.x] *= 2; }")
    array = amdgpu.initialize_device("cpu:0").native.empty((4,), "float32")
    gc.collect()
    array.copy_from(np.ones(4, "float32"))
    kernel[1, 4](array)
    assert array.numpy().tolist() == [2, 2, 2, 2]


def test_the_environment_restricts_the_list(run_python):
    code = "import amdgpu; print([d.device for d in amdgpu.list_devices()])"
    assert run_python(code, AMDGPU_DEVICES="cpu").stdout.strip() == "['cpu:0']"
    assert run_python(code, AMDGPU_DEVICES="null:gfx1100,cpu").stdout.strip() == "['null:gfx1100', 'cpu:0']"
    refused = run_python(code, AMDGPU_DEVICES="quantum", check=False)
    assert refused.returncode != 0
    assert "AMDGPU_DEVICES" in refused.stderr


def test_a_null_device_compiles_and_checks_but_executes_nothing():
    import numpy as np

    with amdgpu.initialize_device("null:gfx1100", ["aura"]) as device:
        kernel = device.compile_kernel("__global__ void f(float* x) { x[0] = 1; }")
        x = np.zeros(4, "float32")
        kernel[1, 1](x)
        assert x[0] == 0
        with pytest.raises(errors.ArgumentCountError):
            kernel[1, 1](x, x)
