"""Compiles HIP-C with the compiler's `emit` example and runs it in this process, without the runtime of the package.

Objects come from `amdgpu.codegen`, are linked by LLVM's in-memory linker, and are called through the block-range ABI of the CPU
backend with NumPy arrays as arguments.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import linking
import numpy as np
from amdgpu import codegen

ROOT = Path(__file__).resolve().parents[2]


class Launch(ctypes.Structure):
    """`agpu_cpu_launch`."""

    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("block", ctypes.c_uint32 * 3),
        ("shared", ctypes.c_void_p),
        ("shared_bytes", ctypes.c_uint64),
    )


class CompileFailed(Exception):
    """The compiler's own messages."""


@functools.cache
def example_program(name: str) -> Path:
    """An example of the compiler, built when it is not up to date."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    # Of the workspace: alone, the crate would get dependencies with fewer features, which the tests in Rust could not use.
    subprocess.run(["cargo", "build", "--quiet", "--workspace", "--example", name], cwd=ROOT, check=True)
    return target / "debug" / "examples" / name


def emit(source: str, *flags: str) -> dict[str, Any]:
    """The compiled unit of a source as a dictionary."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.hip"
        path.write_bytes(source.encode())
        done = subprocess.run(
            [str(example_program("emit")), str(path), *flags], capture_output=True, text=True, check=False
        )
    if done.returncode:
        raise CompileFailed(done.stderr)
    unit: dict[str, Any] = json.loads(done.stdout)
    return unit


class Kernels:
    """The kernels of one source, ready to be called on this machine."""

    def __init__(self, source: str, *flags: str, level: int = 3, cpu: str | None = None) -> None:
        """Compiles for this very machine, or for a processor named (``x86-64-v2``) that it can stand in for."""
        triple, cpu, features = codegen.host_target() if cpu is None else (codegen.host_target()[0], cpu, "")
        self.unit = emit(source, "--triple", triple, "--cpu", cpu, "--features", features, *flags)
        self.signatures = {kernel["name"]: kernel for kernel in self.unit["kernels"]}
        code = codegen.generate(self.unit["llvm_ir"], triple, cpu, features, level, "object")
        self._engine = linking.link(code, triple)

    def __call__(
        self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any, shared_bytes: int = 0
    ) -> None:
        """Runs every block of a launch, in two calls, so that ranges that do not start at zero are exercised."""
        run, arguments_buffer, launch = self.prepare(name, grid, block, *arguments, shared_bytes=shared_bytes)
        blocks = int(np.prod(grid))
        run(arguments_buffer, ctypes.byref(launch), 0, blocks // 3)
        run(arguments_buffer, ctypes.byref(launch), blocks // 3, blocks)

    def prepare(
        self, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: Any, shared_bytes: int = 0
    ) -> tuple[Any, Any, Launch]:
        """The function, the packed arguments and the launch structure."""
        signature = self.signatures[name]
        buffer = bytearray(max(1, signature["argument_buffer_bytes"]))
        assert len(arguments) == len(signature["parameters"])
        for parameter, argument in zip(signature["parameters"], arguments, strict=True):
            start, size = parameter["offset_bytes"], parameter["size_bytes"]
            if parameter["kind"] == "pointer":
                value = np.uint64(argument.ctypes.data).tobytes()
            elif parameter["kind"] == "struct":
                value = argument.tobytes()
                assert len(value) == size
            else:
                value = np.dtype(parameter["dtype"]).type(argument).tobytes()
            buffer[start : start + size] = value
        launch = Launch()
        launch.grid[:] = (*grid, 1, 1)[:3]
        launch.block[:] = (*block, 1, 1)[:3]
        # What `KernelSignature::cpu_shared_bytes` says; full of garbage, and at the alignment that the backend promises.
        threads = -(-int(np.prod(block)) // 64) * 64
        static = -(-signature["static_shared_bytes"] // 64) * 64
        launch.shared_bytes = signature["scratch_bytes_per_thread"] * threads + static + shared_bytes
        self.scratch = np.full(launch.shared_bytes + 128, 0xAB, np.uint8)
        launch.shared = -(-self.scratch.ctypes.data // 64) * 64
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64)
        function = prototype(self._engine.get_function_address(signature["symbol"]))
        packed = (ctypes.c_char * len(buffer)).from_buffer(buffer)
        return function, packed, launch
