"""Annealing: problem in, samples out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.anneal import schedule as schedules
from amdgpu.anneal.problem import (
    Ising,
    host_memory_bytes,
    ising_problem,
    qubo_problem,
    refuse_beyond,
)
from amdgpu.anneal.result import AnnealProgress, AnnealResult
from amdgpu.array import array, empty
from amdgpu.device import AMDGPUDevice, default_device
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu.anneal.schedule import Schedule

METHODS = ("simulated_annealing", "simulated_quantum_annealing")
# Sweeps of one launch are chosen so that it takes about so long: progress, time limit and Ctrl-C are looked at between launches.
LAUNCH_SECONDS = 0.1
# Replicas of a block. On the CPU device a block is one task; 16 is one SIMD register of float32.
BLOCK = {"cpu": 16}
USUAL_BLOCK = 64
LARGEST_SLICES = 32
# Reads and sweeps are int32 in the kernels; the key of Philox has 64 bits.
LARGEST_COUNT = 2**31 - 1
LARGEST_SEED = 2**64 - 1

Progress = bool | Callable[[AnnealProgress], None]


def ising(
    fields: Any,
    couplings: Any,
    *,
    method: str = "simulated_annealing",
    reads: int = 64,
    sweeps: int = 1000,
    betas: Any = None,
    transverse_field: Any = None,
    slices: int = 16,
    seed: int = 0,
    device: int | str | None = None,
    time_limit_seconds: float | None = None,
    progress: Progress = False,
) -> AnnealResult:
    """Minimise `sum(fields[i] s[i]) + sum over pairs of couplings[i, j] s[i] s[j]` over spins s = -1 or 1.

    The random numbers are Philox's, addressed by (seed, spin, sweep, read): the same seed gives the same samples on every device, and a
    read does not depend on how many others there are.

    Args:
        fields: One number for each spin, or a dict; None for zeros.
        couplings: A symmetric matrix with an empty diagonal (each pair counts once), or one with zeros below the diagonal; dense or
            SciPy-sparse; or a dict `{(i, j): value}`.
        method: simulated_annealing (Kirkpatrick, Gelatt and Vecchi 1983) or simulated_quantum_annealing: path-integral Monte Carlo
            (Kadowaki and Nishimori 1998; Martonak, Santoro and Tosatti 2002).
        reads: Independent runs.
        sweeps: Times that every spin is looked at.
        betas: (hot, cold) inverse temperatures, or one for each sweep; of the quantum method one for all. None: from the problem.
        transverse_field: (first, last) of the quantum method, or one for each sweep. None: from the problem.
        slices: Copies of the spins in imaginary time, 2 to 32 (quantum method).
        seed: From 0, below 2**64.
        device: Index in `list_devices()` or a name; None means the current device.
        time_limit_seconds: Stop behind the sweeps in progress then; the samples are as cold as they got.
        progress: True writes a line to standard error, a function gets an `AnnealProgress` after each launch.

    Returns:
        The samples; of a quantum annealing the best slice of each read.

    Raises:
        InvalidArgumentError: NaN, an asymmetric matrix, a coupling of a spin with itself, an option out of range.
        InvalidTypeError: A problem or an option of something else than numbers.
        ShapeMismatchError: An empty matrix or one that is not square; fields of another length.
        OutOfMemoryError: The problem does not fit into the device's memory.

    Example:
        >>> import amdgpu
        >>> result = amdgpu.anneal.ising(None, {(0, 1): -1.0, (1, 2): 1.0}, reads=8, sweeps=100)
        >>> result.energy
        -2.0
    """
    problem = ising_problem(fields, couplings)
    return _solve(
        "ising",
        problem,
        None,
        method=method,
        reads=reads,
        sweeps=sweeps,
        betas=betas,
        transverse_field=transverse_field,
        slices=slices,
        seed=seed,
        device=device,
        time_limit_seconds=time_limit_seconds,
        progress=progress,
    )


def qubo(
    matrix: Any,
    *,
    method: str = "simulated_annealing",
    reads: int = 64,
    sweeps: int = 1000,
    betas: Any = None,
    transverse_field: Any = None,
    slices: int = 16,
    seed: int = 0,
    device: int | str | None = None,
    time_limit_seconds: float | None = None,
    progress: Progress = False,
) -> AnnealResult:
    """Minimise `x @ matrix @ x` over x = 0 or 1 (quadratic unconstrained binary optimisation).

    Args:
        matrix: A symmetric matrix (both halves are added), or one with zeros below the diagonal; dense or SciPy-sparse; or a dict
            `{(i, j): value}`.
        method: As of `ising`; so are all others.
        reads: Independent runs.
        sweeps: Times that every variable is looked at.
        betas: Inverse temperatures.
        transverse_field: Of the quantum method.
        slices: Of the quantum method.
        seed: From 0, below 2**64.
        device: Index in `list_devices()` or a name; None means the current device.
        time_limit_seconds: Stop behind the sweeps in progress then.
        progress: True or a function.

    Returns:
        Samples of 0 and 1.

    Raises:
        InvalidArgumentError: As of `ising`.
        InvalidTypeError: As of `ising`.
        ShapeMismatchError: As of `ising`.
        OutOfMemoryError: As of `ising`.

    Example:
        >>> import amdgpu
        >>> amdgpu.anneal.qubo({(0, 0): -1, (1, 1): -1, (0, 1): 2}, reads=8, sweeps=100).energy
        -1.0
    """
    spins, bits = qubo_problem(matrix)
    return _solve(
        "qubo",
        spins,
        bits,
        method=method,
        reads=reads,
        sweeps=sweeps,
        betas=betas,
        transverse_field=transverse_field,
        slices=slices,
        seed=seed,
        device=device,
        time_limit_seconds=time_limit_seconds,
        progress=progress,
    )


def _solve(
    operation: str,
    problem: Ising,
    bits: Ising | None,
    *,
    method: str,
    reads: int,
    sweeps: int,
    betas: Any,
    transverse_field: Any,
    slices: int,
    seed: int,
    device: int | str | None,
    time_limit_seconds: float | None,
    progress: Progress,
) -> AnnealResult:
    import numpy as np

    is_quantum = arguments.choice(operation, "method", method, METHODS) == METHODS[1]
    reads = arguments.count(operation, "reads", reads, 1, LARGEST_COUNT)
    sweeps = arguments.count(operation, "sweeps", sweeps, 1, LARGEST_COUNT)
    seed = arguments.count(operation, "seed", seed, 0, LARGEST_SEED)
    if is_quantum:
        slices = arguments.count(operation, "slices", slices, 2, LARGEST_SLICES)
    if time_limit_seconds is not None:
        time_limit_seconds = arguments.positive(operation, "time_limit_seconds", time_limit_seconds)
    progress = arguments.progress(operation, progress)
    if not is_quantum and transverse_field is not None:
        raise InvalidArgumentError("transverse_field belongs to the method simulated_quantum_annealing")
    start = time.perf_counter()
    # Words and samples, energies, schedules of the host.
    refuse_beyond(
        problem.size * reads * (6 if is_quantum else 3) + 32 * reads + 48 * sweeps,
        host_memory_bytes(),
        f"annealing of {problem.size} variables with {reads} reads and {sweeps} sweeps",
        "this machine",
    )
    plan = (
        schedules.quantum(problem, sweeps, betas, transverse_field, slices)
        if is_quantum
        else schedules.thermal(problem, sweeps, betas)
    )
    opened = default_device(device)
    raw, done = _run(
        problem,
        plan,
        opened,
        reads=reads,
        slices=slices,
        seed=seed,
        start=start,
        limit=time_limit_seconds,
        progress=progress,
    )
    samples, energies = _best_slices(problem, raw, slices) if is_quantum else (raw, problem.energies(raw))
    if bits is not None:
        samples = ((samples + 1) // 2).astype(np.int8)
        energies = bits.energies(samples)
    return AnnealResult(
        samples=np.ascontiguousarray(samples.T),
        energies=energies,
        method=method,
        sweeps=done,
        stopped="finished" if done == sweeps else "time limit",
        schedule=plan.shown,
        seconds=time.perf_counter() - start,
        seed=seed,
        device=opened.info().device,
    )


def _run(
    problem: Ising,
    plan: Schedule,
    device: AMDGPUDevice,
    *,
    reads: int,
    slices: int,
    seed: int,
    start: float,
    limit: float | None,
    progress: Progress,
) -> tuple[npt.NDArray[Any], int]:
    """Spins of every read, `[spins, reads]`, and the sweeps that were done."""
    import numpy as np

    is_quantum = plan.tunnelings is not None
    dtype = np.dtype(np.uint32 if is_quantum else np.int8)
    pairs = 2 * len(problem.couplings)
    needed = problem.size * (reads * dtype.itemsize + 8) + pairs * 8 + 8 * len(plan.betas)
    info = device.info()
    refuse_beyond(
        needed,
        info.total_memory_bytes,
        f"annealing of {problem.size} variables, {pairs // 2} pairs and {reads} reads",
        info.device,
    )
    starts, columns, couplings = problem.rows()

    # A kernel argument must not be empty; a problem may be without a pair.
    columns, couplings = (columns, couplings) if pairs else (np.zeros(1, np.uint32), np.zeros(1, np.float32))
    name = METHODS[int(is_quantum)]
    kernels = {part: _kernel(device, name, part, slices) for part in ("initialize", "sweep")}
    block = BLOCK.get(info.kind, USUAL_BLOCK)
    grid = -(-reads // block)
    spins = empty((problem.size, reads), dtype, device=info.device)
    constants = [
        array(values, device=info.device)
        for values in (starts, columns, couplings, problem.fields.astype(np.float32), plan.betas)
    ]
    if plan.tunnelings is not None:
        constants.append(array(plan.tunnelings, device=info.device))
    key = (seed & 0xFFFFFFFF, seed >> 32)
    kernels["initialize"][grid, block](spins, problem.size, reads, *key)
    tell = _line if progress is True else progress or None
    done, step = 0, 1
    while done < len(plan.betas):
        step = min(step, len(plan.betas) - done)
        before = time.perf_counter()
        kernels["sweep"][grid, block](spins, *constants, problem.size, reads, done, step, *key)
        device.synchronize()
        done += step
        now = time.perf_counter()
        if tell is not None:
            tell(AnnealProgress(done, len(plan.betas), now - start))
        if limit is not None and now - start >= limit:
            break
        # At most double: the first sweeps, while a kernel is new, tell little.
        step = max(1, min(2 * step, int(step * LAUNCH_SECONDS / max(now - before, 1e-6))))
    return spins.numpy(), done


def _kernel(device: AMDGPUDevice, method: str, name: str, slices: int) -> Any:
    folder = Path(__file__).parent
    source = (folder / "philox.hip").read_text(encoding="utf-8") + (folder / f"{method}.hip").read_text(
        encoding="utf-8"
    )
    return device.compile_kernel(source, name=name, defines={"SLICES": str(slices)}, file_name=f"{method}.hip")


def _best_slices(
    problem: Ising, words: npt.NDArray[np.uint32], slices: int
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float64]]:
    """Of every read the slice with the lowest energy, the first of equals."""
    import numpy as np

    best = np.full(words.shape[1], np.inf)
    chosen = np.zeros(words.shape, np.int8)
    for number in range(slices):
        spins = (2 * ((words >> np.uint32(number)) & np.uint32(1)).astype(np.int8) - 1).astype(np.int8)
        energies = problem.energies(spins)
        is_better = energies < best
        best[is_better] = energies[is_better]
        chosen[:, is_better] = spins[:, is_better]
    return chosen, best


def _line(at: AnnealProgress) -> None:
    """A line on standard error that is written over."""
    import sys

    end = "\n" if at.sweeps == at.total_sweeps else ""
    print(f"\rsweep {at.sweeps} of {at.total_sweeps}, {at.seconds:.1f} s", end=end, file=sys.stderr, flush=True)
