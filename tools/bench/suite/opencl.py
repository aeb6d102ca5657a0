"""The contender "opencl": kernels.cl on PoCL's CPU device; buffers use the host's memory, each call waits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl

from suite.cases import Case


class OpenCl:
    """The program, built once for the first device that is a CPU."""

    def __init__(self) -> None:
        platforms = [platform for platform in pyopencl.get_platforms() if "Portable Computing" in platform.name]
        if not platforms:
            raise SystemExit(
                "pyopencl shows no PoCL platform; the package pocl-binary-distribution should have brought one"
            )
        device = platforms[0].get_devices()[0]
        self._context = pyopencl.Context([device])
        self._queue = pyopencl.CommandQueue(self._context)
        source = Path(__file__).with_name("kernels.cl").read_text()
        self._program = pyopencl.Program(self._context, source).build()
        version = " ".join(platforms[0].version.split())
        self.about = f"{version}, {device.max_compute_units} compute units"

    def prepare(self, case: Case) -> tuple[Callable[[], Any], list[Any]]:
        """An enqueued kernel that is waited for, and what its first run wrote."""
        flags = pyopencl.mem_flags.READ_WRITE | pyopencl.mem_flags.USE_HOST_PTR
        arguments = case.copies()
        kernel = pyopencl.Kernel(self._program, case.kernel)
        buffers = [
            pyopencl.Buffer(self._context, flags, hostbuf=value) if isinstance(value, np.ndarray) else value
            for value in arguments
        ]
        kernel.set_args(*buffers)
        total = tuple(blocks * threads for blocks, threads in zip(case.grid, case.block, strict=True))

        def call(buffers: Any = buffers) -> None:
            pyopencl.enqueue_nd_range_kernel(self._queue, kernel, total, case.block)
            self._queue.finish()

        call()
        results = []
        for index in case.outputs:
            result = np.empty_like(arguments[index])
            pyopencl.enqueue_copy(self._queue, result, buffers[index])
            results.append(result)
        return call, results


def start() -> OpenCl:
    """Opens PoCL."""
    return OpenCl()
