"""Stencils in one, two and three dimensions, explicit steps of partial differential equations, cellular automata."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64 = np.float32, np.float64


def cover(width, height, x=16, y=8):
    """Grid and block of a picture."""
    return (blocks(width, x), blocks(height, y)), (x, y)


@case(1000, 1, 2, 257)
def jacobi_1d(n, rng):
    u, f = rng.standard_normal((2, n))
    expected = u.copy()
    if n > 2:
        expected[1:-1] = 0.5 * (u[:-2] + u[2:] - 0.01 * f[1:-1])
    arguments = (u, f, np.zeros(n), 0.01, n)
    return Launch(blocks(n, 128), 128, arguments, {2: expected}, absolute=1e-15, reason="one product is fused")


@case(1000, 1, 131)
def stencil_1d_radius(n, rng):
    values = rng.integers(-100, 100, n, dtype=np.int32)
    weights = rng.integers(-9, 10, 9, dtype=np.int32)
    expected = np.convolve(np.pad(values, 4), weights[::-1], "valid")
    arguments = (values, weights, np.zeros(n, np.int32), n)
    return Launch(blocks(n, 128), 128, arguments, {2: expected}, kernel="stencil_1d_radius<4, 128>")


@case(500, 2, 56, 57)
def heat_temporal(n, rng):
    values = rng.random(n, dtype=F32)
    expected = values.astype(F64)
    for _ in range(4):
        inner = expected[1:-1] + 0.2 * (expected[:-2] - 2 * expected[1:-1] + expected[2:])
        expected = np.concatenate([expected[:1], inner, expected[-1:]])
    arguments = (values, np.zeros(n, F32), 0.2, n)
    return Launch(blocks(n, 56), 64, arguments, {1: expected}, absolute=1e-6, reason="four steps of four roundings")


@case((60, 45), (1, 1), (2, 5), (17, 9))
def heat_2d(size, rng):
    width, height = size
    u = rng.random((height, width), dtype=F32)
    expected = u.astype(F64)
    around = u[:-2, 1:-1].astype(F64) + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    expected[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1])
    shape = np.array((width, height), np.dtype([("width", np.int32), ("height", np.int32)]))[()]
    grid, block = cover(width, height)
    arguments = (u, np.zeros_like(u), shape, 0.1)
    return Launch(grid, block, arguments, {1: expected}, absolute=6e-7, reason="six roundings of numbers below 4")


@case((60, 45), (1, 1), (2, 1), (17, 9))
def wave_2d(size, rng):
    width, height = size
    now, before = rng.standard_normal((2, height, width)).astype(F32)
    u = now.astype(F64)
    laplace = sum(np.roll(u, shift, axis) for axis in (0, 1) for shift in (1, -1)) - 4 * u
    grid, block = cover(width, height)
    expected = {1: 2 * u - before + 0.25 * laplace}
    arguments = (now, before, width, height, 0.25)
    return Launch(grid, block, arguments, expected, absolute=4e-6, reason="eight roundings of numbers up to 20")


@case((20, 13, 9), (1, 1, 1), (3, 3, 3), (9, 4, 2))
def laplace_3d(size, rng):
    u = rng.standard_normal(size[::-1])
    expected = np.zeros_like(u)
    inner = (slice(1, -1),) * 3
    for axis in range(3):
        for part in (slice(None, -2), slice(2, None)):
            where = list(inner)
            where[axis] = part
            expected[inner] += u[tuple(where)]
    expected[inner] -= 6 * u[inner]
    shape = np.array(size, np.dtype([("x", np.int32), ("y", np.int32), ("z", np.int32)]))[()]
    grid = tuple(blocks(extent, threads) for extent, threads in zip(size, (8, 4, 2), strict=True))
    return Launch(
        grid,
        (8, 4, 2),
        (u, np.zeros_like(u), shape),
        {1: expected},
        absolute=2e-14,
        reason="seven additions, in another order",
    )


@case((20, 13, 9), (1, 1, 1), (8, 8, 2), (9, 7, 1))
def stencil_3d_columns(size, rng):
    u = rng.standard_normal(size[::-1]).astype(F32)
    wide = np.pad(u.astype(F64), 1)
    expected = -6.0 * u
    for axis in range(3):
        for shift in (1, -1):
            expected = expected + np.roll(wide, shift, axis)[1:-1, 1:-1, 1:-1]
    grid = (blocks(size[0], 8), blocks(size[1], 8))
    arguments = (u, np.zeros_like(u), *size)
    return Launch(grid, (8, 8), arguments, {1: expected}, absolute=1e-5, reason="seven additions of numbers up to 20")


@case((64, 40), (1, 1), (3, 17))
def game_of_life(size, rng):
    width, height = size
    cells = rng.integers(0, 2, (height, width), dtype=np.uint8)
    alive = sum(
        np.roll(cells, (dy, dx), (0, 1)).astype(np.int32)
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
        if (dx, dy) != (0, 0)
    )
    expected = (alive == 3) | ((alive == 2) & (cells == 1))
    grid, block = cover(width, height)
    return Launch(grid, block, (cells, np.zeros_like(cells), width, height), {1: expected.astype(np.uint8)})


@case((33, 20), (1, 1), (16, 9))
def lattice_boltzmann(size, rng):
    width, height = size
    directions = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
    weights = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
    before = (np.array(weights)[:, None, None] * rng.uniform(0.9, 1.1, (9, height, width))).astype(F32)
    f = np.stack(
        [np.roll(part.astype(F64), (cy, cx), (0, 1)) for part, (cx, cy) in zip(before, directions, strict=True)]
    )
    density = f.sum(0)
    ux = sum(cx * part for part, (cx, _) in zip(f, directions, strict=True)) / density
    uy = sum(cy * part for part, (_, cy) in zip(f, directions, strict=True)) / density
    rest = np.stack(
        [
            weight * density * (1 + 3 * (cx * ux + cy * uy) + 4.5 * (cx * ux + cy * uy) ** 2 - 1.5 * (ux**2 + uy**2))
            for weight, (cx, cy) in zip(weights, directions, strict=True)
        ]
    )
    grid, block = cover(width, height)
    arguments = (before, np.zeros_like(before), width, height, 0.8)
    expected = {1: f + F32(0.8) * (rest - f)}
    return Launch(grid, block, arguments, expected, absolute=1e-6, reason="about fifteen roundings of numbers below 1")


@case((40, 24), (1, 1), (2, 9))
def gray_scott(size, rng):
    width, height = size
    species = rng.random((height, width, 2), dtype=F32)
    values = species.astype(F64)
    laplace = sum(np.roll(values, shift, axis) for axis in (0, 1) for shift in (1, -1)) - 4 * values
    u, v = values[..., 0], values[..., 1]
    expected = np.stack(
        [
            u + 0.16 * laplace[..., 0] - u * v * v + 0.035 * (1 - u),
            v + 0.08 * laplace[..., 1] + u * v * v - (0.035 + 0.065) * v,
        ],
        -1,
    )
    grid, block = cover(width, height)
    arguments = (species, np.zeros_like(species), width, height, 0.035, 0.065)
    return Launch(grid, block, arguments, {1: expected}, absolute=1e-6, reason="about ten roundings of numbers below 4")


@case(1000, 1, 129)
def advection_upwind(n, rng):
    q, velocity = rng.standard_normal((2, n))
    left, right = np.diff(q, prepend=q[:1]), np.diff(q, append=q[-1:])
    expected = q - 0.1 * velocity * np.where(velocity > 0, left, right)
    arguments = (q, velocity, np.zeros(n), 0.1, n)
    return Launch(3, 64, arguments, {2: expected}, absolute=1e-15, reason="one product is fused")


@case((40, 24, 0), (1, 1, 1), (17, 9, 1))
def red_black(size, rng):
    width, height, colour = size
    u, f = rng.standard_normal((2, height, width)).astype(F32)
    expected = u.astype(F64)
    y, x = np.mgrid[:height, :width]
    chosen = ((x + y) % 2 == colour) & (x > 0) & (y > 0) & (x < width - 1) & (y < height - 1)
    wide = np.pad(u.astype(F64), 1)
    relaxed = 0.25 * (wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1] - f)
    expected[chosen] = relaxed[chosen]
    grid, block = cover(width, height)
    return Launch(
        grid,
        block,
        (u, f, width, height, colour),
        {0: expected},
        absolute=1e-6,
        reason="four additions of numbers up to 5",
    )
