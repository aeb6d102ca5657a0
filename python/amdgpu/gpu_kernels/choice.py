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
from amdgpu.gpu_kernels.parts import can_pad, can_sum, is_vector, padded, parts_of, summed
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
# What a call of a library keeps the host for, which leaves no plan: measured on the H200 (tests/gpu/calls_vs_torch.py). Ours takes 8 us.
_LIBRARY_CALL_SECONDS = 36e-6
_TURNED = "turned-"
_VECTOR = "vector"
_SPLIT = "split-"
_PADDED = "padded-"
# By how much an estimate has to fall before the inner dimension is cut: the parts are written, read again and added by a second launch.
_SPLIT_GAIN = 1.5
# From so many multiplications on operands are padded first: two more launches take what loads of single numbers lose. float64, which is
# copied number by number beside the multiplications, loses little: 1001 cubed is faster as it lies, 4095 cubed is not.
_PADDED_FROM = 1 << 25
_PADDED_FROM_OF_DOUBLE = 1 << 33
# Without a measurement the library is taken from as many multiplications on, where ours lacks the aligned rows or the blocks: on the H200
# ours reached 0.5 to 0.95 of cuBLASLt there with unaligned rows where wgmma does not multiply what is padded (with it 1.3 to 3.2, float64
# 0.83 to 1.25), and 0.76 to 1.3 with fewer blocks than units and a long inner dimension (docs/performance.md).
_LIBRARY_FROM = 512**3
# Archives whose kernels ran on hardware, compared with float64. Others stand behind a library, which is checked at its first use.
_EXECUTED = ("sm_80", "sm_90")
_LONG_DEPTH = 1024
_SMALL_TILE = 64


@dataclass(frozen=True)
class Choice:
    """One way to compute a product.

    Attributes:
        kernel: Of the archive; None for a library and for a vector, whose kernel its place in memory decides.
        is_turned: Operands are written out with rows of k first.
        library: The vendor's library; empty for a kernel of ours.
        name: What the database calls it.
        parts: Into how many parts the inner dimension is cut.
        is_padded: Operands are written out with rows that start at multiples of 16 bytes first.
        is_vector: A matrix is multiplied with a vector.
    """

    kernel: ArchivedKernel | None
    is_turned: bool
    library: str
    name: str
    parts: int = 1
    is_padded: bool = False
    is_vector: bool = False


def _of_kernel(kernel: ArchivedKernel, *, is_turned: bool = False, parts: int = 1, is_padded: bool = False) -> Choice:
    variant = kernel.name.split(f"_{kernel.layout}_", maxsplit=1)[-1].removesuffix(f"_{kernel.epilogue}")
    before = _TURNED if is_turned else _SPLIT if parts > 1 else _PADDED if is_padded else ""
    return Choice(kernel, is_turned, "", before + variant, parts, is_padded)


_OF_VECTOR = Choice(None, is_turned=False, library="", name=_VECTOR, is_vector=True)


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


def estimate(kernel: ArchivedKernel, problem: Problem, units: int, parts: int = 1) -> float:
    """Relative time: whole rounds of tiles over the device's units, by what tiles of that size reach."""
    tile_m, tile_n, _ = kernel.tile
    tiles = -(-problem.m // tile_m) * -(-problem.n // tile_n) * problem.batch * parts
    rounds = -(-tiles // max(units, 1))
    efficiency = next(value for area, value in _TILE_EFFICIENCY if tile_m * tile_n >= area)
    speed = efficiency * _UNIT_SPEED[kernel.unit] * (1.0 if kernel.is_aligned else 0.5)
    return rounds * tile_m * tile_n / (speed * parts)


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


@functools.lru_cache(maxsize=_CHOICES_LIMIT)
def _split_kernels(architecture: str, problem: Problem, units: int) -> tuple[tuple[ArchivedKernel, int], ...]:
    """Kernels whose inner dimension is cut, with the number of parts."""
    if not can_sum(architecture, problem):
        return ()
    found = ((kernel, parts_of(kernel, problem, units)) for kernel in candidates(architecture, summed(problem)))
    return tuple((kernel, parts) for kernel, parts in found if parts > 1)


@functools.lru_cache(maxsize=_CHOICES_LIMIT)
def _padded_kernels(architecture: str, problem: Problem) -> tuple[ArchivedKernel, ...]:
    """Kernels for operands that are padded first."""
    if problem.is_aligned or is_vector(architecture, problem) or not problem.k or not can_pad(architecture, problem):
        return ()
    return tuple(kernel for kernel in candidates(architecture, padded(problem)) if kernel.is_aligned)


def ways(device: AMDGPUDevice, problem: Problem, *, with_vendor: bool = True) -> list[Choice]:
    """Every way to compute a problem on a device; libraries that are there, verified or not."""
    architecture, units = facts_of(device)
    found = [_of_kernel(kernel) for kernel in candidates(architecture, problem)]
    found += [_of_kernel(kernel, is_turned=True) for kernel in _turned_kernels(architecture, problem)]
    if is_vector(architecture, problem):
        found.append(_OF_VECTOR)
    else:
        found += [_of_kernel(kernel, parts=parts) for kernel, parts in _split_kernels(architecture, problem, units)]
        found += [_of_kernel(kernel, is_padded=True) for kernel in _padded_kernels(architecture, problem)]
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
    if is_vector(architecture, problem):
        return _OF_VECTOR
    padded_from = _PADDED_FROM_OF_DOUBLE if problem.operand == "f64" else _PADDED_FROM
    if problem.m * problem.n * problem.k * problem.batch >= padded_from:
        larger = _padded_kernels(architecture, problem)
        if larger:
            kernel = min(larger, key=lambda kernel: estimate(kernel, padded(problem), units))
            return _of_kernel(kernel, is_padded=True)
    found = candidates(architecture, problem)
    turned_kernels = () if any(kernel.unit == "wgmma" for kernel in found) else _turned_kernels(architecture, problem)
    found = list(turned_kernels) or found
    best = min(found, key=lambda kernel: estimate(kernel, problem, units), default=None)
    if best is None:
        return None
    splits = _split_kernels(architecture, problem, units)
    split = min(splits, key=lambda pair: estimate(pair[0], problem, units, pair[1]), default=None)
    threshold = estimate(best, problem, units) / _SPLIT_GAIN
    if split is not None and estimate(split[0], problem, units, split[1]) < threshold:
        return _of_kernel(split[0], parts=split[1])
    return _of_kernel(best, is_turned=bool(turned_kernels))


def _is_behind(device: AMDGPUDevice, own: Choice | None, problem: Problem) -> bool:
    """Whether the best kernel of ours is of a kind that libraries beat."""
    if own is None:
        return True
    kernel, (architecture, units) = own.kernel, facts_of(device)
    if archive_for(architecture) not in _EXECUTED:
        return True
    if kernel is None:
        return False
    if (kernel.unit == "simt" or problem.operand == "f64") and problem.k >= _LONG_DEPTH:
        # Of a product that is cut, those of the smallest tiles there are: parts make up for larger ones.
        rows, columns = (_SMALL_TILE, _SMALL_TILE) if own.parts > 1 else kernel.tile[:2]
        blocks = -(-problem.m // rows) * -(-problem.n // columns) * problem.batch
        if blocks < units:
            return True
    if problem.m * problem.n * problem.k * problem.batch < _LIBRARY_FROM:
        return False
    is_fast = own.is_padded and kernel.unit == "wgmma"
    return not problem.is_aligned and not is_fast and problem.operand != "f64"


class Choices:
    """How a device computes products.

    Attributes:
        by_problem: By product, and whether only kernels of ours may do it; None where nothing does.
        changes: How often measurements had changed when these choices were made.
    """

    def __init__(self) -> None:
        self.by_problem: dict[tuple[Problem, bool], Choice | None] = {}
        self.changes: int | None = None


def choices_of(device: AMDGPUDevice) -> Choices:
    """What a device remembers."""
    return device.native.cache(Choices)


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
    choices = choices_of(device)
    kept = choices.by_problem
    key = (problem, is_ours)
    if choices.changes == tuning_database.changes:
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
    choices.changes = tuning_database.changes
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
        of_library = max(entry.seconds[way.name], _LIBRARY_CALL_SECONDS)
        if own is not None and entry.seconds[own.name] < VENDOR_MARGIN * of_library:
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


class KeptTuner:
    """The tuner of a device.

    Attributes:
        tuner: None until a product is measured.
    """

    tuner: Tuner | None = None

    def close(self) -> None:
        """End its process."""
        if self.tuner is not None:
            self.tuner.close()


def _tuner_of(device: AMDGPUDevice, database: Database, budget_seconds: float) -> Tuner:
    """The tuner of a device, which keeps the budget of the process."""
    kept = device.native.cache(KeptTuner)
    if kept.tuner is None:
        kept.tuner = Tuner(device.name, device.info().name, database, budget_seconds=budget_seconds)
    return kept.tuner
