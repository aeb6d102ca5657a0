"""Pictures by matplotlib, which is imported when the first one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.errors import LibraryMissingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from amdgpu.training.history import History


def figure(columns: int) -> tuple[Any, list[Any]]:
    """A figure without a window, and its axes side by side.

    Raises:
        LibraryMissingError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise LibraryMissingError(
            f"plots are drawn by matplotlib, which cannot be imported ({error}): pip install matplotlib"
        ) from None
    drawing = Figure(figsize=(5 * columns, 4), layout="constrained")
    return drawing, list(drawing.subplots(1, columns, squeeze=False)[0])


def plot_history(history: History, path: str | Path) -> None:
    """Loss and, with classes, accuracy over the epochs."""
    has_accuracy = any(value is not None for value in [*history.accuracy, *history.validation_accuracy])
    drawing, axes = figure(2 if has_accuracy else 1)
    curves: list[tuple[str, Sequence[float | None], Sequence[float | None]]] = [
        ("loss", history.loss, history.validation_loss)
    ]
    if has_accuracy:
        curves.append(("accuracy", history.accuracy, history.validation_accuracy))
    for axis, (name, learnt, held_back) in zip(axes, curves, strict=True):
        epochs = range(1, history.epochs + 1)
        axis.plot(epochs, [float("nan") if value is None else value for value in learnt], label="training")
        if any(value is not None for value in held_back):
            axis.plot(epochs, [float("nan") if value is None else value for value in held_back], label="validation")
        axis.set_xlabel("epoch")
        axis.set_ylabel(name)
        axis.legend()
    drawing.savefig(path)


def plot_weights(weights: Mapping[str, npt.NDArray[np.float32]], path: str | Path) -> None:
    """Every weight matrix as an image, one colour scale for all."""
    import numpy as np

    drawing, axes = figure(max(len(weights), 1))
    limit = max((float(np.abs(values).max()) for values in weights.values() if values.size), default=1.0) or 1.0
    image = None
    for axis, (name, values) in zip(axes, weights.items(), strict=False):
        image = axis.imshow(values, aspect="auto", cmap="RdBu", vmin=-limit, vmax=limit, interpolation="nearest")
        axis.set_title(name)
        axis.set_xlabel("to")
        axis.set_ylabel("from")
    if image is not None:
        drawing.colorbar(image, ax=axes)
    drawing.savefig(path)
