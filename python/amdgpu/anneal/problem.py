"""Ising and QUBO problems: what is accepted, checked once, and brought into one form."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, OutOfMemoryError, ShapeMismatchError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# Spins and ends of pairs are uint32 in the kernels.
LARGEST_COUNT = 2**31 - 1
# Energies are summed over so many values at once.
CHUNK_VALUES = 4 * 1024 * 1024


def host_memory_bytes() -> int:
    """Memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def refuse_beyond(needed_bytes: int, limit_bytes: int, what: str, where: str) -> None:
    """Before anything is allocated.

    Raises:
        OutOfMemoryError: `needed_bytes` are more than `limit_bytes`.
    """
    if needed_bytes > limit_bytes:
        raise OutOfMemoryError(
            f"{what} needs {needed_bytes / 1e9:.1f} GB; {where} has {limit_bytes / 1e9:.1f} GB: take fewer variables, pairs or reads"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Ising:
    """`sum(fields * s) + sum(couplings * s[first] * s[second]) + offset` over s = +1 or -1; every pair once, first below second."""

    fields: npt.NDArray[np.float64]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]
    couplings: npt.NDArray[np.float64]
    offset: float = 0.0

    @property
    def size(self) -> int:
        """Number of spins."""
        return len(self.fields)

    def energies(self, spins: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Energy of every column of `spins[size, samples]`."""
        import numpy as np

        energies = np.empty(spins.shape[1])
        columns = max(CHUNK_VALUES // max(self.size, 1), 1)
        for begin in range(0, len(energies), columns):
            chosen = spins[:, begin : begin + columns]
            total = self.fields @ chosen + self.offset
            step = max(CHUNK_VALUES // max(chosen.shape[1], 1), 1)
            for start in range(0, len(self.couplings), step):
                part = slice(start, start + step)
                pairs = chosen[self.first[part]] * chosen[self.second[part]]
                total += self.couplings[part] @ pairs.astype(np.float64)
            energies[begin : begin + columns] = total
        return energies

    def rows(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
        """The graph in compressed rows, every pair in both of its rows: starts, columns, couplings."""
        import numpy as np

        source = np.concatenate([self.first, self.second])
        target = np.concatenate([self.second, self.first])
        order = np.lexsort((target, source))
        starts = np.zeros(self.size + 1, np.uint32)
        starts[1:] = np.cumsum(np.bincount(source, minlength=self.size))
        couplings = np.concatenate([self.couplings, self.couplings])[order]
        return starts, target[order].astype(np.uint32), couplings.astype(np.float32)


def ising_problem(fields: Any, couplings: Any) -> Ising:
    """Fields and couplings of spins, checked."""
    import numpy as np

    diagonal, first, second, values, size = _pairs("couplings", couplings, None if fields is None else _length(fields))
    if np.any(diagonal):
        place = int(np.flatnonzero(diagonal)[0])
        raise InvalidArgumentError(
            f"couplings has {diagonal[place]} at [{place}, {place}]; a spin has no coupling with itself (its square is always 1)"
        )
    return _checked(Ising(_fields_of(fields, size), first, second, values))


def qubo_problem(matrix: Any) -> tuple[Ising, Ising]:
    """`x @ matrix @ x` over x = 0 or 1, as spins s = 2 x - 1; the second problem has the same pairs over x itself, for exact energies."""
    import numpy as np

    diagonal, first, second, values, _ = _pairs("matrix", matrix, None)
    # A symmetric matrix holds each pair twice.
    fields = diagonal / 2
    np.add.at(fields, first, values / 4)
    np.add.at(fields, second, values / 4)
    spins = Ising(fields, first, second, values / 4, float(diagonal.sum() / 2 + values.sum() / 4))
    return _checked(spins), Ising(diagonal, first, second, values)


def _checked(problem: Ising) -> Ising:
    import numpy as np

    reach = np.abs(problem.fields)
    np.add.at(reach, problem.first, np.abs(problem.couplings))
    np.add.at(reach, problem.second, np.abs(problem.couplings))
    if reach.max(initial=0.0) > float(np.finfo(np.float32).max) / 4:
        raise InvalidArgumentError("the energies are beyond float32: scale the problem down")
    return problem


def _length(fields: Any) -> int | None:
    if isinstance(fields, Mapping):
        return None
    return int(arguments.values("anneal", "fields", fields).size)


def _fields_of(fields: Any, size: int) -> npt.NDArray[np.float64]:
    import numpy as np

    values = np.zeros(size)
    if fields is None:
        return values
    if isinstance(fields, Mapping):
        for place, value in fields.items():
            values[_index("fields", place, size)] = arguments.number("anneal", f"fields[{place!r}]", value)
    else:
        values = arguments.reals("anneal", "fields", fields)
        if values.shape != (size,):
            raise ShapeMismatchError(f"fields has the shape {values.shape}; the couplings are of {size} spins")
    _refuse_not_finite("fields", values)
    return values


def _refuse_not_finite(what: str, values: npt.NDArray[np.float64]) -> None:
    import numpy as np

    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        place = tuple(int(index) for index in wrong[0])
        raise InvalidArgumentError(f"{what} holds {values[place]} at {list(place)}")


def _index(what: str, place: Any, size: int) -> int:
    return arguments.count("anneal", f"a variable of {what}", place, 0, size - 1)


Pairs = tuple[
    "npt.NDArray[np.float64]", "npt.NDArray[np.int64]", "npt.NDArray[np.int64]", "npt.NDArray[np.float64]", int
]


def _pairs(what: str, source: Any, size: int | None) -> Pairs:
    """Diagonal, and every pair with a value once."""
    import numpy as np

    if isinstance(source, Mapping):
        rows, columns, values, count = _of_mapping(what, source, size)
    elif hasattr(source, "tocoo"):
        sparse = source.tocoo()
        rows, columns = np.asarray(sparse.row, np.int64), np.asarray(sparse.col, np.int64)
        values, count = arguments.reals("anneal", what, sparse.data), _square(what, sparse.shape)
    else:
        matrix = arguments.reals("anneal", what, source)
        count = _square(what, matrix.shape)
        _refuse_not_finite(what, matrix)
        rows, columns = np.nonzero(matrix)
        values = matrix[rows, columns]
    if count == 0:
        raise ShapeMismatchError(f"{what} is empty; a problem has at least one variable")
    if count > LARGEST_COUNT or 2 * len(values) > LARGEST_COUNT:
        raise ShapeMismatchError(f"{what} has {count} variables and {len(values)} values; at most {LARGEST_COUNT} fit")
    _refuse_not_finite(what, values)
    # Fields, diagonal and sums of the host; a dict can name a variable far away.
    refuse_beyond(count * 64 + len(values) * 128, host_memory_bytes(), f"{what} with {count} variables", "this machine")
    diagonal = np.zeros(count)
    on = rows == columns
    np.add.at(diagonal, rows[on], values[on])
    first, second, couplings = _folded(what, rows[~on], columns[~on], values[~on])
    return diagonal, first, second, couplings, count


def _square(what: str, shape: tuple[int, ...]) -> int:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeMismatchError(f"{what} must be square, with one row for each variable; its shape is {tuple(shape)}")
    return int(shape[0])


def _of_mapping(
    what: str, source: Mapping[Any, Any], size: int | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64], int]:
    """Values by pair `(i, j)`; what stands at (i, j) and (j, i) is added up, so the lower half is moved up."""
    import numpy as np

    pairs = list(source)
    if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in pairs):
        raise InvalidTypeError(f"{what} as a dict has pairs of variables as keys: {{(0, 1): -1.0}}")
    limit = size if size is not None else LARGEST_COUNT
    places = np.array([sorted((_index(what, i, limit), _index(what, j, limit))) for i, j in pairs], np.int64).reshape(
        -1, 2
    )
    values = arguments.reals("anneal", what, [source[pair] for pair in pairs])
    if values.shape != (len(pairs),):
        raise InvalidTypeError(
            f"anneal: {what} holds arrays of shape {values.shape[1:]}; a number for each pair is expected"
        )
    count = size if size is not None else int(places.max(initial=-1)) + 1
    return places[:, 0], places[:, 1], values, count


def _folded(
    what: str, rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64], values: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Each pair once. Of a symmetric matrix `couplings` names a pair twice and means it once; `matrix` of a QUBO adds both up."""
    import numpy as np

    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    is_upper = rows < columns
    if not is_upper.all():
        # Sorted by the transposed place, the lower half must be the upper one.
        lower = ~is_upper
        turned = np.lexsort((rows[lower], columns[lower]))
        low = (columns[lower][turned], rows[lower][turned], values[lower][turned])
        high = (rows[is_upper], columns[is_upper], values[is_upper])
        if len(low[0]) != len(high[0]) or any(not np.array_equal(a, b) for a, b in zip(low, high, strict=True)):
            raise InvalidArgumentError(
                f"{what} is not symmetric ({_first_difference(high, low)}): give a symmetric matrix, or each pair once above the "
                "diagonal and zeros below"
            )
        factor = 2.0 if what == "matrix" else 1.0
        rows, columns, values = high[0], high[1], high[2] * factor
    keys = rows * (int(columns.max(initial=0)) + 1) + columns
    unique, place = np.unique(keys, return_inverse=True)
    if len(unique) != len(keys):
        sums = np.zeros(len(unique))
        np.add.at(sums, place, values)
        chosen = np.unique(keys, return_index=True)[1]
        rows, columns, values = rows[chosen], columns[chosen], sums
    return rows, columns, values


def _first_difference(high: tuple[Any, ...], low: tuple[Any, ...]) -> str:
    above = {(int(i), int(j)): float(value) for i, j, value in zip(*high, strict=True)}
    below = {(int(i), int(j)): float(value) for i, j, value in zip(*low, strict=True)}
    i, j = next(pair for pair in sorted({*above, *below}) if above.get(pair) != below.get(pair))
    return f"[{i}, {j}] is {above.get((i, j), 0.0)}, [{j}, {i}] is {below.get((i, j), 0.0)}"
