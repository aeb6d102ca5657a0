"""What the child does with convolutions: arrays on a device, every way to compute them, checked before it is timed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from amdgpu import ops
from amdgpu._generated.dtypes import FORMATS
from amdgpu.array import array
from amdgpu.device import AMDGPUDevice
from amdgpu.errors import InvalidArgumentError
from amdgpu.tuning.convolutions import Convolution
from amdgpu.tuning.measure import check_room, dtype_of, random_numbers, shortest_seconds

# Outputs of a weight's gradient that are compared.
_SAMPLED_OUTPUTS = 4


@dataclass(frozen=True)
class Arrays:
    """What the pass reads, and a part of the exact result with the sums of absolute products."""

    inputs: tuple[Any, ...]
    exact: Any
    scale: Any


class ConvolutionBench:
    """The open device and the arrays of the latest convolution."""

    def __init__(self) -> None:
        self._device: AMDGPUDevice | None = None
        self._asked: Convolution | None = None
        self._arrays: Arrays | None = None

    @property
    def is_lost(self) -> bool:
        """Whether a fault ended the device."""
        return self._device is not None and not self._device.is_open

    def answer(self, question: dict[str, Any]) -> float:
        """Seconds of one call.

        Args:
            question: device; convolution, the fields of a `Convolution`; candidate, the way.

        Raises:
            InvalidArgumentError: The way is not known, or its result is wrong.
            NoImplementationError: The way does not compute it.
        """
        fields = question["convolution"]
        asked = Convolution(**fields | {name: tuple(fields[name]) for name in ("images", "filters")})
        device = self._open(question["device"])
        if self._asked != asked or self._arrays is None:
            self._arrays = None
            self._arrays = _arrays(asked, device)
            self._asked = asked
        arrays, way = self._arrays, question["candidate"]

        def run() -> Any:
            return asked.compute(device, way, *arrays.inputs)

        result = run()
        device.synchronize()
        _check(asked, arrays, result.numpy())
        return shortest_seconds(run, device.synchronize)

    def _open(self, name: str) -> AMDGPUDevice:
        if self._device is None or self._device.name != name:
            self._arrays = None
            self._device = AMDGPUDevice(name)
            self._device.initialize()
        return self._device


def _arrays(asked: Convolution, device: AMDGPUDevice) -> Arrays:
    dtype = dtype_of(asked.operand)
    # The extents of the result are those of an image's convolution; one channel of a group says them.
    extents = ops.conv2d(
        np.zeros((1, 1, *asked.images[2:])), np.zeros((1, 1, *asked.filters[2:])), **_plain(asked)
    ).shape[2:]
    count, outputs = asked.images[0], asked.filters[0]
    result = (count, outputs, *extents) if asked.layout == "NCHW" else (count, *extents, outputs)
    sizes = [int(np.prod(shape, dtype=np.int64)) for shape in (asked.image_shape, asked.filters, result)]
    check_room(2 * sum(sizes) * FORMATS[asked.operand].bytes, device)
    numbers = random_numbers(dtype)
    x, weight, gradient = (
        np.resize(numbers[start:], shape) for start, shape in enumerate((asked.image_shape, asked.filters, result))
    )
    read = {"forward": (x, weight), "image_gradient": (gradient, weight), "weight_gradient": (x, gradient)}[
        asked.direction
    ]
    exact, scale = (
        _part(asked, [np.ascontiguousarray(change(one)) for one in _sampled(asked, read)])
        for change in (np.array, np.abs)
    )
    return Arrays(tuple(array(one, device=device) for one in read), exact, scale)


def _sampled(asked: Convolution, read: tuple[Any, Any]) -> list[Any]:
    """What a part of the result takes, in float64: the last image, or of a weight's gradient some outputs of the first group."""
    first, second = read
    if asked.direction != "weight_gradient":
        return [first[-1:].astype(np.float64), second.astype(np.float64)]
    channels, some = asked.filters[1], _some_outputs(asked)
    if asked.layout == "NCHW":
        return [first[:, :channels].astype(np.float64), second[:, :some].astype(np.float64)]
    return [first[..., :channels].astype(np.float64), second[..., :some].astype(np.float64)]


def _some_outputs(asked: Convolution) -> int:
    return min(_SAMPLED_OUTPUTS, asked.filters[0] // asked.groups)


def _part(asked: Convolution, read: list[Any]) -> Any:
    options = asked.keywords
    if asked.direction == "forward":
        return ops.conv2d(*read, **options)
    if asked.direction == "image_gradient":
        gradient, weight = read
        return ops.conv2d_input_gradient(gradient, weight, (1, *asked.image_shape[1:]), **options)
    x, gradient = read
    shape = (_some_outputs(asked), *asked.filters[1:])
    return ops.conv2d_weight_gradient(x, gradient, shape, **options | {"groups": 1})


def _plain(asked: Convolution) -> dict[str, Any]:
    return asked.keywords | {"groups": 1, "layout": "NCHW"}


def _check(asked: Convolution, arrays: Arrays, result: Any) -> None:
    part = result[: len(arrays.exact)] if asked.direction == "weight_gradient" else result[-1:]
    error = np.abs(part.astype(np.float64) - arrays.exact)
    bound = FORMATS[asked.operand].product_error
    assert bound is not None  # formats of operands have one
    # What is not a number is wrong, too.
    if not np.all(error <= bound * arrays.scale):
        worst = float(np.max(error / np.maximum(arrays.scale, np.finfo(np.float64).tiny)))
        raise InvalidArgumentError(f"the result is wrong by up to {worst:.2g}")
