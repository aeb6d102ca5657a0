"""What the database holds: for one product or subject, how long each way took. The text form is JSON, schema `amdgpu.tuning/1`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from amdgpu import _native, arguments
from amdgpu._generated.dtypes import FORMATS

SCHEMA = "amdgpu.tuning/1"
# Number formats of operands, each with that of results which are rounded to it.
OUTPUTS = {name: row.output for name, row in FORMATS.items() if row.product_error is not None}
LAYOUTS = ("nn", "nt", "tn", "tt")


class Product(NamedTuple):
    """A product of matrices without gaps; `amdgpu.gpu_kernels.Problem` is another name of it.

    Attributes:
        m: Rows of the result.
        n: Columns of the result.
        k: Inner dimension.
        batch: How many products.
        operand: Number format of the operands: f64, f32, tf32, f16, bf16, i8.
        output: Number format of the result; 16-bit operands have kernels that give float32, their sums, as well.
        layout: nn, nt, tn or tt; t says that an operand is stored transposed.
        epilogue: Empty, bias, relu, gelu or silu.
        is_aligned: Rows of all three begin at multiples of 16 bytes.
    """

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


class Record(NamedTuple):
    """Measurements of a subject that is no product.

    Attributes:
        subject: What was measured: everything that the best way depends on but the architecture, in one line.
        seconds: Time of each way that gave the right result.
        failed: Why a way has no time.
        device: Product name of the device.
        measured: UTC, as in `2026-11-21T18:30:00Z`; of two measurements the later one counts.
    """

    subject: str
    seconds: dict[str, float]
    failed: dict[str, str] = {}  # noqa: RUF012  (nobody changes the fields of a record)
    device: str = ""
    measured: str = "1970-01-01T00:00:00Z"

    def ranking(self) -> list[str]:
        """Names of the ways, fastest first."""
        return sorted(self.seconds, key=lambda name: (self.seconds[name], name))


def fields_of(entry: Entry) -> tuple[Any, ...]:
    """An entry as native functions take it."""
    return tuple(entry.product), entry.seconds, entry.failed, entry.device, entry.measured


def entry_of(fields: tuple[Any, ...]) -> Entry:
    """An entry from what native functions return."""
    product, seconds, failed, device, measured = fields
    return Entry(Product(*product), seconds, failed, device, measured)


def dump(architecture: str, entries: list[Entry]) -> str:
    """The text of a database: one line for each entry, in an order that the content decides."""
    return _native.tuning_dump(architecture, [fields_of(entry) for entry in entries])


def parse(text: str, expected: str | None = None) -> tuple[str, list[Entry]]:
    """Architecture and entries of a text; `expected` is the architecture that it must be for.

    Raises:
        InvalidArgumentError: It is not a tuning database of this version; the message says where.
    """
    architecture, entries = _native.tuning_parse(text, expected)
    return architecture, [entry_of(fields) for fields in entries]


def check_architecture(name: str) -> str:
    """The name as files can bear it."""
    arguments.text("tuning", "architecture", name, "the name of an architecture, such as sm_90 or gfx942,")
    return _native.tuning_file_name(name)
