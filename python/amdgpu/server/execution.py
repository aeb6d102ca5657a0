"""Devices and kernels of remote callers: opened, compiled and run in worker threads, never in the event loop.

Sources are compiled by processes of their own (`amdgpu.server.compilers`). A handle belongs to the server, not to a socket: a client that
reconnects goes on with what it has compiled. The number of kernels, the threads, the calls that wait for them, time and memory are bounded
by `Limits`. A kernel that is run is native code: who may run one may do what this process may; `Settings.allow_execute` is for those one
would give a shell.
"""

from __future__ import annotations

import math
import re
import threading
from collections import OrderedDict
from typing import Any

import msgspec
import numpy as np

from amdgpu import AMDGPUDevice, Kernel, list_devices
from amdgpu.errors import (
    DeviceNotFoundError,
    InvalidArgumentError,
    InvalidHandleError,
    LimitExceededError,
    NotPermittedError,
    UnknownCoreTypeError,
)
from amdgpu.server import arrays
from amdgpu.server.compilers import Compilers
from amdgpu.server.settings import Settings
from amdgpu.server.workers import Workers
from amdgpu.types import CORE_TYPES, DeviceInfo, KernelResult

# How long open devices may take to close when the server stops.
CLOSE_SECONDS = 2.0
# Twenty digits hold every 64-bit integer.
INTEGER = re.compile(r"-?[0-9]{1,20}")


class Request(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Arguments of a call; names are camelCase on the wire, and unknown ones are refused."""


class InitializeRequest(Request):
    """`device:initialize`."""

    device_id: int | str = 0
    core_types: list[str] | None = None


class CompileOptions(Request):
    """Options of `kernel:compile`."""

    device_id: int | str = 0
    name: str | None = None
    optimization_level: str | None = None
    fast_math: bool = False
    defines: dict[str, str] = {}
    checked: bool = False


class CompileRequest(Request):
    """`kernel:compile`."""

    source: str
    core_type: str = "aura"
    options: CompileOptions = msgspec.field(default_factory=CompileOptions)


class ExecuteOptions(Request):
    """Options of `kernel:execute`."""

    grid: int | list[int] | None = None
    block: int | list[int] | None = None
    shared_bytes: int = 0
    timeout_ms: int | None = None
    checked: bool = False
    telemetry_level: str = "standard"


class ExecuteRequest(Request):
    """`kernel:execute`; arrays among the arguments were resolved before."""

    kernel_handle: str
    args: list[Any] = []
    options: ExecuteOptions = msgspec.field(default_factory=ExecuteOptions)


class Executor:
    """What `gpu:api` compiles and runs with."""

    def __init__(self, settings: Settings, workers: Workers) -> None:
        self._settings = settings
        self._limits = settings.limits
        self._workers = workers
        # A thread for each call that compiles or waits for its turn; the processes are few.
        self._compiling = Workers("compilers", self._limits.compilers + self._limits.waiting_calls, 0)
        self._compilers = Compilers(self._limits)
        self._lock = threading.Lock()
        self._devices: dict[str, AMDGPUDevice] = {}
        self._kernels: OrderedDict[str, tuple[AMDGPUDevice, Kernel]] = OrderedDict()

    async def initialize(self, request: InitializeRequest) -> dict[str, Any]:
        """Open a device."""
        info = await self._workers.run(
            lambda: self._initialize(request), self._limits.compile_seconds, "opening a device"
        )
        return {"deviceInfo": describe_device(info)}

    async def compile(self, request: CompileRequest) -> dict[str, Any]:
        """Compile a kernel and keep it."""
        source_bytes = len(request.source.encode())
        if source_bytes > self._limits.source_bytes:
            raise LimitExceededError(
                f"the source has {source_bytes} bytes; at most {self._limits.source_bytes} are compiled"
            )
        # Processes are ended first; this limit is for what surrounds them.
        seconds = self._compilers.longest_seconds() + self._limits.close_seconds
        return await self._compiling.run(lambda: self._compile(request), seconds, "compiling")

    async def execute(self, request: ExecuteRequest) -> dict[str, Any]:
        """Run a kernel; the result has NumPy arrays in it."""
        if not self._settings.allow_execute:
            raise NotPermittedError(
                "this server runs no kernels of its clients; start it with --allow-execute, or serve(allow_execute=True)"
            )
        seconds = self._limits.execution_seconds
        if request.options.timeout_ms is not None:
            seconds = min(seconds, max(request.options.timeout_ms, 0) / 1000)
        run = lambda: self._execute(request, seconds)  # noqa: E731  (a thunk reads better in place)
        # The kernel's own time-out comes first; this one is for what surrounds it.
        return {"result": await self._workers.run(run, seconds + self._limits.close_seconds, "running the kernel")}

    def close(self) -> None:
        """Close the devices; what still runs ends by its own time-out, and compilers end now."""
        self._compiling.close()
        self._compilers.close()
        with self._lock:
            self._kernels.clear()
            devices = list(self._devices.values())
            self._devices.clear()
        # A kernel whose block never ends cannot be stopped; its device cannot be closed, and nobody shall wait for that.
        closer = threading.Thread(target=_close_all, args=(devices,), name="amdgpu-server-close", daemon=True)
        closer.start()
        closer.join(CLOSE_SECONDS)

    def _initialize(self, request: InitializeRequest) -> DeviceInfo:
        unknown = [core for core in request.core_types or () if core not in CORE_TYPES]
        if unknown:
            raise UnknownCoreTypeError(f"coreTypes has {unknown[0]!r}; known are {', '.join(CORE_TYPES)}")
        return self._device(request.device_id).info()

    def _device(self, device_id: int | str) -> AMDGPUDevice:
        """The open device; all core types, since clients share it."""
        known = list_devices()
        if isinstance(device_id, int):
            if not 0 <= device_id < len(known):
                raise DeviceNotFoundError(f"deviceId is {device_id}; there are {len(known)} devices")
            name = known[device_id].device
        else:
            name = device_id
            if name not in {info.device for info in known}:
                raise DeviceNotFoundError(
                    f"there is no device {name!r}; known are {', '.join(d.device for d in known)}"
                )
        with self._lock:
            device = self._devices.get(name)
            if device is None or not device.is_open:
                device = AMDGPUDevice(name)
                device.initialize()
                self._devices[name] = device
            return device

    def _compile(self, request: CompileRequest) -> dict[str, Any]:
        options = request.options
        device = self._device(options.device_id)
        device.require_core(request.core_type)
        kernel = device.native.compile(
            request.source,
            options.name,
            core_type=request.core_type,
            optimization_level=options.optimization_level,
            fast_math=options.fast_math,
            defines=list(options.defines.items()),
            checked=options.checked,
            remote=self._compilers.compile,
        )
        handle = str(kernel)
        with self._lock:
            self._kernels[handle] = (device, kernel)
            self._kernels.move_to_end(handle)
            while len(self._kernels) > self._limits.kernels:
                self._kernels.popitem(last=False)
        return {
            "kernelHandle": handle,
            "name": kernel.name,
            "device": kernel.device,
            "parameters": [
                {
                    "name": parameter["name"],
                    "type": parameter["type"],
                    "isPointer": parameter["is_pointer"],
                    "isConst": parameter["is_const"],
                    "dtype": parameter["dtype"],
                }
                for parameter in kernel.parameters
            ],
            "cacheAnswer": kernel.cache_answer,
            "compileSeconds": kernel.compile_seconds,
            "notes": kernel.notes,
        }

    def _execute(self, request: ExecuteRequest, seconds: float) -> dict[str, Any]:
        with self._lock:
            entry = self._kernels.get(request.kernel_handle)
            if entry is None:
                raise InvalidHandleError(
                    f"kernel {request.kernel_handle!r} is not known here; compile it again: the answer comes from the cache"
                )
            self._kernels.move_to_end(request.kernel_handle)
        device, kernel = entry
        values = self._arguments(request.args, kernel.parameters)
        options = request.options
        if options.checked:
            kernel = device.native.with_checks(kernel, remote=self._compilers.compile)
        result = device.execute(
            kernel,
            *values,
            grid=options.grid,
            block=options.block,
            shared_bytes=options.shared_bytes,
            timeout_ms=math.ceil(seconds * 1000),
            telemetry_level=options.telemetry_level,  # type: ignore[arg-type]
            checked=options.checked,
        )
        assert isinstance(result, KernelResult), "nothing is executed in the background here"
        written = [
            index
            for index, parameter in enumerate(kernel.parameters)
            if parameter["is_pointer"] and not parameter["is_const"]
        ]
        output = result.output
        return {
            "output": list(output) if isinstance(output, tuple) else output,
            "written": written,
            "executionTimeSeconds": result.execution_time,
            "memoryUsageBytes": result.memory_usage,
            "performanceMetrics": result.performance_metrics,
        }

    def _arguments(self, args: list[Any], parameters: list[dict[str, Any]]) -> list[Any]:
        values = []
        room = self._limits.call_bytes
        for index, arg in enumerate(args):
            parameter = parameters[index] if index < len(parameters) else None
            value = _argument(arg, parameter, f"argument {index}", room)
            if isinstance(value, np.ndarray):
                room -= value.nbytes
                if room < 0:
                    raise LimitExceededError(_too_much(self._limits.call_bytes))
            values.append(value)
        return values


def describe_device(info: DeviceInfo) -> dict[str, Any]:
    """A device as clients see it."""
    return {
        "id": info.id,
        "name": info.name,
        "device": info.device,
        "kind": info.kind,
        "architecture": info.architecture,
        "computeUnits": info.compute_units,
        "memoryGB": info.memory_gb,
        "coreTypes": list(info.core_types),
        "totalMemoryBytes": info.total_memory_bytes,
        "warpSize": info.warp_size,
        "coreCounts": dict(info.core_counts),
    }


def _close_all(devices: list[AMDGPUDevice]) -> None:
    for device in devices:
        device.close()


def _argument(arg: Any, parameter: dict[str, Any] | None, what: str, room: int) -> Any:
    """What a kernel is given: a number, or an array that belongs to this call."""
    if isinstance(arg, np.ndarray):
        # A view of the message; a kernel may write to it.
        return arg.astype(arg.dtype.newbyteorder("="), copy=True)
    if isinstance(arg, dict):
        return _described(arg, what, room)
    if isinstance(arg, list):
        dtype_name = parameter["dtype"] if parameter is not None else None
        if dtype_name not in arrays.DTYPES:
            raise InvalidArgumentError(f"{what} is a list, but its parameter takes no array of numbers")
        try:
            return np.array(arg, dtype=dtype_name)
        except (ValueError, TypeError, OverflowError) as error:
            raise InvalidArgumentError(f"{what} is no array of {dtype_name}: {error}") from None
    if isinstance(arg, bool | int | float):
        return arg
    raise InvalidArgumentError(f"{what} must be a number or an array, got {type(arg).__name__}")


def _described(arg: dict[str, Any], what: str, room: int) -> Any:
    """An argument that JSON has no form of its own for."""
    scalar = _scalar(arg, what)
    if scalar is not None:
        return scalar
    if "$zeros" in arg:
        dtype, shape = arrays.described_array(arg["$zeros"], what)
        if math.prod(shape) * dtype.itemsize > room:
            raise LimitExceededError(f"{what}: {_too_much(room)}")
        return np.zeros(shape, dtype.newbyteorder("="))
    if "$base64" in arg:
        return arrays.from_text(arg, what).copy()
    raise InvalidArgumentError(
        f"{what} is an object; known are those with $array, $zeros, $base64, $integer and $float"
    )


def _scalar(arg: dict[str, Any], what: str) -> int | float | None:
    """A number that JSON cannot say: a 64-bit integer that JavaScript rounds, or one that is not finite."""
    if "$integer" in arg:
        text = arg["$integer"]
        if not (isinstance(text, str) and INTEGER.fullmatch(text)):
            raise InvalidArgumentError(f"{what}: $integer is {text!r}, no integer in decimal digits")
        return int(text)
    if "$float" in arg:
        if arg["$float"] not in arrays.NOT_FINITE:
            known = ", ".join(arrays.NOT_FINITE)
            raise InvalidArgumentError(f"{what}: $float must be one of {known}, got {arg['$float']!r}")
        return arrays.NOT_FINITE[arg["$float"]]
    return None


def _too_much(limit_bytes: int) -> str:
    return f"the arrays of one call may have {limit_bytes} bytes"
