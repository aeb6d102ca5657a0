"""What the database holds: for one product, how long each way to compute it took. The text form is JSON, schema `amdgpu.tuning/1`."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError

SCHEMA = "amdgpu.tuning/1"
OUTPUTS = {"f64": "f64", "f32": "f32", "tf32": "f32", "f16": "f16", "bf16": "bf16", "i8": "i32"}
LAYOUTS = ("nn", "nt", "tn", "tt")
EPILOGUES = ("", "bias", "relu", "gelu", "silu")
# Of rows, columns, inner dimension and number of products: what kernels count with.
_MAX_EXTENT = 2**32 - 1
# Of one file: some hundred shapes are tuned in an hour.
MAX_ENTRIES = 100_000
_ARCHITECTURE = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_CANDIDATE = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,127}")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


class Product(NamedTuple):
    """A product of dense matrices; the fields are those of `amdgpu.gpu_kernels.Problem`."""

    m: int
    n: int
    k: int
    batch: int
    operand: str
    output: str
    layout: str
    epilogue: str = ""
    is_aligned: bool = True

    def __str__(self) -> str:
        stack = f" x {self.batch}" if self.batch > 1 else ""
        rest = "".join(f" {word}" for word in (self.epilogue, "" if self.is_aligned else "unaligned") if word)
        return f"{self.operand} {self.layout} {self.m} x {self.n} x {self.k}{stack}{rest}"


@dataclass(frozen=True)
class Entry:
    """Measurements of one product.

    Attributes:
        product: What was computed.
        seconds: Time of each way that gave the right result.
        failed: Why a way has no time.
        device: Product name of the device.
        measured: UTC, as in `2026-11-21T18:30:00Z`; of two measurements the later one counts.
    """

    product: Product
    seconds: dict[str, float]
    failed: dict[str, str] = field(default_factory=dict)
    device: str = ""
    measured: str = "1970-01-01T00:00:00Z"

    def ranking(self) -> list[str]:
        """Ways to compute it, fastest first."""
        return sorted(self.seconds, key=lambda name: (self.seconds[name], name))


def dump(architecture: str, entries: list[Entry]) -> str:
    """The text of a database: one line for each entry, in an order that the content decides."""
    lines = [json.dumps(_record(entry), sort_keys=True) for entry in sorted(entries, key=lambda entry: entry.product)]
    head = f'{{"schema": "{SCHEMA}", "architecture": "{architecture}", "entries": ['
    return head + "".join(f"\n{line}," for line in lines).rstrip(",") + "\n]}\n"


def parse(text: str, expected: str = "") -> tuple[str, list[Entry]]:
    """Architecture and entries of a text; `expected` is the architecture that it must be for.

    Raises:
        InvalidArgumentError: It is not a tuning database of this version; the message says where.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"this is not JSON: {error}") from None
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise InvalidArgumentError(f"the schema is {schema!r}; this version reads {SCHEMA!r}")
    architecture, records = content.get("architecture"), content.get("entries")
    if not isinstance(architecture, str) or not _ARCHITECTURE.fullmatch(architecture):
        raise InvalidArgumentError(f"the architecture must be a name such as sm_90 or gfx942, got {architecture!r}")
    if expected and architecture != expected:
        raise InvalidArgumentError(f"it is for {architecture}, not for {expected}")
    if not isinstance(records, list) or len(records) > MAX_ENTRIES:
        raise InvalidArgumentError(f"entries is not a list of at most {MAX_ENTRIES} objects")
    return architecture, [_entry(number, record) for number, record in enumerate(records)]


def check_architecture(name: str) -> str:
    """The name as files can bear it."""
    arguments.text("tuning", "architecture", name, "the name of an architecture, such as sm_90 or gfx942,")
    return re.sub(r"[^a-z0-9_.-]+", "-", name.lower())[:64].strip("-") or "unknown"


def _record(entry: Entry) -> dict[str, Any]:
    record: dict[str, Any] = {
        "product": entry.product._asdict(),
        "seconds": entry.seconds,
        "device": entry.device,
        "measured": entry.measured,
    }
    return record | ({"failed": entry.failed} if entry.failed else {})


def _entry(number: int, record: Any) -> Entry:
    try:
        return _checked(record)
    except _MisfitError as error:
        raise InvalidArgumentError(f"entry {number}: {error}") from None


def _checked(record: Any) -> Entry:
    if not isinstance(record, dict):
        raise _MisfitError("not an object")
    unknown = set(record) - {"product", "seconds", "failed", "device", "measured"}
    if unknown:
        raise _MisfitError(f"unknown field {min(unknown)!r}")
    product = _product(record.get("product"))
    seconds, failed = _by_name(record, "seconds"), _by_name(record, "failed")
    for name, value in seconds.items():
        if type(value) not in (int, float) or not 0 < value < math.inf:
            raise _MisfitError(f"the time of {name} is {value!r}")
    device, measured = record.get("device", ""), record.get("measured")
    if not all(isinstance(text, str) for text in (device, *failed.values())):
        raise _MisfitError("device and reasons are texts")
    if not isinstance(measured, str) or not _TIME.fullmatch(measured):
        raise _MisfitError(f"measured must be a time such as 2026-11-21T18:30:00Z, got {measured!r}")
    return Entry(product, {name: float(value) for name, value in seconds.items()}, failed, device, measured)


class _MisfitError(Exception):
    """A part of an entry is not what it should be."""


def _product(fields: Any) -> Product:
    if not isinstance(fields, dict) or set(fields) != set(Product._fields):
        raise _MisfitError(f"product has not the fields {', '.join(Product._fields)}")
    for name in ("m", "n", "k", "batch"):
        extent = fields[name]
        if type(extent) is not int or not 1 <= extent <= _MAX_EXTENT:
            raise _MisfitError(f"{name} is {extent!r}")
    known = {"operand": OUTPUTS, "layout": LAYOUTS, "epilogue": EPILOGUES}
    for name, values in known.items():
        if not isinstance(fields[name], str) or fields[name] not in values:
            raise _MisfitError(f"{name} is {fields[name]!r}; known are {', '.join(map(repr, values))}")
    product = Product(**fields)
    if product.output != OUTPUTS[product.operand]:
        raise _MisfitError(
            f"output is {product.output!r}; products of {product.operand} give {OUTPUTS[product.operand]}"
        )
    if not isinstance(product.is_aligned, bool):
        raise _MisfitError(f"is_aligned is {product.is_aligned!r}")
    return product


def _by_name(record: dict[str, Any], field_name: str) -> dict[str, Any]:
    values = record.get(field_name, {} if field_name == "failed" else None)
    if not isinstance(values, dict) or not all(_CANDIDATE.fullmatch(key) for key in values):
        raise _MisfitError(f"{field_name} is not an object with names of kernels")
    return values
