"""Weight matrices as images, now or before and after learning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError
from amdgpu.plotting.canvas import MISSING_COLOUR, check_ending, colour, finish, labelled, new_figure, scaled

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

# More pixels than this no screen shows; larger matrices are averaged in blocks.
PIXEL_LIMIT = 400
PANEL_LIMIT = 24
COLUMNS = 3


@dataclass(frozen=True)
class Matrix:
    """Weights of one connection on the way to a picture.

    Attributes:
        name: `from -> to`.
        unit: SI unit of the weights, or nothing.
        shape: Sources and targets.
        sources: Source of each weight; None where the matrix is full, row by row.
        targets: Target of each weight; None likewise.
        values: The weights.
    """

    name: str
    unit: str
    shape: tuple[int, int]
    values: npt.NDArray[np.float32]
    sources: npt.NDArray[np.uint32] | None = None
    targets: npt.NDArray[np.uint32] | None = None

    def image(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Mean weight of each pixel, NaN where there is no synapse."""
        import numpy as np

        rows, columns = (max(1, min(size, PIXEL_LIMIT)) for size in self.shape)
        if self.sources is None or self.targets is None:
            first_row, first_column = (
                _starts(size, pixels) for size, pixels in zip(self.shape, (rows, columns), strict=True)
            )
            total = np.add.reduceat(np.add.reduceat(values.astype(np.float64), first_row, axis=0), first_column, axis=1)
            heights, widths = np.diff(first_row, append=self.shape[0]), np.diff(first_column, append=self.shape[1])
            full: npt.NDArray[np.float64] = total / np.outer(heights, widths)
            return full
        row, column = self.sources.astype(np.int64), self.targets.astype(np.int64)
        pixel = (row * rows // max(self.shape[0], 1)) * columns + column * columns // max(self.shape[1], 1)
        count = np.bincount(pixel, minlength=rows * columns)
        sums = np.bincount(pixel, weights=values.astype(np.float64), minlength=rows * columns)
        mean: npt.NDArray[np.float64] = np.divide(sums, count, out=np.full(rows * columns, np.nan), where=count > 0)
        return mean.reshape(rows, columns)


def _starts(size: int, pixels: int) -> npt.NDArray[np.int64]:
    """First index of each pixel, where index i is in pixel i * pixels // size."""
    import numpy as np

    starts: npt.NDArray[np.int64] = -(-np.arange(pixels, dtype=np.int64) * size // pixels)
    return starts


def chosen_names(known: Sequence[str], wanted: Sequence[str] | None) -> list[str]:
    """Connections to draw, checked.

    Raises:
        InvalidArgumentError: There are none, one is unknown, or they are too many for a picture.
    """
    names = list(known) if wanted is None else arguments.names("plot", "names", wanted)
    for name in names:
        if name not in known:
            raise InvalidArgumentError(f"there is no connection {name!r}; there are: {', '.join(known) or 'none'}")
    if not names:
        raise InvalidArgumentError("the network has no connections, and so no weights to draw")
    if len(names) > PANEL_LIMIT:
        raise InvalidArgumentError(
            f"{len(names)} connections are more than one picture shows ({PANEL_LIMIT}): choose some with names=[...]"
        )
    return names


def plot_weights(
    matrices: Sequence[Matrix], path: str | Path | None, before: Mapping[str, npt.ArrayLike] | None
) -> Figure | None:
    """One image for each connection; with `before`, three: before, after, and the difference."""
    check_ending(path)
    if before is None:
        return finish(_grid(matrices), path)
    known = [_earlier(matrix, before) for matrix in matrices]
    drawing = new_figure(11, 0.6 + 3.2 * len(matrices))
    rows = drawing.subplots(len(matrices), 3, squeeze=False)
    for axes, matrix, earlier in zip(rows, matrices, known, strict=True):
        images = [matrix.image(values) for values in (earlier, matrix.values)]
        change = matrix.image(matrix.values.astype("float64") - earlier)
        scale = _Scale.of(images, matrix.unit)
        for axis, image, word in zip(axes, images, ("before", "after"), strict=False):
            shown = _draw(axis, image, matrix, scale, f"{matrix.name}: {word}")
        drawing.colorbar(shown, ax=list(axes[:2]), label=labelled("weight", scale.unit))
        scale = _Scale.of([change], matrix.unit, is_signed=True)
        shown = _draw(axes[2], change, matrix, scale, "after - before")
        drawing.colorbar(shown, ax=axes[2], label=labelled("change", scale.unit))
    return finish(drawing, path)


def plot_distributions(
    matrices: Sequence[Matrix], path: str | Path | None, before: Mapping[str, npt.ArrayLike] | None
) -> Figure | None:
    """One histogram for each connection; with `before`, the earlier weights as an outline over it."""
    import numpy as np

    check_ending(path)
    known = [[] if before is None else [_earlier(matrix, before).ravel()] for matrix in matrices]
    columns = min(len(matrices), COLUMNS)
    rows = -(-len(matrices) // columns)
    drawing = new_figure(1 + 3.6 * columns, 0.4 + 2.6 * rows)
    axes = drawing.subplots(rows, columns, squeeze=False).ravel()
    for axis, matrix, earlier in zip(axes, matrices, known, strict=False):
        now = matrix.values.ravel()
        sets = [now, *earlier]
        peak = max((float(np.abs(values).max()) for values in sets if values.size), default=0.0)
        factor, unit = scaled(matrix.unit, peak)
        edges = np.histogram_bin_edges(np.concatenate(sets) * factor, bins=50)
        axis.hist(now * factor, bins=edges, color=colour(4), label="after" if before is not None else None)
        if before is not None:
            axis.hist(sets[1] * factor, bins=edges, histtype="step", color=colour(1), linewidth=1.3, label="before")
            axis.legend(frameon=False, fontsize="small")
        axis.set_title(matrix.name, fontsize="medium")
        axis.set_xlabel(labelled("weight", unit))
        axis.set_ylabel("synapses")
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[len(matrices) :]:
        axis.set_axis_off()
    return finish(drawing, path)


def _earlier(matrix: Matrix, before: Mapping[str, npt.ArrayLike]) -> npt.NDArray[np.float32]:
    import numpy as np

    if matrix.name not in arguments.mapping("plot", "before", before, "weights by the name of a connection"):
        raise InvalidArgumentError(f"before has no weights of {matrix.name!r}: it is what dict(net.weights) gave")
    values = arguments.reals("plot", f"before[{matrix.name!r}]", before[matrix.name]).astype(np.float32)
    if values.shape != matrix.values.shape:
        raise ShapeMismatchError(
            f"before[{matrix.name!r}] has the shape {values.shape}, the weights now have {matrix.values.shape}"
        )
    return values


def _grid(matrices: Sequence[Matrix]) -> Figure:
    columns = min(len(matrices), COLUMNS)
    rows = -(-len(matrices) // columns)
    drawing = new_figure(1 + 4 * columns, 0.4 + 3.4 * rows)
    axes = drawing.subplots(rows, columns, squeeze=False).ravel()
    for axis, matrix in zip(axes, matrices, strict=False):
        image = matrix.image(matrix.values)
        scale = _Scale.of([image], matrix.unit)
        shown = _draw(axis, image, matrix, scale, matrix.name)
        drawing.colorbar(shown, ax=axis, label=labelled("weight", scale.unit))
    for axis in axes[len(matrices) :]:
        axis.set_axis_off()
    return drawing


@dataclass(frozen=True)
class _Scale:
    """Colours of an image: from `low` to `high` in `unit`, values times `factor`."""

    low: float
    high: float
    factor: float
    unit: str
    colours: str

    @classmethod
    def of(cls, images: Sequence[npt.NDArray[np.float64]], unit: str, *, is_signed: bool = False) -> _Scale:
        """Weights of one sign get one hue from zero on, others two around zero."""
        import numpy as np

        known = np.concatenate([image[np.isfinite(image)] for image in images])
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
        peak = max(abs(low), abs(high))
        factor, name = scaled(unit, peak)
        limit = peak * factor or 1.0
        if is_signed or low < 0 < high:
            return cls(-limit, limit, factor, name, "RdBu_r")
        return cls(-limit, 0.0, factor, name, "cividis_r") if low < 0 else cls(0.0, limit, factor, name, "cividis")


def _draw(axis: Any, image: npt.NDArray[np.float64], matrix: Matrix, scale: _Scale, title: str) -> Any:
    sources, targets = matrix.shape
    axis.set_facecolor(MISSING_COLOUR)
    shown = axis.imshow(
        image * scale.factor,
        aspect="auto",
        cmap=scale.colours,
        vmin=scale.low,
        vmax=scale.high,
        interpolation="nearest",
        extent=(-0.5, targets - 0.5, sources - 0.5, -0.5),
    )
    origin, _, target = matrix.name.partition(" -> ")
    axis.set_title(title, fontsize="medium")
    axis.set_xlabel(f"to {target.partition(' #')[0]}")
    axis.set_ylabel(f"from {origin}")
    axis.locator_params(integer=True, nbins=5)
    return shown
