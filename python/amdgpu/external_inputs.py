"""What networks are built from besides their text: files under a base directory, and arrays of the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amdgpu import arguments

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt


@dataclass(frozen=True)
class ExternalInputs:
    """Where relative paths of files start, and arrays by name."""

    base_directory: Path | None = None
    arrays: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)


def arrays_of(arrays: Mapping[str, npt.ArrayLike] | None) -> dict[str, npt.NDArray[np.float64]]:
    """Copies of the arrays that a program hands over, as float64."""
    if arrays is None:
        return {}
    by_name = arguments.mapping("Network", "arrays", arrays, "arrays by name")
    return {
        str(name): arguments.reals("Network", f"the array {str(name)!r}", values) for name, values in by_name.items()
    }
