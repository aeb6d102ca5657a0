"""Bit tricks, checksums, strings, number theory."""

from __future__ import annotations

import base64
import hashlib
import zlib

import numpy as np

from corpus.case import Launch, blocks, case

I32, U8, U32, U64 = np.int32, np.uint8, np.uint32, np.uint64


def words_of(rng, n):
    """Random words, zeros and all ones first."""
    words = rng.integers(0, 2**32, n, dtype=U32)
    words[: min(n, 3)] = (0, 2**32 - 1, 1)[: min(n, 3)]
    return words


@case(1000, 1, 65)
def popcount(n, rng):
    words = words_of(rng, n)
    counts = np.bitwise_count(words).astype(I32)
    expected = np.stack([counts, counts, counts, np.full(n, 32, I32)], 1)
    # A word and its complement have 32 ones together.
    return Launch(blocks(n, 64), 64, (words, np.full((n, 4), -1, I32), n), {1: expected})


@case((100, 37), (1, 1), (65, 9))
def crc32(size, rng):
    n, length = size
    records = rng.integers(0, 256, (n, length), dtype=U8)
    expected = [zlib.crc32(record.tobytes()) for record in records]
    return Launch(blocks(n, 64), 64, (records, np.zeros(n, U32), length, n), {1: expected})


@case(60, 1, 33)
def sha256(n, rng):
    messages = rng.integers(0, 256, (n, 56), dtype=U8)
    lengths = rng.integers(0, 56, n, dtype=I32)
    lengths[0] = 55
    digests = [hashlib.sha256(m[:length].tobytes()).digest() for m, length in zip(messages, lengths, strict=True)]
    expected = np.frombuffer(b"".join(digests), U8).reshape(n, 32)
    return Launch(blocks(n, 32), 32, (messages, lengths, np.zeros((n, 32), U8), 56, n), {2: expected})


def edit_distance(a, b):
    """Levenshtein's distance."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


@case(100, 1, 65)
def levenshtein(n, rng):
    words = [[bytes(rng.integers(97, 101, rng.integers(0, 21)).astype(U8)) for _ in range(n)] for _ in range(2)]
    words[0][0] = b"kitten"
    words[1][0] = b"sitting"
    first, second = (np.array(list(b"".join(word.ljust(20, b"\0") for word in part)), np.int8) for part in words)
    expected = [edit_distance(a, b) for a, b in zip(*words, strict=True)]
    return Launch(blocks(n, 64), 64, (first, second, np.full(n, 99, U8), n), {2: expected})


@case(300, 1, 65)
def morton_codes(n, rng):
    points = rng.integers(0, 2**21, (n, 3), dtype=U32)
    codes = np.zeros(n, U64)
    for bit in range(21):
        for axis in range(3):
            codes |= (points[:, axis] >> U32(bit) & U32(1)).astype(U64) << U64(3 * bit + axis)
    arguments = (points, np.zeros(n, U64), np.zeros((n, 3), U32), n)
    return Launch(blocks(n, 64), 64, arguments, {1: codes, 2: points})


@case(300, 1, 65)
def gray_code(n, rng):
    words = words_of(rng, n)

    def decoded(x):
        result = x.copy()
        for _ in range(63):
            x = x >> x.dtype.type(1)
            result ^= x
        return result

    wide = words.astype(U64) << U64(20) | words
    arguments = (words, np.full(n, 7, U32), np.full(n, 7, U32), np.full(n, 7, U64), n)
    return Launch(blocks(n, 64), 64, arguments, {1: words ^ words >> U32(1), 2: decoded(words), 3: decoded(wide)})


@case(300, 1, 65)
def bit_reversal(n, rng):
    values = rng.integers(0, 2**64, n, dtype=U64) >> rng.integers(0, 64, n, dtype=U64)
    values[: min(n, 3)] = (0, 2**64 - 1, 2**40)[: min(n, 3)]
    texts = [f"{int(value):064b}" for value in values]
    zeros = [
        (
            32 - int(text[32:], 2).bit_length(),
            64 - int(text, 2).bit_length(),
            text[32:][::-1].find("1") + 1,
            text[::-1].find("1") + 1,
        )
        for text in texts
    ]
    reversed_bits = np.array([int(text[::-1], 2) for text in texts], U64)
    arguments = (values, np.full(n, 7, U64), np.full(n, 7, U32), np.full((n, 4), -1, I32), n)
    swapped = values.astype(U32).byteswap()
    return Launch(blocks(n, 64), 64, arguments, {1: reversed_bits, 2: swapped, 3: zeros})


@case(5, 1)
def bit_matrix_transpose(count, rng):
    rows = rng.integers(0, 2**32, (count, 32), dtype=U32)
    # The highest bit of a row is its first column.
    bits = np.unpackbits(rows.byteswap().view(U8).reshape(count, 32, 4), axis=2)
    expected = np.packbits(bits[:, ::-1, ::-1].transpose(0, 2, 1), axis=2).view(U32)[..., 0].byteswap()
    return Launch(count, 32, (rows,), {0: expected})


@case((2000, 3), (1, 1), (65, 65), (130, 2))
def string_match(size, rng):
    length, pattern_length = size
    text = rng.integers(97, 99, length).astype(np.int8)
    pattern = text[length - pattern_length :].copy()
    windows = np.lib.stride_tricks.sliding_window_view(text, pattern_length)
    found = np.zeros(length, I32)
    found[: len(windows)] = (windows == pattern).all(1)
    arguments = (text, pattern, np.zeros(length, I32), np.zeros(1, I32), length, pattern_length)
    return Launch(blocks(length, 64), 64, arguments, {2: found, 3: [found.sum()]}, shared_bytes=pattern_length)


@case(1000, 1, 2, 191)
def base64_encode(n, rng):
    data = rng.integers(0, 256, n, dtype=U8)
    expected = np.frombuffer(base64.b64encode(data.tobytes()), np.int8)
    return Launch(blocks(blocks(n, 3), 64), 64, (data, np.zeros(expected.size, np.int8), n), {1: expected})


@case(100, 1, 33)
def hashes(n, rng):
    texts = [bytes(rng.integers(0, 256, rng.integers(0, 40)).astype(U8)) for _ in range(n)]
    texts[0] = b"amdgpu"
    expected = []
    for text in texts:
        fnv, djb = 2166136261, 5381
        for byte in text:
            fnv = (fnv ^ byte) * 16777619 % 2**32
            djb = (djb * 33 + byte) % 2**32
        expected.append((fnv, djb, zlib.adler32(text)))
    joined = np.frombuffer(b"".join(texts), U8)
    ends = np.cumsum([len(text) for text in texts], dtype=I32)
    return Launch(blocks(n, 32), 32, (joined.copy(), ends, np.zeros((n, 3), U32), n), {2: np.array(expected, U32)})


@case(120, 1, 60)
def utf8_decode(n, rng):
    letters = "aä€😀zß中"
    text = ""
    while len((text + letters[0]).encode()) <= n:
        fitting = [letter for letter in letters if len((text + letter).encode()) <= n]
        text += fitting[rng.integers(len(fitting))]
    data = np.frombuffer(text.encode(), U8).copy()
    points = np.zeros(n, U32)
    points[: len(text)] = [ord(letter) for letter in text]
    return Launch(1, 128, (data, np.zeros(n, U32), np.full(1, -1, I32), data.size), {1: points, 2: [len(text)]})


@case(5, 1)
def prime_sieve(count, rng):
    limit = count * 2048
    is_prime = np.ones(limit, bool)
    is_prime[:2] = False
    for p in range(2, int(limit**0.5) + 1):
        is_prime[p * p :: p] = False
    bits = is_prime[1::2].reshape(-1, 32) @ (1 << np.arange(32, dtype=U64))
    return Launch(count, 32, (np.zeros(32 * count, U32), limit), {0: bits.astype(U32)})


@case(8, 1, 5)
def n_queens(size, rng):
    def solutions(placed):
        if len(placed) == size:
            return 1
        row = len(placed)
        free = (c for c in range(size) if all(c != p and abs(c - p) != row - r for r, p in enumerate(placed)))
        return sum(solutions([*placed, column]) for column in free)

    expected = [solutions([column]) for column in range(size)]
    return Launch(1, 32, (np.full(size, 99, U32), size), {0: expected})
