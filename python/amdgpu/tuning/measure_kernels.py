"""What the child does with variants of a kernel: compile, launch once and compare with the first variant, then time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from amdgpu.array import array
from amdgpu.device import AMDGPUDevice
from amdgpu.errors import InvalidArgumentError
from amdgpu.kernel import compile_recipe
from amdgpu.tuning import kernel_arguments

# The shortest of the launches counts; so many are made, or as many as take this long.
LAUNCHES = 30
MIN_LAUNCHES = 5
LAUNCH_SECONDS = 0.25


class KernelBench:
    """The open device and the arguments of the kernel that is tuned."""

    def __init__(self) -> None:
        self._device: AMDGPUDevice | None = None
        self._folder: Path | None = None
        self._given: list[Any] = []
        self._args: list[Any] = []

    @property
    def is_lost(self) -> bool:
        """Whether a fault ended the device."""
        return self._device is not None and not self._device.is_open

    def answer(self, question: dict[str, Any]) -> float:
        """Seconds of one launch.

        Args:
            question: device; kernel, as `kernel.recipe()` gives it; folder, with the arguments; grid, block, shared_bytes; is_first; and
                tolerance.

        Raises:
            InvalidArgumentError: Another result than that of the first variant.
        """
        folder = Path(question["folder"])
        device = self._opened(question["device"], folder)
        kernel = compile_recipe(device, question["kernel"])
        written = [
            place
            for place, parameter in enumerate(kernel.parameters)
            if parameter["is_pointer"] and not parameter["is_const"] and isinstance(self._given[place], np.ndarray)
        ]

        def launch() -> float:
            for place in written:
                self._args[place].copy_from(self._given[place])
            device.synchronize()
            _, duration_ns = kernel.launch(
                question["grid"], question["block"], self._args, shared_bytes=question["shared_bytes"]
            )
            return duration_ns / 1e9

        first_seconds = launch()
        results = [self._args[place].numpy() for place in written]
        if question["is_first"]:
            kernel_arguments.write_results(folder, results)
        else:
            expected = kernel_arguments.read_results(folder, results)
            for place, found, wanted in zip(written, results, expected, strict=True):
                _check(kernel.parameters[place]["name"], found, wanted, question["tolerance"])
        return _shortest(launch, first_seconds)

    def _opened(self, name: str, folder: Path) -> AMDGPUDevice:
        if self._device is None or self._device.name != name:
            self._device = AMDGPUDevice(name)
            self._device.initialize()
            self._folder = None
        if self._folder != folder:
            self._given = kernel_arguments.read(folder)
            self._args = [
                array(arg, device=self._device) if isinstance(arg, np.ndarray) else arg for arg in self._given
            ]
            self._folder = folder
        return self._device


def _shortest(launch: Any, first_seconds: float) -> float:
    best, total, count = first_seconds, first_seconds, 1
    while count < MIN_LAUNCHES or (count < LAUNCHES and total < LAUNCH_SECONDS):
        seconds = launch()
        best, total, count = min(best, seconds), total + seconds, count + 1
    # The clock of a launch that took less than it can tell says zero.
    return max(best, 1e-9)


def _check(name: str, found: Any, wanted: Any, tolerance: float | None) -> None:
    """Refuses what differs from the first variant by more than rounding."""
    if found.dtype.kind in "biu":
        is_equal = bool(np.array_equal(found, wanted))
        error = float("nan")
    else:
        exact = np.dtype(np.complex128 if found.dtype.kind == "c" else np.float64)
        one, other = found.astype(exact), wanted.astype(exact)
        finite = np.isfinite(other)
        largest = float(np.abs(other[finite]).max(initial=0.0))
        if tolerance is None:
            tolerance = float(np.sqrt(_epsilon(found.dtype)))
        with np.errstate(invalid="ignore"):
            differences = np.abs(one - other)[finite]
        same = np.array_equal(one[~finite], other[~finite], equal_nan=True)
        # Not `<=` the other way round: what is not a number differs.
        is_equal = same and not bool(np.any(~(differences <= tolerance * largest)))
        error = float(differences.max(initial=0.0)) / largest if largest else float("inf")
    if not is_equal:
        raise InvalidArgumentError(
            f"{name} differs from that of the first variant, relative to its largest by {error:.2g}"
        )


def _epsilon(dtype: Any) -> float:
    if dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).eps)  # type: ignore[no-untyped-call]
