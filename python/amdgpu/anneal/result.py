"""What annealing gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import arguments

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class AnnealProgress:
    """How far an annealing is."""

    sweeps: int
    total_sweeps: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class AnnealResult:
    """Samples of an annealing with their energies.

    Attributes:
        samples: One row for each read: -1 and 1 of an Ising problem, 0 and 1 of a QUBO problem; int8.
        energies: Energy of each row, computed from it in float64.
        method: Which annealing it was.
        sweeps: Sweeps that were done.
        stopped: "finished" or "time limit".
        schedule: What each sweep was run with: `betas`, and `transverse_field` of a quantum annealing; float64.
        seconds: Wall time, with compilation and copies.
        seed: Of the random numbers.
        device: Which device ran it.
    """

    samples: npt.NDArray[np.int8]
    energies: npt.NDArray[np.float64]
    method: str
    sweeps: int
    stopped: str
    schedule: dict[str, npt.NDArray[np.float64]]
    seconds: float
    seed: int
    device: str

    @property
    def best(self) -> npt.NDArray[np.int8]:
        """The sample of the lowest energy, the first of equals."""
        row: npt.NDArray[np.int8] = self.samples[int(self.energies.argmin())]
        return row

    @property
    def energy(self) -> float:
        """The lowest energy."""
        return float(self.energies.min())

    def share_within(self, energy: float, *, tolerance: float = 1e-9) -> float:
        """Share of the reads whose energy is at most `energy`, up to rounding."""
        energy = arguments.number("share_within", "energy", energy)
        tolerance = arguments.number("share_within", "tolerance", tolerance)
        return float((self.energies <= energy + tolerance * max(1.0, abs(energy))).mean())

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        return {
            "samples": self.samples.tolist(),
            "energies": self.energies.tolist(),
            "method": self.method,
            "sweeps": self.sweeps,
            "stopped": self.stopped,
            "schedule": {name: values.tolist() for name, values in self.schedule.items()},
            "seconds": self.seconds,
            "seed": self.seed,
            "device": self.device,
        }
