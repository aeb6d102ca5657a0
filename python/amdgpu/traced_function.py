"""Functions of arrays as graphs: `amdgpu.jit` traces a function once for each combination of shapes and dtypes, then its graph runs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar

from amdgpu import _native
from amdgpu.errors import InvalidArgumentError
from amdgpu.graph import Executable

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Graphs of one function; a function that is called with ever other shapes would fill the memory.
_MOST_GRAPHS = 64


class TracedFunction(Generic[_P, _R]):
    """A function whose operations run as one graph: what `amdgpu.jit` returns."""

    def __init__(self, function: Callable[_P, _R], *, optimize: bool = True, replay: bool | None = None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._optimize = optimize
        self._replay = replay
        self._graphs: dict[Any, tuple[_native.ExecutableGraph, Any]] = {}
        self._name = getattr(function, "__name__", "the function")
        self._traces = 0
        self._recent: Any = None
        self._lock = threading.Lock()

    def __call__(self, *args: _P.args, **keywords: _P.kwargs) -> _R:
        """What the function gives, by its graph."""
        recent = self._recent
        if recent is not None and not keywords:
            made: _R | None = recent.run_fitting(args)
            if made is not None:
                return made
        if _native.is_tracing():
            return self._function(*args, **keywords)
        arrays: list[_native.Array] = []
        key = _flattened((args, keywords), arrays)
        graph, results = self._found(key, arrays)
        if type(results) is _Leaf and not keywords and all(type(one) is _native.Array for one in args):
            # Such calls need no look at what is nested in what.
            self._recent = graph
        restored: _R = _restored(results, iter(graph.run(arrays)))
        return restored

    def graph(self, *args: _P.args, **keywords: _P.kwargs) -> Executable:
        """The graph for these arguments, which is made where it is not there yet: to look at, to profile, to draw."""
        arrays: list[_native.Array] = []
        key = _flattened((args, keywords), arrays)
        return Executable(self._found(key, arrays)[0])

    def explain(self, *args: _P.args, **keywords: _P.kwargs) -> str:
        """What runs for these arguments, what was joined and what was not, as text."""
        return self.graph(*args, **keywords).explain()

    @property
    def traces(self) -> int:
        """How many graphs were made: one for each combination of shapes, dtypes and other arguments."""
        return self._traces

    def _found(self, key: Any, arrays: list[_native.Array]) -> tuple[_native.ExecutableGraph, Any]:
        try:
            found = self._graphs.get(key)
        except TypeError as error:
            raise InvalidArgumentError(
                f"{self._name}: an argument that is no amdgpu.Array cannot be part of the key ({error}):"
                " pass arrays as amdgpu.array(x) makes them, and other values as numbers, texts or tuples"
            ) from None
        return found or self._traced(key, arrays)

    def _traced(self, key: Any, arrays: list[_native.Array]) -> tuple[_native.ExecutableGraph, Any]:
        if not arrays:
            raise InvalidArgumentError(
                f"{self._name}: no argument is an amdgpu.Array, so there is nothing to trace:"
                " pass arrays of a device, as amdgpu.array(x) makes them"
            )

        def call(copies: list[_native.Array]) -> tuple[list[_native.Array], Any]:
            args, keywords = _restored(key, iter(copies))
            outputs: list[_native.Array] = []
            results = _flattened(self._function(*args, **keywords), outputs)
            return outputs, results

        with self._lock:
            if key in self._graphs:
                return self._graphs[key]
            made = _native.trace_function(call, arrays, optimize=self._optimize, replay=self._replay, name=self._name)
            self._traces += 1
            if len(self._graphs) >= _MOST_GRAPHS:
                del self._graphs[next(iter(self._graphs))]
                _native.record_fallback(
                    "jit",
                    f"{self._name} was traced for more than {_MOST_GRAPHS} combinations of shapes, dtypes and other arguments:"
                    " the first graphs are dropped, and made again when they are asked for",
                )
            self._graphs[key] = made
            return made


def jit(function: Callable[_P, _R], *, optimize: bool = True, replay: bool | None = None) -> TracedFunction[_P, _R]:
    """Runs a function of arrays as one graph: elementwise steps become one kernel, memory is planned, nothing is decided twice.

    The function is called once for each combination of shapes, dtypes and other arguments; what it asks of its arrays in that call is the
    graph. So it must not look at values (`if x.sum() > 0` raises), and what it does besides, such as printing, is done in that call alone.
    Arrays that are not arguments are constants: they must not change afterwards. Arguments and results may be nested in tuples, named
    tuples, lists and dicts; arguments that are no arrays (numbers, texts) are part of the key and have to be hashable.

    Args:
        function: A function of `amdgpu.Array`s.
        optimize: False leaves every operation as it is.
        replay: Whether launches are recorded once and replayed as one graph of the device when arguments lie where they lay before;
            None where that saves time, on GPUs. On a CPU device kernels compute then, whose functions may differ in the last bit.

    Returns:
        A function that takes and gives the same. Its `graph(...)` and `explain(...)` show what runs for given arguments.

    Raises:
        NotCapturableError: When it is called, where the function looks at values, changes an argument in place, or asks for an operation
            that graphs do not hold.
        InvalidArgumentError: When it is called without an array.

    Example:
        >>> import amdgpu
        >>> @amdgpu.jit
        ... def scaled(x, factor):
        ...     return amdgpu.tanh(x * factor) + 1.0
        >>> scaled(amdgpu.array([0.0, 0.0]), 2.0).tolist()
        [1.0, 1.0]
    """
    return TracedFunction(function, optimize=optimize, replay=replay)


class _Leaf:
    """The place of an array in nested arguments: its shape, dtype and device."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, array: _native.Array) -> None:
        self.shape, self.dtype, self.device = array.shape, array.dtype.str, array.device

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Leaf) and (self.shape, self.dtype, self.device) == (
            other.shape,
            other.dtype,
            other.device,
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.device))


class _Static:
    """An argument or a result that is no array. 1, 1.0 and True are different ones, and so are 0.0 and -0.0: results have other dtypes."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Static) or type(self.value) is not type(other.value):
            return False
        if isinstance(self.value, float | complex):
            return repr(self.value) == repr(other.value)
        return bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


def _flattened(value: Any, arrays: list[_native.Array]) -> Any:
    """Nested tuples, lists and dicts with a `_Leaf` for each array, which is appended to `arrays`; hashable where everything in it is."""
    if isinstance(value, _native.Array):
        arrays.append(value)
        return _Leaf(value)
    kind = type(value)
    if kind in (tuple, list) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return kind, tuple([_flattened(one, arrays) for one in value])
    if kind is dict:
        return dict, tuple([(name, _flattened(one, arrays)) for name, one in value.items()])
    return _Static(value)


def _restored(flat: Any, arrays: Iterator[_native.Array]) -> Any:
    if isinstance(flat, _Leaf):
        return next(arrays)
    if isinstance(flat, _Static):
        return flat.value
    kind, content = flat
    if kind is dict:
        return {name: _restored(one, arrays) for name, one in content}
    restored = [_restored(one, arrays) for one in content]
    return kind(*restored) if hasattr(kind, "_fields") else kind(restored)
