"""What the child does with forms of generated kernels: each is compared with the usual one bit for bit, then timed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from amdgpu import _native
from amdgpu.array import array
from amdgpu.device import AMDGPUDevice
from amdgpu.errors import InvalidArgumentError
from amdgpu.tuning.measure import check_room, random_numbers, shortest_seconds
from amdgpu.tuning.reductions import Reduction

# Computes by a form.
Compute = Callable[[str], Any]


class FormBench:
    """The open device, and the kernel of the latest question with the bytes that its usual form gives."""

    def __init__(self) -> None:
        self._device: AMDGPUDevice | None = None
        self._asked: Any = None
        self._compute: Compute | None = None
        self._expected = b""

    @property
    def is_lost(self) -> bool:
        """Whether a fault ended the device."""
        return self._device is not None and not self._device.is_open

    def answer(self, question: dict[str, Any]) -> float:
        """Seconds of one call.

        Args:
            question: device; reduction or fused, the fields of a `Reduction` or `Fused`; candidate, the form.

        Raises:
            InvalidArgumentError: The kernel has no such form, or its bits are others than those of the usual one.
        """
        device = self._open(question["device"])
        asked: dict[str, Any] = {name: question[name] for name in ("reduction", "fused") if name in question}
        if self._asked != asked or self._compute is None:
            self._compute = None
            usual, self._compute = _reduction(asked, device) if "reduction" in asked else _fused(asked, device)
            self._expected = _bytes(self._compute(usual))
            self._asked = asked
        compute, form = self._compute, question["candidate"]
        if _bytes(compute(form)) != self._expected:
            raise InvalidArgumentError("the result has other bits than that of the usual form")
        return shortest_seconds(lambda: compute(form), device.synchronize)

    def _open(self, name: str) -> AMDGPUDevice:
        if self._device is None or self._device.name != name:
            self._compute = None
            self._device = AMDGPUDevice(name)
            self._device.initialize()
        return self._device


def _reduction(asked: dict[str, Any], device: AMDGPUDevice) -> tuple[str, Compute]:
    fields = asked["reduction"]
    reduction = Reduction(**fields | {name: tuple(fields[name]) for name in ("shape", "axes")})
    (x,) = _arrays([(reduction.shape, reduction.dtype)], device)
    return reduction.ways(device)[1][0], lambda form: reduction.compute(device, form, x)


def _fused(asked: dict[str, Any], device: AMDGPUDevice) -> tuple[str, Compute]:
    steps = _native.FusedSteps(asked["fused"]["text"])
    inputs = _arrays([(tuple(shape), dtype) for shape, dtype in steps.inputs], device)
    return steps.forms(device)[1][0], lambda form: steps.compute(device, form, inputs)


def _arrays(wanted: list[tuple[tuple[int, ...], str]], device: AMDGPUDevice) -> tuple[Any, ...]:
    dtypes = [_numpy_dtype(dtype) for _, dtype in wanted]
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape, _ in wanted]
    # Results are no larger than the largest input, and two are alive at a time.
    items = [size * dtype.itemsize for size, dtype in zip(sizes, dtypes, strict=True)]
    check_room(sum(items) + 2 * max(items), device)
    return tuple(
        array(np.resize(_numbers(dtype), shape), device=device)
        for (shape, _), dtype in zip(wanted, dtypes, strict=True)
    )


def _numpy_dtype(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def _numbers(dtype: Any) -> Any:
    if dtype.kind in "biu":
        whole = random_numbers(np.int8)
        return (whole > 0) if dtype.kind == "b" else whole.astype(dtype)
    return random_numbers(dtype)


def _bytes(result: Any) -> bytes:
    host: bytes = result.numpy().tobytes()
    return host
