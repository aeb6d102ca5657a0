"""Tuning on demand: many products, convolutions, reductions and joined steps, one device, one budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from amdgpu import _native, arguments
from amdgpu.device import AMDGPUDevice
from amdgpu.errors import InvalidArgumentError, InvalidTypeError
from amdgpu.tuning.database import Database, database_of
from amdgpu.tuning.entries import Entry, Product, Record
from amdgpu.tuning.fused import Fused
from amdgpu.tuning.process import Worker
from amdgpu.tuning.tuner import FIELDS, Progress, Tunable, Tuner


@dataclass
class Report:
    """What became of what was to be measured.

    Attributes:
        database: Holds the results.
        tuned: Measurements that were made.
        known: What was measured before and was not measured again.
        skipped: What no way computes on the device.
        left: What no time was left for.
    """

    database: Database
    tuned: list[Entry | Record] = field(default_factory=list)
    known: list[Tunable] = field(default_factory=list)
    skipped: list[Tunable] = field(default_factory=list)
    left: list[Tunable] = field(default_factory=list)


def tune(
    products: Iterable[Tunable],
    device_id: int | str = 0,
    *,
    budget_seconds: float,
    is_missing_only: bool = False,
    progress: Progress | None = None,
    worker: Worker | None = None,
    is_verbose: bool = False,
) -> Report:
    """Measure every way to compute each product or other subject, in a child process, and keep the results in the architecture's database.

    Args:
        products: What to measure; `products_of`, `convolutions_of`, `reductions_of` and `fused_of` make it from text.
        device_id: Index in `list_devices()` or a name; a GPU, or for joined steps alone a CPU device.
        budget_seconds: When it is used up the rest is left.
        is_missing_only: What was measured before is not measured again.
        progress: Called after each way that was tried.
        worker: The child that measures; None makes one.
        is_verbose: What that child writes to its standard error is shown.

    Raises:
        InvalidArgumentError: A device that has nothing to choose from, or a budget that is not positive and finite.
        InvalidTypeError: Something else than products, a number and a function.
        DeviceNotFoundError: No such device.
    """
    budget_seconds = arguments.positive("tune", "budget_seconds", budget_seconds)
    wanted = arguments.sequence("tune", "products", products, "products, as products_of makes them,")
    if not all(type(product) in FIELDS for product in wanted):
        raise InvalidTypeError(
            "tune: products holds something else than products, convolutions, reductions and joined steps;"
            " products_of, convolutions_of, reductions_of and fused_of make them"
        )
    if progress is not None:
        arguments.function("tune", "progress", progress)
    arguments.truth("tune", "is_missing_only", is_missing_only)
    device = AMDGPUDevice(device_id)
    info = device.initialize()
    if info.kind not in ("hip", "cuda") and not all(isinstance(product, Fused) for product in wanted):
        raise InvalidArgumentError(
            f"{device.name} has one way to compute a product; GPUs (hip, cuda) can be tuned, and joined steps on every device"
        )
    database = database_of(info.architecture)
    report = Report(database)
    tuner = Tuner(
        device.name,
        info.name,
        database,
        budget_seconds=budget_seconds,
        progress=progress,
        worker=worker if worker is not None else Worker(is_verbose=is_verbose),
        is_fresh=not is_missing_only,
    )
    try:
        for product in wanted:
            subject, names = _ways(device, product)
            known = database.record(subject) if subject else _exact(database, product)
            if not names:
                report.skipped.append(product)
            elif is_missing_only and known is not None:
                report.known.append(product)
            elif tuner.left_seconds <= 0:
                report.left.append(product)
            elif found := _tune(tuner, product, subject, names):
                report.tuned.append(found)
            else:
                report.skipped.append(product)
    finally:
        tuner.close()
    return report


def _ways(device: AMDGPUDevice, product: Tunable) -> tuple[str, list[str]]:
    """What the database calls it, empty for a product, and the names of the ways to compute it."""
    if isinstance(product, Product):
        return "", [name for name, _, _ in _native.matmul_ways(device, tuple(product))]
    return product.ways(device)


def _exact(database: Database, product: Tunable) -> Entry | None:
    return database.exact(product) if isinstance(product, Product) else None


def _tune(tuner: Tuner, product: Tunable, subject: str, names: list[str]) -> Entry | Record | None:
    if isinstance(product, Product):
        return tuner.tune(product, names)
    return tuner.tune_subject(product, subject, names)
