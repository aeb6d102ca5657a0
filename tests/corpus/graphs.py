"""Graph traversal and labelling over compressed adjacency lists."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case


def random_graph(rng, vertices, degree, *, is_directed=True):
    """Row starts, targets and the list of edges; no edge leads from a vertex to itself, none stands twice."""
    pairs = rng.integers(0, vertices, (vertices * degree, 2), dtype=np.int32)
    if vertices > 1:
        pairs = np.concatenate([pairs, [[0, 1]]])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    if not is_directed:
        pairs = np.concatenate([pairs, pairs[:, ::-1]])
    pairs = np.unique(pairs, axis=0).astype(np.int32)
    starts = np.searchsorted(pairs[:, 0], np.arange(vertices + 1)).astype(np.int32)
    return starts, padded(np.ascontiguousarray(pairs[:, 1])), padded(pairs), len(pairs)


def padded(values):
    """At least one row: memory of no bytes cannot be handed to a kernel."""
    return values if len(values) else np.zeros((1, *values.shape[1:]), values.dtype)


def levels_of(starts, targets, source):
    """Distance in edges from the source, -1 where there is no way."""
    levels = np.full(starts.size - 1, -1, np.int32)
    levels[source] = 0
    frontier, level = [source], 0
    while frontier:
        level += 1
        reached = []
        for vertex in frontier:
            for target in targets[starts[vertex] : starts[vertex + 1]]:
                if levels[target] < 0:
                    levels[target] = level
                    reached.append(int(target))
        frontier = reached
    return levels


@case((200, 1), (2, 0), (129, 2))
def bfs_level(size, rng):
    vertices, level = size
    starts, targets, _, _ = random_graph(rng, vertices, 3)
    final = levels_of(starts, targets, 0)
    before = np.where(final <= level, final, -1).astype(np.int32)
    expected = np.where(final <= level + 1, final, -1)
    arguments = (starts, targets, before, np.zeros(1, np.int32), level, vertices)
    return Launch(blocks(vertices, 64), 64, arguments, {2: expected, 3: [int((final == level + 1).any())]})


@case(250, 1, 33)
def bfs_queue(vertices, rng):
    starts, targets, _, _ = random_graph(rng, vertices, 2)
    arguments = (starts, targets, np.full(vertices, -1, np.int32), 0, vertices)
    return Launch(1, 64, arguments, {2: levels_of(starts, targets, 0)})


@case(150, 2, 33)
def sssp_relax(vertices, rng):
    _, _, edges, count = random_graph(rng, vertices, 4)
    weights = rng.integers(1, 100, max(count, 1), dtype=np.uint32)
    before = rng.integers(0, 300, vertices, dtype=np.uint32)
    before[0], before[1] = 0, 2**32 - 1
    expected = before.copy()
    reachable = before[edges[:, 0]] != 2**32 - 1
    offers = before[edges[:, 0]] + weights
    np.minimum.at(expected, edges[reachable, 1], offers[reachable])
    return Launch(blocks(count, 64), 64, (edges, weights, before, before.copy(), count), {3: expected})


@case(150, 2, 65)
def pagerank_step(vertices, rng):
    starts, sources, edges, count = random_graph(rng, vertices, 4)
    degrees = np.bincount(edges[:count, 1], minlength=vertices).astype(np.int32)
    ranks = rng.random(vertices)
    expected = np.full(vertices, 0.15 / vertices)
    np.add.at(expected, edges[:count, 0], 0.85 * ranks[sources[:count]] / degrees[sources[:count]])
    arguments = (starts, sources, degrees, ranks, np.zeros(vertices), 0.85, vertices)
    return Launch(blocks(vertices, 64), 64, arguments, {4: expected}, relative=1e-14, reason="order of the sum")


@case((200, 150), (2, 1), (33, 20))
def components_hook(size, rng):
    vertices, count = size
    edges = rng.integers(0, vertices, (count, 2), dtype=np.int32)
    labels = np.arange(vertices)
    for _ in range(vertices):
        smaller = np.minimum(labels[edges[:, 0]], labels[edges[:, 1]])
        before = labels.copy()
        np.minimum.at(labels, edges[:, 0], smaller)
        np.minimum.at(labels, edges[:, 1], smaller)
        if (before == labels).all():
            break
    arguments = (edges, np.full(vertices, -1, np.int32), vertices, count)
    return Launch(1, 64, arguments, {1: labels}, shared_bytes=4 * vertices)


@case(80, 3, 33)
def triangle_count(vertices, rng):
    starts, targets, edges, count = random_graph(rng, vertices, 5, is_directed=False)
    if vertices == 3:
        edges = np.array([[0, 1], [0, 2], [1, 0], [1, 2], [2, 0], [2, 1]], np.int32)
        starts, targets, count = np.array([0, 2, 4, 6], np.int32), edges[:, 1].copy(), 6
    adjacency = np.zeros((vertices, vertices), np.int64)
    adjacency[edges[:count, 0], edges[:count, 1]] = 1
    expected = int((adjacency @ adjacency * adjacency).sum())
    return Launch(blocks(count, 32), 32, (starts, targets, edges, np.zeros(1, np.uint32), count), {3: [expected]})


@case(150, 1, 65)
def greedy_colouring(vertices, rng):
    starts, targets, _, _ = random_graph(rng, vertices, 3, is_directed=False)
    priorities = rng.integers(0, 50, vertices, dtype=np.uint32)
    before = rng.integers(-6, 3, vertices).clip(-1).astype(np.int8)
    before[0] = -1
    expected = before.copy()
    for v in range(vertices):
        neighbours = targets[starts[v] : starts[v + 1]]
        waiting = [u for u in neighbours if before[u] < 0]
        if before[v] >= 0 or any((priorities[u], u) > (priorities[v], v) for u in waiting):
            continue
        taken = {int(before[u]) for u in neighbours}
        expected[v] = next(colour for colour in range(64) if colour not in taken)
    arguments = (starts, targets, priorities, before, before.copy(), vertices)
    return Launch(blocks(vertices, 64), 64, arguments, {4: expected})


@case(128, 1, 77)
def pointer_jumping(n, rng):
    order = rng.permutation(n)
    following = np.arange(n, dtype=np.int32)
    following[order[:-1]] = order[1:]
    ranks = np.empty(n, np.int32)
    ranks[order] = np.arange(n)[::-1]
    return Launch(1, 128, (following, np.full(n, -1, np.int32), n), {1: ranks})
