"""JSON schemas of the answers: what REST describes, and what tests hold every answer against."""

from __future__ import annotations

from typing import Any

TIERS = ("raw", "10hz", "1hz")

TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
FLAG: dict[str, Any] = {"type": "boolean"}
ANYTHING: dict[str, Any] = {"type": "object"}
LABELS: dict[str, Any] = {"type": "object", "additionalProperties": TEXT}


def maybe(schema: dict[str, Any]) -> dict[str, Any]:
    """A value that may be absent."""
    return {"anyOf": [schema, {"type": "null"}]}


def several(schema: dict[str, Any]) -> dict[str, Any]:
    """A list."""
    return {"type": "array", "items": schema}


def fields(**schemas: dict[str, Any]) -> dict[str, Any]:
    """An object that has these fields, and may have more."""
    return {"type": "object", "properties": schemas, "required": list(schemas)}


CLOCK = fields(monotonic_ns=COUNT, epoch_ns=COUNT)
ERROR = fields(reason=TEXT, message=TEXT, hint=maybe(TEXT))
DEVICE_FIELDS = fields(
    id=COUNT,
    name=TEXT,
    device=TEXT,
    kind={"type": "string", "enum": ["hip", "cuda", "cpu", "sim", "null"]},
    architecture=TEXT,
    computeUnits=COUNT,
    memoryGB=COUNT,
    coreTypes=several(TEXT),
    totalMemoryBytes=COUNT,
    warpSize=COUNT,
    coreCounts={"type": "object", "additionalProperties": COUNT},
)
METRIC = fields(
    name=TEXT,
    kind={"type": "string", "enum": ["gauge", "counter", "histogram"]},
    labels=several(TEXT),
    meaning=TEXT,
    amd=maybe(TEXT),
    dcgm=maybe(TEXT),
    otel=maybe(TEXT),
)
READING = fields(
    metric=TEXT,
    labels=LABELS,
    value=maybe(NUMBER),
    reason=maybe(TEXT),
    time_ns=COUNT,
    period_ns=COUNT,
    source=TEXT,
)
SERIES = fields(
    metric=TEXT,
    labels=LABELS,
    unit=TEXT,
    tier={"type": "string", "enum": list(TIERS)},
    period_ns=COUNT,
    time_ns=several(COUNT),
    min=several(maybe(NUMBER)),
    mean=several(maybe(NUMBER)),
    max=several(maybe(NUMBER)),
)
PROCESS = fields(pid=COUNT, command=several(TEXT), started_epoch_ns=COUNT, version=maybe(TEXT), state=TEXT)
BOUNDARY = {
    "type": "object",
    "properties": {
        "from": TEXT,
        "to": TEXT,
        "name": TEXT,
        "count": COUNT,
        "timed_count": COUNT,
        "total_seconds": NUMBER,
    },
    "required": ["from", "to", "name", "count", "total_seconds"],
}

HEALTH = {
    "version": TEXT,
    "pid": COUNT,
    "uptime_seconds": NUMBER,
    "sockets": COUNT,
    "folded_series": COUNT,
    "allow_execute": FLAG,
}
DEVICES = {"devices": several(DEVICE_FIELDS)}
DEVICE = {"device": DEVICE_FIELDS}
PEAKS = {
    "peaks": fields(
        flops_per_second=maybe(NUMBER),
        bytes_per_second=maybe(NUMBER),
        source=TEXT,
        cache_bytes_per_second={"type": "object", "additionalProperties": NUMBER},
    )
}
READINGS = {"readings": several(READING)}
HISTORY = {"series": several(SERIES)}
PROCESSES = {"processes": several(PROCESS)}
SNAPSHOT = {"snapshot": ANYTHING}
KERNELS = {"kernels": several(ANYTHING)}
KERNEL = {"kernel": ANYTHING}
MEMORY = {"memory": ANYTHING}
NETWORKS = {"networks": several(ANYTHING)}
GRAPHS = {"graphs": several(ANYTHING)}
LANES = {"launches": several(ANYTHING)}
BOUNDARIES = {"boundaries": several(BOUNDARY)}
CATALOGUE = {"metrics": several(METRIC)}


def document(content: dict[str, Any], name: str) -> dict[str, Any]:
    """The schema of a whole answer: its own schema's name and the clock, then the content."""
    return fields(schema={"type": "string", "const": name}, clock=CLOCK, **content)
