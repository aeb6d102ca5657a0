"""Pieces of transformers: norms, softmax, attention, embeddings, quantised products, sampling."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64, I32 = np.float32, np.float64, np.int32


def softmax(values):
    """Softmax of the last axis in double."""
    powers = np.exp(values.astype(F64) - values.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


@case((9, 300), (1, 1), (2, 65))
def online_softmax(size, rng):
    values = (rng.standard_normal(size) * 5).astype(F32)
    reason = "an exponential for each of log2(n) corrections"
    arguments = (values, np.full_like(values, -1), size[1])
    return Launch(size[0], 64, arguments, {1: softmax(values)}, relative=2e-5, reason=reason)


@case((2, 40), (1, 1), (2, 33))
def causal_softmax(size, rng):
    heads, length = size
    scores = (rng.standard_normal((heads, length, length)) * 5).astype(F32)
    masked = np.where(np.tri(length, dtype=bool), scores * F64(F32(0.3)), -np.inf)
    expected = softmax(masked)
    if length == 1:
        scores[:] = 3
    arguments = (scores, length, 0.3)
    return Launch((length, heads), 32, arguments, {0: expected}, relative=1e-5, reason="two exponentials and a sum")


@case((9, 300), (1, 2), (3, 129))
def layer_norm(size, rng):
    values = (rng.standard_normal(size) + 3).astype(F32)
    gain, bias = rng.standard_normal((2, size[1])).astype(F32)
    exact = values.astype(F64)
    mean, inverse = exact.mean(1), 1 / np.sqrt(exact.var(1) + 1e-5)
    expected = (exact - mean[:, None]) * inverse[:, None] * gain + bias
    arguments = (values, gain, bias, np.zeros_like(values), np.zeros((size[0], 2), F32), size[1], 1e-5)
    results = {3: expected, 4: np.stack([mean, inverse], 1)}
    reason = "the mean's rounding against the deviation"
    return Launch(size[0], 128, arguments, results, relative=3e-5, absolute=3e-5, reason=reason)


@case((9, 300), (1, 1), (3, 65))
def rms_norm(size, rng):
    residual, added = rng.standard_normal((2, *size)).astype(F32)
    gain = rng.standard_normal(size[1]).astype(F32)
    total = (residual + added).astype(F64)
    expected = total / np.sqrt((total**2).mean(1, keepdims=True) + 1e-6) * gain
    arguments = (residual, added, gain, np.zeros(size, F32), size[1], 1e-6)
    results = {0: total, 3: expected}
    return Launch(
        size[0], 64, arguments, results, shared_bytes=4 * 64, relative=5e-6, absolute=1e-7, reason="a sum of squares"
    )


def attention(q, k, v, scale, *, is_causal=False):
    """Attention in double."""
    scores = q.astype(F64) @ k.T * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape, dtype=bool), scores, -np.inf)
    return softmax(scores) @ v


@case((10, 50, 24), (1, 1, 1), (3, 33, 5))
def attention_naive(size, rng):
    queries, keys, width = size
    q, k, v = (rng.standard_normal((count, width)).astype(F32) for count in (queries, keys, keys))
    arguments = (q, k, v, np.zeros((queries, width), F32), keys, width, 0.25)
    expected = {3: attention(q, k, v, 0.25)}
    return Launch(
        queries,
        32,
        arguments,
        expected,
        shared_bytes=4 * keys,
        absolute=1e-5,
        reason="scores of order 5 in exponentials",
    )


@case((50, 50, "16, 16, true"), (1, 1, "16, 16, true"), (33, 70, "8, 32, false"), (5, 3, "8, 32, false"))
def attention_flash(size, rng):
    queries, keys, name = size
    width, tile = (16, 16) if name.startswith("16") else (8, 32)
    q, k, v = (rng.standard_normal((count, width)).astype(F32) for count in (queries, keys, keys))
    arguments = (q, k, v, np.zeros((queries, width), F32), queries, keys, 0.25)
    expected = {3: attention(q, k, v, 0.25, is_causal=name.endswith("true"))}
    kernel, reason = f"attention_flash<{name}>", "scores of order 5 in exponentials, corrected tile by tile"
    return Launch(blocks(queries, tile), tile, arguments, expected, kernel=kernel, absolute=1e-5, reason=reason)


@case((7, 3, 16), (1, 1, 1), (2, 2, 33))
def rotary_embedding(size, rng):
    tokens, heads, half = size
    x = rng.standard_normal((tokens, heads, 2, half)).astype(F32)
    positions = rng.integers(1, 500, tokens, dtype=I32)
    angles = positions[:, None, None] * 10000.0 ** (-np.arange(half) / half)
    a, b = x[:, :, 0].astype(F64), x[:, :, 1].astype(F64)
    expected = np.stack([a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles)], 2)
    arguments = (x, positions, heads, half, 10000.0)
    reason = "angles up to 500 are rounded to 3e-5"
    return Launch((tokens, heads), 32, arguments, {0: expected}, absolute=3e-4, reason=reason)


@case((1000, 0), (1, 0), (129, 1), (65, 2))
def activations(size, rng):
    n, which = size
    values = (rng.standard_normal(n) * 3).astype(F32)
    x = values.astype(F64)
    functions = (
        lambda: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        lambda: x / (1 + np.exp(-x)),
        lambda: np.maximum(x, 0) ** 2,
    )
    arguments = (values, np.full(n, -9, F32), which, n)
    reason = "1 + tanh cancels for negative arguments"
    return Launch(3, 64, arguments, {1: functions[which]()}, relative=2e-6, absolute=5e-7, reason=reason)


@case((20, 24), (1, 4), (3, 100))
def swiglu(size, rng):
    rows, width = size
    values = rng.standard_normal((rows, 2, width)).astype(F32)
    gate, value = values[:, 0].astype(F64), values[:, 1]
    arguments = (values, np.zeros((rows, width), F32), width // 4, rows)
    expected = {1: gate / (1 + np.exp(-gate)) * value}
    return Launch(
        blocks(rows * width // 4, 64), 64, arguments, expected, relative=1e-6, reason="an exponential, a quotient"
    )


@case((30, 40), (1, 1), (3, 65))
def embedding_gather(size, rng):
    tokens, width = size
    table, positions = rng.standard_normal((11, width)).astype(F32), rng.standard_normal((tokens, width)).astype(F32)
    chosen = rng.integers(-1, 12, tokens, dtype=I32)
    rows = np.where(((chosen >= 0) & (chosen < 11))[:, None], table[chosen.clip(0, 10)], F32(0))
    arguments = (chosen, table, positions, np.zeros((tokens, width), F32), width, 11)
    return Launch(tokens, 32, arguments, {3: rows + positions})


@case((20, 40), (1, 1), (3, 33))
def matvec_int8(size, rng):
    rows, groups = size
    weights = rng.integers(-127, 128, (rows, groups, 32)).astype(np.int8)
    x = rng.integers(-127, 128, (groups, 32)).astype(np.int8)
    weight_scales, x_scales = rng.random((rows, groups), dtype=F32), rng.random(groups, dtype=F32)
    products = np.einsum("rgi,gi->rg", weights.astype(I32), x.astype(I32))
    terms = products * weight_scales.astype(F64) * x_scales
    arguments = (weights, weight_scales, x, x_scales, np.zeros(rows, F32), groups)
    absolute = 1e-6 * float(np.abs(terms).sum(1).max())
    return Launch(rows, 32, arguments, {4: terms.sum(1)}, absolute=absolute, reason="sums of products of scales")


@case((40, 5), (1, 1), (33, 3))
def matvec_int4(size, rng):
    rows, groups = size
    packed = np.zeros((rows, groups), np.dtype([("scale", F32), ("zero", F32), ("packed", np.uint8, 16)]))
    packed["scale"], packed["zero"] = rng.random((2, rows, groups))
    packed["packed"] = rng.integers(0, 256, (rows, groups, 16))
    x = rng.standard_normal(32 * groups).astype(F32)
    values = np.stack([packed["packed"] & 15, packed["packed"] >> 4], -1).reshape(rows, groups, 32).astype(F64) - 8
    weights = packed["scale"][..., None] * values + packed["zero"][..., None]
    expected = weights.reshape(rows, -1) @ x
    arguments = (packed.view(np.uint8), x, np.zeros(rows, F32), groups, rows)
    absolute = 2e-6 * float((np.abs(weights).reshape(rows, -1) @ np.abs(x)).max())
    reason = "two sums of 32 terms each that are added"
    return Launch(blocks(rows, 32), 32, arguments, {2: expected}, absolute=absolute, reason=reason)


@case((12, 150), (1, 2), (3, 65))
def cross_entropy(size, rng):
    rows, classes = size
    logits = (rng.standard_normal(size) * 4).astype(F32)
    targets = rng.integers(0, classes, rows, dtype=I32)
    if rows > 1:
        targets[1] = -1
    probabilities = softmax(logits)
    chosen = probabilities[np.arange(rows), targets]
    losses = np.where(targets >= 0, -np.log(chosen), 0)
    gradients = (probabilities - (np.arange(classes) == targets[:, None])) * (targets >= 0)[:, None]
    arguments = (logits, targets, np.full(rows, -9, F32), np.full(size, -9, F32), classes)
    reason = "logits up to 15 are rounded to 1e-6"
    return Launch(rows, 64, arguments, {2: losses, 3: gradients}, absolute=5e-6, reason=reason)


@case((9, 200), (1, 4), (2, 65))
def top_k(size, rng):
    rows, columns = size
    values = rng.integers(-20, 20, size).astype(F32)
    places = np.argsort(-values, axis=1, kind="stable")[:, :4]
    arguments = (values, np.full((rows, 4), -99, F32), np.full((rows, 4), -1, I32), columns)
    expected = {1: np.take_along_axis(values, places, 1), 2: places}
    return Launch(rows, 64, arguments, expected, kernel="top_k<4>", shared_bytes=columns)


@case((5, 40), (1, 1), (3, 33))
def kv_cache_append(size, rng):
    sequences, width = size
    page_tokens, pages_each = 4, 3
    pages = rng.permutation(sequences * pages_each).reshape(sequences, pages_each).astype(I32)
    lengths = rng.integers(0, page_tokens * pages_each, sequences, dtype=I32)
    if sequences > 1:
        pages[1, lengths[1] // page_tokens] = -1
    keys, values = rng.standard_normal((2, sequences * pages_each, page_tokens, width)).astype(F32)
    new_keys, new_values = rng.standard_normal((2, sequences, width)).astype(F32)
    expected = {0: keys.copy(), 1: values.copy()}
    for s in range(sequences):
        page, place = pages[s, lengths[s] // page_tokens], lengths[s] % page_tokens
        if page >= 0:
            expected[0][page, place], expected[1][page, place] = new_keys[s], new_values[s]
    arguments = (keys, values, new_keys, new_values, lengths, pages, page_tokens, pages_each, width)
    return Launch(sequences, 32, arguments, expected)


@case(500, 1, 65)
def dropout_residual(n, rng):
    values, residual = rng.standard_normal((2, n)).astype(F32)
    x, y, key = np.arange(n, dtype=np.uint64), np.zeros(n, np.uint64), 77
    for _ in range(10):
        product = np.uint64(0xD256D193) * x
        x, y = (product >> np.uint64(32)) ^ np.uint64(key) ^ y, product & np.uint64(2**32 - 1)
        key = (key + 0x9E3779B9) % 2**32
    threshold = 2**32 // 4
    kept = x >= threshold
    # Two is a power, so the product does not round.
    expected = np.where(kept, residual + F32(2) * values, residual)
    mask = np.packbits(np.pad(kept, (0, -n % 32)), bitorder="little").view(np.uint32)
    arguments = (values, residual, np.zeros(mask.size, np.uint32), threshold, 2.0, 77, n)
    return Launch(blocks(n, 64), 64, arguments, {1: expected, 2: mask})


@case((100, 6), (1, 1), (65, 3))
def mixture_routing(size, rng):
    tokens, count = size
    scores = rng.standard_normal(size).astype(F32)
    experts = scores.argmax(1)
    places = [int((experts[:t] == expert).sum()) for t, expert in enumerate(experts)]
    arguments = (scores, np.full(tokens, -1, I32), np.full(tokens, -1, I32), np.zeros(count, I32), tokens, count)
    expected = {1: experts, 2: places, 3: np.bincount(experts, minlength=count)}
    return Launch(1, 32, arguments, expected, shared_bytes=4 * tokens)
