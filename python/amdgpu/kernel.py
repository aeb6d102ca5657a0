"""Running kernels: results, pending results, and CuPy's `RawKernel`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments, compile_options, dispatch
from amdgpu.errors import (
    DeviceNotFoundError,
    InvalidArgumentError,
    InvalidHandleError,
    InvalidTypeError,
    KernelTimeoutError,
    NotCapturableError,
)
from amdgpu.types import TELEMETRY_LEVELS, KernelResult

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

DEFAULT_BLOCK_THREADS = 256
OPERATION = "kernel"
CORE = "aura"


def launch(
    kernel: _native.Kernel, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], **options: Any
) -> tuple[int, int]:
    """Run a kernel on its own device; the dispatcher's entry for AURA cores. Returns start and duration in nanoseconds."""
    return kernel.launch(grid, block, args, **options)


def execute(
    device: AMDGPUDevice,
    kernel_handle: _native.Kernel | str,
    args: Sequence[Any],
    *,
    grid: int | Sequence[int] | None,
    block: int | Sequence[int] | None,
    shared_bytes: int,
    stream: _native.Stream | None,
    async_execution: bool,
    timeout_ms: int | None,
    telemetry_level: str,
    checked: bool = False,
) -> KernelResult | PendingKernel:
    """The body of `AMDGPUDevice.execute`."""
    if _native.is_recording_graph():
        raise NotCapturableError(
            "execute() returns results, which a graph has only when it is replayed; use kernel[grid, block](...)"
        )
    if timeout_ms is not None:
        timeout_ms = arguments.integer("execute", "timeout_ms", timeout_ms)
        if timeout_ms < 0:
            raise InvalidArgumentError(f"timeout_ms is {timeout_ms}; it counts milliseconds, None waits for ever")
    arguments.choice("execute", "telemetry_level", telemetry_level, TELEMETRY_LEVELS)
    arguments.truth("execute", "async_execution", async_execution)
    arguments.truth("execute", "checked", checked)
    if stream is not None and not isinstance(stream, _native.Stream):
        raise InvalidTypeError(f"execute: stream is {shortened(stream)}; a Stream is expected")
    kernel = _kernel_of(device, kernel_handle)
    if block is None:
        kernel, block = _tuned(kernel, args, grid)
    if checked:
        kernel = device.native.with_checks(kernel)
    block_shape = _as_shape("block", block)
    grid_shape = covering_grid(args, block_shape) if grid is None else _as_shape("grid", grid)
    describe = _Measurement(kernel, args, grid_shape, block_shape, telemetry_level)
    run, _ = dispatch.resolve(OPERATION, CORE, device.native.kind)
    if async_execution:
        queue = stream or _native.current_stream(device.name) or device.create_stream()
        run(kernel, grid_shape, block_shape, args, shared_bytes=shared_bytes, stream=queue)
        return PendingKernel(queue, describe, timeout_ms)
    start_ns, duration_ns = run(
        kernel, grid_shape, block_shape, args, shared_bytes=shared_bytes, stream=stream, timeout_ms=timeout_ms
    )
    return describe.result(start_ns, duration_ns)


class PendingKernel:
    """A kernel that runs in the background; the answer of `execute(..., async_execution=True)`."""

    def __init__(self, stream: _native.Stream, measurement: _Measurement, timeout_ms: int | None) -> None:
        self._stream = stream
        self._measurement = measurement
        self._timeout_ms = timeout_ms
        self._started_ns = time.monotonic_ns()
        self._result: KernelResult | None = None

    def done(self) -> bool:
        """Whether the kernel has ended."""
        return self._result is not None or self._stream.is_idle

    def result(self) -> KernelResult:
        """Wait for the kernel and return what it wrote.

        Raises:
            KernelTimeoutError: It did not end within the `timeout_ms` given to `execute`.
        """
        if self._result is None:
            if not self._stream.wait(self._timeout_ms):
                fate = "was stopped" if self._stream.stop() else "goes on in the background"
                raise KernelTimeoutError(
                    f"{self._measurement.kernel.name} did not end within {self._timeout_ms} ms; it {fate}, "
                    "and its results must not be used"
                )
            self._result = self._measurement.result(self._started_ns, time.monotonic_ns() - self._started_ns)
        return self._result


class _Measurement:
    """What is known of a launch before it runs, to make its result from."""

    def __init__(
        self,
        kernel: _native.Kernel,
        args: Sequence[Any],
        grid: tuple[int, ...],
        block: tuple[int, ...],
        telemetry_level: str,
    ) -> None:
        self.kernel = kernel
        self._args = args
        self._grid = grid
        self._block = block
        self._telemetry_level = telemetry_level

    def result(self, start_ns: int, duration_ns: int) -> KernelResult:
        parameters = self.kernel.parameters
        written = [
            arg
            for arg, parameter in zip(self._args, parameters, strict=True)
            if parameter["is_pointer"] and not parameter["is_const"] and hasattr(arg, "shape")
        ]
        used_bytes = sum(int(getattr(arg, "nbytes", 0)) for arg in self._args)
        work_items = 1
        for extent in (*self._grid, *self._block):
            work_items *= extent
        metrics: dict[str, Any] = {}
        if self._telemetry_level != "off":
            metrics = {
                "start_ns": start_ns,
                "duration_ns": duration_ns,
                "grid": self._grid,
                "block": self._block,
                "work_items": work_items,
                "work_items_per_second": work_items / duration_ns * 1e9 if duration_ns else None,
                "bytes_per_second": used_bytes / duration_ns * 1e9 if duration_ns else None,
            }
        if self._telemetry_level == "detailed":
            metrics |= {
                "cache_answer": self.kernel.cache_answer,
                "compile_seconds": self.kernel.compile_seconds,
                "passes": self.kernel.passes,
                "device": self.kernel.device,
            }
        output = None if not written else written[0] if len(written) == 1 else tuple(written)
        return KernelResult(output, duration_ns / 1e9, used_bytes, metrics)


class RawKernel:
    """A kernel from source, with the signature of `cupy.RawKernel`.

    Args:
        code: HIP-C (or CUDA C) source.
        name: Name of the kernel in it.
        options: Options of the compiler, as of `compile_kernel`.
        device: Device to run on; None means that of the arrays it is launched with, and device 0 where they have none.

    Raises:
        InvalidTypeError: An option that is not understood.

    Example:
        >>> import amdgpu, numpy
        >>> add = amdgpu.RawKernel('extern "C" __global__ void add(const float* a, const float* b, float* c) {'
        ...                        ' int i = blockIdx.x * blockDim.x + threadIdx.x; c[i] = a[i] + b[i]; }', "add")
        >>> a = numpy.arange(4, dtype="float32"); c = numpy.empty_like(a)
        >>> add((1,), (4,), (a, a, c))
        >>> c.tolist()
        [0.0, 2.0, 4.0, 6.0]
    """

    def __init__(
        self, code: str, name: str, options: Sequence[str] = (), *, device: AMDGPUDevice | int | str | None = None
    ) -> None:
        arguments.text("RawKernel", "name", name, "the name of a kernel")
        self.code = code
        self.name = name
        self.options = tuple(arguments.names("RawKernel", "options", options))
        self._device = device
        compile_options.parse("RawKernel", self.options)
        self._kernels: dict[AMDGPUDevice | int | str, _native.Kernel] = {}

    def compile(self) -> _native.Kernel:
        """Compile now instead of at the first launch."""
        return self._compile_for(_native.current_device() if self._device is None else self._device)

    def _compile_for(self, place: AMDGPUDevice | int | str) -> _native.Kernel:
        try:
            kernel = self._kernels.get(place)
        except TypeError:
            # What has no hash is no device; who opens devices says so.
            kernel = None
        if kernel is None:
            from amdgpu.device import default_device

            device = default_device(place)
            kernel = self._kernels[place] = device.compile_kernel(self.code, name=self.name, options=self.options)
        return kernel

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: the source and how it is compiled, which is done again where it is needed."""
        from amdgpu.device import AMDGPUDevice

        device = self._device.name if isinstance(self._device, AMDGPUDevice) else self._device
        return {**vars(self), "_device": device, "_kernels": {}}

    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: _native.Stream | None = None,
    ) -> None:
        """Launch with `grid` blocks of `block` threads.

        Returns when the kernel has run, or at once where a stream is given or the call is made inside a `with stream:` block. `None` among
        `args` is a null pointer.
        """
        from amdgpu.ops.placement import device_of

        if not isinstance(args, (tuple, list)):
            raise InvalidTypeError(f"args must be a tuple of the kernel's arguments, got {type(args).__name__}")
        place = self._device
        if place is None:
            place = device_of(self.name, args) or 0
        self._compile_for(place).launch(
            _as_shape("grid", grid), _as_shape("block", block), args, shared_bytes=shared_mem, stream=stream
        )


def restored(facts: dict[str, Any]) -> _native.Kernel:
    """The kernel that a pickle describes, compiled for its device; where that is not there, for the current one."""
    from amdgpu.device import default_device

    options = dict(facts)
    source, name = options.pop("source"), options.pop("device")
    try:
        device = default_device(name)
    except DeviceNotFoundError:
        device = default_device(None)
    return compile_recipe(device, {**options, "source": source})


def compile_recipe(device: AMDGPUDevice, recipe: dict[str, Any]) -> _native.Kernel:
    """The kernel that `kernel.recipe()` describes, on a device."""
    from amdgpu.profile import Profile

    options = {name: value for name, value in recipe.items() if name not in ("source", "device", "profile")}
    text = recipe.get("profile")
    profile = None if text is None else Profile(_native.KernelProfile(text))
    options["defines"] = dict(options["defines"])
    return device.compile_kernel(recipe["source"], **options, profile=profile)


def _kernel_of(device: AMDGPUDevice, handle: _native.Kernel | str) -> _native.Kernel:
    if isinstance(handle, _native.Kernel):
        return handle
    if isinstance(handle, str):
        return device.native.kernel(arguments.text("execute", "kernel_handle", handle, "a kernel"))
    raise InvalidHandleError(f"{shortened(handle)} is no kernel; pass what compile_kernel() returned")


def _tuned(kernel: _native.Kernel, args: Sequence[Any], grid: Any) -> tuple[_native.Kernel, int | Sequence[int]]:
    """The kernel and the block that were measured to be the fastest for such arguments; else the usual block."""
    from amdgpu.tuning.kernels import tuned_kernel

    found = tuned_kernel(kernel, args, grid=grid)
    return (kernel, DEFAULT_BLOCK_THREADS) if found is None else (found.kernel, found.block)


def _as_shape(what: str, shape: int | Sequence[int]) -> tuple[int, ...]:
    return arguments.integers("launch", what, shape)


def covering_grid(args: Sequence[Any], block: Sequence[int]) -> tuple[int, ...]:
    """One thread per element of the largest array argument."""
    threads = 1
    for extent in block:
        threads *= max(extent, 1)
    elements = max((int(arg.size) for arg in args if hasattr(arg, "shape") and hasattr(arg, "size")), default=1)
    return (max(1, -(-elements // threads)),)
