"""Image filters, colour and geometry."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64, U8 = np.float32, np.float64, np.uint8


def picture(rng, size):
    """Random bytes, rows of `width`."""
    width, height = size
    return rng.integers(0, 256, (height, width), dtype=U8)


def cover(width, height):
    """Grid and block of a picture."""
    return (blocks(width, 16), blocks(height, 8)), (16, 8)


@case((50, 30), (1, 1), (3, 2), (17, 9))
def box_filter(size, rng):
    image = picture(rng, size)
    wide, ones = (np.pad(array.astype(np.int64), 2) for array in (image, np.ones_like(image)))

    def window(array):
        return np.lib.stride_tricks.sliding_window_view(array, (5, 5)).sum((2, 3))

    count = window(ones)
    expected = (window(wide) + count // 2) // count
    arguments = (image, image ^ 0xFF, *size)
    return Launch(*cover(*size), arguments, {1: expected}, kernel="box_filter<2>")


@case((50, 30), (1, 1), (3, 2), (17, 9))
def gaussian_separable(size, rng):
    image = rng.random(size[::-1], dtype=F32)
    weights = np.array([1, 6, 15, 20, 15, 6, 1]) / 64
    wide = np.pad(image.astype(F64), 3, mode="edge")
    rows = sum(weight * wide[:, shift : shift + size[0]] for shift, weight in enumerate(weights))
    expected = sum(weight * rows[shift : shift + size[1]] for shift, weight in enumerate(weights))
    arguments = (image, np.full_like(image, 9), *size)
    return Launch(*cover(*size), arguments, {1: expected}, absolute=6e-7, reason="two sums of seven terms below 1")


@case((50, 30), (1, 1), (3, 3), (17, 9))
def sobel(size, rng):
    image = picture(rng, size)
    p = image.astype(np.int32)
    expected = np.zeros_like(p)
    if min(size) > 2:
        gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
        gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
        expected[1:-1, 1:-1] = np.minimum(np.abs(gx) + np.abs(gy), 255)
    return Launch(*cover(*size), (image, np.full_like(image, 9), *size), {1: expected})


@case((50, 30), (1, 1), (2, 3), (17, 9))
def median_3x3(size, rng):
    image = picture(rng, size)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(image, 1, mode="edge"), (3, 3))
    expected = np.sort(windows.reshape(*image.shape, 9), -1)[..., 4]
    return Launch(*cover(*size), (image, np.zeros_like(image), *size), {1: expected})


@case((40, 30), (1, 1), (3, 2), (17, 9))
def bilateral(size, rng):
    image = rng.random(size[::-1], dtype=F32)
    width, height = size
    total, weights = np.zeros(image.shape), np.zeros(image.shape)
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            rows, columns = np.arange(height) + dy, np.arange(width) + dx
            inside = ((rows >= 0) & (rows < height))[:, None] & ((columns >= 0) & (columns < width))
            value = image[np.ix_(rows.clip(0, height - 1), columns.clip(0, width - 1))].astype(F64)
            weight = np.exp(-(dx * dx + dy * dy) * 0.1 - (value - image) ** 2 * 8) * inside
            total += weight * value
            weights += weight
    arguments = (image, np.zeros_like(image), *size, 0.1, 8.0)
    reason = "25 exponentials of a unit each"
    return Launch(*cover(*size), arguments, {1: total / weights}, absolute=1e-6, reason=reason)


@case(5000, 1, 257)
def histogram_equalise(n, rng):
    pixels = (rng.integers(0, 256, n) // 3 + 10).astype(U8)
    sums = np.bincount(pixels, minlength=256).cumsum()
    return Launch(1, 256, (pixels, n), {0: sums[pixels] * 255 // n})


@case((50, 30, "Smaller"), (1, 1, "Larger"), (17, 9, "Larger"))
def morphology(size, rng):
    *extent, name = size
    image = picture(rng, extent)
    pick, outside = (np.minimum, 255) if name == "Smaller" else (np.maximum, 0)
    wide = np.pad(image, 1, constant_values=outside)
    parts = (image, wide[1:-1, :-2], wide[1:-1, 2:], wide[:-2, 1:-1], wide[2:, 1:-1])
    expected = pick.reduce(np.stack(parts))
    return Launch(*cover(*extent), (image, image ^ 1, *extent), {1: expected}, kernel=f"morphology<{name}>")


@case((30, 20, 47, 33), (1, 1, 3, 2), (9, 17, 4, 5))
def resize_bilinear(size, rng):
    width, height, new_width, new_height = size
    image = rng.random((height, width), dtype=F32)

    def places(new, old):
        where = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
        low = np.floor(where).astype(int)
        return low, np.minimum(low + 1, old - 1), where - low

    left, right, u = places(new_width, width)
    top, bottom, v = places(new_height, height)
    exact = image.astype(F64)
    upper = exact[top][:, left] * (1 - u) + exact[top][:, right] * u
    lower = exact[bottom][:, left] * (1 - u) + exact[bottom][:, right] * u
    expected = upper * (1 - v[:, None]) + lower * v[:, None]
    arguments = (image, width, height, np.zeros((new_height, new_width), F32), new_width, new_height)
    reason = "places in the picture have an error of two units of 30"
    return Launch(*cover(new_width, new_height), arguments, {3: expected}, absolute=1e-5, reason=reason)


@case(1000, 1, 129)
def colour_conversion(n, rng):
    pixels = rng.integers(0, 256, (n, 4), dtype=U8)
    r, g, b, _ = pixels.astype(np.int32).T
    luma = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16
    chroma = np.stack([-11059 * r - 21709 * g + 32768 * b, 32768 * r - 27439 * g - 5329 * b], 1) >> 16
    arguments = (pixels, np.zeros(n, U8), np.full((n, 2), 99, np.int8), n)
    return Launch(blocks(n, 128), 128, arguments, {1: luma, 2: chroma.astype(np.int8)})


@case(1000, 1, 129)
def alpha_blend(n, rng):
    alpha = rng.integers(0, 256, (n, 1))
    top = np.concatenate([rng.integers(0, 256, (n, 3)) * alpha // 255, alpha], 1).astype(U8)
    bottom = rng.integers(0, 256, (n, 4), dtype=U8)
    scaled = np.floor(bottom.astype(np.int64) * (255 - alpha) / 255 + 0.5).astype(np.int64)
    return Launch(3, 64, (top, bottom, n), {1: (top + scaled).astype(U8)})


@case((200, 20), (1, 1), (65, 3))
def integral_image(size, rng):
    image = picture(rng, size)
    return Launch(size[1], 64, (image, np.zeros(image.shape, np.uint32), size[0]), {1: image.cumsum(1)})


@case((50, 20), (1, 1), (9, 17))
def ordered_dither(size, rng):
    width, height = size
    image = picture(rng, size)
    matrix = np.array([[0, 2], [3, 1]])
    for _ in range(2):
        matrix = np.block([[4 * matrix, 4 * matrix + 2], [4 * matrix + 3, 4 * matrix + 1]])
    limits = np.tile(matrix, (height // 8 + 1, width // 8 + 1))[:height, :width] * 4 + 2
    expected = np.packbits(image > limits, axis=1)
    return Launch(*cover(expected.shape[1], height), (image, expected ^ 0xFF, width, height), {1: expected})
