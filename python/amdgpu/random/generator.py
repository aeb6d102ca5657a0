"""Generators of random numbers with the methods of `numpy.random.Generator`."""

from __future__ import annotations

import operator
import secrets
from collections.abc import Mapping, Sequence
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.array import dtype_name
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError, InvalidTypeError
from amdgpu.ops import placement
from amdgpu.ops.indexing import take

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu.device import AMDGPUDevice

__all__ = ["Generator", "default_rng"]

# Bits of a seed where none is given: what SeedSequence takes in.
_FRESH_BITS = 128
_WORD_BITS = 32
_MOST_CHILDREN = 2**32 - 1
_STATE = ("key", "position", "jumps", "entropy", "spawn_key", "children")

Size = int | Sequence[int] | None
Device = Any


def default_rng(seed: int | Sequence[int] | Generator | None = None, *, device: Device = None) -> Generator:
    """A generator of random numbers.

    Args:
        seed: An integer of any size or a sequence of integers, none negative; None takes one from the operating system. A generator is
            returned as it is.
        device: Where numbers are drawn, if a call names no other: an open device, an index in `list_devices()` or a name. None means the
            current device.

    Returns:
        A generator whose key is made of the seed as `numpy.random.SeedSequence` does it.

    Raises:
        InvalidArgumentError: A negative seed.
        InvalidTypeError: A seed that is neither an integer nor a sequence of integers.

    Example:
        >>> import amdgpu
        >>> rng = amdgpu.random.default_rng(2)
        >>> rng.integers(1, 7, 5).tolist() == amdgpu.random.default_rng(2).integers(1, 7, 5).tolist()
        True
    """
    return seed if isinstance(seed, Generator) else Generator(seed, device=device)


class Generator:
    """Random numbers by Philox4x32-10, a function of a key and a counter.

    Numbers are functions of their places: every device draws the same bits, whatever the number of threads, and drawing 3 and then 7
    numbers gives what drawing 10 does. Any thread may draw; each gets numbers that no other one gets. Results are arrays of the device, or
    a number where neither a size nor parameters with axes are given.

    Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

    Args:
        seed: As for `default_rng`.
        device: As for `default_rng`.

    Example:
        >>> import amdgpu
        >>> rng = amdgpu.random.Generator(7)
        >>> rng.standard_normal((2, 3), dtype="float32").shape
        (2, 3)
    """

    def __init__(self, seed: int | Sequence[int] | None = None, *, device: Device = None) -> None:
        self._native = _native.RandomGenerator(_words(seed))
        self._device = device

    def __repr__(self) -> str:
        state = self.state
        return (
            f"Generator(Philox4x32-10, key={state['key']:#018x}, position={state['position']}, jumps={state['jumps']})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_state, (self.state, getattr(self._device, "name", self._device))

    @property
    def state(self) -> dict[str, Any]:
        """Everything that decides about the next numbers; it may be set.

        `key`, `position` in words of 32 bits, and `jumps` say where the generator stands; `entropy`, `spawn_key` and `children` decide
        about what `spawn` gives.

        Example:
            >>> import amdgpu
            >>> rng = amdgpu.random.default_rng(1)
            >>> before = rng.state
            >>> x = rng.random()
            >>> rng.state = before
            >>> rng.random() == x
            True
        """
        return dict(zip(_STATE, self._native.state(), strict=True))

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        try:
            self._native.set_state(tuple(state[name] for name in _STATE))
        except (KeyError, TypeError, ValueError, OverflowError):
            raise InvalidArgumentError(
                f"state is {shortened(state)}; set what the state of a generator was, with {', '.join(_STATE)}"
            ) from None

    def advance(self, words: int) -> Generator:
        """Leaves out so many words of 32 bits, or goes back where they are negative; returns the generator.

        A number takes one word; float64, and integers of more than 2**32 values, two; gamma, Poisson and binomial numbers four, beta
        eight. Numbers of several words begin at a multiple of theirs, at most four.

        Example:
            >>> import amdgpu
            >>> rng, other = amdgpu.random.default_rng(1), amdgpu.random.default_rng(1)
            >>> _ = rng.random(100, dtype="float32")
            >>> rng.random() == other.advance(100).random()
            True
        """
        self._native.advance(arguments.integer("advance", "words", words))
        return self

    def jumped(self, jumps: int = 1) -> Generator:
        """A generator of the same key that is 2**96 blocks of four words further on for each jump: its numbers are others."""
        count = arguments.count("jumped", "jumps", jumps, 0, _MOST_CHILDREN)
        return self._with(self._native.jumped(count))

    def spawn(self, n_children: int) -> list[Generator]:
        """Generators with keys of their own, as independent as different seeds are; each call gives others.

        Example:
            >>> import amdgpu
            >>> first, second = amdgpu.random.default_rng(5).spawn(2)
            >>> first.random() == second.random()
            False
        """
        count = arguments.count("spawn", "n_children", n_children, 0, _MOST_CHILDREN)
        return [self._with(child) for child in self._native.spawn(count)]

    def random(
        self, size: Size = None, dtype: npt.DTypeLike = "float64", out: Any = None, *, device: Device = None
    ) -> Any:
        """Uniform numbers in [0, 1): 53 bits of float64, 24 of float32, 11 of float16, 8 of bfloat16.

        Args:
            size: Shape of the result; None for one number.
            dtype: float64, float32, float16 or bfloat16.
            out: Array that receives the numbers; its shape is the size where none is given.
            device: Where they are drawn; None for the generator's device, or that of `out`.

        Raises:
            InvalidArgumentError: A negative extent.
            UnsupportedDtypeError: Another dtype.

        Example:
            >>> import amdgpu
            >>> x = amdgpu.random.default_rng(0).random(1000)
            >>> bool((x.numpy() >= 0).all() and (x.numpy() < 1).all())
            True
        """
        return self._draw("uniform", {"low": 0.0, "high": 1.0}, size, dtype, out=out, device=device)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Size = None,
        *,
        dtype: npt.DTypeLike = "float64",
        out: Any = None,
        device: Device = None,
    ) -> Any:
        """Uniform numbers in [low, high), as `low + (high - low) * random()`, which may be rounded to `high`.

        The bounds are numbers, or arrays that broadcast to the size; other arguments and errors as for `random`.
        """
        return self._draw("uniform", {"low": low, "high": high}, size, dtype, out=out, device=device)

    def standard_normal(
        self, size: Size = None, dtype: npt.DTypeLike = "float64", out: Any = None, *, device: Device = None
    ) -> Any:
        """Normal numbers with mean 0 and standard deviation 1; arguments and errors as for `random`.

        Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
        """
        return self._draw("normal", {"loc": 0.0, "scale": 1.0}, size, dtype, out=out, device=device)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Size = None,
        *,
        dtype: npt.DTypeLike = "float64",
        out: Any = None,
        device: Device = None,
    ) -> Any:
        """Normal numbers with mean `loc` and standard deviation `scale`, numbers or arrays that broadcast to the size.

        Raises:
            InvalidArgumentError: A negative `scale`; parameters that are arrays are looked at, which waits for them.
        """
        return self._draw("normal", {"loc": loc, "scale": scale}, size, dtype, out=out, device=device)

    def standard_exponential(
        self, size: Size = None, dtype: npt.DTypeLike = "float64", out: Any = None, *, device: Device = None
    ) -> Any:
        """Exponential numbers with mean 1, by inversion; arguments and errors as for `random`."""
        return self._draw("exponential", {"scale": 1.0}, size, dtype, out=out, device=device)

    def exponential(
        self,
        scale: Any = 1.0,
        size: Size = None,
        *,
        dtype: npt.DTypeLike = "float64",
        out: Any = None,
        device: Device = None,
    ) -> Any:
        """Exponential numbers with mean `scale`, a number or an array; other arguments and errors as for `normal`."""
        return self._draw("exponential", {"scale": scale}, size, dtype, out=out, device=device)

    def standard_gamma(
        self,
        shape: Any,
        size: Size = None,
        dtype: npt.DTypeLike = "float64",
        out: Any = None,
        *,
        device: Device = None,
    ) -> Any:
        """Gamma numbers with scale 1; arguments and errors as for `gamma`."""
        return self._draw("gamma", {"shape": shape, "scale": 1.0}, size, dtype, out=out, device=device)

    def gamma(
        self,
        shape: Any,
        scale: Any = 1.0,
        size: Size = None,
        *,
        dtype: npt.DTypeLike = "float64",
        out: Any = None,
        device: Device = None,
    ) -> Any:
        """Gamma numbers with mean `shape * scale`, numbers or arrays that broadcast to the size.

        Source: Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).

        Raises:
            InvalidArgumentError: A negative `shape` or `scale`.
        """
        return self._draw("gamma", {"shape": shape, "scale": scale}, size, dtype, out=out, device=device)

    def beta(
        self,
        a: Any,
        b: Any,
        size: Size = None,
        *,
        dtype: npt.DTypeLike = "float64",
        out: Any = None,
        device: Device = None,
    ) -> Any:
        """Beta numbers in [0, 1], from two gamma numbers; a and b are above 0, numbers or arrays that broadcast to the size."""
        return self._draw("beta", {"a": a, "b": b}, size, dtype, out=out, device=device)

    def poisson(self, lam: Any = 1.0, size: Size = None, *, out: Any = None, device: Device = None) -> Any:
        """Poisson numbers as int64; `lam` is the mean, a number or an array that broadcasts to the size.

        Source: Hörmann, "The transformed rejection method for generating Poisson random variables", 1993 (PTRS), from a mean of 10 on.

        Raises:
            InvalidArgumentError: A negative mean, or one beyond what int64 holds.
        """
        return self._draw("poisson", {"lam": lam}, size, "int64", out=out, device=device)

    def binomial(self, n: Any, p: Any, size: Size = None, *, out: Any = None, device: Device = None) -> Any:
        """How many of `n` trials succeed that each have the chance `p`, as int64; numbers or arrays that broadcast to the size.

        Source: Hörmann, "The generation of binomial random variates", 1993 (BTRS), where `n * min(p, 1 - p)` is 10 or more.

        Raises:
            InvalidArgumentError: n is no whole number from 0 to 2**53, or p outside of [0, 1].

        Example:
            >>> import amdgpu
            >>> amdgpu.random.default_rng(0).binomial(10, [0.0, 1.0]).tolist()
            [0, 10]
        """
        return self._draw("binomial", {"n": n, "p": p}, size, "int64", out=out, device=device)

    def bernoulli(self, p: Any = 0.5, size: Size = None, *, out: Any = None, device: Device = None) -> Any:
        """True with the chance `p`, a number or an array that broadcasts to the size, in steps of 2**-32: masks for `ops.dropout`."""
        return self._draw("bernoulli", {"p": p}, size, "bool", out=out, device=device)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: npt.DTypeLike = "int64",
        endpoint: bool = False,
        *,
        out: Any = None,
        device: Device = None,
    ) -> Any:
        """Whole numbers from `low` on, below `high` (with `endpoint` up to it), all equally likely; with one bound from 0 on below it.

        Args:
            low: The first number.
            high: The bound.
            size: Shape of the result; None for one number.
            dtype: An integer dtype or bool.
            endpoint: True where `high` may be drawn.
            out: Array that receives the numbers.
            device: Where they are drawn.

        Raises:
            InvalidArgumentError: Nothing lies between the bounds, or the dtype does not hold them.
            UnsupportedDtypeError: Another dtype.

        Source: Lemire, "Fast random integer generation in an interval", 2019.

        Example:
            >>> import amdgpu
            >>> dice = amdgpu.random.default_rng(1).integers(1, 6, 100, endpoint=True).numpy()
            >>> int(dice.min()), int(dice.max())
            (1, 6)
        """
        first, last = (0, low) if high is None else (low, high)
        first, last = _bound("low", first), _bound("high", last) + arguments.truth("integers", "endpoint", endpoint)
        shape = _shape("integers", size)
        name, place = dtype_name(dtype), self._place(device, out)
        made = self._native.integers(first, last, _given(shape, out), name, out, place)
        return made if size is not None or out is not None else made.item()

    def permutation(self, x: Any, axis: int = 0, *, device: Device = None) -> Any:
        """The numbers below x in random order, as int64; of an array a copy with its parts along an axis in random order.

        Raises:
            InvalidArgumentError: A negative count, or no such axis.

        Example:
            >>> import amdgpu
            >>> sorted(amdgpu.random.default_rng(1).permutation(5).tolist())
            [0, 1, 2, 3, 4]
        """
        if hasattr(x, "__index__") and not getattr(x, "ndim", 0):
            return self._native.permutation(arguments.count("permutation", "x", x), self._place(device, None))
        held = placement.held("permutation", "x", x)
        place = _axis("permutation", axis, held.ndim)
        return take(held, self._order(held, place, device), axis=place)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Puts the parts of an array along an axis into random order, in the array itself.

        Raises:
            InvalidTypeError: x is no array of NumPy's or of this package.
            InvalidArgumentError: No such axis.
            ReadOnlyError: x may not be written to.
        """
        import numpy as np

        if not isinstance(x, (np.ndarray, _native.Array)):
            raise InvalidTypeError(
                f"shuffle: x is {shortened(x)}; only arrays are shuffled in place, permutation gives a copy"
            )
        x[...] = self.permutation(x, _axis("shuffle", axis, x.ndim))

    def choice(
        self, a: Any, size: Size = None, replace: bool = True, p: Any = None, axis: int = 0, *, device: Device = None
    ) -> Any:
        """Parts of an array along an axis, or numbers below a count, chosen at random.

        Args:
            a: An array, or a count whose numbers are chosen from.
            size: How many, a shape; None for one.
            replace: Whether a part may be chosen more than once.
            p: The probability of each part; None where all are equally likely. Their sum is 1.
            axis: Axis that parts are chosen along.
            device: Where they are drawn; None for the device of a.

        Raises:
            InvalidArgumentError: There are too few parts, p has a negative value, or its sum is not 1.
            ShapeMismatchError: p has not a value for each part.

        Source: without replacement and with p, Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006.

        Example:
            >>> import amdgpu
            >>> sorted(amdgpu.random.default_rng(1).choice(4, 4, replace=False).tolist())
            [0, 1, 2, 3]
        """
        is_count = hasattr(a, "__index__") and not getattr(a, "ndim", 0)
        held = None if is_count else placement.held("choice", "a", a)
        if held is not None and held.ndim == 0:
            raise InvalidArgumentError("choice: a has no axes; pass an array of at least one, or a count")
        place = 0 if held is None else _axis("choice", axis, held.ndim)
        count = arguments.count("choice", "a", a) if held is None else held.shape[place]
        shape = _shape("choice", size) or ()
        is_repeated = arguments.truth("choice", "replace", replace)
        where = self._place(device, held if isinstance(held, _native.Array) else None, p)
        indices = self._native.choice(count, shape, is_repeated, p, where)
        if held is None:
            return indices if size is not None else indices.item()
        chosen = take(held, indices if isinstance(held, _native.Array) else indices.numpy(), axis=place)
        return chosen if size is not None or chosen.ndim else chosen.item()

    def _with(self, native: _native.RandomGenerator) -> Generator:
        made = Generator(0, device=self._device)
        made.state = dict(zip(_STATE, native.state(), strict=True))
        return made

    def _place(self, device: Device, *arrays: Any) -> AMDGPUDevice:
        """The device that a call draws on: the one that it names, that of its arrays, or the generator's."""
        if device is None:
            device = placement.device_of("random", arrays)
        return default_device(self._device if device is None else device)

    def _order(self, held: Any, axis: int, device: Device) -> Any:
        is_own = isinstance(held, _native.Array)
        order = self._native.permutation(held.shape[axis], self._place(device, held if is_own else None))
        return order if is_own else order.numpy()

    def _draw(
        self,
        name: str,
        parameters: Mapping[str, Any],
        size: Size,
        dtype: npt.DTypeLike,
        *,
        out: Any,
        device: Device,
    ) -> Any:
        shape = _shape(name, size)
        given = [(key, _parameter(name, key, value)) for key, value in parameters.items()]
        place = self._place(device, out, *(value for _, value in given))
        made = self._native.draw(name, given, shape, dtype_name(dtype), out, place)
        return made if size is not None or out is not None or made.ndim else made.item()


def _of_state(state: Mapping[str, Any], device: Device) -> Generator:
    made = Generator(0, device=device)
    made.state = dict(state)
    return made


def _words(seed: Any) -> list[int]:
    """The words of 32 bits of a seed, the low ones of each integer first."""
    if seed is None:
        seed = secrets.randbits(_FRESH_BITS)
    parts = [seed] if hasattr(seed, "__index__") and not getattr(seed, "ndim", 0) else seed
    try:
        integers = [operator.index(one) for one in parts]
    except TypeError:
        raise InvalidTypeError(
            f"seed is {shortened(seed)}; an integer, a sequence of integers or None is expected"
        ) from None
    words = []
    for integer in integers:
        if integer < 0:
            raise InvalidArgumentError(f"seed is {shortened(seed)}; seeds are not negative")
        count = max(1, -(-integer.bit_length() // _WORD_BITS))
        words += [integer >> _WORD_BITS * place & 0xFFFF_FFFF for place in range(count)]
    return words


def _shape(operation: str, size: Size) -> tuple[int, ...] | None:
    if size is None:
        return None
    shape = arguments.integers(operation, "size", size)
    if any(extent < 0 for extent in shape):
        raise InvalidArgumentError(
            f"{operation}: the size {shortened(size)} has a negative extent; extents are not negative"
        )
    return shape


def _given(shape: tuple[int, ...] | None, out: Any) -> tuple[int, ...] | None:
    return shape if shape is not None or out is not None else ()


def _parameter(operation: str, name: str, value: Any) -> Any:
    """A number, or an array."""
    if isinstance(value, (bool, int, float)):
        return float(value) if isinstance(value, bool) else value
    held = placement.held(operation, name, value)
    return held if held.ndim else held.item()


def _bound(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise InvalidTypeError(
            f"integers: {name} is {shortened(value)}; an integer is expected (uniform draws between floats)"
        ) from None


def _axis(operation: str, axis: Any, rank: int) -> int:
    place = arguments.integer(operation, "axis", axis)
    if not -rank <= place < rank:
        raise InvalidArgumentError(f"{operation}: axis is {place}; the array has {rank} axes")
    return place % rank
