"""The compilers of the vendors: hiprtc of ROCm and NVRTC of CUDA, opened when first asked for.

The two interfaces are twins: the same functions under two prefixes. Sources: HIP RTC Programming Guide; NVRTC manual.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amdgpu.errors import CompileError, LibraryMissingError, WrongDeviceError

# Functions in use, with the number of their parameters; those that give the code have other names in the two.
FUNCTIONS = {
    "CreateProgram": 6,
    "AddNameExpression": 2,
    "CompileProgram": 3,
    "GetProgramLogSize": 2,
    "GetProgramLog": 2,
    "GetLoweredName": 3,
    "DestroyProgram": 1,
    "GetErrorString": 1,
}


@dataclass(frozen=True)
class Vendor:
    """What differs between the two."""

    prefix: str
    device_kind: str
    # Begin of the names of architectures.
    architecture: str
    architecture_option: str
    fast_math_option: str
    code: str
    libraries: tuple[str, ...]
    folders: tuple[str, ...]
    package: str


VENDORS = {
    "hiprtc": Vendor(
        prefix="hiprtc",
        device_kind="hip",
        architecture="gfx",
        architecture_option="--offload-arch={}",
        fast_math_option="-ffast-math",
        code="Code",
        libraries=("libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so"),
        folders=("/opt/rocm/lib",),
        package="ROCm (libhiprtc)",
    ),
    "nvrtc": Vendor(
        prefix="nvrtc",
        device_kind="cuda",
        architecture="sm_",
        architecture_option="--gpu-architecture={}",
        fast_math_option="--use_fast_math",
        code="PTX",
        libraries=("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"),
        folders=("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"),
        package="the CUDA toolkit, or the wheel nvidia-cuda-nvrtc (libnvrtc)",
    ),
}


def _candidates(vendor: Vendor) -> Iterable[str]:
    yield from vendor.libraries
    # Wheels put the library beside their package, where the loader does not look.
    roots = [Path(folder) for folder in vendor.folders if folder.startswith("/")]
    roots += [Path(entry) / folder for entry in sys.path for folder in vendor.folders if not folder.startswith("/")]
    for root in roots:
        for name in vendor.libraries:
            if (root / name).exists():
                yield str(root / name)


@functools.cache
def open_library(compiler: str) -> ctypes.CDLL:
    """The library of a vendor's compiler.

    Raises:
        LibraryMissingError: It is not installed.
    """
    vendor = VENDORS[compiler]
    for candidate in _candidates(vendor):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise LibraryMissingError(
        f"compiler={compiler!r} needs {vendor.package}; tried {', '.join(vendor.libraries)}. compiler=None is amdgpu's own"
    )


def check_device(compiler: str, device: str, architecture: str) -> Vendor:
    """The vendor of a compiler, which fits the device.

    Raises:
        WrongDeviceError: The compiler makes no code for it.
    """
    vendor = VENDORS[compiler]
    if not architecture.startswith(vendor.architecture):
        raise WrongDeviceError(f"compiler={compiler!r} makes code for {vendor.device_kind} devices, not for {device}")
    return vendor


def compile_source(
    compiler: str,
    source: str,
    expression: str,
    *,
    architecture: str,
    file_name: str,
    defines: dict[str, str],
    fast_math: bool,
) -> tuple[bytes, str]:
    """Code for one architecture, and the symbol of the kernel that `expression` names in it.

    Raises:
        LibraryMissingError: The compiler is not installed.
        CompileError: It refuses the source; the message is its log.
    """
    vendor, library = VENDORS[compiler], open_library(compiler)
    target = architecture.replace("sm_", "compute_")
    options = [vendor.architecture_option.format(target), "-std=c++17"]
    options += [f"-D{name}={value}" for name, value in defines.items()]
    options += [vendor.fast_math_option] if fast_math else []
    program = _Program(vendor, library, source, file_name)
    try:
        program.call("AddNameExpression", expression.encode())
        arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        status = program.status("CompileProgram", len(options), arguments)
        if status:
            raise CompileError(f"{compiler} refuses {file_name}:\n{program.text('ProgramLog').strip()}")
        lowered = ctypes.c_char_p()
        program.call("GetLoweredName", expression.encode(), ctypes.byref(lowered))
        return program.data(vendor.code), (lowered.value or b"").decode()
    finally:
        program.destroy()


class _Program:
    def __init__(self, vendor: Vendor, library: Any, source: str, file_name: str) -> None:
        self._vendor = vendor
        self._library = library
        self._handle = ctypes.c_void_p()
        status = self._function("CreateProgram")(
            ctypes.byref(self._handle), source.encode(), file_name.encode(), 0, None, None
        )
        self._check("CreateProgram", status)

    def _function(self, name: str) -> Any:
        return getattr(self._library, self._vendor.prefix + name)

    def _check(self, name: str, status: int) -> None:
        if status:
            explain = self._function("GetErrorString")
            explain.restype = ctypes.c_char_p
            text = (explain(status) or b"?").decode()
            raise CompileError(f"{self._vendor.prefix}{name} failed: {text} ({status})")

    def status(self, name: str, *arguments: Any) -> int:
        return int(self._function(name)(self._handle, *arguments))

    def call(self, name: str, *arguments: Any) -> None:
        self._check(name, self.status(name, *arguments))

    def data(self, what: str) -> bytes:
        size = ctypes.c_size_t()
        self.call(f"Get{what}Size", ctypes.byref(size))
        buffer = ctypes.create_string_buffer(max(size.value, 1))
        self.call(f"Get{what}", buffer)
        return buffer.raw[: size.value]

    def text(self, what: str) -> str:
        return self.data(what).split(b"\0", 1)[0].decode(errors="replace")

    def destroy(self) -> None:
        self._function("DestroyProgram")(ctypes.byref(self._handle))
