"""Convolution and pooling of images of one to three axes by loops in float64, straight from their definitions. Channels stand second."""

import itertools

import numpy as np


def conv_extents(extents, window, stride, begin, end, dilation):
    """Pixels of the result along each axis; `begin` and `end` are the padding."""
    along = zip(extents, window, stride, begin, end, dilation, strict=True)
    return [(size + low + high - dil * (taps - 1) - 1) // step + 1 for size, taps, step, low, high, dil in along]


class Convolution:
    """Which pixel of a padded image each tap of each window is."""

    def __init__(self, extents, window, *, stride, padding, dilation, end=None):
        self.extents, self.window = extents, window
        self.stride, self.dilation, self.begin = stride, dilation, padding
        self.end = padding if end is None else end
        self.result = conv_extents(extents, window, stride, self.begin, self.end, dilation)

    def padded(self, x):
        pads = [(0, 0), (0, 0), *zip(self.begin, self.end, strict=True)]
        return np.pad(x, pads)

    def taps(self):
        """Each tap, and the slices of the padded image that it meets."""
        for tap in itertools.product(*map(range, self.window)):
            along = zip(tap, self.dilation, self.result, self.stride, strict=True)
            places = [
                slice(at * dil, at * dil + (count - 1) * step + 1, step) if count else slice(0, 0)
                for at, dil, count, step in along
            ]
            yield (slice(None), slice(None), *tap), (slice(None), slice(None), *places)

    def forward(self, x, weight, groups):
        padded = self.padded(x)
        out = np.zeros((x.shape[0], weight.shape[0], *self.result))
        for at, places in self.taps():
            parts = zip(
                np.split(padded[places], groups, 1),
                np.split(weight[at], groups, 0),
                np.split(out, groups, 1),
                strict=True,
            )
            for image, kernel, sums in parts:
                np.add(sums, np.einsum("nc...,oc->no...", image, kernel), out=sums)
        return out

    def by_image(self, gradient, weight, groups):
        """The gradient by the images: every pixel of the result gives to the pixels of its window."""
        whole = self.padded(np.zeros((gradient.shape[0], weight.shape[1] * groups, *self.extents)))
        for at, places in self.taps():
            shares = [
                np.einsum("no...,oc->nc...", back, kernel)
                for back, kernel in zip(np.split(gradient, groups, 1), np.split(weight[at], groups, 0), strict=True)
            ]
            whole[places] += np.concatenate(shares, 1)
        inner = [slice(low, low + size) for low, size in zip(self.begin, self.extents, strict=True)]
        return whole[(slice(None), slice(None), *inner)]

    def by_weight(self, x, gradient, groups):
        padded = self.padded(x)
        result = np.zeros((gradient.shape[1], x.shape[1] // groups, *self.window))
        for at, places in self.taps():
            pairs = zip(np.split(padded[places], groups, 1), np.split(gradient, groups, 1), strict=True)
            summed = (0, *range(2, gradient.ndim))
            parts = [np.tensordot(back, image, (summed, summed)) for image, back in pairs]
            result[at] = np.concatenate(parts, 0)
        return result


def sliding_windows(extent, window, stride, padding, *, dilation=1, ceil_mode=False):
    """The pixels of each window along an axis, and how many an average over the padding counts."""
    rest = extent + 2 * padding - dilation * (window - 1) - 1
    count = (-(-rest // stride) if ceil_mode else rest // stride) + 1
    if ceil_mode and (count - 1) * stride >= extent + padding:
        count -= 1
    windows = []
    for start in range(-padding, -padding + count * stride, stride):
        pixels = [start + tap * dilation for tap in range(window)]
        inside = [pixel for pixel in pixels if 0 <= pixel < extent]
        windows.append((inside, min(start + window, extent + padding) - start))
    return windows


def adaptive_windows(extent, size):
    """The pixels of each of so many windows."""
    windows = []
    for index in range(size):
        pixels = list(range(index * extent // size, -(-(index + 1) * extent // size)))
        windows.append((pixels, len(pixels)))
    return windows


class Pooling:
    """Windows along each axis; images are float64 of shape (batch, channels, ...)."""

    def __init__(self, windows, *, counts_padding=True, divisor=None):
        self.windows = windows
        self.result = tuple(map(len, windows))
        self.counts_padding, self.divisor = counts_padding, divisor

    def each(self):
        """Each result, the index of its pixels in an image, and what an average divides by."""
        for at in np.ndindex(self.result):
            chosen = [windows[place] for windows, place in zip(self.windows, at, strict=True)]
            pixels = np.ix_(*(inside for inside, _ in chosen))
            counted = np.prod([counted if self.counts_padding else len(inside) for inside, counted in chosen])
            yield (..., *at), (..., *pixels), self.divisor or counted

    def average(self, x):
        out = np.empty((*x.shape[:2], *self.result))
        for at, pixels, count in self.each():
            out[at] = x[pixels].reshape(*x.shape[:2], -1).sum(2) / count
        return out

    def average_gradient(self, shape, gradient):
        out = np.zeros(shape)
        for at, pixels, count in self.each():
            out[pixels] += (gradient[at] / count)[(..., *(None,) * len(self.windows))]
        return out

    def largest(self, x):
        """The largest values and their indices in the planes: of the first of equal ones, and of the first NaN."""
        out, indices = (np.empty((*x.shape[:2], *self.result), kind) for kind in (np.float64, np.int64))
        plane = np.broadcast_to(np.arange(x[0, 0].size).reshape(x.shape[2:]), x.shape)
        for at, pixels, _ in self.each():
            window, places = (array[pixels].reshape(*x.shape[:2], -1) for array in (x, plane))
            if window.shape[2] == 0:
                out[at], indices[at] = -np.inf, -1
                continue
            first = np.where(np.isnan(window), np.inf, window).argmax(2)
            first = np.where(np.isnan(window).any(2), np.isnan(window).argmax(2), first)
            out[at] = np.take_along_axis(window, first[..., None], 2)[..., 0]
            indices[at] = np.take_along_axis(places, first[..., None], 2)[..., 0]
        return out, indices


def at_indices(values, indices, shape, *, adds):
    """Values at their indices in planes of images of a shape."""
    out = np.zeros(shape)
    planes = out.reshape(*shape[:2], -1)
    for batch, channel in np.ndindex(shape[:2]):
        for value, index in zip(values[batch, channel].ravel(), indices[batch, channel].ravel(), strict=True):
            if index >= 0:
                planes[batch, channel, index] = planes[batch, channel, index] * adds + value
    return out


def channels_last(x):
    return np.moveaxis(x, 1, -1)


def channels_second(x):
    return np.moveaxis(x, -1, 1)
