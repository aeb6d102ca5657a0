"""Sums of products that a text of labels names: `einsum("ij,jk->ik", a, b)`.

Two operands at a time are joined by one product of matrices, or elementwise where nothing is summed; which two, for more than two operands,
NumPy's own planner says (`numpy.einsum_path`). Source: the grammar of NumPy's `einsum`, the ellipsis and lists of labels included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, ShapeMismatchError

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu._native import Array

__all__ = ["einsum"]

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PLANS = ("greedy", "optimal")


class _Term(NamedTuple):
    """An operand and the label of each of its axes."""

    array: Any
    labels: str


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Array | None = None,
    dtype: npt.DTypeLike | None = None,
    optimize: Any = "greedy",
) -> Array:
    """The sum of products of elements that stand under the same labels.

    Args:
        subscripts: Labels of the axes of each operand, divided by commas, and behind `->` those of the result; without `->` the result has
            the labels that occur once, in the order of the alphabet. `...` stands for all other axes, which are broadcast. In its place may
            stand the first of operands and lists of integers by turns: `einsum(a, [0, 1], b, [1, 2], [0, 2])`.
        operands: Arrays of one device; what has no device goes there.
        out: Receives the result.
        dtype: What is computed in and comes out; None for what the operands have together.
        optimize: How the order of three and more operands is found: "greedy" (True is the same), "optimal", or a path of
            `numpy.einsum_path`; False takes them from left to right.

    Returns:
        A new array, or a view of the operand where nothing is computed.

    Raises:
        InvalidArgumentError: Subscripts that break the grammar.
        ShapeMismatchError: One label for axes of different extents.

    Example:
        >>> import amdgpu
        >>> a = amdgpu.asarray([[1.0, 2.0], [3.0, 4.0]])
        >>> amdgpu.einsum("ij,kj->ik", a, a).tolist()
        [[5.0, 11.0], [11.0, 25.0]]
        >>> amdgpu.einsum("ii", a).item()
        5.0
    """
    from amdgpu.ops.creation import as_arrays
    from amdgpu.ops.data_types import result_type

    text, given = (subscripts, operands) if isinstance(subscripts, str) else _from_lists((subscripts, *operands))
    arrays = as_arrays("einsum", given)
    inputs, output = _parsed(text, [one.ndim for one in arrays])
    wanted = result_type(*arrays) if dtype is None else result_type(dtype)
    terms = [
        _one_axis_a_label(_Term(array.astype(wanted, copy=False), labels))
        for array, labels in zip(arrays, inputs, strict=True)
    ]
    _check_extents(terms)
    found = _contracted(terms, output, optimize)
    result = found.array.astype(wanted, copy=False)
    if out is None:
        return result  # type: ignore[no-any-return]
    out[...] = result
    return out


def _from_lists(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Operands and lists of labels by turns, as a text and the operands."""
    has_output = len(given) % 2 == 1
    pairs = given[: len(given) - has_output]
    if not pairs:
        raise InvalidArgumentError('einsum: a text of labels is expected first, as in einsum("ij,jk->ik", a, b)')
    texts = [_letters(labels) for labels in pairs[1::2]]
    text = ",".join(texts) + (f"->{_letters(given[-1])}" if has_output else "")
    return text, pairs[::2]


def _letters(labels: Any) -> str:
    if not isinstance(labels, list | tuple):
        raise InvalidTypeError(f"einsum: a list of labels is expected behind each operand, got {type(labels).__name__}")
    return "".join(
        "..." if one is Ellipsis else _LETTERS[arguments.count("einsum", "a label", one, 0, len(_LETTERS) - 1)]
        for one in labels
    )


def _parsed(text: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The labels of each operand and of the result, with labels in the place of each ellipsis."""
    compact = text.replace(" ", "")
    left, arrow, right = compact.partition("->")
    parts = left.split(",")
    if len(parts) != len(ranks):
        raise InvalidArgumentError(f"einsum: {text!r} is for {len(parts)} operands, and {len(ranks)} are given")
    for part in (*parts, right):
        rest = part.replace("...", "", 1)
        if not all(letter in _LETTERS for letter in rest):
            raise InvalidArgumentError(f"einsum: {part!r} in {text!r} holds more than letters and one ellipsis (...)")
    used = set(compact)
    free = [letter for letter in _LETTERS if letter not in used]
    broad = [_broadcast_rank(part, rank) for part, rank in zip(parts, ranks, strict=True)]
    most = max(broad, default=0)
    if most > len(free):
        raise InvalidArgumentError(f"einsum: the operands of {text!r} have more axes than there are letters")
    ellipsis = "".join(free[:most])
    inputs = [part.replace("...", ellipsis[most - count :]) for part, count in zip(parts, broad, strict=True)]
    if not arrow:
        once = sorted(letter for letter in set(left) & set(_LETTERS) if left.count(letter) == 1)
        return inputs, ellipsis + "".join(once)
    output = right.replace("...", ellipsis)
    if most and "..." not in right:
        raise InvalidArgumentError(f"einsum: the result of {text!r} needs an ellipsis (...) as its operands have")
    known = set("".join(inputs))
    if len(set(output)) != len(output) or not set(output) <= known:
        raise InvalidArgumentError(f"einsum: the result of {text!r} has a label twice, or one that no operand has")
    return inputs, output


def _broadcast_rank(part: str, rank: int) -> int:
    """How many axes the ellipsis of an operand stands for."""
    named = len(part.replace("...", ""))
    if named > rank or (named < rank and "..." not in part):
        raise InvalidArgumentError(f"einsum: {part!r} names {named} axes of an operand that has {rank}")
    return rank - named if "..." in part else 0


def _one_axis_a_label(term: _Term) -> _Term:
    """The diagonals along which a label that occurs twice goes."""
    array, labels = term
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if array.shape[first] != array.shape[second]:
                raise ShapeMismatchError(
                    f"einsum: the axes of label {label!r} have {array.shape[first]} and {array.shape[second]} elements"
                )
            array = array.diagonal(0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return _Term(array, labels)


def _check_extents(terms: Sequence[_Term]) -> None:
    """Refuses labels whose axes do not broadcast."""
    extents: dict[str, int] = {}
    for term in terms:
        for label, extent in zip(term.labels, term.array.shape, strict=True):
            known = extents.setdefault(label, extent)
            if extent != known and 1 not in (extent, known):
                raise ShapeMismatchError(f"einsum: the axes of label {label!r} have {known} and {extent} elements")
            extents[label] = extent if known == 1 else known


def _contracted(terms: list[_Term], output: str, optimize: Any) -> _Term:
    for chosen in _path(terms, output, optimize):
        taken = [terms[place] for place in chosen]
        terms = [term for place, term in enumerate(terms) if place not in chosen]
        joined = taken[0]
        for step, other in enumerate(taken[1:], 2):
            kept = set(output).union(*(term.labels for term in (*terms, *taken[step:])))
            joined = _joined(joined, other, kept)
        terms.append(joined)
    (last,) = terms
    last = _summed(last, set(output))
    order = [last.labels.index(label) for label in output]
    return _Term(_permuted(last.array, order), output)


def _path(terms: Sequence[_Term], output: str, optimize: Any) -> list[tuple[int, ...]]:
    """Which operands are joined, step by step; the result of a step goes to the end of the list."""
    import numpy as np

    if isinstance(optimize, list | tuple) and optimize and optimize[0] == "einsum_path":
        return [tuple(step) for step in optimize[1:]]
    if optimize is not True and optimize is not False and optimize not in _PLANS:
        raise InvalidArgumentError(f"einsum: optimize is {optimize!r}; known are True, False and {', '.join(_PLANS)}")
    if len(terms) == 1:
        return []
    if optimize is False or len(terms) == 2:
        return [(0, 1), *((0, rest) for rest in range(len(terms) - 2, 0, -1))]
    text = ",".join(term.labels for term in terms) + "->" + output
    # The planner looks at shapes alone, which arrays of one number have without memory.
    shapes = [np.broadcast_to(np.float32(0), term.array.shape) for term in terms]
    plan, _ = np.einsum_path(text, *shapes, optimize="greedy" if optimize is True else optimize)
    return [tuple(step) for step in plan[1:]]


def _summed(term: _Term, kept: set[str]) -> _Term:
    """Without the axes of labels that nobody else has."""
    from amdgpu import ops

    axes = tuple(axis for axis, label in enumerate(term.labels) if label not in kept)
    if not axes:
        return term
    reduce = ops.any if term.array.dtype.kind == "b" else ops.sum
    made = reduce(term.array, axes).astype(term.array.dtype, copy=False)
    return _Term(made, "".join(label for label in term.labels if label in kept))


def _joined(a: _Term, b: _Term, kept: set[str]) -> _Term:
    """The product of two operands, summed over the labels that both have and nobody keeps."""
    from amdgpu import ops
    from amdgpu.ops.linear_algebra import matmul

    a, b = _summed(a, kept | set(b.labels)), _summed(b, kept | set(a.labels))
    a, b = _broadcast(a, b), _broadcast(b, a)
    shared = [label for label in a.labels if label in b.labels]
    batch = [label for label in shared if label in kept]
    summed = [label for label in shared if label not in kept]
    rows = [label for label in a.labels if label not in b.labels]
    columns = [label for label in b.labels if label not in a.labels]
    extents = dict(zip(a.labels + b.labels, a.array.shape + b.array.shape, strict=True))
    labels = "".join(batch + rows + columns)
    left = _permuted(a.array, [a.labels.index(label) for label in batch + rows + summed])
    right = _permuted(b.array, [b.labels.index(label) for label in batch + summed + columns])
    outer, inner = ([extents[label] for label in part] for part in (batch, summed))
    height, width = ([extents[label] for label in part] for part in (rows, columns))
    if not summed:
        left = left.reshape((*outer, *height, *(1,) * len(width)))
        right = right.reshape((*outer, *(1,) * len(height), *width))
        return _Term(ops.multiply(left, right), labels)
    count, depth = math.prod(outer), math.prod(inner)
    left = left.reshape((count, math.prod(height), depth))
    right = right.reshape((count, depth, math.prod(width)))
    made = matmul(left, right).astype(a.array.dtype, copy=False)
    return _Term(made.reshape((*outer, *height, *width)), labels)


def _broadcast(term: _Term, other: _Term) -> _Term:
    """With the extents of the other operand in the place of 1."""
    wide = dict(zip(other.labels, other.array.shape, strict=True))
    shape = [
        wide.get(label, extent) if extent == 1 else extent
        for label, extent in zip(term.labels, term.array.shape, strict=True)
    ]
    return term if tuple(shape) == term.array.shape else _Term(term.array.broadcast_to(*shape), term.labels)


def _permuted(x: Any, order: Sequence[int]) -> Any:
    return x.transpose(*order) if len(order) > 1 else x
