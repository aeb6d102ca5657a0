"""Ways to compute a product on a GPU, as `amdgpu-ops` finds and chooses them: for tests, benchmarks and the tuner."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdgpu import _native
from amdgpu.gpu_kernels.archive import ArchivedKernel, archive_for, archived_kernels
from amdgpu.gpu_kernels.loading import facts_of
from amdgpu.gpu_kernels.problem import Problem

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# What a unit reaches of its peak with tiles of that many results (docs/performance.md); larger tiles read less for each product.
_TILE_EFFICIENCY = ((32768, 1.0), (16384, 0.92), (8192, 0.75), (4096, 0.6), (0, 0.4))
# How much faster a kind of unit multiplies than plain lanes do.
_UNIT_SPEED = {"wgmma": 8.0, "wave": 8.0, "mma": 4.0, "simt": 1.0}


@dataclass(frozen=True)
class Choice:
    """One way to compute a product.

    Attributes:
        name: What the tuning database calls it.
        kernel: Of the archive; None for a library and for a vector, whose kernel its place in memory decides.
        parts: Into how many parts the inner dimension is cut.
    """

    name: str
    kernel: ArchivedKernel | None
    parts: int = 1

    @property
    def is_vector(self) -> bool:
        """Whether a matrix is multiplied with a vector."""
        return self.name == "vector"

    @property
    def is_transposed(self) -> bool:
        """Whether operands are written out with rows of k first."""
        return self.name.startswith("turned-")

    @property
    def is_padded(self) -> bool:
        """Whether operands are written out with rows that start at multiples of 16 bytes first."""
        return self.name.startswith("padded-")

    @property
    def library(self) -> str:
        """The vendor's library; empty for a kernel of ours."""
        return self.name if self.kernel is None and not self.is_vector else ""


def _choices(architecture: str, ways: Iterable[tuple[str, str | None, int]]) -> list[Choice]:
    archive = archive_for(architecture)
    kernels = {kernel.name: kernel for kernel in (archived_kernels(archive) if archive else ())}
    return [Choice(name, None if symbol is None else kernels[symbol], parts) for name, symbol, parts in ways]


def candidates(architecture: str, problem: Problem) -> list[ArchivedKernel]:
    """The kernels of an architecture that compute a problem, without anything before or after them."""
    _, ways = decide(architecture, 1, problem)
    plain = (way for way in ways if way.parts == 1 and not way.is_transposed and not way.is_padded)
    return [way.kernel for way in plain if way.kernel is not None]


def decide(
    architecture: str,
    units: int,
    problem: Problem,
    *,
    libraries: Iterable[str] = (),
    are_verified: bool = True,
    demand: str = "auto",
    is_measured: bool = True,
) -> tuple[Choice | None, list[Choice]]:
    """What is chosen on a device of an architecture with so many units, and all ways; no device is asked.

    Args:
        architecture: For example sm_90.
        units: Compute units.
        problem: The product.
        libraries: Vendors' libraries that are there.
        are_verified: They were found right.
        demand: auto, ours or vendor, as `AMDGPU_MATMUL` says it.
        is_measured: The tuning database is asked.
    """
    chosen, ways = _native.matmul_decision(
        architecture,
        units,
        problem.fields,
        libraries=list(libraries),
        are_verified=are_verified,
        demand=demand,
        is_measured=is_measured,
    )
    return (None if chosen is None else _choices(architecture, [chosen])[0]), _choices(architecture, ways)


def ways(device: AMDGPUDevice, problem: Problem, *, with_vendor: bool = True) -> list[Choice]:
    """Every way to compute a problem on a device; libraries that are there, verified or not."""
    found = _choices(facts_of(device)[0], _native.matmul_ways(device, problem.fields))
    return [way for way in found if with_vendor or not way.library]


def choose(device: AMDGPUDevice, problem: Problem, *, is_ours: bool = False) -> Choice | None:
    """How a product is computed on a device; None when nothing there does it.

    Args:
        device: The GPU.
        problem: The product.
        is_ours: Only kernels of ours.

    Raises:
        InvalidArgumentError: `AMDGPU_MATMUL` or `AMDGPU_TUNE` cannot be understood.
        LibraryMissingError: The archive of the architecture is damaged.
    """
    chosen = _native.matmul_choice(device, problem.fields, is_ours=is_ours)
    return None if chosen is None else _choices(facts_of(device)[0], [chosen])[0]


def estimate(kernel: ArchivedKernel, problem: Problem, units: int) -> float:
    """Relative time: whole rounds of tiles over the device's units, by what tiles of that size reach."""
    tile_m, tile_n, _ = kernel.tile
    tiles = -(-problem.m // tile_m) * -(-problem.n // tile_n) * problem.batch
    rounds = -(-tiles // max(units, 1))
    efficiency = next(value for area, value in _TILE_EFFICIENCY if tile_m * tile_n >= area)
    return rounds * tile_m * tile_n / (efficiency * _UNIT_SPEED[kernel.unit] * (1.0 if kernel.is_aligned else 0.5))
