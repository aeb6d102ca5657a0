"""What networks draw: methods that the classes of `amdgpu.network` inherit from here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from matplotlib.figure import Figure

    from amdgpu.plotting.weights import Matrix
    from amdgpu.spiking_result import RunResult


class NetworkPlotsMixin:
    """Pictures of any network; a path writes a file (.png, .svg, .pdf), without one the matplotlib figure is returned."""

    plan: Any

    def _matrices(self, names: Sequence[str] | None) -> list[Matrix]:
        """Weights of the connections of these names; None means all."""
        raise NotImplementedError

    def plot_weights(
        self,
        path: str | Path | None = None,
        *,
        before: Mapping[str, npt.ArrayLike] | None = None,
        names: Sequence[str] | None = None,
    ) -> Figure | None:
        """Draw weight matrices, one image for each connection; where there is no synapse, they are grey.

        Of matrices with more than 400 rows or columns, a pixel is the mean of a block.

        Args:
            path: Where to write; None returns the figure.
            before: Weights of an earlier time, as `dict(net.weights)` gave them: shows before, after and the difference.
            names: Connections to draw, such as `"input -> hidden"`; None means all.

        Raises:
            InvalidArgumentError: There is no such connection, or they are too many for a picture.
            LibraryMissingError: matplotlib is not installed.
        """
        from amdgpu.plotting import weights

        return weights.plot_weights(self._matrices(names), path, before)

    def plot_weight_distributions(
        self,
        path: str | Path | None = None,
        *,
        before: Mapping[str, npt.ArrayLike] | None = None,
        names: Sequence[str] | None = None,
    ) -> Figure | None:
        """Draw how the weights of each connection are distributed, with `before` also how they were; arguments as in `plot_weights`.

        Raises:
            InvalidArgumentError: There is no such connection, or they are too many for a picture.
            LibraryMissingError: matplotlib is not installed.
        """
        from amdgpu.plotting import weights

        return weights.plot_distributions(self._matrices(names), path, before)

    def plot_graph(self, path: str | Path | None = None) -> Figure | None:
        """Draw the network: populations or layers, and connections with their numbers of synapses.

        Nothing is built for it. Numbers that chance decides are expected ones, marked with ≈. Networks of many connections are
        drawn as a table.

        Args:
            path: Where to write; None returns the figure.

        Raises:
            LibraryMissingError: matplotlib is not installed.
        """
        from amdgpu.plotting.graph import nodes_and_edges, plot_graph

        return plot_graph(*nodes_and_edges(self.plan), self.plan["name"], path)


class SpikePlotsMixin:
    """Pictures of the last run of a spiking network, as those of `NetworkPlotsMixin`."""

    _last_result: RunResult | None

    def _last_run(self) -> RunResult:
        if self._last_result is None:
            raise InvalidArgumentError("nothing was run yet: call net.run(seconds) first")
        return self._last_result

    def plot_raster(self, path: str | Path | None = None, *, names: Sequence[str] | None = None) -> Figure | None:
        """Draw the spikes of the last run; see `RunResult.plot_raster`.

        Raises:
            InvalidArgumentError: Nothing was run or recorded yet.
            LibraryMissingError: matplotlib is not installed.
        """
        return self._last_run().plot_raster(path, names=names)

    def plot_rates(
        self, path: str | Path | None = None, *, names: Sequence[str] | None = None, bin_width: float | None = None
    ) -> Figure | None:
        """Draw the rates over time of the last run; see `RunResult.plot_rates`.

        Raises:
            InvalidArgumentError: Nothing was run or recorded yet.
            LibraryMissingError: matplotlib is not installed.
        """
        return self._last_run().plot_rates(path, names=names, bin_width=bin_width)

    def plot_states(self, path: str | Path | None = None, *, names: Sequence[str] | None = None) -> Figure | None:
        """Draw the recorded variables of the last run; see `RunResult.plot_states`.

        Raises:
            InvalidArgumentError: Nothing was run or recorded yet.
            LibraryMissingError: matplotlib is not installed.
        """
        return self._last_run().plot_states(path, names=names)
