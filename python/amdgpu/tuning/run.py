"""Tuning on demand: many products, one device, one budget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from amdgpu import _native, arguments
from amdgpu.device import AMDGPUDevice
from amdgpu.errors import InvalidArgumentError, InvalidTypeError
from amdgpu.tuning.database import Database, database_of
from amdgpu.tuning.entries import Entry, Product
from amdgpu.tuning.process import Worker
from amdgpu.tuning.tuner import Progress, Tuner


@dataclass
class Report:
    """What became of the products.

    Attributes:
        database: Holds the results.
        tuned: Measurements that were made.
        known: Products that were measured before and were not measured again.
        skipped: Products that no way computes on the device.
        left: Products for which no time was left.
    """

    database: Database
    tuned: list[Entry] = field(default_factory=list)
    known: list[Product] = field(default_factory=list)
    skipped: list[Product] = field(default_factory=list)
    left: list[Product] = field(default_factory=list)


def tune(
    products: Iterable[Product],
    device_id: int | str = 0,
    *,
    budget_seconds: float,
    is_missing_only: bool = False,
    progress: Progress | None = None,
    worker: Worker | None = None,
    is_verbose: bool = False,
) -> Report:
    """Measure every way to compute each product, in a child process, and keep the results in the database of the architecture.

    Args:
        products: What to measure; `amdgpu.tuning.shapes.products_of` makes them from text.
        device_id: Index in `list_devices()` or a name; a GPU.
        budget_seconds: When it is used up the rest is left.
        is_missing_only: Products that were measured before are not measured again.
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
    if not all(isinstance(product, Product) for product in wanted):
        raise InvalidTypeError(
            "tune: products holds something else than products; amdgpu.tuning.shapes.products_of makes them"
        )
    if progress is not None:
        arguments.function("tune", "progress", progress)
    arguments.truth("tune", "is_missing_only", is_missing_only)
    device = AMDGPUDevice(device_id)
    info = device.initialize()
    if info.kind not in ("hip", "cuda"):
        raise InvalidArgumentError(f"{device.name} has one way to compute a product; GPUs (hip, cuda) can be tuned")
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
            names = [name for name, _, _ in _native.matmul_ways(device, tuple(product))]
            if not names:
                report.skipped.append(product)
            elif is_missing_only and database.exact(product) is not None:
                report.known.append(product)
            elif tuner.left_seconds <= 0:
                report.left.append(product)
            elif entry := tuner.tune(product, names):
                report.tuned.append(entry)
            else:
                report.skipped.append(product)
    finally:
        tuner.close()
    return report
