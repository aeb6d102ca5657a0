"""Learning curves."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


@dataclass(slots=True)
class History:
    """What every epoch of a training gave: lists of one value per epoch.

    Attributes:
        loss: Mean over the samples while they were learnt, with the penalty of weights.
        accuracy: Share of right classes while they were learnt; None without classes.
        validation_loss: After the epoch, on the samples that were held back; None without such.
        validation_accuracy: As `validation_loss`.
        learning_rate: What the epoch was run with.
        seconds: How long the epoch took.
        stopped: "running", "finished" (all epochs done), "early" (no improvement) or "interrupted" (Ctrl-C, or an error).
        best_epoch: Epoch with the smallest monitored loss, from 0; None before the first.
    """

    loss: list[float] = field(default_factory=list)
    accuracy: list[float | None] = field(default_factory=list)
    validation_loss: list[float | None] = field(default_factory=list)
    validation_accuracy: list[float | None] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    stopped: str = "running"
    best_epoch: int | None = None

    @property
    def epochs(self) -> int:
        """Epochs that are complete."""
        return len(self.loss)

    def monitored(self, epoch: int) -> float:
        """The loss that early stopping looks at: of validation where there is one."""
        held_back = self.validation_loss[epoch]
        return self.loss[epoch] if held_back is None else held_back

    def to_dict(self) -> dict[str, Any]:
        """As plain values that JSON can hold."""
        return {entry.name: getattr(self, entry.name) for entry in fields(self)}

    def plot(self, path: str | Path | None = None) -> Figure | None:
        """Draw loss and accuracy over the epochs into a file, or without a path return the figure; needs matplotlib.

        Raises:
            LibraryMissingError: matplotlib is not installed.
        """
        from amdgpu.training.plots import plot_history

        return plot_history(self, path)
