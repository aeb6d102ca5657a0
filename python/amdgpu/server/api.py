"""The calls of `gpu:api`, which REST answers too."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

import msgspec

from amdgpu import list_devices
from amdgpu._generated.constants import PACKAGE_VERSION
from amdgpu._generated.metrics import METRICS
from amdgpu.errors import DeviceNotFoundError, InvalidArgumentError, InvalidMessageError, KernelNotFoundError
from amdgpu.server.execution import (
    CompileRequest,
    ExecuteRequest,
    Executor,
    InitializeRequest,
    Request,
    describe_device,
)
from amdgpu.server.operations import CloseRequest, CreateRequest, ForwardRequest, MultiplyRequest, Operations
from amdgpu.server.settings import Settings
from amdgpu.server.source import Source, labels_of, process_of
from amdgpu.server.workers import Workers
from amdgpu.telemetry import attach
from amdgpu.telemetry.peaks import peaks_of

T = TypeVar("T", bound=msgspec.Struct)
Call = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

# Longest wait for what this process or a watched one is asked.
READ_SECONDS = 10.0
# A child process starts, compiles two kernels and measures.
PEAKS_SECONDS = 30.0


class NoArguments(Request):
    """Calls that take nothing."""


class DeviceRequest(Request):
    """`device:details`, `device:peaks`."""

    name: str


class ProcessRequest(Request, rename=None):
    """Calls about one process."""

    pid: int | None = None


class MemoryRequest(ProcessRequest):
    """`memory:map`."""

    size_bytes: int | None = None


class KernelRequest(Request, rename=None):
    """`kernel:details`."""

    handle: str
    pid: int | None = None


class HistoryRequest(Request, rename=None):
    """`history:query`; labels as an object, or as `NAME:VALUE` in `label`."""

    metric: str
    labels: dict[str, str] | None = None
    label: list[str] = msgspec.field(default_factory=list)
    tier: Literal["raw", "10hz", "1hz"] = "1hz"
    start_ns: int | None = None
    end_ns: int | None = None


class Api:
    """Answers calls. Every method may raise `AmdgpuError`."""

    def __init__(self, settings: Settings, source: Source) -> None:
        limits = self._limits = settings.limits
        self._source = source
        self._workers = Workers("kernels", limits.workers, limits.waiting_calls)
        self._readers = Workers("readers", limits.workers, limits.waiting_calls)
        self._executor = Executor(settings, self._workers)
        self._operations = Operations(limits, self._workers)
        self._started = time.monotonic()
        self.allow_execute = settings.allow_execute
        # How many sockets are open; told by the hub.
        self.sockets = 0
        # Series of histograms that `/metrics` counts as `other`; told by its endpoint.
        self.folded_series = 0
        self.calls: dict[str, Call] = {
            "device:initialize": _typed(InitializeRequest, self._executor.initialize),
            "kernel:compile": _typed(CompileRequest, self._executor.compile),
            "kernel:execute": _typed(ExecuteRequest, self._executor.execute),
            "matrix:multiply": _typed(MultiplyRequest, self._operations.multiply),
            "network:create": _typed(CreateRequest, self._operations.create),
            "network:forward": _typed(ForwardRequest, self._operations.forward),
            "network:close": _typed(CloseRequest, self._operations.drop),
            "device:list": self._document("device:list", NoArguments, self._device_list),
            "device:details": self._document("device:details", DeviceRequest, self._device_details),
            "device:peaks": self._document("device:peaks", DeviceRequest, self._device_peaks),
            "server:health": self._document("server:health", NoArguments, self._health),
            "metric:list": self._document("metric:list", NoArguments, _metric_list),
            "boundary:list": self._document("boundary:list", ProcessRequest, self._boundary_list),
            "sensors:read": self._document("sensors:read", NoArguments, self._sensors_read),
            "history:query": self._document("history:query", HistoryRequest, self._history_query),
            "process:list": self._document("process:list", NoArguments, self._process_list),
            "process:snapshot": self._of_process("process:snapshot", "snapshot", lambda process: process.snapshot()),
            "kernel:list": self._of_process("kernel:list", "kernels", lambda process: process.kernels()),
            "kernel:details": self._document("kernel:details", KernelRequest, self._kernel_details),
            "memory:map": self._document("memory:map", MemoryRequest, self._memory_map),
            "network:list": self._of_process("network:list", "networks", lambda process: process.networks()),
            "graph:list": self._of_process("graph:list", "graphs", lambda process: process.graphs()),
            "lanes:list": self._of_process("lanes:list", "launches", lambda process: process.lanes()),
        }

    async def call(self, event: str, payload: dict[str, Any]) -> dict[str, Any]:
        """Answer one call.

        Raises:
            AmdgpuError: There is no such call, or it failed.
        """
        call = self.calls.get(event)
        if call is None:
            known = ", ".join(sorted(self.calls))
            raise InvalidMessageError(f"gpu:api has no event {event!r}; known are {known}")
        return await call(payload)

    def devices(self) -> list[dict[str, Any]]:
        """The devices of this machine."""
        return [describe_device(info) for info in list_devices()]

    def close(self) -> None:
        """Close what calls have opened."""
        self._workers.close()
        self._readers.close()
        self._operations.close()
        self._executor.close()

    def _document(self, event: str, kind: type[T], function: Callable[[T], Awaitable[dict[str, Any]]]) -> Call:
        """A call that REST answers too: its answer says its schema and the time."""
        call = _typed(kind, function)

        async def answer(payload: dict[str, Any]) -> dict[str, Any]:
            content = await call(payload)
            return {"schema": schema_name(event), "clock": self._source.clock(), **content}

        return answer

    async def _read(self, function: Callable[[], dict[str, Any]], what: str) -> dict[str, Any]:
        return await self._readers.run(function, READ_SECONDS, what)

    async def _device_list(self, _: NoArguments) -> dict[str, Any]:
        return {"devices": self.devices()}

    async def _device_details(self, request: DeviceRequest) -> dict[str, Any]:
        for device in self.devices():
            if request.name in (device["device"], str(device["id"])):
                return {"device": device}
        known = ", ".join(device["device"] for device in self.devices())
        raise DeviceNotFoundError(f"there is no device {request.name!r}; known are {known}")

    async def _device_peaks(self, request: DeviceRequest) -> dict[str, Any]:
        def look() -> dict[str, Any]:
            found = list_devices()
            for info in found:
                if request.name in (info.device, str(info.id)):
                    return {"peaks": dataclasses.asdict(peaks_of(info))}
            known = ", ".join(info.device for info in found)
            raise DeviceNotFoundError(f"there is no device {request.name!r}; known are {known}")

        # A processor is measured the first time.
        return await self._readers.run(look, PEAKS_SECONDS, "measuring what the device can do")

    async def _health(self, _: NoArguments) -> dict[str, Any]:
        return {
            "version": PACKAGE_VERSION,
            "pid": os.getpid(),
            "uptime_seconds": time.monotonic() - self._started,
            "sockets": self.sockets,
            "folded_series": self.folded_series,
            "allow_execute": self.allow_execute,
        }

    async def _boundary_list(self, request: ProcessRequest) -> dict[str, Any]:
        return await self._read(lambda: {"boundaries": self._source.read_boundaries(request.pid)}, "reading boundaries")

    async def _sensors_read(self, _: NoArguments) -> dict[str, Any]:
        return await self._read(lambda: {"readings": self._source.read_readings()}, "reading sensors")

    async def _history_query(self, request: HistoryRequest) -> dict[str, Any]:
        given = request.labels if request.labels is not None else labels_of(request.label)

        def look() -> dict[str, Any]:
            most = self._limits.history_points
            span = (request.start_ns, request.end_ns)
            return {"series": self._source.read_history(request.metric, given, request.tier, span, most=most)}

        return await self._read(look, "reading the history")

    async def _process_list(self, _: NoArguments) -> dict[str, Any]:
        return await self._read(
            lambda: {"processes": [dataclasses.asdict(info) for info in attach.processes()]}, "listing processes"
        )

    async def _kernel_details(self, request: KernelRequest) -> dict[str, Any]:
        def look() -> dict[str, Any]:
            with process_of(request.pid) as process:
                try:
                    return {"kernel": process.kernel(request.handle)}
                except InvalidMessageError as error:
                    raise KernelNotFoundError(str(error)) from None

        # Its texts are made again by the compiler.
        return await self._readers.run(look, self._limits.compile_seconds, "reading the kernel")

    async def _memory_map(self, request: MemoryRequest) -> dict[str, Any]:
        if request.size_bytes is not None and not 0 <= request.size_bytes < 2**63:
            raise InvalidArgumentError(f"size_bytes must be between 0 and 2**63 - 1, got {request.size_bytes}")

        def look() -> dict[str, Any]:
            with process_of(request.pid) as process:
                return {"memory": process.memory(size_bytes=request.size_bytes)}

        return await self._read(look, f"asking process {request.pid or os.getpid()}")

    def _of_process(self, event: str, name: str, ask: Callable[[attach.Process], Any]) -> Call:
        """A call that asks one process one thing."""

        async def answer(request: ProcessRequest) -> dict[str, Any]:
            def look() -> dict[str, Any]:
                with process_of(request.pid) as process:
                    return {name: ask(process)}

            return await self._read(look, f"asking process {request.pid or os.getpid()}")

        return self._document(event, ProcessRequest, answer)


def schema_name(event: str) -> str:
    """`amdgpu.device_list/1` of `device:list`."""
    return f"amdgpu.{event.replace(':', '_')}/1"


async def _metric_list(_: NoArguments) -> dict[str, Any]:
    return {"metrics": [metric._asdict() for metric in METRICS]}


def _typed(kind: type[T], function: Callable[[T], Awaitable[dict[str, Any]]]) -> Call:
    async def call(payload: dict[str, Any]) -> dict[str, Any]:
        try:
            request = msgspec.convert(payload, kind)
        except msgspec.ValidationError as error:
            raise InvalidArgumentError(str(error)) from None
        return await function(request)

    return call
