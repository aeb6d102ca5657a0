"""What a case of the corpus is, and how a result is judged.

A function decorated with `case` builds the launch of the kernel file of its name: inputs from a seeded generator, grid and
block, and what NumPy says the arrays hold afterwards. Integers must be equal; floats may differ by a stated tolerance with a
stated reason. Arrays that are not expected to change must not change.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
SEED = 20261121
# Bytes before and behind every array that no kernel may touch; a multiple of the alignment that vector types need.
GUARD_BYTES = 256
GUARD = 0xA5


@dataclass(frozen=True)
class Launch:
    """One launch and the truth about it. `expected` maps places of arguments to what they hold afterwards."""

    grid: Any
    block: Any
    arguments: tuple[Any, ...]
    expected: dict[int, Any]
    kernel: str = ""
    shared_bytes: int = 0
    relative: float = 0.0
    absolute: float = 0.0
    # Why the result of floats is not that of NumPy to the last bit.
    reason: str = ""
    # Why two devices may give different bits; only float atomics are a reason.
    order_dependent: str = ""
    # Arguments that the kernel uses as memory of its own.
    scratch: tuple[int, ...] = ()
    # Variables of the module: what the host writes before the launch, and what they hold afterwards.
    variables: dict[str, Any] = field(default_factory=dict)
    expected_variables: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self):
        assert bool(self.reason) == bool(self.relative or self.absolute), "a tolerance and its reason come together"

    def problem(self, results: list[Any]) -> str:
        """What is wrong with the arrays as a device left them; empty when nothing is."""
        for place, (before, after) in enumerate(zip(self.arguments, results[: len(self.arguments)], strict=True)):
            if not isinstance(before, np.ndarray) or place in self.scratch:
                continue
            wanted = self.expected.get(place, before)
            found = difference(after, wanted, self.relative, self.absolute) if place in self.expected else ""
            if place not in self.expected and before.tobytes() != after.tobytes():
                found = "it changed, and nothing may write to it"
            if found:
                return f"argument {place}: {found}"
        for (name, wanted), after in zip(self.expected_variables.items(), results[len(self.arguments) :], strict=True):
            if found := difference(after, wanted, self.relative, self.absolute):
                return f"variable {name}: {found}"
        return ""


@dataclass(frozen=True)
class Entry:
    """A kernel of the corpus with the sizes it is launched for; the first is the usual one, the others are awkward."""

    name: str
    family: str
    sizes: tuple[Any, ...]
    builder: Callable[[Any, np.random.Generator], Launch]

    @property
    def path(self) -> Path:
        """The source."""
        grouped = KERNELS / self.family / f"{self.name}.hip"
        return grouped if grouped.exists() else KERNELS / f"{self.name}.hip"

    def launch(self, size: Any) -> Launch:
        """The launch for one of the sizes; the same data every time."""
        seed = [SEED, zlib.crc32(self.name.encode()), self.sizes.index(size)]
        return self.builder(size, np.random.default_rng(seed))

    def run(self, device: Any, launch: Launch, **options: Any) -> list[Any]:
        """Runs a launch on copies of its arrays and returns the arguments as the kernel left them, then the variables to look at."""
        import amdgpu

        kernel = device.compile_kernel(self.path.read_text(), name=launch.kernel or self.name, **options)
        guarded = [Guarded(value) if isinstance(value, np.ndarray) else None for value in launch.arguments]
        on_host = device.name.startswith("cpu")
        copies = [
            value if guard is None else guard.array if on_host else amdgpu.array(value, device=device.name)
            for value, guard in zip(launch.arguments, guarded, strict=True)
        ]
        for name, values in launch.variables.items():
            kernel.module_global(name).copy_from(values)
        kernel[launch.grid, launch.block, launch.shared_bytes](*copies)
        if on_host:
            for place, guard in enumerate(guarded):
                assert guard is None or guard.is_intact(), f"{self.name} wrote outside of argument {place}"
        variables = [kernel.module_global(name).numpy().reshape(-1) for name in launch.expected_variables]
        return [
            copy if guard is None or on_host else copy.numpy().reshape(guard.array.shape)
            for copy, guard in zip(copies, guarded, strict=True)
        ] + variables


class Guarded:
    """A copy of an array between bytes that must stay as they are."""

    def __init__(self, values: Any) -> None:
        self._raw = np.full(values.nbytes + 3 * GUARD_BYTES, GUARD, np.uint8)
        self._start = -self._raw.ctypes.data % GUARD_BYTES + GUARD_BYTES
        self._end = self._start + values.nbytes
        self.array = self._raw[self._start : self._end].view(values.dtype).reshape(values.shape)
        self.array[...] = values

    def is_intact(self) -> bool:
        """Whether the surroundings are untouched."""
        return bool((self._raw[: self._start] == GUARD).all() and (self._raw[self._end :] == GUARD).all())


CORPUS: dict[str, Entry] = {}


def case(*sizes: Any) -> Callable[[Callable[[Any, np.random.Generator], Launch]], None]:
    """Registers the decorated function as the case of the kernel file with its name."""

    def register(builder: Callable[[Any, np.random.Generator], Launch]) -> None:
        name = builder.__name__
        assert name not in CORPUS, f"two cases are called {name}"
        CORPUS[name] = Entry(name, builder.__module__.rpartition(".")[2], sizes, builder)

    return register


def blocks(count: int, threads: int) -> int:
    """Blocks that cover `count` work-items."""
    return max(1, -(-count // threads))


def difference(found: Any, wanted: Any, relative: float, absolute: float) -> str:
    """How two arrays differ by more than `absolute + relative * |wanted|`; empty when they do not."""
    wanted = np.asarray(wanted).reshape(found.shape)
    if found.dtype.names:
        if found.tobytes() == wanted.astype(found.dtype).tobytes():
            return ""
        return "the records differ"
    if found.dtype.kind == "f":
        exact, ours = wanted.astype(np.float64), found.astype(np.float64)
        with np.errstate(invalid="ignore"):
            right = np.abs(ours - exact) <= absolute + relative * np.abs(exact)
        right |= (ours == exact) | (np.isnan(ours) & np.isnan(exact))
    else:
        right = found == wanted
    if right.all():
        return ""
    where = tuple(int(index) for index in np.argwhere(~right)[0])
    count = int((~right).sum())
    return f"{count} of {right.size} elements are wrong, first at {where}: {found[where]!r} and not {wanted[where]!r}"
