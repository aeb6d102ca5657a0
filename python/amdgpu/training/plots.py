"""Learning curves as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.plotting.canvas import check_ending, colour, figure, finish

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from amdgpu.training.history import History


def plot_history(history: History, path: str | Path | None) -> Figure | None:
    """Loss and, with classes, accuracy over the epochs."""
    check_ending(path)
    has_accuracy = any(value is not None for value in [*history.accuracy, *history.validation_accuracy])
    drawing, axes = figure(2 if has_accuracy else 1)
    curves: list[tuple[str, Sequence[float | None], Sequence[float | None]]] = [
        ("loss", history.loss, history.validation_loss)
    ]
    if has_accuracy:
        curves.append(("accuracy", history.accuracy, history.validation_accuracy))
    for axis, (name, learnt, held_back) in zip(axes, curves, strict=True):
        epochs = range(1, history.epochs + 1)
        lines = [("training", "-", learnt)]
        if any(value is not None for value in held_back):
            lines.append(("validation", "--", held_back))
        for position, (label, style, values) in enumerate(lines):
            numbers = [float("nan") if value is None else value for value in values]
            axis.plot(epochs, numbers, style, color=colour(position), label=label)
        axis.set_xlabel("epoch")
        axis.set_ylabel(name)
        axis.legend(frameon=False)
    return finish(drawing, path)
