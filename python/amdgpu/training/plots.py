"""Pictures by matplotlib, which is imported when the first one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.errors import LibraryMissingError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from amdgpu.spiking import RunResult
    from amdgpu.training.history import History

RATE_BIN_SECONDS = 5e-3
MAX_BINS = 2000


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


def plot_raster(result: RunResult, path: str | Path) -> None:
    """A dot for every recorded spike, one row of neurons for each population, and below them the rate of each over time."""
    import numpy as np

    drawing, (raster, rates) = figure(2)
    base = 0
    for name, spikes in result.spikes.items():
        raster.plot(spikes.times, spikes.indices + base, ",", label=name)
        bins = max(min(int(result.duration / RATE_BIN_SECONDS), MAX_BINS), 1)
        counts, edges = np.histogram(spikes.times, bins, (result.start, result.start + result.duration or 1.0))
        width = edges[1] - edges[0]
        rates.plot(edges[:-1] + width / 2, counts / result.sizes[name] / width, label=name)
        base += result.sizes[name]
    for axis, label in ((raster, "neuron"), (rates, "rate (Hz)")):
        axis.set_xlabel("time (s)")
        axis.set_ylabel(label)
    if result.spikes:
        rates.legend()
    drawing.savefig(path)


def plot_distributions(weights: Mapping[str, npt.NDArray[np.float32]], path: str | Path) -> None:
    """How the weights of each connection are distributed."""
    drawing, axes = figure(max(len(weights), 1))
    for axis, (name, values) in zip(axes, weights.items(), strict=False):
        axis.hist(values, bins=50)
        axis.set_title(name)
        axis.set_xlabel("weight")
    drawing.savefig(path)
