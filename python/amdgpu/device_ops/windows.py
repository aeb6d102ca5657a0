"""Windows that slide over images, shared by convolution and pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from amdgpu.errors import InvalidArgumentError, ShapeMismatchError

_LIMIT = 1 << 31


@dataclass(frozen=True)
class Image:
    """Extents and strides of images, in elements.

    Attributes:
        batch: Images.
        channels: Of an image.
        rows: Of a channel.
        columns: Of a row.
        strides: Of batch, channels, rows and columns, of dense memory.
    """

    batch: int
    channels: int
    rows: int
    columns: int
    strides: tuple[int, int, int, int]


def image_of(operation: str, argument: str, shape: Sequence[int], layout: str) -> Image:
    """Images of a layout, in dense memory.

    Raises:
        ShapeMismatchError: Not four axes.
        InvalidArgumentError: An unknown layout.
    """
    if layout not in ("NCHW", "NHWC"):
        raise InvalidArgumentError(f'{operation}: layout is {layout!r}; known are "NCHW" and "NHWC"')
    if len(shape) != 4:
        raise ShapeMismatchError(f"{operation}: {argument} has shape {list(shape)}; four axes are expected")
    if layout == "NCHW":
        batch, channels, rows, columns = shape
        return Image(batch, channels, rows, columns, (channels * rows * columns, rows * columns, columns, 1))
    batch, rows, columns, channels = shape
    return Image(batch, channels, rows, columns, (channels * rows * columns, 1, columns * channels, channels))


def shape_of(layout: str, batch: int, channels: int, rows: int, columns: int) -> tuple[int, int, int, int]:
    """The shape of images in a layout."""
    return (batch, channels, rows, columns) if layout == "NCHW" else (batch, rows, columns, channels)


@dataclass(frozen=True)
class Sliding:
    """How windows slide; pairs are (rows, columns)."""

    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]

    def check(self, operation: str) -> None:
        """Refuse what makes no sense.

        Raises:
            InvalidArgumentError: A stride or dilation below 1, a padding below 0.
        """
        for name, pair, least in (
            ("stride", self.stride, 1),
            ("padding", self.padding, 0),
            ("dilation", self.dilation, 1),
        ):
            if not all(least <= value < _LIMIT for value in pair):
                raise InvalidArgumentError(f"{operation}: {name} is {pair}; {least} to 2^31 are accepted")

    def result(self, operation: str, image: tuple[int, int], window: tuple[int, int]) -> tuple[int, int]:
        """Windows along rows and columns.

        Raises:
            ShapeMismatchError: The window is empty or larger than the padded image.
        """
        found = []
        for axis in range(2):
            span = self.dilation[axis] * (window[axis] - 1) + 1
            free = image[axis] + 2 * self.padding[axis] - span
            if window[axis] < 1 or free < 0:
                raise ShapeMismatchError(
                    f"{operation}: a window of {window} with dilation {self.dilation} does not fit an image of"
                    f" {image} with padding {self.padding}"
                )
            found.append(free // self.stride[axis] + 1)
        return found[0], found[1]
