"""Tuning of users' kernels: the fastest block and macros for arguments of a class, measured in a child process and remembered."""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amdgpu import _native, arguments
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError, InvalidLaunchError
from amdgpu.tuning import kernel_arguments
from amdgpu.tuning.database import database_of
from amdgpu.tuning.entries import Record
from amdgpu.tuning.kernel_variants import (
    Grid,
    Variant,
    compiled,
    grid_of,
    recipe_with,
    subject_of,
    variants_of,
)
from amdgpu.tuning.process import Worker
from amdgpu.tuning.tuner import Budget, moment

# Variant, seconds or why there are none, done so far, in all.
KernelProgress = Callable[[str, "float | str", int, int], None]
DEFAULT_BUDGET_SECONDS = 120.0


@dataclass(frozen=True)
class TunedKernel:
    """The fastest variant of a kernel for arguments of a class; calling it launches it.

    Attributes:
        kernel: Compiled with the fastest macros.
        block: The fastest block.
        defines: The fastest macros.
        grid: What it was measured with; None where a thread for each element was launched.
        record: All measurements.
    """

    kernel: _native.Kernel
    block: tuple[int, ...]
    defines: dict[str, str]
    grid: Grid | None
    record: Record

    def __call__(self, *args: Any, shared_mem: int = 0, stream: _native.Stream | None = None) -> None:
        """Launch it."""
        variant = Variant(self.block, tuple(self.defines.items()))
        grid = grid_of(self.grid, variant, args)
        self.kernel(*args, grid=grid, block=self.block, shared_mem=shared_mem, stream=stream)


def tune_kernel(
    kernel: _native.Kernel,
    args: Sequence[Any],
    *,
    block: Sequence[int | Sequence[int]],
    defines: Mapping[str, Sequence[Any]] | None = None,
    grid: Grid | None = None,
    shared_mem: int = 0,
    tolerance: float | None = None,
    budget_seconds: float = DEFAULT_BUDGET_SECONDS,
    progress: bool | KernelProgress | None = None,
    worker: Worker | None = None,
) -> TunedKernel:
    """Measure a kernel with every block and every choice of macros, in a child process; `kernel.tune(args, ...)` is the same.

    Each variant is compiled, launched once and compared with the first one, then timed. One that hangs, crashes, does not compile or gives
    another result is left out. The measurements are kept in the tuning database of the architecture, under a hash of the kernel's source
    and options and the class of the arguments (dtypes, and extents up to the next power of two). Launches without a block then use the
    fastest: `kernel(*args)`, `kernel(*args, grid=...)` and `device.execute(kernel, *args)`.

    Args:
        kernel: What `compile_kernel` returned.
        args: Arguments of a launch: arrays, numbers and None. The child works on copies.
        block: Blocks to try, each a number of threads or extents.
        defines: For each macro the values to try.
        grid: Extents, or a function of the block and the macros that gives them; None launches a thread for each element of the largest
            array.
        shared_mem: Bytes of dynamic shared memory.
        tolerance: By how much floating-point results may differ from those of the first variant, relative to the largest; None takes the
            square root of the dtype's epsilon. Integers are compared exactly.
        budget_seconds: When it is used up the remaining variants are left out.
        progress: Called after each variant with its name, its seconds or why there are none, how many are done, and how many there are;
            True prints that, None does so on a terminal.
        worker: The child that measures; None makes one.

    Returns:
        The fastest variant.

    Raises:
        InvalidArgumentError: Nothing to try; the first variant failed, so that there is nothing to compare with; a kernel of a vendor's
            compiler.
        InvalidTypeError: Arguments that cannot be given to the child.

    Example:
        >>> import amdgpu, numpy
        >>> dev = amdgpu.initialize_device("cpu:0", ["aura"])
        >>> twice = dev.compile_kernel("__global__ void twice(float* x, int n) {"
        ...                            " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }")
        >>> x = numpy.ones(1000, "float32")
        >>> tuned = twice.tune((x, 1000), block=[64, 256])
        >>> tuned(x, 1000)
        >>> x[:2].tolist(), tuned.block in [(64,), (256,)]
        ([2.0, 2.0], True)
    """
    given = arguments.sequence("tune", "args", args, "the kernel's arguments")
    budget = Budget(arguments.positive("tune", "budget_seconds", budget_seconds))
    if tolerance is not None:
        arguments.finite("tune", "tolerance", tolerance, 0.0)
    variants = variants_of(block, defines)
    constant = {"shared_bytes": arguments.count("tune", "shared_mem", shared_mem), "tolerance": tolerance}
    child = worker if worker is not None else Worker()
    try:
        run = _Run(kernel, given, variants, grid, constant, _shown(progress))
        seconds, failed = run.measure(child, budget)
    finally:
        child.close()
    return _tuned(kernel, _kept(kernel, given, grid, seconds, failed), grid)


@dataclass(frozen=True)
class _Run:
    """The variants of a kernel that are measured, and with what."""

    kernel: _native.Kernel
    args: Sequence[Any]
    variants: Sequence[Variant]
    grid: Grid | None
    constant: dict[str, Any]
    show: KernelProgress

    def measure(self, child: Worker, budget: Budget) -> tuple[dict[str, float], dict[str, str]]:
        """Seconds of each variant, and why one has none."""
        seconds: dict[str, float] = {}
        failed: dict[str, str] = {}
        recipe = self.kernel.recipe()
        with tempfile.TemporaryDirectory(prefix="amdgpu-tune-") as folder:
            kernel_arguments.write(Path(folder), self.args)
            for done, variant in enumerate(self.variants, start=1):
                question = self.constant | {
                    "device": self.kernel.device,
                    "kernel": recipe_with(recipe, variant),
                    "candidate": variant.name,
                    "folder": folder,
                    "grid": grid_of(self.grid, variant, self.args),
                    "block": variant.block,
                    "is_first": done == 1,
                }
                answer = budget.measure(child, question, is_new=not child.is_running)
                if isinstance(answer, float):
                    seconds[variant.name] = answer
                else:
                    failed[variant.name] = answer
                self.show(variant.name, answer, done, len(self.variants))
                if not seconds:
                    raise InvalidArgumentError(
                        f"tune: the first variant ({variant.name}) failed, so there is nothing to compare others with: {answer}"
                    )
        return seconds, failed


def _kept(
    kernel: _native.Kernel, args: Sequence[Any], grid: Grid | None, seconds: dict[str, float], failed: dict[str, str]
) -> Record:
    """What was measured of a kernel, in the database; and of its fastest variant, which is a kernel of its own."""
    info, recipe = default_device(kernel.device).info(), kernel.recipe()
    record = Record(subject_of(recipe, args, has_grid=grid is not None), seconds, failed, info.name, moment())
    best = Variant.of_name(record.ranking()[0])
    _keep(info.architecture, record)
    if best.defines:
        subject = subject_of(recipe_with(recipe, best), args, has_grid=grid is not None)
        fastest = {Variant(best.block).name: seconds[best.name]}
        _keep(info.architecture, Record(subject, fastest, {}, info.name, record.measured))
    return record


def tuned_kernel(kernel: _native.Kernel, args: Sequence[Any], *, grid: Grid | None = None) -> TunedKernel | None:
    """The fastest variant for such arguments that the database knows, from this process or an earlier one; None where none was measured.

    Args:
        kernel: What `compile_kernel` returned.
        args: Arguments of the launch that is to come.
        grid: The grid of that launch where one is given.
    """
    given = arguments.sequence("tuned_kernel", "args", args, "the kernel's arguments")
    database = database_of(_architecture_of(kernel.device))
    if kernel.is_foreign or not database.has_records:
        return None
    record = database.find_record(subject_of(kernel.recipe(), given, has_grid=grid is not None))
    return None if record is None or not record.seconds else _tuned(kernel, record, grid)


def launch(  # noqa: PLR0917  (the native kernel calls it)
    kernel: _native.Kernel,
    args: Sequence[Any],
    grid: Any,
    block: Any,
    shared_mem: int,
    stream: _native.Stream | None,
) -> None:
    """`kernel(*args)` without a block, or without a grid as well: as the database says.

    Raises:
        InvalidLaunchError: Nothing was measured for such arguments, or only the block is given.
    """
    found = tuned_kernel(kernel, args, grid=grid) if block is None else None
    if found is None:
        raise InvalidLaunchError(
            "a launch needs grid and block: write kernel[grid, block](...) or kernel(..., grid=..., block=...); "
            "without them a launch is as kernel.tune(...) measured it, for such arguments"
        )
    found(*args, shared_mem=shared_mem, stream=stream)


@functools.cache
def _architecture_of(device: str) -> str:
    """That of a device by its name, which does not change; to ask the device takes longer than a short launch."""
    return default_device(device).info().architecture


def _keep(architecture: str, record: Record) -> None:
    try:
        database_of(architecture).add_record(record)
    except OSError as error:
        _native.record_fallback("tuning", f"measurements are not kept: {error.strerror}")


def _tuned(kernel: _native.Kernel, record: Record, grid: Grid | None) -> TunedKernel:
    best = Variant.of_name(record.ranking()[0])
    return TunedKernel(compiled(kernel, best), best.block, dict(best.defines), grid, record)


def _shown(progress: bool | KernelProgress | None) -> KernelProgress:
    if progress is None:
        progress = sys.stderr.isatty()
    wanted = arguments.progress("tune", progress)
    if callable(wanted):
        found: KernelProgress = wanted
        return found

    def printed(name: str, answer: float | str, done: int, count: int) -> None:
        if wanted:
            text = answer if isinstance(answer, str) else f"{answer * 1e6:.4g} us"
            print(f"tune {done}/{count} {name}: {text}", file=sys.stderr, flush=True)

    return printed
