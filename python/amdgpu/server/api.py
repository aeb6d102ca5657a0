"""The calls of `gpu:api`, which REST answers too."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec

from amdgpu import list_devices, telemetry
from amdgpu._generated.constants import PACKAGE_VERSION
from amdgpu._generated.metrics import METRICS
from amdgpu.errors import DeviceNotFoundError, InvalidArgumentError, InvalidMessageError
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
from amdgpu.server.source import Source
from amdgpu.server.workers import Workers

T = TypeVar("T", bound=msgspec.Struct)
Call = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]

# Longest wait for what this process or a watched one is asked.
READ_SECONDS = 10.0


class NoArguments(Request):
    """Calls that take nothing."""


class DeviceRequest(Request):
    """`device:details`."""

    name: str


class ProcessRequest(Request, rename=None):
    """Calls about one process."""

    pid: int | None = None


class Api:
    """Answers calls. Every method may raise `AmdgpuError`."""

    def __init__(self, settings: Settings, source: Source) -> None:
        limits = settings.limits
        self._source = source
        self._workers = Workers("kernels", limits.workers, limits.waiting_calls)
        self._readers = Workers("readers", limits.workers, limits.waiting_calls)
        self._executor = Executor(settings, self._workers)
        self._operations = Operations(limits, self._workers)
        self._started = time.monotonic()
        self.allow_execute = settings.allow_execute
        # How many sockets are open; told by the hub.
        self.sockets = 0
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
            "server:health": self._document("server:health", NoArguments, self._health),
            "metric:list": self._document("metric:list", NoArguments, _metric_list),
            "boundary:list": self._document("boundary:list", ProcessRequest, self._boundary_list),
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

    async def _health(self, _: NoArguments) -> dict[str, Any]:
        return {
            "version": PACKAGE_VERSION,
            "pid": os.getpid(),
            "uptime_seconds": time.monotonic() - self._started,
            "sockets": self.sockets,
            "allow_execute": self.allow_execute,
        }

    async def _boundary_list(self, _: ProcessRequest) -> dict[str, Any]:
        return await self._read(lambda: {"boundaries": telemetry.boundaries()}, "reading boundaries")


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
