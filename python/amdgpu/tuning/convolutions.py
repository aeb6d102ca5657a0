"""Which convolutions are tuned when somebody asks for it: shapes as text, and the usual ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from amdgpu import _native, arguments
from amdgpu._generated.dtypes import FORMATS
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

# Layers of ResNet-50, as docs/performance.md measures them.
USUAL_CONVOLUTIONS = (
    "32x64x56x56:64x3x3:p1,8x256x14x14:256x3x3:p1,32x128x28x28:128x3x3:p1,32x256x56x56:64x1x1,1x64x56x56:64x3x3:p1,"
    "32x3x224x224:64x7x7:s2:p3"
)
CONVOLUTION_FORMATS = tuple(name for name, row in FORMATS.items() if "float" in row.dtype)
DIRECTIONS = ("forward", "image_gradient", "weight_gradient")
IMAGE_LAYOUTS = ("NCHW", "NHWC")
_STEPS = {"s": "stride", "p": "padding", "d": "dilation", "g": "groups"}
_SHAPE = re.compile(r"(\d{1,9})x(\d{1,9})x(\d{1,9})x(\d{1,9}):(\d{1,9})x(\d{1,9})x(\d{1,9})((?::[spdg]\d{1,6})*)")


class Convolution(NamedTuple):
    """A convolution of planes, or one of its gradients.

    Attributes:
        images: Images, channels, rows, columns.
        filters: Outputs, channels of a group, rows, columns.
        operand: Number format: f64, f32, tf32, f16, bf16.
        layout: NCHW or NHWC.
        direction: forward, image_gradient or weight_gradient.
        stride: Steps of the window.
        padding: Zeros around the images.
        dilation: Steps within the window.
        groups: Groups that channels and outputs are cut into.
    """

    images: tuple[int, int, int, int]
    filters: tuple[int, int, int, int]
    operand: str
    layout: str
    direction: str = "forward"
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    def __str__(self) -> str:
        images, filters = ("x".join(map(str, shape)) for shape in (self.images, self.filters))
        steps = "".join(
            f" {name} {value}"
            for name, value, usual in (
                ("stride", self.stride, 1),
                ("padding", self.padding, 0),
                ("dilation", self.dilation, 1),
                ("groups", self.groups, 1),
            )
            if value != usual
        )
        return f"{self.operand} {self.layout} {self.direction} {images} by {filters}{steps}"

    @property
    def image_shape(self) -> tuple[int, ...]:
        """Shape of the images in their layout."""
        count, channels, rows, columns = self.images
        return self.images if self.layout == "NCHW" else (count, rows, columns, channels)

    @property
    def options(self) -> tuple[list[int], list[int], list[int], int, str, str]:
        """Stride, padding, dilation, groups, layout and precision, as native functions take them."""
        steps = [[step, step] for step in (self.stride, self.padding, self.dilation)]
        return *steps, self.groups, self.layout, "tf32" if self.operand == "tf32" else "fp32"  # type: ignore[return-value]

    def ways(self, device: AMDGPUDevice) -> tuple[str, list[str]]:
        """What the tuning database calls the convolution, and the names of the ways to compute it on a device.

        Args:
            device: A GPU.

        Returns:
            The subject, and "generated", "archived", "lowered" and libraries that are there ("cudnn", "miopen"), right or not.

        Raises:
            ShapeMismatchError: The window is larger than the images.
        """
        dtype = FORMATS[self.operand].dtype
        return _native.convolve_ways(device, self.direction, dtype, self.image_shape, self.filters, self.options)

    def compute(self, device: AMDGPUDevice, way: str, *inputs: Any) -> Any:
        """The convolution, or its gradient, by one of its ways.

        Args:
            device: A GPU.
            way: One of `ways`.
            inputs: Images, weights and a bias or none; gradient of the result and weights; or images and gradient of the result, as the
                direction says.

        Returns:
            An array on the device.

        Raises:
            InvalidArgumentError: No such way.
            NoImplementationError: The way does not compute it.
            ShapeMismatchError: The inputs do not fit.
        """
        shapes = {"image_gradient": self.image_shape, "weight_gradient": self.filters}
        shape = shapes.get(self.direction)
        return _native.convolve_by(device, way, self.direction, inputs, self.options, shape=shape)

    @property
    def keywords(self) -> dict[str, Any]:
        """The same for `amdgpu.ops.conv2d`."""
        names = ("stride", "padding", "dilation", "groups", "layout")
        return {name: getattr(self, name) for name in names}


def convolutions_of(
    shapes: str, formats: Sequence[str], layouts: Sequence[str] = ("NCHW",), directions: Sequence[str] = ("forward",)
) -> list[Convolution]:
    """Every shape in every number format, layout and direction.

    Args:
        shapes: `IMAGESxCHANNELSxROWSxCOLUMNS:OUTPUTSxROWSxCOLUMNS`, separated by commas, each with `:sN` for a stride, `:pN` for padding,
            `:dN` for dilation and `:gN` for groups behind it.
        formats: Of f64, f32, tf32, f16, bf16.
        layouts: Of NCHW, NHWC.
        directions: Of forward, image_gradient, weight_gradient.

    Raises:
        InvalidArgumentError: What is not known, or a part that is no shape.

    Example:
        >>> from amdgpu.tuning import convolutions_of
        >>> print(*convolutions_of("8x64x14x14:64x3x3:p1", ["f32"]))
        f32 NCHW forward 8x64x14x14 by 64x64x3x3 padding 1
    """
    for what, given, known in (
        ("format", formats, CONVOLUTION_FORMATS),
        ("layout", layouts, IMAGE_LAYOUTS),
        ("direction", directions, DIRECTIONS),
    ):
        for name in arguments.names("convolutions_of", f"{what}s", given):
            if name not in known:
                raise InvalidArgumentError(f"{what} {name!r} is not known; known are {', '.join(known)}")
    arguments.text("convolutions_of", "shapes", shapes, "a list of shapes such as 8x64x14x14:64x3x3:p1")
    return [
        _parsed(part)._replace(operand=operand, layout=layout, direction=direction)
        for direction in directions
        for layout in layouts
        for operand in formats
        for part in shapes.split(",")
    ]


def _parsed(part: str) -> Convolution:
    found = _SHAPE.fullmatch(part.strip())
    extents = [int(extent) for extent in found.groups()[:7]] if found else []
    steps: dict[str, Any] = {_STEPS[word[0]]: int(word[1:]) for word in found[8].split(":")[1:]} if found else {}
    groups = steps.get("groups", 1)
    is_whole = 0 not in extents and all(value for name, value in steps.items() if name != "padding")
    if not extents or not is_whole or extents[1] % groups or extents[4] % groups:
        raise InvalidArgumentError(
            f"{part!r} is no convolution; write IMAGESxCHANNELSxROWSxCOLUMNS:OUTPUTSxROWSxCOLUMNS, then :sN (stride), :pN (padding),"
            " :dN (dilation), :gN (groups, which divide channels and outputs), none of them but padding zero"
        )
    count, channels, height, width, outputs, rows, columns = extents
    return Convolution(
        (count, channels, height, width), (outputs, channels // groups, rows, columns), "f32", "NCHW", **steps
    )
