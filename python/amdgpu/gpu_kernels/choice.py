"""Which archived kernels there are, and ways to compute a product on a GPU, as `amdgpu-ops` finds and chooses them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdgpu import _native

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice
    from amdgpu.tuning.entries import Product


@dataclass(frozen=True)
class Choice:
    """One way to compute a product.

    Attributes:
        name: What the tuning database calls it.
        kernel: Of the archive; None for a library and for a vector, whose kernel its place in memory decides.
        parts: Into how many parts the inner dimension is cut.
    """

    name: str
    kernel: _native.ArchivedKernel | None
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


def architectures() -> list[str]:
    """Architectures with an archive, sorted."""
    return _native.archived_architectures()


def archived_kernels(architecture: str) -> list[_native.ArchivedKernel]:
    """The kernels of an archive, as its manifest lists them.

    Each has `architecture`, `name` (its symbol), `kind` (matmul, convolution, attention, attention_masked, attention_levels,
    attention_by_queries, attention_by_keys, transpose, vector, parts or pad), `threads` of a block and `resources`; and, where its kind
    has it: `unit` (simt, mma, wgmma or wave), the number formats `operand` and `output`, `layout` (nn, nt, tn or tt; t says that an
    operand is stored transposed), `is_aligned` (rows start at multiples of 16 bytes), `epilogue` (bias, relu, gelu or silu), `tile`
    (rows and columns of the result that a block computes, and of the inner dimension at a time; of attention rows of a step), `cluster`
    (blocks that share an operand), `dynamic_shared_bytes`, `number`, `size` (elements of a query) and `item_bytes`.

    Raises:
        LibraryMissingError: There is no archive for the architecture, or it cannot be read.
    """
    return _native.archived_kernels(architecture)


def candidates(architecture: str, problem: Product) -> list[_native.ArchivedKernel]:
    """The kernels of an architecture that compute a problem, without anything before or after them."""
    _, ways = decide(architecture, 1, problem)
    plain = (way for way in ways if way.parts == 1 and not way.is_transposed and not way.is_padded)
    return [way.kernel for way in plain if way.kernel is not None]


def decide(
    architecture: str,
    units: int,
    problem: Product,
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
        problem,
        libraries=list(libraries),
        are_verified=are_verified,
        demand=demand,
        is_measured=is_measured,
    )
    return None if chosen is None else Choice(*chosen), [Choice(*way) for way in ways]


def ways(device: AMDGPUDevice, problem: Product, *, with_vendor: bool = True) -> list[Choice]:
    """Every way to compute a problem on a device; libraries that are there, verified or not."""
    found = (Choice(*way) for way in _native.matmul_ways(device, problem))
    return [way for way in found if with_vendor or not way.library]


def choose(device: AMDGPUDevice, problem: Product, *, is_ours: bool = False) -> Choice | None:
    """How a product is computed on a device; None when nothing there does it.

    Args:
        device: The GPU.
        problem: The product.
        is_ours: Only kernels of ours.

    Raises:
        InvalidArgumentError: `AMDGPU_MATMUL` or `AMDGPU_TUNE` cannot be understood.
        LibraryMissingError: The archive of the architecture is damaged.
    """
    chosen = _native.matmul_choice(device, problem, is_ours=is_ours)
    return None if chosen is None else Choice(*chosen)
