"""REST: each path, what it takes, what it answers. `openapi.py` describes it from the same table."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from amdgpu.errors import InvalidArgumentError
from amdgpu.server import answers, arrays

if TYPE_CHECKING:
    from starlette.requests import Request

    from amdgpu.server.api import Api

API = "/api"
PREFIX = f"{API}/v1"
JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a path or a query. `convert` raises ValueError for what it does not take."""

    name: str
    place: str
    schema: dict[str, Any]
    convert: Callable[[str], Any] = str
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One path. `event` is the call of `gpu:api` that gives the same answer, `content` the JSON schema of its fields."""

    path: str
    event: str
    summary: str
    content: dict[str, Any]
    parameters: tuple[Parameter, ...] = ()


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise ValueError
    return int(text)


# As many as Linux has.
PROCESS_ID = {"type": "integer", "minimum": 1, "maximum": 1 << 22}


def _label(text: str) -> str:
    name, separator, _ = text.partition(":")
    if not (name and separator):
        raise ValueError
    return text


# `Guard.check_form` refuses control characters in paths.
NAME_IN_PATH = {"type": "string", "minLength": 1, "pattern": r"^[^\u0000-\u001f\u007f]+$"}
DEVICE = Parameter("name", "path", NAME_IN_PATH, str, is_required=True)
PID = Parameter("pid", "path", PROCESS_ID, _count, is_required=True)
HANDLE = Parameter("handle", "path", NAME_IN_PATH, str, is_required=True)
SIZE = Parameter("size_bytes", "query", {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}, _count)
TIME = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1, "description": "nanoseconds on the monotonic clock"}
HISTORY = (
    Parameter("metric", "query", {"type": "string", "minLength": 1}, str, is_required=True),
    Parameter(
        "label",
        "query",
        {"type": "array", "items": {"type": "string", "pattern": "^[^:]+:.*$"}, "description": "NAME:VALUE, repeated"},
        _label,
    ),
    Parameter("tier", "query", {"type": "string", "enum": list(answers.TIERS)}),
    Parameter("start_ns", "query", TIME, _count),
    Parameter("end_ns", "query", TIME, _count),
)
ENDPOINTS = (
    Endpoint("/health", "server:health", "Whether the server is well, and what it runs with.", answers.HEALTH),
    Endpoint("/devices", "device:list", "The devices of this machine.", answers.DEVICES),
    Endpoint("/devices/{name}", "device:details", "One device, by name or index.", answers.DEVICE, (DEVICE,)),
    Endpoint(
        "/devices/{name}/peaks",
        "device:peaks",
        "What a device can do at most: 32-bit arithmetic and memory; the CPU is measured the first time.",
        answers.PEAKS,
        (DEVICE,),
    ),
    Endpoint("/sensors", "sensors:read", "Every sensor now; what is absent says why.", answers.READINGS),
    Endpoint("/history", "history:query", "What sensors said: minimum, mean, maximum.", answers.HISTORY, HISTORY),
    Endpoint("/processes", "process:list", "Processes that use amdgpu.", answers.PROCESSES),
    Endpoint("/processes/{pid}/snapshot", "process:snapshot", "Everything a process counts.", answers.SNAPSHOT, (PID,)),
    Endpoint("/processes/{pid}/kernels", "kernel:list", "Kernels of a process.", answers.KERNELS, (PID,)),
    Endpoint(
        "/processes/{pid}/kernels/{handle}",
        "kernel:details",
        "A kernel: source, IR after each pass, assembly, resources.",
        answers.KERNEL,
        (PID, HANDLE),
    ),
    Endpoint(
        "/processes/{pid}/memory",
        "memory:map",
        "Pools of a process: segments, blocks, owners, what an allocation of `size_bytes` would find.",
        answers.MEMORY,
        (PID, SIZE),
    ),
    Endpoint("/processes/{pid}/networks", "network:list", "Networks of a process.", answers.NETWORKS, (PID,)),
    Endpoint("/processes/{pid}/graphs", "graph:list", "Graphs of operations of a process.", answers.GRAPHS, (PID,)),
    Endpoint("/processes/{pid}/lanes", "lanes:list", "Lanes of the last checked launches.", answers.LANES, (PID,)),
    Endpoint(
        "/boundaries",
        "boundary:list",
        "Calls from one language into another.",
        answers.BOUNDARIES,
        (Parameter("pid", "query", PROCESS_ID, _count),),
    ),
    Endpoint(
        "/catalogue", "metric:list", "Every metric there is, with the names others have for it.", answers.CATALOGUE
    ),
)


def routes(api: Api) -> list[Route]:
    """The routes of all endpoints."""
    return [Route(PREFIX + endpoint.path, _handler(endpoint, api), methods=["GET"]) for endpoint in ENDPOINTS]


def _handler(endpoint: Endpoint, api: Api) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        answer = await api.call(endpoint.event, _arguments(endpoint, request))
        # What has arrays in it takes a while.
        return await asyncio.to_thread(json_response, answer)

    return handle


def json_response(content: Any) -> Response:
    """An answer in JSON; NaN is null there."""
    return Response(
        msgspec.json.encode(arrays.to_text(content)), media_type=JSON_TYPE, headers={"cache-control": "no-store"}
    )


def _arguments(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    given: dict[str, Any] = {}
    known = {parameter.name for parameter in endpoint.parameters if parameter.place == "query"} | {"token"}
    for name in request.query_params:
        if name not in known:
            raise InvalidArgumentError(
                f"{name!r} is no parameter of {endpoint.path}; known are {', '.join(sorted(known))}"
            )
    for parameter in endpoint.parameters:
        is_list = parameter.schema["type"] == "array"
        in_query = request.query_params.getlist(parameter.name)
        values = [request.path_params[parameter.name]] if parameter.place == "path" else in_query
        if not values:
            if parameter.is_required:
                raise InvalidArgumentError(f"{endpoint.path} needs the parameter {parameter.name}")
            continue
        converted = [_converted(parameter, value) for value in (values if is_list else values[-1:])]
        given[parameter.name] = converted if is_list else converted[0]
    return given


def _converted(parameter: Parameter, value: str) -> Any:
    schema = parameter.schema
    try:
        result = parameter.convert(value)
    except ValueError:
        result = None
    if result is None or not _fits(schema, result):
        article = "an" if schema["type"][0] in "aeiou" else "a"
        wanted = f"one of {', '.join(schema['enum'])}" if "enum" in schema else f"{article} {schema['type']}"
        raise InvalidArgumentError(f"{parameter.name} must be {wanted}, got {value!r}")
    return result


def _fits(schema: dict[str, Any], value: Any) -> bool:
    if isinstance(value, int):
        return bool(schema.get("minimum", 0) <= value <= schema.get("maximum", 2**63 - 1))
    return value in schema.get("enum", (value,)) and len(value) >= schema.get("minLength", 0)
