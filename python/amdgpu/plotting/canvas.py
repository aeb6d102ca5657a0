"""What all pictures share: a figure without a window, colours, units, and the end (a file, or the figure itself).

Figures are made without pyplot: no window, no backend is chosen, no state of the process changes, and any thread may draw.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, LibraryMissingError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito 2008, "Color universal design": told apart with every kind of colour vision. Yellow is left out, for it fades on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MISSING_COLOUR = "#E0E0E0"
DOTS_PER_INCH = 150

# Beyond these the plain unit reads better.
_PREFIXES = ((1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p"))
_PREFIXED_UNITS = frozenset({"s", "V", "A", "S", "F", "C"})


def new_figure(width_inches: float, height_inches: float) -> Figure:
    """An empty figure.

    Raises:
        LibraryMissingError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise LibraryMissingError(
            f"plots are drawn by matplotlib, which cannot be imported ({error}): pip install matplotlib"
        ) from None
    return Figure(figsize=(width_inches, height_inches), layout="constrained")


def figure(columns: int) -> tuple[Figure, list[Any]]:
    """A figure with its axes side by side.

    Raises:
        LibraryMissingError: matplotlib is not installed.
    """
    drawing = new_figure(5 * columns, 4)
    return drawing, list(drawing.subplots(1, columns, squeeze=False)[0])


def finish(drawing: Figure, path: str | Path | None) -> Figure | None:
    """Write the figure to the file that `path` names, in the format of its ending; without a path, hand it out.

    Raises:
        OSError: The file cannot be written.
    """
    if path is None:
        return drawing
    drawing.savefig(Path(path), dpi=DOTS_PER_INCH)
    return None


def check_ending(path: str | Path | None) -> None:
    """Refuse a file that cannot become a picture, before the work whose picture it is; None is no file.

    Raises:
        InvalidArgumentError: The ending is of no format that matplotlib writes.
        InvalidTypeError: It is no path.
        LibraryMissingError: matplotlib is not installed.
    """
    if path is None:
        return
    known = new_figure(1, 1).canvas.get_supported_filetypes()
    ending = arguments.path("plot", "path", path).suffix.removeprefix(".").lower()
    if ending not in known:
        raise InvalidArgumentError(
            f"{path}: pictures end in {', '.join('.' + name for name in sorted(known))}, not in {'.' + ending if ending else 'nothing'}"
        )


def colour(position: int) -> str:
    """Colour of the item with this position; they repeat."""
    return PALETTE[position % len(PALETTE)]


def scaled(unit: str, peak: float) -> tuple[float, str]:
    """What to multiply values of an SI unit with, and the unit's name then, so that `peak` becomes at least 1 where it can."""
    if unit not in _PREFIXED_UNITS or not peak > 0:
        return 1.0, unit
    for size, prefix in _PREFIXES:
        # Rounded values such as 0.99999 mV are 1 mV to a reader.
        if peak >= size * 0.999:
            return 1.0 / size, prefix + unit
    size, prefix = _PREFIXES[-1]
    return 1.0 / size, prefix + unit


def labelled(name: str, unit: str) -> str:
    """A quantity with its unit, as axes show it."""
    return f"{name} ({unit})" if unit else name


def quantity(value: float, unit: str) -> str:
    """A value with the fitting prefix of its unit, three digits."""
    factor, name = scaled(unit, abs(value))
    return f"{value * factor:.3g} {name}".rstrip()


def count_text(count: float) -> str:
    """A count as people read it: 950, 12.3 k, 4.57 M."""
    for size, suffix in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if count >= size:
            return f"{count / (1e3 if suffix == ' k' else size):.3g}{suffix}"
    return f"{count:.0f}"
