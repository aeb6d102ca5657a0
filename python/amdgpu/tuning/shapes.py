"""Which products are tuned when somebody asks for it: shapes as text, and the usual ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from amdgpu import arguments
from amdgpu._generated.dtypes import FORMATS
from amdgpu.errors import InvalidArgumentError
from amdgpu.tuning.entries import LAYOUTS, OUTPUTS, Product

# Squares; decoding of one, some and many tokens; layers of BERT and their attention; rows that do not start at multiples of 16 bytes.
USUAL_SHAPES = (
    "128,256,512,1024,2048,4096,8192,1x4096x4096,16x4096x4096,128x4096x4096,4096x1024x1024,4096x4096x1024,"
    "512x768x768,512x3072x768,512x768x3072,512x512x64x96,512x64x512x96,1001x1003x1005"
)
USUAL_LAYOUTS = ("nn", "nt", "tn")
_VECTOR_BYTES = 16
_SHAPE = re.compile(r"\d{1,10}(x\d{1,10}){0,3}")


def parse_shapes(text: str) -> list[tuple[int, int, int, int]]:
    """`64,128x256x512,64x64x64x32` as rows, columns, inner dimension and number of products.

    Raises:
        InvalidArgumentError: A part that is no shape.
    """
    arguments.text("parse_shapes", "text", text, "a list of shapes such as 64,128x256x512")
    shapes = []
    for part in text.split(","):
        word = part.strip().lower()
        extents = [int(extent) for extent in word.split("x")] if _SHAPE.fullmatch(word) else []
        if len(extents) not in (1, 3, 4) or 0 in extents:
            raise InvalidArgumentError(f"{part!r} is no shape; write N, MxNxK or MxNxKxBATCH, none of them zero")
        m, n, k = extents[:3] if len(extents) > 1 else extents * 3
        shapes.append((m, n, k, extents[3] if len(extents) == 4 else 1))
    return shapes


def products_of(shapes: str, formats: Sequence[str], layouts: Sequence[str]) -> list[Product]:
    """Every shape in every number format and layout.

    Raises:
        InvalidArgumentError: What is not known.
    """
    for what, given, known in (("format", formats, tuple(OUTPUTS)), ("layout", layouts, LAYOUTS)):
        for name in arguments.names("products_of", f"{what}s", given):
            if name not in known:
                raise InvalidArgumentError(f"{what} {name!r} is not known; known are {', '.join(known)}")
    return [
        _product(shape, operand, layout) for layout in layouts for operand in formats for shape in parse_shapes(shapes)
    ]


def _product(shape: tuple[int, int, int, int], operand: str, layout: str) -> Product:
    m, n, k, batch = shape
    output = OUTPUTS[operand]
    columns = (m if layout[0] == "t" else k, k if layout[1] == "t" else n)
    sizes = (*(count * FORMATS[operand].bytes for count in columns), n * FORMATS[output].bytes)
    return Product(m, n, k, batch, operand, output, layout, "", all(size % _VECTOR_BYTES == 0 for size in sizes))
