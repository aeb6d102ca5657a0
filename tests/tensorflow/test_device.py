"""The device itself: names, visibility, memory, streams, reports, processes that are forked."""

import ctypes
import gc
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tf_rdna
from amdgpu.tensorflow import loading
from amdgpu.tensorflow.loading import plug_in
from own_process import run


def test_devices_are_listed():
    devices = tf.config.list_physical_devices("RDNA")
    assert [device.name for device in devices] == ["/physical_device:RDNA:0", "/physical_device:RDNA:1"]
    assert [device.name for device in tf_rdna.config.list_devices()] == ["RDNA:0", "RDNA:1"]
    assert all(
        device.is_host_simulated == device.amdgpu_name.startswith("cpu") for device in tf_rdna.config.list_devices()
    )


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32", "bool", "uint8", "complex64", "string"]
)
def test_tensors_come_back_as_they_went(dtype):
    given = np.array(["a", "b"]) if dtype == "string" else np.arange(6).astype(tf.as_dtype(dtype).as_numpy_dtype)
    for name in ("RDNA:0", "RDNA:1"):
        with tf.device(name):
            assert tf.identity(tf.constant(given)).numpy().tolist() == tf.constant(given).numpy().tolist()


def test_tensors_go_from_device_to_device():
    with tf.device("RDNA:0"):
        x = tf.random.stateless_uniform((300, 300), [1, 2])
    with tf.device("RDNA:1"):
        y = x * 2.0
    assert "RDNA:1" in y.device
    np.testing.assert_array_equal(y.numpy(), x.numpy() * 2)


def test_devices_that_do_not_exist_are_refused():
    tf.config.set_soft_device_placement(False)
    with pytest.raises((ValueError, RuntimeError, tf.errors.InvalidArgumentError)), tf.device("RDNA:7"):
        tf.zeros(3)
    with pytest.raises(ValueError, match="RDNA:7 does not exist; there are RDNA:0 to RDNA:1"):
        tf_rdna.config.get_memory_info("RDNA:7")
    with pytest.raises(ValueError, match="RDNA:9 does not exist"):
        tf_rdna.config.set_visible_devices([9])
    with pytest.raises(ValueError, match="for example 'RDNA:0'"):
        tf_rdna.config.get_memory_info("GPU:0")


def test_visible_devices_are_chosen():
    done = run(
        """
        import tensorflow as tf
        import tf_rdna
        tf_rdna.config.set_visible_devices([1])
        print([device.name for device in tf.config.list_logical_devices("RDNA")])
        print(tf.config.list_logical_devices("CPU")[0].name)
        try:
            tf_rdna.config.set_visible_devices([0])
        except RuntimeError as error:
            print(error)
        """
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "['/device:RDNA:0']", done.stderr
    assert lines[1] == "/device:CPU:0"
    assert "initialized" in lines[2]


def test_memory_is_counted():
    gc.collect()
    before = tf_rdna.config.get_memory_info("RDNA:0")
    with tf.device("RDNA:0"):
        x = tf.zeros((1024, 1024))
        held = tf_rdna.config.get_memory_info("RDNA:0")
        assert held["current"] >= before["current"] + 4 * 1024 * 1024
        del x
    gc.collect()
    after = tf_rdna.config.get_memory_info(0)
    assert after["current"] == before["current"]
    assert after["peak"] >= held["current"]
    tf_rdna.config.reset_memory_stats("RDNA:0")
    assert tf_rdna.config.get_memory_info("/device:RDNA:0")["peak"] < after["peak"]


def test_out_of_memory_says_how_much_there_is_and_the_device_goes_on():
    with tf.device("RDNA:0"):
        with pytest.raises(
            tf.errors.ResourceExhaustedError,
            match=r"bytes were asked for; cpu:0 has .* bytes, of which .* are free|hip|cuda",
        ):
            tf.zeros((1 << 22, 1 << 22))
        np.testing.assert_array_equal((tf.ones(3) + 1.0).numpy(), [2, 2, 2])


def test_operations_without_a_kernel_are_told_counted_and_forbidden():
    x = np.array([0.5], np.float32)
    tf_rdna.reset_fallback_report()
    tf_rdna.set_fallback_mode("warn")
    with tf.device("RDNA:0"):
        with pytest.warns(UserWarning, match="Lgamma.*has no kernel for RDNA"):
            tf.math.lgamma(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tf.math.lgamma(x)
        (entry,) = tf_rdna.fallback_report()
        assert (entry.operation, entry.calls) == ("Lgamma(T=float32)", 2)
        tf_rdna.set_fallback_mode("error")
        with pytest.raises(NotImplementedError, match="Lgamma"):
            tf.math.lgamma(x)
        with pytest.raises(NotImplementedError, match="Lgamma"):
            tf.function(tf.math.lgamma)(x)
        tf_rdna.set_fallback_mode("off")
        tf_rdna.reset_fallback_report()
        tf.math.lgamma(x)
        assert tf_rdna.fallback_report() == []
    tf_rdna.set_fallback_mode("error")
    with tf.device("CPU:0"):
        tf.math.lgamma(x)
    with pytest.raises(ValueError, match="known are warn, silent, error, off"):
        tf_rdna.set_fallback_mode("loud")


def test_the_variable_forbids_from_the_start():
    done = run(
        """
        import tensorflow as tf
        import tf_rdna
        with tf.device("RDNA:0"):
            tf.math.lgamma([0.5])
        """,
        TF_RDNA_FALLBACK="error",
    )
    assert done.returncode
    assert "NotImplementedError: Lgamma" in done.stderr


def test_wrong_versions_are_refused():
    for version in ("2.18.0", "2.21.0", "3.0.0-rc1"):
        loading.check_version(version)
    for version in ("2.17.1", "1.15", "unknown"):
        with pytest.raises(ImportError, match=r"2\.18 or newer"):
            loading.check_version(version)


def test_a_library_that_is_missing_leaves_tensorflow_working():
    done = run(
        """
        import pathlib
        import amdgpu, sys, types
        import importlib
        package = types.ModuleType("amdgpu.tensorflow")
        package.__path__ = [str(pathlib.Path(amdgpu.__file__).parent / "tensorflow")]
        sys.modules["amdgpu.tensorflow"] = package
        loading = importlib.import_module("amdgpu.tensorflow.loading")
        loading.LIBRARY = pathlib.Path("/nowhere/libamdgpu_tensorflow.so")
        try:
            loading.load()
        except ImportError as error:
            print(error)
        import tensorflow as tf
        print((tf.ones(2) + 1.0).numpy())
        """
    )
    assert "is missing" in done.stdout, done.stderr
    assert "./x build" in done.stdout
    assert done.stdout.splitlines()[-1] == "[2. 2.]"


def test_a_library_that_is_damaged_leaves_tensorflow_working(tmp_path):
    damaged = tmp_path / "libamdgpu_tensorflow.so"
    damaged.write_bytes(b"no library")
    done = run(
        f"""
        import pathlib, amdgpu, sys, types, importlib
        package = types.ModuleType("amdgpu.tensorflow")
        package.__path__ = [str(pathlib.Path(amdgpu.__file__).parent / "tensorflow")]
        sys.modules["amdgpu.tensorflow"] = package
        loading = importlib.import_module("amdgpu.tensorflow.loading")
        loading.LIBRARY = pathlib.Path({str(damaged)!r})
        try:
            loading.load()
        except ImportError as error:
            print(error)
        import tensorflow as tf
        print((tf.ones(2) + 1.0).numpy())
        """
    )
    assert "TensorFlow refuses the plug-in" in done.stdout, done.stderr
    assert done.stdout.splitlines()[-1] == "[2. 2.]"


def test_drivers_are_opened_before_tensorflow_where_it_was_not_imported(tmp_path):
    """A HIP runtime that brings an LLVM of its own is not to meet the one that TensorFlow shows to the process."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    driver = Path(__file__).parents[1] / "ops" / "fakes" / "driver.c"
    flags = ["-std=gnu11", "-D_GNU_SOURCE", "-DHIP", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", str(tmp_path / "libamdhip64.so.7"), str(driver)], check=True)
    program = """
        import sys
        def imports(event, arguments):
            if event == "import" and arguments[0] == "tensorflow":
                print("libamdhip64" in open("/proc/self/maps").read())
        sys.addaudithook(imports)
        import tf_rdna
        """
    done = run(program, LD_LIBRARY_PATH=str(tmp_path), AMDGPU_DEVICES="hip,cpu")
    assert done.stdout.splitlines()[0] == "True", done.stderr


def test_an_import_that_comes_too_late_says_so():
    done = run(
        """
        import tensorflow as tf
        tf.ones(2)
        import tf_rdna
        """
    )
    assert "ImportError" in done.stderr
    assert "before the first tensor" in done.stderr


def test_a_process_that_was_forked_says_so():
    done = run(
        """
        import os
        import tensorflow as tf
        import tf_rdna
        with tf.device("RDNA:0"):
            x = tf.ones(2)
        child = os.fork()
        if child == 0:
            try:
                tf_rdna.config.get_memory_info(0)
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        """
    )
    assert "fork" in done.stdout, done.stderr


def test_structs_are_as_large_as_in_the_headers(tmp_path):
    """A C++ compiler says how large TensorFlow's own structs are."""
    names = {
        "SP_DeviceMemoryBase": "SP_DEVICE_MEMORY_BASE_STRUCT_SIZE",
        "SP_Device": "SP_DEVICE_STRUCT_SIZE",
        "SE_CreateDeviceParams": "SE_CREATE_DEVICE_PARAMS_STRUCT_SIZE",
        "SP_DeviceFns": "SP_DEVICE_FNS_STRUCT_SIZE",
        "SE_CreateDeviceFnsParams": "SE_CREATE_DEVICE_FNS_PARAMS_STRUCT_SIZE",
        "SE_CreateStreamExecutorParams": "SE_CREATE_STREAM_EXECUTOR_PARAMS_STRUCT_SIZE",
        "SP_TimerFns": "SP_TIMER_FNS_STRUCT_SIZE",
        "SP_AllocatorStats": "SP_ALLOCATORSTATS_STRUCT_SIZE",
        "SP_Platform": "SP_PLATFORM_STRUCT_SIZE",
        "SP_PlatformFns": "SP_PLATFORM_FNS_STRUCT_SIZE",
        "SE_PlatformRegistrationParams": "SE_PLATFORM_REGISTRATION_PARAMS_STRUCT_SIZE",
        "SP_StreamExecutor": "SP_STREAMEXECUTOR_STRUCT_SIZE",
        "TF_AllocatorAttributes": "TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE",
        "TP_OptimizerConfigs": "TP_OPTIMIZER_CONFIGS_STRUCT_SIZE",
        "TP_Optimizer": "TP_OPTIMIZER_STRUCT_SIZE",
        "TP_OptimizerRegistrationParams": "TP_OPTIMIZER_REGISTRATION_PARAMS_STRUCT_SIZE",
    }
    source = tmp_path / "sizes.cc"
    lines = [f'std::printf("{name} %zu\\n", (std::size_t)({macro}));' for name, macro in names.items()]
    source.write_text(
        "#include <cstdio>\n#include <tensorflow/c/experimental/stream_executor/stream_executor.h>\n"
        "#include <tensorflow/c/experimental/grappler/grappler.h>\n#include <tensorflow/c/tf_tensor.h>\nint main() {\n"
        + "\n".join(lines)
        + "\n}\n"
    )
    program = tmp_path / "sizes"
    subprocess.run(
        ["g++", "-std=c++17", f"-I{tf.sysconfig.get_include()}", str(source), "-o", str(program)], check=True
    )
    printed = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    wanted = {name: int(size) for name, size in (line.split() for line in printed.splitlines())}
    plug_in().agpu_tensorflow_struct_size.argtypes = [ctypes.c_char_p]
    assert {name: plug_in().agpu_tensorflow_struct_size(name.encode()) for name in names} == wanted
    assert plug_in().agpu_tensorflow_struct_size(b"SP_Unknown") == 0


def test_work_of_many_threads_and_copies():
    """Copies go through streams of their own; what kernels read has arrived."""

    def chain(x):
        for _ in range(20):
            x = tf.matmul(x, x) / 64.0 + 1.0
        return x

    given = np.random.default_rng(0).uniform(size=(64, 64)).astype(np.float32)
    with tf.device("RDNA:0"):
        results = [chain(tf.constant(given)).numpy() for _ in range(10)]
        together = tf.stack([chain(tf.constant(given)) for _ in range(4)])
    for result in [*results, *together.numpy()]:
        np.testing.assert_array_equal(result, results[0])
