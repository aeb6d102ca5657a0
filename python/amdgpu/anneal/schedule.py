"""What each sweep is run with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from amdgpu.anneal.problem import Ising


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Numbers of the kernels for every sweep, float32, and what the result shows."""

    betas: npt.NDArray[np.float32]
    tunnelings: npt.NDArray[np.float32] | None
    shown: dict[str, npt.NDArray[np.float64]]


def scales(problem: Ising) -> tuple[float, float, float]:
    """What spins feel of others that point anywhere: the strongest pull on one, the median pull, and the smallest single one above 0."""
    import numpy as np

    squares = np.zeros(problem.size)
    np.add.at(squares, problem.first, problem.couplings**2)
    np.add.at(squares, problem.second, problem.couplings**2)
    pulls = np.abs(problem.fields) + np.sqrt(squares)
    parts = np.abs(np.concatenate([problem.fields, problem.couplings]))
    if not pulls.any():
        return 1.0, 1.0, 1.0
    return float(pulls.max()), float(np.median(pulls[pulls > 0])), float(parts[parts > 0].min())


def thermal(problem: Ising, sweeps: int, betas: Any) -> Schedule:
    """Inverse temperatures from hot to cold in equal ratios.

    Hot: a spin turns against the strongest pull half the time. Cold: in a hundred sweeps one spin at most turns against the smallest
    step of energy, or against a quarter of the median pull where single couplings are smaller than that (those of dense problems are: what
    freezes a spin there is the sum of many).
    """
    import numpy as np

    if betas is None:
        strongest, typical, least = scales(problem)
        betas = (
            math.log(2) / (2 * strongest),
            math.log(100 * max(problem.size, 2)) / (2 * max(least, typical / 4)),
        )
    values = _numbers("betas", betas)
    if values.shape == (2,) and sweeps != 2:
        if values.min() <= 0:
            raise InvalidArgumentError(f"betas are {list(values)}; two of them, hot and cold, lie above 0")
        # One sweep is a cold one.
        values = np.geomspace(values[0], values[1], sweeps) if sweeps > 1 else values[1:]
    elif values.shape != (sweeps,):
        raise InvalidArgumentError(
            f"betas must be (hot, cold), or one value for each of {sweeps} sweeps; its shape is {values.shape}"
        )
    return Schedule(values.astype(np.float32), None, {"betas": values})


def quantum(problem: Ising, sweeps: int, betas: Any, transverse_field: Any, slices: int) -> Schedule:
    """A transverse field that falls in equal steps at one temperature.

    In units of the median pull on a spin (`scales`), slices times temperature is 1/2 and the transverse field falls from 3/2 to 1/1000:
    at first a spin's slices are free of each other, at last they are one. docs/anneal.md shows it on planted instances.
    """
    import numpy as np

    typical = scales(problem)[1]
    total = _numbers("betas", 2 * slices / typical if betas is None else betas)
    if total.shape == ():
        total = np.full(sweeps, float(total))
    if total.shape != (sweeps,) or total.min(initial=1.0) <= 0:
        raise InvalidArgumentError(
            "betas of a quantum annealing is one inverse temperature above 0, or one for each sweep"
        )
    fields = _numbers(
        "transverse_field", (1.5 * typical, 1e-3 * typical) if transverse_field is None else transverse_field
    )
    if fields.shape == (2,) and sweeps != 2:
        fields = np.linspace(fields[0], fields[1], sweeps) if sweeps > 1 else fields[1:]
    if fields.shape != (sweeps,) or fields.min(initial=1.0) <= 0:
        raise InvalidArgumentError("transverse_field is (first, last) above 0, or one value above 0 for each sweep")
    # Suzuki and Trotter: J = 1/2 ln coth(beta field / slices). In float32 the coupling of a field of 0 would be infinite.
    tunnelings = -0.5 * np.log(np.tanh(np.maximum(total * fields / slices, 1e-30)))
    return Schedule(
        (total / slices).astype(np.float32),
        tunnelings.astype(np.float32),
        {"betas": total, "transverse_field": fields},
    )


def _numbers(what: str, values: Any) -> npt.NDArray[np.float64]:
    import numpy as np

    found = arguments.reals("anneal", what, values)
    if not np.isfinite(found).all() or (found < 0).any():
        raise InvalidArgumentError(f"{what} holds a value that is not finite or below 0")
    return found
