"""Ten digits as 28 x 28 images, drawn from a 5 x 7 dot-matrix font."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

SIDE_PIXELS = 28
DOT_PIXELS = 4
# Seven rows of five dots for each digit; bit 4 is the leftmost dot.
FONT = (
    (14, 17, 19, 21, 25, 17, 14),
    (4, 12, 4, 4, 4, 4, 14),
    (14, 17, 1, 2, 4, 8, 31),
    (31, 2, 4, 2, 1, 17, 14),
    (2, 6, 10, 18, 31, 2, 2),
    (31, 16, 30, 1, 1, 17, 14),
    (6, 8, 16, 30, 17, 17, 14),
    (31, 1, 2, 4, 8, 8, 8),
    (14, 17, 17, 14, 17, 17, 14),
    (14, 17, 17, 15, 1, 2, 12),
)


def images() -> npt.NDArray[np.float32]:
    """The digits 0 to 9, shape (10, 784), values 0 or 1."""
    dots = np.array([[[(row >> bit) & 1 for bit in range(4, -1, -1)] for row in glyph] for glyph in FONT], np.float32)
    large = dots.repeat(DOT_PIXELS, axis=1).repeat(DOT_PIXELS, axis=2)
    margin = SIDE_PIXELS - large.shape[2]
    padded = np.pad(large, ((0, 0), (0, 0), (margin // 2, margin - margin // 2)))
    return np.ascontiguousarray(padded.reshape(len(FONT), -1))
