"""Which way a product is computed on a GPU: one of the archived kernels, or the vendor's library.

The order: what `AMDGPU_MATMUL` demands; what was measured (`amdgpu.tuning`), also just now, where `AMDGPU_TUNE` allows it; without a
measurement the kernel of ours whose estimate is best, or the vendor's library for the kinds of products where ours is known to be behind,
or to have no kernel. Of two measured ways ours is taken unless the other is faster by a margin: its bits depend on no other package's
version, and it needs nothing loaded.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amdgpu import _native
from amdgpu.gpu_kernels import vendor
from amdgpu.gpu_kernels.archive import ArchivedKernel, archive_for, archived_kernels
from amdgpu.gpu_kernels.loading import facts_of
from amdgpu.gpu_kernels.problem import ITEM_BYTES, Problem
from amdgpu.tuning import database as tuning_database
from amdgpu.tuning import settings
from amdgpu.tuning.database import Database, database_of
from amdgpu.tuning.entries import OUTPUTS, Entry, Product
from amdgpu.tuning.tuner import NO_TIME, Tuner

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# What a unit reaches of its peak with tiles of that many results (docs/performance.md); larger tiles read less for each product.
_TILE_EFFICIENCY = ((32768, 1.0), (16384, 0.92), (8192, 0.75), (4096, 0.6), (0, 0.4))
# How much faster a kind of unit multiplies than plain lanes do.
_UNIT_SPEED = {"wgmma": 8.0, "wave": 8.0, "mma": 4.0, "simt": 1.0}
# Products of fewer numbers take less time than the launch of a transpose.
_TRANSPOSED_FROM = 512**3
# Shapes whose kernel is remembered; looking through an archive takes longer than a launch.
_CHOICES_LIMIT = 4096
# How much faster than ours a library has to be.
VENDOR_MARGIN = 1.03
_TURNED = "turned-"
# Without a measurement the library is taken from as many multiplications on, where ours lacks the aligned rows or the blocks: on the H200
# ours reached 0.36 to 0.86 of cuBLASLt there with unaligned rows (float64, whose copies are of one number: 0.88 to 1.2), and 0.14 to 0.66
# with fewer blocks than units and a long inner dimension (docs/performance.md).
_LIBRARY_FROM = 512**3
# Archives whose kernels ran on hardware, compared with float64. Others stand behind a library, which is checked at its first use.
_EXECUTED = ("sm_80", "sm_90")
_LONG_DEPTH = 1024


@dataclass(frozen=True)
class Choice:
    """One way to compute a product.

    Attributes:
        kernel: Of the archive; None for a library.
        is_turned: Operands are written out with rows of k first.
        library: The vendor's library; empty for a kernel of ours.
        name: What the database calls it.
    """

    kernel: ArchivedKernel | None
    is_turned: bool
    library: str
    name: str


def _of_kernel(kernel: ArchivedKernel, *, is_turned: bool = False) -> Choice:
    variant = kernel.name.split(f"_{kernel.layout}_", maxsplit=1)[-1].removesuffix(f"_{kernel.epilogue}")
    return Choice(kernel, is_turned, "", (_TURNED if is_turned else "") + variant)


def candidates(architecture: str, problem: Problem) -> list[ArchivedKernel]:
    """The kernels of an architecture that compute a problem."""
    name = archive_for(architecture)
    if name is None:
        return []
    found = _fitting(name, problem)
    if not found and problem.operand == "tf32":
        # Units that have no tf32 take all of float32.
        found = _fitting(name, replace(problem, operand="f32"))
    return found


def _fitting(archive: str, problem: Problem) -> list[ArchivedKernel]:
    return [
        kernel
        for kernel in archived_kernels(archive)
        if (kernel.kind, kernel.operand, kernel.output, kernel.layout, kernel.epilogue)
        == ("matmul", problem.operand, problem.output, problem.layout, problem.epilogue)
        and (problem.is_aligned or not kernel.is_aligned)
        # The copy engine has no descriptor for an empty matrix.
        and (problem.k > 0 or kernel.unit != "wgmma")
    ]


def estimate(kernel: ArchivedKernel, problem: Problem, units: int) -> float:
    """Relative time: whole rounds of tiles over the device's units, by what tiles of that size reach."""
    tile_m, tile_n, _ = kernel.tile
    tiles = -(-problem.m // tile_m) * -(-problem.n // tile_n) * problem.batch
    rounds = -(-tiles // max(units, 1))
    efficiency = next(value for area, value in _TILE_EFFICIENCY if tile_m * tile_n >= area)
    return rounds * tile_m * tile_n / (efficiency * _UNIT_SPEED[kernel.unit] * (1.0 if kernel.is_aligned else 0.5))


def turned(problem: Problem) -> Problem:
    """The same product of operands that were written out with rows of k first."""
    return replace(problem, layout="nt", is_aligned=True)


@functools.lru_cache(maxsize=_CHOICES_LIMIT)
def _turned_kernels(architecture: str, problem: Problem) -> tuple[ArchivedKernel, ...]:
    """Kernels for operands that are written out first: wgmma reads numbers that are not 16 bits wide in rows of k only."""
    if (
        problem.operand not in ("tf32", "i8")
        or problem.layout == "nt"
        or problem.m * problem.n * problem.k < _TRANSPOSED_FROM
        or problem.k * ITEM_BYTES[problem.operand] % 16
        or not problem.is_aligned
    ):
        return ()
    return tuple(kernel for kernel in candidates(architecture, turned(problem)) if kernel.unit == "wgmma")


def ways(device: AMDGPUDevice, problem: Problem, *, with_vendor: bool = True) -> list[Choice]:
    """Every way to compute a problem on a device; libraries that are there, verified or not."""
    architecture, _ = facts_of(device)
    found = [_of_kernel(kernel) for kernel in candidates(architecture, problem)]
    found += [_of_kernel(kernel, is_turned=True) for kernel in _turned_kernels(architecture, problem)]
    if with_vendor:
        found += [
            Choice(None, is_turned=False, library=library, name=library)
            for library in vendor.libraries_of(device)
            if vendor.takes(problem)
        ]
    return found


def _estimated(device: AMDGPUDevice, problem: Problem) -> Choice | None:
    """The kernel of ours that should be best."""
    architecture, units = facts_of(device)
    found = candidates(architecture, problem)
    turned_kernels = () if any(kernel.unit == "wgmma" for kernel in found) else _turned_kernels(architecture, problem)
    found = list(turned_kernels) or found
    best = min(found, key=lambda kernel: estimate(kernel, problem, units), default=None)
    return None if best is None else _of_kernel(best, is_turned=bool(turned_kernels))


def _is_behind(device: AMDGPUDevice, own: Choice | None, problem: Problem) -> bool:
    """Whether the best kernel of ours is of a kind that libraries beat."""
    if own is None or own.kernel is None:
        return True
    kernel, (architecture, units) = own.kernel, facts_of(device)
    if archive_for(architecture) not in _EXECUTED:
        return True
    if (kernel.unit == "simt" or problem.operand == "f64") and problem.k >= _LONG_DEPTH:
        blocks = -(-problem.m // kernel.tile[0]) * -(-problem.n // kernel.tile[1]) * problem.batch
        if blocks < units:
            return True
    if problem.m * problem.n * problem.k * problem.batch < _LIBRARY_FROM:
        return False
    return not problem.is_aligned and problem.operand != "f64"


def choose(device: AMDGPUDevice, problem: Problem, *, is_ours: bool = False) -> Choice | None:
    """How a product is computed on a device; None when nothing there does it. Remembered by shape until measurements change.

    Args:
        device: The GPU.
        problem: The product.
        is_ours: Only kernels of ours.

    Raises:
        InvalidArgumentError: `AMDGPU_MATMUL` or `AMDGPU_TUNE` cannot be understood.
        LibraryMissingError: The archive of the architecture is damaged.
    """
    kept: dict[tuple[Problem, bool], Choice | None] = device.__dict__.setdefault("_product_choices", {})
    key = (problem, is_ours)
    if device.__dict__.get("_product_changes") == tuning_database.changes:
        try:
            return kept[key]
        except KeyError:
            pass
    else:
        kept.clear()
    if _native.is_recording_graph() and not is_ours:
        # Nothing can be tried out now, and no library goes into a graph.
        return choose(device, problem, is_ours=True)
    if len(kept) >= _CHOICES_LIMIT:
        kept.clear()
    choice = _decide(device, problem, is_ours=is_ours)
    kept[key] = choice
    # A measurement that was made for this very choice changes nothing about it.
    device.__dict__["_product_changes"] = tuning_database.changes
    return choice


def _decide(device: AMDGPUDevice, problem: Problem, *, is_ours: bool) -> Choice | None:
    demanded = "ours" if is_ours else settings.product_way()
    # Said also where nothing has to be measured.
    budget = settings.budget_seconds()
    if demanded == "vendor":
        library = vendor.first_verified(device, problem)
        if library:
            return Choice(None, is_turned=False, library=library, name=library)
        _native.record_fallback(
            "matrix_multiply", f"AMDGPU_MATMUL=vendor: {vendor.absence(device, problem)}; our own kernels compute"
        )
    by_name = {way.name: way for way in ways(device, problem, with_vendor=demanded == "auto")}
    entry = None if problem.k == 0 else _measured(device, problem, list(by_name), 0.0 if is_ours else budget)
    if entry is not None:
        best = _fastest(device, problem, entry, by_name)
        if best is not None:
            return best
    own = _estimated(device, problem)
    if demanded == "auto" and _is_behind(device, own, problem):
        library = vendor.first_verified(device, problem)
        if library:
            return Choice(None, is_turned=False, library=library, name=library)
    return own


def _fastest(device: AMDGPUDevice, problem: Problem, entry: Entry, by_name: dict[str, Choice]) -> Choice | None:
    """The fastest of the measured ways that can be gone here."""
    known = [by_name[name] for name in entry.ranking() if name in by_name]
    own = next((way for way in known if not way.library), None)
    for way in known:
        if way is own:
            return own
        if own is not None and entry.seconds[own.name] < VENDOR_MARGIN * entry.seconds[way.name]:
            return own
        if vendor.is_verified(device, way.library, problem):
            return way
    return own


def _measured(device: AMDGPUDevice, problem: Problem, names: list[str], budget_seconds: float) -> Entry | None:
    """What is known about a product, from the database or, with a budget, measured now."""
    architecture, _ = facts_of(device)
    database = database_of(architecture)
    # Kernels that leave the sums as they are differ in what they write only.
    product = product_of(replace(problem, output=OUTPUTS[problem.operand]))
    found = database.find(product)
    plain = product._replace(epilogue="")
    exact = database.exact(plain)
    is_known = exact is not None and NO_TIME not in exact.failed.values()
    # With one way there is nothing to choose.
    if not budget_seconds or is_known or len(names) < 2:
        return found
    tuner = _tuner_of(device, database, budget_seconds)
    if tuner.left_seconds <= 0:
        _native.record_fallback("tuning", "the time that AMDGPU_TUNE allows is used up: estimates decide")
        return found
    plain_ways = ways(device, Problem(**plain._asdict()))
    return tuner.tune(plain, [way.name for way in plain_ways]) or found


def product_of(problem: Problem) -> Product:
    """The problem as the database has it."""
    return Product(
        problem.m,
        problem.n,
        problem.k,
        problem.batch,
        problem.operand,
        problem.output,
        problem.layout,
        problem.epilogue,
        problem.is_aligned,
    )


def _tuner_of(device: AMDGPUDevice, database: Database, budget_seconds: float) -> Tuner:
    """The tuner of a device, which keeps the budget of the process."""
    found: Tuner | None = device.__dict__.get("_tuner")
    if found is None:
        made = Tuner(device.name, device.info().name, database, budget_seconds=budget_seconds)
        found = device.__dict__.setdefault("_tuner", made)
    return found
