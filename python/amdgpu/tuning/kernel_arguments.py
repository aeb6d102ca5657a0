"""Arguments of a kernel in files, for the child that measures.

A child that hung or crashed takes what it knew with it; the files stay.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from amdgpu.errors import InvalidTypeError

_LIST = "arguments.json"


def write(folder: Path, args: Sequence[Any]) -> None:
    """Write arguments of a launch: arrays, numbers and None.

    Raises:
        InvalidTypeError: An argument of another kind.
    """
    described = [_written(folder, place, arg) for place, arg in enumerate(args)]
    (folder / _LIST).write_text(json.dumps(described))


def read(folder: Path) -> list[Any]:
    """The arguments again; arrays as NumPy's."""
    found: list[Any] = []
    for place, described in enumerate(json.loads((folder / _LIST).read_text())):
        found.append(_array(folder / f"argument-{place}", described) if "shape" in described else described["number"])
    return found


def write_results(folder: Path, arrays: Sequence[Any]) -> None:
    """Write what a launch computed."""
    for place, values in enumerate(arrays):
        (folder / f"result-{place}").write_bytes(np.ascontiguousarray(values).tobytes())


def read_results(folder: Path, like: Sequence[Any]) -> list[Any]:
    """What a launch computed; `like` has the shapes and dtypes."""
    return [
        np.frombuffer((folder / f"result-{place}").read_bytes(), values.dtype).reshape(values.shape)
        for place, values in enumerate(like)
    ]


def host_values(arg: Any) -> Any:
    """An array argument as NumPy's; None for anything else."""
    if hasattr(arg, "numpy") and hasattr(arg, "shape"):
        return arg.numpy()
    if isinstance(arg, np.ndarray) and arg.ndim:
        return arg
    return None


def _written(folder: Path, place: int, arg: Any) -> dict[str, Any]:
    values = host_values(arg)
    if values is not None:
        (folder / f"argument-{place}").write_bytes(np.ascontiguousarray(values).tobytes())
        return {"shape": values.shape, "dtype": values.dtype.name}
    if arg is None or isinstance(arg, bool | int | float):
        return {"number": arg}
    if isinstance(arg, np.generic) and isinstance(arg.item(), bool | int | float):
        return {"number": arg.item()}
    raise InvalidTypeError(
        f"tune: argument {place} is of type {type(arg).__name__}; arrays, numbers and None can be tuned with"
    )


def _array(path: Path, described: dict[str, Any]) -> Any:
    name = described["dtype"]
    if not hasattr(np, name):
        import ml_dtypes

        dtype = np.dtype(getattr(ml_dtypes, name))
    else:
        dtype = np.dtype(name)
    return np.frombuffer(path.read_bytes(), dtype).reshape(described["shape"]).copy()
