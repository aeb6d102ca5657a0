"""Fourier, cosine, Walsh, Haar and number-theoretic transforms, convolution."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64 = np.float32, np.float64


def as_pairs(values):
    """Complex numbers as pairs of floats."""
    return np.stack([values.real, values.imag], -1)


@case((3, 8, -1), (1, 1, -1), (2, 5, 1))
def fft_radix2(size, rng):
    count, bits, direction = size
    n = 1 << bits
    values = rng.standard_normal((count, n, 2)).astype(F32)
    exact = values[..., 0] + 1j * values[..., 1].astype(F64)
    expected = np.fft.fft(exact) if direction < 0 else np.fft.ifft(exact) * n
    arguments = (values, np.zeros_like(values), bits, direction)
    return Launch(
        count,
        64,
        arguments,
        {1: as_pairs(expected)},
        shared_bytes=8 * n,
        absolute=1e-6 * n,
        reason="log2 n butterflies with factors of float32",
    )


@case(5, 1)
def fft_radix4(count, rng):
    values = rng.standard_normal((count, 256, 2)).astype(F32)
    expected = np.fft.fft(values[..., 0] + 1j * values[..., 1].astype(F64))
    twiddles = as_pairs(np.exp(-2j * np.pi * np.arange(256) / 256)).astype(F32)
    arguments = (values, np.zeros_like(values), twiddles)
    return Launch(count, 64, arguments, {1: as_pairs(expected)}, absolute=1e-4, reason="four passes, sums of 256 terms")


@case((5, 3), (1, 1))
def dct_8x8(size, rng):
    across, down = size
    image = rng.standard_normal((8 * down, 8 * across)).astype(F32)
    x = np.arange(8)
    basis = 0.5 * np.cos((2 * x + 1) * x[:, None] * np.pi / 16)
    basis[0] = np.sqrt(1 / 8)
    tiles = image.astype(F64).reshape(down, 8, across, 8).transpose(0, 2, 1, 3)
    expected = (basis @ tiles @ basis.T).transpose(0, 2, 1, 3).reshape(image.shape)
    arguments = (image, np.zeros_like(image), 8 * across)
    return Launch((across, down), (8, 8), arguments, {1: expected}, absolute=4e-6, reason="two sums of eight terms")


@case((4, 128, "int"), (1, 2, "int"), (3, 64, "long long"))
def walsh_hadamard(size, rng):
    count, n, name = size
    values = rng.integers(-1000, 1000, (count, n)).astype(np.int32 if name == "int" else np.int64)
    values[0, 1] = 5
    matrix = np.array([[1]])
    while matrix.shape[0] < n:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    kernel, shared_bytes = f"walsh_hadamard<{name}>", values.itemsize * n
    return Launch(count, 32, (values, n), {0: values @ matrix}, kernel=kernel, shared_bytes=shared_bytes)


@case((3, 256), (1, 2), (2, 64))
def haar_wavelet(size, rng):
    count, n = size
    values = rng.integers(-(2**20), 2**20, (count, n), dtype=np.int32)
    values[0, :2] = (1, 5)
    expected, length = values.copy(), n
    while length > 1:
        a, b = expected[:, :length:2].copy(), expected[:, 1:length:2].copy()
        expected[:, : length // 2] = b + ((a - b) >> 1)
        expected[:, length // 2 : length] = a - b
        length //= 2
    return Launch(count, 128, (values, n), {0: expected})


@case((3, 7), (1, 1), (2, 5))
def number_theoretic(size, rng):
    count, bits = size
    n, modulus = 1 << bits, 998244353
    values = rng.integers(1, modulus, (count, n), dtype=np.uint32)
    root = pow(3, (modulus - 1) // n, modulus)
    expected = [
        [sum(v * pow(root, i * k, modulus) for k, v in enumerate(row)) % modulus for i in range(n)]
        for row in values.tolist()
    ]
    return Launch(count, 32, (values, bits), {0: expected})


@case((100, 30), (1, 1), (5, 65))
def convolution_1d(size, rng):
    a, b = (rng.integers(-(2**31), 2**31, count).astype(np.int32) for count in size)
    expected = np.convolve(a.astype(np.int64), b.astype(np.int64))
    return Launch(blocks(sum(size) - 1, 64), 64, (a, b, np.zeros(sum(size) - 1, np.int64), *size), {2: expected})


@case((200, 40), (1, 1), (65, 3))
def goertzel(size, rng):
    n, frequencies = size
    samples, turns = rng.standard_normal(n), rng.random(frequencies) * np.pi
    waves = np.exp(-1j * turns[:, None] * np.arange(n))
    expected = np.abs(waves @ samples) ** 2
    arguments = (samples, 2 * np.cos(turns), np.zeros(frequencies), n, frequencies)
    reason = "the recurrence amplifies rounding at low frequencies"
    return Launch(blocks(frequencies, 32), 32, arguments, {2: expected}, relative=1e-9, absolute=1e-8, reason=reason)
