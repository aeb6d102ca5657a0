"""Molecular dynamics, particles, rays, fields."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64, I32 = np.float32, np.float64, np.int32


@case((100, "double"), (1, "double"), (65, "float"))
def lennard_jones(size, rng):
    atoms, name = size
    dtype = F64 if name == "double" else F32
    grid = np.stack(np.meshgrid(*(np.arange(5) * 1.1,) * 3), -1).reshape(-1, 3)[:atoms]
    positions = (grid + rng.uniform(-0.05, 0.05, grid.shape)).astype(dtype)
    width = 12
    neighbours = np.zeros((width, atoms), I32)
    counts = np.zeros(atoms, I32)
    for i in range(atoms):
        others = np.array([j for j in rng.permutation(atoms) if j != i][:width], I32)
        neighbours[: others.size, i], counts[i] = others, others.size
    forces, energies = np.zeros((atoms, 3)), np.zeros(atoms)
    for i in range(atoms):
        apart = positions[i].astype(F64) - positions[neighbours[: counts[i], i]]
        r2 = (apart**2).sum(1)
        near = r2 < 6.25
        inverse6 = near / r2**3
        forces[i] = (24 / r2 * inverse6 * (2 * inverse6 - 1) * near) @ apart
        energies[i] = (2 * inverse6 * (inverse6 - near)).sum()
    arguments = (positions, neighbours, counts, np.full((atoms, 3), 9, dtype), np.full(atoms, 9, dtype), 6.25, atoms)
    return Launch(
        blocks(atoms, 32),
        32,
        arguments,
        {3: forces, 4: energies},
        kernel=f"lennard_jones<{name}>",
        absolute=(1e-12 if name == "double" else 1e-4) * max(1.0, float(np.abs(forces).max())),
        reason="powers up to the twelfth of rounded distances",
    )


@case((100, 200), (2, 1), (33, 65))
def bonded_forces(size, rng):
    atoms, count = size
    positions = rng.standard_normal((atoms, 4)).astype(F32)
    bonds = np.zeros(count, np.dtype([("a", I32), ("b", I32), ("length", F32), ("stiffness", F32)]))
    bonds["a"] = rng.integers(0, atoms, count)
    bonds["b"] = (bonds["a"] + rng.integers(1, atoms, count)) % atoms
    bonds["length"], bonds["stiffness"] = rng.random((2, count)) + 0.5
    a, b = (positions[bonds[end], :3] for end in "ab")
    apart = (b - a).astype(F32)
    # The same roundings as in the kernel: the sum of squares is fused from the left.
    dx, dy, dz = apart.T.astype(F64)
    squared = (dx * dx + (dy * dy).astype(F32)).astype(F32)
    squared = (dz * dz + squared).astype(F32)
    distance = np.sqrt(squared)
    pull = (bonds["stiffness"] * (distance - bonds["length"]) / distance).astype(F32)
    parts = ((pull[:, None] * apart).astype(F32) * F32(2**20)).astype(np.int64)
    expected = np.zeros((atoms, 3), np.int64)
    np.add.at(expected, bonds["a"], parts)
    np.add.at(expected, bonds["b"], -parts)
    packed = bonds.view(np.uint8)
    arguments = (positions, packed, np.zeros((atoms, 3), np.uint64), count)
    return Launch(blocks(count, 64), 64, arguments, {2: expected.view(np.uint64)})


@case(100, 1, 65)
def verlet_step(n, rng):
    positions, velocities, forces = rng.standard_normal((3, n, 3)) * 4
    masses = rng.random(n) + 0.5
    box = np.zeros((), np.dtype([("size", F64, 3), ("step", F64), ("periodic", I32)], align=True))
    box["size"], box["step"], box["periodic"] = (3.0, 4.0, 5.0), 0.01, 0b101
    kicked = velocities + 0.5 * 0.01 / masses[:, None] * forces
    moved = positions + 0.01 * kicked
    for axis in (0, 2):
        moved[:, axis] %= box["size"][axis]
    arguments = (positions, velocities, forces, masses, box[()], n)
    reason = "fused products"
    return Launch(blocks(n, 64), 64, arguments, {0: moved, 1: kicked}, absolute=1e-14, reason=reason)


@case((200, 20), (1, 1), (65, 3))
def ray_sphere(size, rng):
    n, count = size
    origins = rng.uniform(-1, 1, (n, 3)).astype(F32)
    directions = rng.standard_normal((n, 3))
    directions = (directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(F32)
    spheres = np.concatenate([rng.uniform(-6, 6, (count, 3)), rng.uniform(0.5, 1.5, (count, 1))], 1).astype(F32)
    apart = origins[:, None].astype(F64) - spheres[None, :, :3]
    b = (apart * directions[:, None]).sum(-1)
    inside = b * b - ((apart**2).sum(-1) - spheres[:, 3].astype(F64) ** 2)
    with np.errstate(invalid="ignore"):
        root = np.sqrt(inside)
    t = np.where(-b - root > 0, -b - root, -b + root)
    t = np.where((inside >= 0) & (t > 0), t, np.inf)
    expected = np.where(np.isinf(t.min(1)), -1, t.argmin(1))
    rays = np.concatenate([origins, directions], 1)
    arguments = (rays, spheres, np.full(n, -7, I32), np.zeros(n, F32), count, n)
    reason = "differences of squares up to 100"
    return Launch(blocks(n, 64), 64, arguments, {2: expected, 3: t.min(1)}, absolute=5e-4, reason=reason)


@case((60, 40), (1, 1), (17, 9))
def julia_set(size, rng):
    width, height = size
    limit, c = 100, (-0.4, 0.6)
    scale = 3.0 / width
    re, im = np.meshgrid(scale * (np.arange(width) - width // 2), scale * (np.arange(height) - height // 2))
    counts = np.zeros(re.shape, int)
    alive = np.ones(re.shape, bool)
    for _ in range(limit):
        re2, im2 = re * re, im * im
        alive &= ~(re2 + im2 > 4)
        with np.errstate(over="ignore", invalid="ignore"):
            # Twice a number is exact, so the product that the kernel fuses does not round either.
            re, im = np.where(alive, re2 - im2 + c[0], re), np.where(alive, 2 * (re * im) + c[1], im)
        counts += alive
    point = np.array(c, F64).view(np.dtype([("x", F64), ("y", F64)]))[0]
    arguments = (np.full((height, width), 7, np.uint8), point, scale, width, height, limit)
    return Launch((blocks(width, 8), blocks(height, 8)), (8, 8), arguments, {0: (counts * 255 // limit)})


@case(200, 1, 65)
def smoothed_density(n, rng):
    particles = rng.random((n, 4), dtype=F32)
    radius = 0.3
    exact = particles.astype(F64)
    left = radius**2 - ((exact[:, None, :3] - exact[None, :, :3]) ** 2).sum(-1)
    expected = (np.maximum(left, 0) ** 3 * exact[None, :, 3]).sum(1) * (315 / (64 * np.pi)) / radius**9
    arguments = (particles, np.zeros(n, F32), radius, n)
    reason = "cubes of rounded differences; at most 200 positive terms"
    return Launch(blocks(n, 64), 64, arguments, {1: expected}, relative=3e-5, reason=reason)


@case((20, 15, 30), (1, 1, 1), (9, 5, 3))
def coulomb_grid(size, rng):
    width, height, count = size
    charges = rng.standard_normal((count, 4)) * 3
    potential = rng.standard_normal((height, width))
    y, x = np.mgrid[:height, :width]
    distance = np.sqrt(
        (x[..., None] * 0.5 - charges[:, 0]) ** 2 + (y[..., None] * 0.5 - charges[:, 1]) ** 2 + (9 - charges[:, 2]) ** 2
    )
    expected = potential + (charges[:, 3] / distance).sum(-1)
    arguments = (charges, potential, count, width, height, 0.5, 9.0)
    grid = (blocks(width, 8), blocks(height, 8))
    return Launch(grid, (8, 8), arguments, {1: expected}, absolute=1e-13, reason="order of the sum")


@case((100, 60), (1, 1), (65, 9))
def mri_q(size, rng):
    n, count = size
    samples, voxels = rng.random((count, 3), dtype=F32) * 3, rng.random((n, 3), dtype=F32)
    magnitudes = rng.random(count, dtype=F32)
    phase = 2 * np.pi * (voxels.astype(F64) @ samples.T)
    expected = np.stack([np.cos(phase) @ magnitudes, np.sin(phase) @ magnitudes], 1)
    arguments = (samples, magnitudes, voxels, np.zeros((n, 2), F32), count, n)
    reason = "phases up to 60 have an error of a few 1e-6, 60 terms"
    return Launch(blocks(n, 64), 64, arguments, {3: expected}, absolute=2e-4, reason=reason)


@case(300, 1, 65)
def kepler_solver(n, rng):
    means = rng.uniform(0, 2 * np.pi, n).astype(F32)
    eccentricities = rng.uniform(0, 0.9, n).astype(F32)
    m, e = means.astype(F64), eccentricities.astype(F64)
    anomaly = np.where(e < 0.8, m, np.pi)
    for _ in range(60):
        anomaly -= (anomaly - e * np.sin(anomaly) - m) / (1 - e * np.cos(anomaly))
    arguments = (means, eccentricities, np.zeros(n, F32), np.full(n, 9, np.uint8), n)
    reason = "rounding of angles up to 6, divided by at least 0.1"
    return Launch(blocks(n, 64), 64, arguments, {2: anomaly, 3: np.ones(n)}, absolute=2e-5, reason=reason)


@case((300, 9), (1, 2), (65, 16))
def particle_deposit(size, rng):
    n, side = size
    particles = (rng.random((n, 2)) * side * 0.999).astype(F32)
    column, row = particles.astype(I32).T
    u, v = ((particles - particles.astype(I32)) * F32(256)).astype(I32).T
    expected = np.zeros((side, side), I32)
    right, below = (column + 1) % side, (row + 1) % side
    for place, weight in (
        ((row, column), (256 - u) * (256 - v)),
        ((row, right), u * (256 - v)),
        ((below, column), (256 - u) * v),
        ((below, right), u * v),
    ):
        np.add.at(expected, place, weight)
    arguments = (particles, np.zeros((side, side), I32), side, n)
    return Launch(blocks(n, 64), 64, arguments, {1: expected}, shared_bytes=4 * side * side)


@case((20, 15), (1, 2), (9, 8))
def cloth_springs(size, rng):
    width, height = size
    y, x = np.mgrid[:height, :width]
    positions = (np.stack([x, y, 0 * x], -1) + rng.uniform(-0.1, 0.1, (height, width, 3))).astype(F32)
    expected = np.zeros(positions.shape)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            u, v = x + dx, y + dy
            valid = (u >= 0) & (v >= 0) & (u < width) & (v < height) & ((dx != 0) | (dy != 0))
            other = positions[v.clip(0, height - 1), u.clip(0, width - 1)].astype(F64)
            apart = other - positions
            length = np.where(valid, np.sqrt((apart**2).sum(-1)), 1.0)
            rest = 1.0 if dx == 0 or dy == 0 else np.sqrt(2)
            expected += np.where(valid, 10 * (length - rest) / length, 0)[..., None] * apart
    arguments = (positions, np.zeros_like(positions), width, height, 1.0, 10.0)
    grid = (blocks(width, 8), blocks(height, 8))
    return Launch(
        grid, (8, 8), arguments, {1: expected}, absolute=4e-5, reason="differences of lengths near 1, times 10"
    )
