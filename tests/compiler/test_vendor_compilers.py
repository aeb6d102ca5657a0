"""`compiler="hiprtc"` and `compiler="nvrtc"`: the vendors' compilers, and a stand-in where they are not installed."""

from __future__ import annotations

import base64
import ctypes
import re
import zipfile
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors
from amdgpu.codegen import vendor

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (
    "__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }"
)
TWO = SOURCE + SOURCE.replace("twice", "other")


class FakeCompiler:
    """Stands for libhiprtc: takes the calls, and gives a code object that our own compiler made."""

    def __init__(self, log: bytes = b"", status: int = 0) -> None:
        content = _native.compile_source(SOURCE, "gfx1100")["content"]
        self.code = content if isinstance(content, bytes) else base64.b64decode(content)
        self.log, self.result = log, status
        self.options: list[bytes] = []
        self.expressions: list[bytes] = []
        self.destroyed = 0

    def hiprtcCreateProgram(self, handle, source, name, *_headers):  # noqa: N802
        assert b"twice" in source
        assert name == b"kernel.hip"
        return 0

    def hiprtcAddNameExpression(self, _handle, expression):  # noqa: N802
        self.expressions.append(expression)
        return 0

    def hiprtcCompileProgram(self, _handle, count, options):  # noqa: N802
        self.options = [options[index] for index in range(count)]
        return self.result

    def hiprtcGetLoweredName(self, _handle, _expression, lowered):  # noqa: N802
        ctypes.cast(lowered, ctypes.POINTER(ctypes.c_char_p))[0] = self.expressions[-1]
        return 0

    def hiprtcGetProgramLogSize(self, _handle, size):  # noqa: N802
        ctypes.cast(size, ctypes.POINTER(ctypes.c_size_t))[0] = len(self.log) + 1
        return 0

    def hiprtcGetProgramLog(self, _handle, buffer):  # noqa: N802
        buffer.value = self.log
        return 0

    def hiprtcGetCodeSize(self, _handle, size):  # noqa: N802
        ctypes.cast(size, ctypes.POINTER(ctypes.c_size_t))[0] = len(self.code)
        return 0

    def hiprtcGetCode(self, _handle, buffer):  # noqa: N802
        buffer.raw = self.code
        return 0

    def hiprtcDestroyProgram(self, _handle):  # noqa: N802
        self.destroyed += 1
        return 0


@pytest.fixture
def null():
    return amdgpu.initialize_device("null:gfx1100")


def test_code_of_the_vendor_is_loaded_with_parameters_of_the_source(null, monkeypatch):
    fake = FakeCompiler()
    monkeypatch.setattr(vendor, "open_library", lambda _compiler: fake)
    kernel = null.compile_kernel(SOURCE, compiler="hiprtc", defines={"A": "1"}, fast_math=True)
    assert kernel.signature == "twice(float* x, int n)"
    assert fake.options == [b"--offload-arch=gfx1100", b"-std=c++17", b"-DA=1", b"-ffast-math"]
    assert fake.expressions == [b"twice"]
    assert fake.destroyed == 1
    kernel[1, 64](np.zeros(64, "float32"), 64)
    with pytest.raises(errors.ArgumentCountError):
        kernel[1, 64](np.zeros(64, "float32"))


def test_the_log_of_the_vendor_is_the_error(null, monkeypatch):
    fake = FakeCompiler(log=b"kernel.hip:1:9: error: no", status=6)
    monkeypatch.setattr(vendor, "open_library", lambda _compiler: fake)
    with pytest.raises(errors.CompileError, match=r"hiprtc refuses kernel.hip:\nkernel.hip:1:9: error: no"):
        null.compile_kernel(SOURCE, compiler="hiprtc")
    assert fake.destroyed == 1


def test_one_of_several_kernels_is_named(null, monkeypatch):
    fake = FakeCompiler()
    monkeypatch.setattr(vendor, "open_library", lambda _compiler: fake)
    with pytest.raises(errors.KernelNotFoundError, match="the source has 2 kernels; name one of: twice, other"):
        null.compile_kernel(TWO, compiler="hiprtc")
    assert null.compile_kernel(TWO, name="twice", compiler="hiprtc").name == "twice"


def test_a_compiler_that_is_not_there_is_explained(null, monkeypatch):
    monkeypatch.setattr(vendor, "_candidates", lambda _vendor: ["/nowhere/libhiprtc.so"])
    vendor.open_library.cache_clear()
    with pytest.raises(errors.LibraryMissingError, match="compiler='hiprtc' needs ROCm"):
        null.compile_kernel(SOURCE, compiler="hiprtc")


def test_compilers_fit_their_devices(device, null):
    with pytest.raises(
        errors.WrongDeviceError, match="compiler='nvrtc' makes code for cuda devices, not for null:gfx1100"
    ):
        null.compile_kernel(SOURCE, compiler="nvrtc")
    with pytest.raises(errors.WrongDeviceError, match="compiler='hiprtc' makes code for hip devices, not for cpu:0"):
        device.compile_kernel(SOURCE, compiler="hiprtc")
    with pytest.raises(errors.InvalidArgumentError, match="compiler is 'gcc'; known are hiprtc, nvrtc"):
        device.compile_kernel(SOURCE, compiler="gcc")


def test_functions_are_those_that_amd_declares(request):
    # Without pytest's cache (`-p no:cacheprovider`) there is no folder to which anything was fetched.
    cache = getattr(request.config, "cache", None)
    wheels = [] if cache is None else list(Path(cache.mkdir("hip-python")).glob("*.whl"))
    if not wheels:
        pytest.skip("tests/gpu/test_hip_names.py did not fetch hip-python")
    with zipfile.ZipFile(wheels[0]) as wheel:
        text = wheel.read("hip/chiprtc.pxd").decode()
    declared = {
        name: len([part for part in parameters.split(",") if part.strip()])
        for name, parameters in re.findall(r"^cdef [\w ]+?\*? ?(hiprtc\w+)\(([^)]*)\)", text, re.MULTILINE)
    }
    ours = {f"hiprtc{name}": count for name, count in vendor.FUNCTIONS.items()} | {
        "hiprtcGetCode": 2,
        "hiprtcGetCodeSize": 2,
    }
    assert {name: declared.get(name) for name in ours} == ours


@pytest.mark.gpu
def test_nvrtc_compiles_for_a_cuda_device():
    names = [info.device for info in amdgpu.list_devices() if info.kind == "cuda"]
    if not names:
        pytest.skip("list_devices() shows no CUDA device")
    with amdgpu.initialize_device(names[0]) as device:
        try:
            kernel = device.compile_kernel(SOURCE, compiler="nvrtc")
        except errors.LibraryMissingError as error:
            pytest.skip(str(error).splitlines()[0])
        x = amdgpu.array(np.arange(100, dtype="float32"), device=names[0])
        kernel[1, 128](x, 100)
        assert np.array_equal(x.numpy(), np.arange(100, dtype="float32") * 2)
        with pytest.raises(errors.CompileError, match="nvrtc refuses"):
            device.compile_kernel(SOURCE.replace("*= 2;", "*= __nanosleep_(2);"), name="twice", compiler="nvrtc")
