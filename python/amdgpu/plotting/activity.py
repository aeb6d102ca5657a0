"""Pictures of a run: who spiked when, rates over time, and recorded variables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.plotting.canvas import check_ending, colour, finish, labelled, new_figure, scaled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure

    from amdgpu.spiking_result import Spikes, States

# So many marks fill a picture of this size; more cost seconds and show nothing else.
MARK_LIMIT = 300_000
# Single lines can be told apart up to about this number.
LINE_LIMIT = 10
PANEL_LIMIT = 24
BINS = 100


class ActivityPlots:
    """What `RunResult` draws; a path writes a file (.png, .svg, .pdf), without one the matplotlib figure is returned."""

    spikes: Mapping[str, Spikes]
    states: Mapping[str, States]
    counts: Mapping[str, int]
    sizes: Mapping[str, int]
    start: float
    duration: float
    steps: int
    units: Mapping[str, str]

    def plot_raster(self, path: str | Path | None = None, *, names: Sequence[str] | None = None) -> Figure | None:
        """Draw every recorded spike over time, one row for each neuron, one colour for each population.

        Past 300000 spikes only every n-th neuron is drawn, and the picture says so.

        Args:
            path: Where to write; None returns the figure.
            names: Populations and sources to draw, from the bottom up; None means all that are recorded.

        Raises:
            InvalidArgumentError: Nothing was recorded, or not that.
            LibraryMissingError: matplotlib is not installed.
        """
        check_ending(path)
        chosen = _recorded(self, names)
        total = sum(len(self.spikes[name]) for name in chosen)
        every = max(1, math.ceil(total / MARK_LIMIT))
        rows = sum(self.sizes[name] for name in chosen)
        drawing = new_figure(9, min(8.0, 2.6 + 0.4 * len(chosen) + 0.02 * min(rows, 150)))
        axis = drawing.subplots()
        factor, unit = _time_scale(self)
        # A mark is as high as a row where rows are few, and never too small to see.
        mark_points = max(2.0, min(10.0, 0.7 * 72 * 3.5 / max(rows, 1)))
        first = 0
        edges = [0]
        for position, name in enumerate(chosen):
            times, indices = _thinned(self.spikes[name], every)
            axis.plot(
                times * factor,
                indices.astype("int64") + first,
                linestyle="none",
                marker="|" if mark_points > 3 else ".",
                markersize=mark_points,
                markeredgewidth=1.0 if mark_points > 3 else 0.0,
                color=colour(position),
                rasterized=True,
            )
            first += self.sizes[name]
            edges.append(first)
        for edge in edges[1:-1]:
            axis.axhline(edge - 0.5, color="0.75", linewidth=0.6)
        _name_bands(axis, chosen, edges, self)
        axis.set_xlim(*_span(self, factor))
        axis.set_ylim(-0.5, max(first, 1) - 0.5)
        axis.set_xlabel(f"time ({unit})")
        shown = f"{total} spikes" if every == 1 else f"{total} spikes; every {every}th neuron is drawn"
        axis.set_title(shown, loc="left", fontsize="medium")
        return finish(drawing, path)

    def plot_rates(
        self,
        path: str | Path | None = None,
        *,
        names: Sequence[str] | None = None,
        bin_width: float | None = None,
    ) -> Figure | None:
        """Draw the mean rate of each recorded population over time.

        Args:
            path: Where to write; None returns the figure.
            names: Populations and sources to draw; None means all that are recorded.
            bin_width: Seconds that are counted together; None takes a hundredth of the run, at least one step.

        Raises:
            InvalidArgumentError: Nothing was recorded, or not that; a width that is not positive or longer than the run.
            LibraryMissingError: matplotlib is not installed.
        """
        check_ending(path)
        chosen = _recorded(self, names)
        width, edges = bins_of(self, bin_width)
        import numpy as np

        drawing = new_figure(9, 4)
        axis = drawing.subplots()
        factor, unit = _time_scale(self)
        lengths = np.diff(edges)
        for position, name in enumerate(chosen):
            # A spike stands at the beginning of its step; half a step in, rounding cannot move it over an edge.
            inside = self.spikes[name].times + 0.5 * self.duration / max(self.steps, 1)
            counts, _ = np.histogram(inside, bins=edges)
            rates = counts / lengths / self.sizes[name]
            axis.stairs(
                rates,
                edges * factor,
                baseline=None,
                color=colour(position),
                linewidth=1.4,
                label=f"{name} ({self.sizes[name]})",
            )
        axis.set_xlim(edges[0] * factor, edges[-1] * factor)
        axis.set_ylim(bottom=0)
        axis.set_xlabel(f"time ({unit})")
        axis.set_ylabel("rate (spikes per neuron and second)")
        axis.set_title(f"mean over {width * factor:.3g} {unit}", loc="left", fontsize="medium")
        _frame(axis)
        drawing.legend(loc="outside right upper", frameon=False)
        return finish(drawing, path)

    def plot_states(self, path: str | Path | None = None, *, names: Sequence[str] | None = None) -> Figure | None:
        """Draw the recorded variables over time, one panel for each.

        Up to ten neurons have a line each; of more, every one is a thin line and the mean a thick one.

        Args:
            path: Where to write; None returns the figure.
            names: Variables to draw, such as `"exc.v"`; None means all that are recorded.

        Raises:
            InvalidArgumentError: Nothing was recorded, or not that.
            LibraryMissingError: matplotlib is not installed.
        """
        check_ending(path)
        chosen = list(self.states) if names is None else arguments.names("plot_states", "names", names)
        if not chosen:
            raise InvalidArgumentError("no variables were recorded: add `record v(NAME)` to the network's text")
        for name in chosen:
            if name not in self.states:
                raise InvalidArgumentError(
                    f"{name!r} was not recorded; there are: {', '.join(self.states) or 'none'}. Add a `record` to the network's text"
                )
        if len(chosen) > PANEL_LIMIT:
            raise InvalidArgumentError(
                f"{len(chosen)} variables are more than one picture shows ({PANEL_LIMIT}): choose some with names=[...]"
            )
        drawing = new_figure(9, 1.2 + 2.2 * len(chosen))
        axes = drawing.subplots(len(chosen), 1, squeeze=False, sharex=True)[:, 0]
        factor, unit = _time_scale(self)
        for axis, name in zip(axes, chosen, strict=True):
            _draw_state(axis, name, self.states[name], self.units.get(name, ""), factor)
        axes[-1].set_xlim(*_span(self, factor))
        axes[-1].set_xlabel(f"time ({unit})")
        return finish(drawing, path)


def _recorded(result: ActivityPlots, names: Sequence[str] | None) -> list[str]:
    chosen = list(result.spikes) if names is None else arguments.names("plot", "names", names)
    if not chosen:
        raise InvalidArgumentError("no spikes were recorded: add `record spikes(NAME)` to the network's text")
    for name in chosen:
        if name not in result.spikes:
            why = "records no spikes" if name in result.sizes else "is no population or source of the network"
            raise InvalidArgumentError(f"{name!r} {why}; recorded are: {', '.join(result.spikes) or 'none'}")
    return chosen


def _time_scale(result: ActivityPlots) -> tuple[float, str]:
    """Milliseconds for what ends within two seconds."""
    return (1e3, "ms") if result.start + result.duration <= 2.0 else (1.0, "s")


def _span(result: ActivityPlots, factor: float) -> tuple[float, float]:
    """Beginning and end of the time axis; a run without steps gets a millisecond."""
    return result.start * factor, (result.start + (result.duration or 1e-3)) * factor


def _thinned(spikes: Spikes, every: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.uint32]]:
    if every == 1:
        return spikes.times, spikes.indices
    kept = spikes.indices % every == 0
    return spikes.times[kept], spikes.indices[kept]


def bins_of(result: ActivityPlots, bin_width: float | None) -> tuple[float, npt.NDArray[np.float64]]:
    """Width, and edges on whole steps from the beginning to the end of the run; the last bin may be shorter."""
    import numpy as np

    if result.steps == 0:
        raise InvalidArgumentError("the run has no steps, and so no rates")
    step = result.duration / result.steps
    if bin_width is not None:
        bin_width = arguments.number("plot_rates", "bin_width", bin_width)
    if bin_width is None:
        steps = max(1, round(result.steps / BINS))
    elif 0 < bin_width <= result.duration * (1 + 1e-9):
        steps = max(1, round(bin_width / step))
    else:
        raise InvalidArgumentError(
            f"bin_width is {bin_width}; it lies above 0 and at most at {result.duration:g} s, the run"
        )
    numbers = np.append(np.arange(0, result.steps, steps), result.steps)
    return steps * step, result.start + numbers * step


def _name_bands(axis: Any, names: Sequence[str], edges: Sequence[int], result: ActivityPlots) -> None:
    """Say on the left which rows are whose; a single population gets its neurons' numbers."""
    if len(names) == 1:
        axis.set_ylabel(f"neuron of {names[0]}")
        return
    axis.set_yticks([(low + high - 1) / 2 for low, high in zip(edges, edges[1:], strict=False)])
    axis.set_yticklabels([f"{name} ({result.sizes[name]})" for name in names])
    for position, label in enumerate(axis.get_yticklabels()):
        label.set_color(colour(position))
    axis.tick_params(axis="y", length=0)


def _draw_state(axis: Any, name: str, states: States, unit: str, time_factor: float) -> None:
    import numpy as np

    peak = float(np.abs(states.values).max()) if states.values.size else 0.0
    factor, shown_unit = scaled(unit, peak)
    times, values = states.times * time_factor, states.values * factor
    lines = values.shape[1] if values.ndim > 1 else 1
    if lines <= LINE_LIMIT:
        for k in range(lines):
            axis.plot(times, values[:, k], color=colour(k), linewidth=1.0, label=str(states.first + k))
        axis.legend(
            title="neuron",
            loc="center left",
            bbox_to_anchor=(1.0, 0.5),
            frameon=False,
            fontsize="small",
            ncols=1 + (lines > 5),
        )
    else:
        axis.plot(times, values, color="0.7", linewidth=0.3, rasterized=True)
        axis.plot(times, values.mean(axis=1), color=colour(0), linewidth=1.6, label="mean")
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        axis.set_title(f"neurons {states.first} to {states.first + lines - 1}", loc="left", fontsize="small")
    axis.set_ylabel(labelled(name, shown_unit))
    _frame(axis)


def _frame(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(color="0.9", linewidth=0.6)
    axis.set_axisbelow(True)
