"""What the child does: operands on a device, every way to compute their product, checked before it is timed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from amdgpu import _native
from amdgpu._generated.dtypes import FORMATS
from amdgpu.array import array
from amdgpu.device import AMDGPUDevice
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from amdgpu.tuning.entries import Product

# The shortest of so many means counts.
ROUNDS = 4
# Calls of a round run for about that long: hundreds of launches of a small kernel.
ROUND_SECONDS = 0.006
MAX_CALLS = 500
# Random numbers that fill all operands again and again; a prime, so that rows differ.
_BLOCK = 1_048_573
_SAMPLED_ROWS = 16
_SAMPLED_COLUMNS = 64


@dataclass(frozen=True)
class Operands:
    """Both operands as they are stored, the result, and a part of the exact result with the sums of absolute products."""

    a: Any
    b: Any
    out: Any
    rows: Any
    columns: Any
    exact: Any
    scale: Any


class Bench:
    """The open device and the operands of the latest product."""

    def __init__(self) -> None:
        self._device: AMDGPUDevice | None = None
        self._product: Product | None = None
        self._operands: Operands | None = None

    def answer(self, question: dict[str, Any]) -> float:
        """The answer to a question of the parent, as `measure`."""
        from amdgpu.tuning.entries import Product

        return self.measure(question["device"], Product(**question["product"]), question["candidate"])

    def measure(self, device_name: str, product: Product, candidate: str) -> float:
        """Seconds of one call.

        Raises:
            InvalidArgumentError: The way is not known here, or its result is wrong.
        """
        device = self._open(device_name)
        if self._product != product or self._operands is None:
            self._operands = None
            check_room(_bytes(product), device)
            self._operands = _operands(product, device_name)
            self._product = product
        operands = self._operands
        operands.out.fill(0)
        run, wait = _calls(device, product, candidate, operands), device.synchronize
        run()
        wait()
        _check(product, operands)
        return shortest_seconds(run, wait)

    @property
    def is_lost(self) -> bool:
        """Whether a fault ended the device."""
        return self._device is not None and not self._device.is_open

    def _open(self, name: str) -> AMDGPUDevice:
        if self._device is None or self._device.name != name:
            self._operands = None
            device = AMDGPUDevice(name)
            device.initialize()
            self._device = device
        return self._device


def check_room(needed: int, device: AMDGPUDevice) -> None:
    """Refuse operands that the device or the host has no room for; a host that swaps or ends processes would be worse.

    Args:
        needed: Bytes of operands and result.
        device: Holds them.

    Raises:
        InvalidArgumentError: There is no room.
    """
    on_device = device.native.memory_info()["free_bytes"]
    on_host = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for where, free in ((device.name, on_device), ("the host", on_host)):
        if needed > free:
            raise InvalidArgumentError(f"operands and result take {needed} bytes, and {where} has {free} left")


def _bytes(product: Product) -> int:
    m, n, k, batch = product[:4]
    operands = (m * k + k * n) * batch * FORMATS[product.operand].bytes
    return operands + m * n * batch * FORMATS[product.output].bytes


def random_numbers(dtype: Any) -> Any:
    """Numbers that fill all operands again and again, the same in every process."""
    random = np.random.default_rng(20261121)
    if np.dtype(dtype) == np.int8:
        return random.integers(-128, 128, _BLOCK).astype(np.int8)
    return random.standard_normal(_BLOCK).astype(dtype)


def _operands(product: Product, device: str) -> Operands:
    m, n, k, batch = product[:4]
    block = random_numbers(dtype_of(product.operand))
    shapes = [(batch, k, m) if product.layout[0] == "t" else (batch, m, k)]
    shapes += [(batch, n, k) if product.layout[1] == "t" else (batch, k, n)]
    # The second begins elsewhere in the block.
    stored = [np.resize(block, shapes[0]), np.resize(block[::-1], shapes[1])]
    left, right = (x.swapaxes(1, 2) if letter == "t" else x for x, letter in zip(stored, product.layout, strict=True))
    rows = np.unique(np.linspace(0, m - 1, _SAMPLED_ROWS).astype(int))
    columns = np.unique(np.linspace(0, n - 1, _SAMPLED_COLUMNS).astype(int))
    matrix = batch - 1
    a, b = left[matrix][rows].astype(np.float64), right[matrix][:, columns].astype(np.float64)
    output = np.dtype(dtype_of(product.output))
    first, second, out = (array(x, device=device) for x in (*stored, np.zeros((batch, m, n), output)))
    return Operands(first, second, out, rows, columns, a @ b, np.abs(a) @ np.abs(b))


def dtype_of(number: str) -> Any:
    """The dtype of arrays of a number format."""
    if number == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return FORMATS[number].dtype


def _error_bound(product: Product) -> float:
    bound = FORMATS[product.operand].product_error
    assert bound is not None  # formats of operands have one
    return bound


def _check(product: Product, operands: Operands) -> None:
    part = operands.out.numpy()[-1][operands.rows][:, operands.columns].astype(np.float64)
    error = np.abs(part - operands.exact)
    if not np.all(error <= _error_bound(product) * operands.scale):
        raise InvalidArgumentError(f"the result is wrong by up to {float(np.max(error / operands.scale)):.2g}")


def _calls(device: AMDGPUDevice, product: Product, candidate: str, operands: Operands) -> Callable[[], object]:
    return _native.MatmulCall(device, tuple(product), operands.a, operands.b, operands.out, way=candidate)


def shortest_seconds(run: Callable[[], object], wait: Callable[[], None]) -> float:
    """The shortest mean of some rounds of calls.

    Args:
        run: Queues one call.
        wait: Waits for what was queued.
    """
    best = min(_mean_seconds(run, wait, 1) for _ in range(2))
    for _ in range(ROUNDS):
        count = max(1, min(MAX_CALLS, int(ROUND_SECONDS / best)))
        best = min(best, _mean_seconds(run, wait, count))
    return best


def _mean_seconds(run: Callable[[], object], wait: Callable[[], None], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        run()
    wait()
    return (time.perf_counter() - begin) / count
