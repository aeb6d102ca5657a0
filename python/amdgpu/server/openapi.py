"""The OpenAPI description of REST, made from the table that answers it."""

from __future__ import annotations

from typing import Any

from amdgpu._generated.constants import PACKAGE_VERSION
from amdgpu.server import answers
from amdgpu.server.api import schema_name
from amdgpu.server.rest import ENDPOINTS, JSON_TYPE, PREFIX, Endpoint
from amdgpu.telemetry.metrics_page import OPEN_METRICS_TYPE, PROMETHEUS_TYPE

PROBLEMS = {
    "400": "A parameter is missing, unknown or wrong.",
    "401": "The token is missing or wrong.",
    "403": "The page or the name that asks is a stranger's, or the process belongs to another user.",
    "404": "There is no such device, process or kernel.",
    "429": "Too many wrong tokens came from this address.",
    "500": "The server failed at this.",
    "503": "Too much is asked at once.",
    "504": "The process did not answer in time.",
}


def describe(*, has_token: bool) -> dict[str, Any]:
    """The description of a server."""
    paths = {PREFIX + endpoint.path: {"get": _operation(endpoint)} for endpoint in ENDPOINTS}
    paths["/metrics"] = {
        "get": {
            "summary": "The metrics for Prometheus.",
            "operationId": "metrics",
            "parameters": [
                {
                    "name": "compat",
                    "in": "query",
                    "required": False,
                    "schema": {"type": "string", "enum": ["amd", "dcgm"]},
                    "description": "Names of AMD's or NVIDIA's exporter.",
                }
            ],
            "responses": {
                "200": {
                    "description": "A page of metrics; OpenMetrics where Accept asks for it.",
                    "content": {kind: {"schema": answers.TEXT} for kind in (PROMETHEUS_TYPE, OPEN_METRICS_TYPE)},
                },
                **_problems(),
            },
        }
    }
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "amdgpu",
            "version": PACKAGE_VERSION,
            "description": "What amdgpu knows of this machine and of the programs that use it.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": answers.ERROR}},
    }
    if has_token:
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    return described


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    schema = answers.document(endpoint.content, schema_name(endpoint.event))
    return {
        "summary": endpoint.summary,
        "operationId": endpoint.event.replace(":", "_"),
        "parameters": [
            {
                "name": parameter.name,
                "in": parameter.place,
                "required": parameter.is_required,
                "schema": parameter.schema,
                **({"explode": True, "style": "form"} if parameter.schema["type"] == "array" else {}),
            }
            for parameter in endpoint.parameters
        ],
        "responses": {
            "200": {"description": endpoint.summary, "content": {JSON_TYPE: {"schema": schema}}},
            **_problems(),
        },
    }


def _problems() -> dict[str, Any]:
    content = {JSON_TYPE: {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {status: {"description": text, "content": content} for status, text in PROBLEMS.items()}
