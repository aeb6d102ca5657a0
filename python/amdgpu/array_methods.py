"""Methods of arrays that are written in Python: NumPy's habits, and what NumPy calls when it meets an array of ours.

The class itself is native (memory, views, operators). Each method here is a function whose first argument is the array; the tables at the
end name them, and `install` makes them attributes of the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from amdgpu import _native, ops
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NoImplementationError

__all__ = ["install"]

# Values along an axis that are shown where not all are, at either end, and the number of values from which that is so; NumPy's own.
_EDGE, _MOST_SHOWN = 3, 1000


def _shown(x: Any) -> Any:
    """The values that a text shows, as a NumPy array: those at the edges of long axes, with one more to say that some are left out."""
    import numpy as np

    if x.size <= _MOST_SHOWN:
        return x.numpy()
    for axis, extent in enumerate(x.shape):
        if extent > 2 * _EDGE + 1:
            keys = [(*(slice(None),) * axis, part) for part in (slice(0, _EDGE + 1), slice(-_EDGE, None))]
            head, tail = (x[key] for key in keys)
            return np.concatenate([_shown(head), _shown(tail)], axis=axis)
    return x.numpy()


def _values_text(x: Any, prefix: str) -> str:
    import numpy as np

    shown = _shown(x)
    threshold = 0 if shown.size < x.size else _MOST_SHOWN
    with np.printoptions(threshold=threshold, edgeitems=_EDGE):
        return np.array2string(shown, separator=", ", prefix=prefix)


def _restored(values: Any, device: str) -> Any:
    from amdgpu.array import array
    from amdgpu.errors import DeviceNotFoundError

    try:
        return array(values, device=device)
    except DeviceNotFoundError:
        return array(values)


# ufuncs of NumPy that have another name here.
_UFUNCS = {
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "fabs": "absolute",
    "invert": "invert",
    "mod": "remainder",
    "true_divide": "divide",
}
_REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}


def _on_host(name: str, function: Callable[..., Any], args: Any, keywords: Any, target: Any) -> Any:
    """What NumPy computes of copies of the values.

    An array that comes of it goes back to the device: that fallback is counted, and told once for each function. What is for the host alone
    (`numpy.array_equal`, texts, files) is no fallback.
    """
    devices = {one.device for one in _leaves((args, keywords)) if isinstance(one, _native.Array)}
    device = min(devices) if devices else "cpu:0"
    found = function(*_copied(args), **_copied(keywords))
    if target is None and not _holds_arrays(found):
        return found
    reason = f"NumPy computes {name} of copies in the memory of the host; the result comes back to {device}"
    _native.record_fallback(name, reason)
    if target is not None:
        target[...] = found
        return target
    return _brought_back(found, device)


def _holds_arrays(value: Any) -> bool:
    import numpy as np

    return any(isinstance(one, np.ndarray | np.generic) and not isinstance(one, np.bool_) for one in _leaves(value))


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _leaves(one)
    else:
        yield value


def _copied(value: Any) -> Any:
    if isinstance(value, _native.Array):
        return value.numpy()
    if isinstance(value, list | tuple):
        return type(value)(_copied(one) for one in value)
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    return value


def _brought_back(value: Any, device: str) -> Any:
    import numpy as np

    from amdgpu.array import array

    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return array(value, device=device)
    if isinstance(value, tuple):
        return tuple(_brought_back(one, device) for one in value)
    return value


def _function(name: str) -> Callable[..., Any]:
    """The function of the namespace with this name, whose first argument is the array; looked up when called, if not loaded yet."""
    if name in vars(ops):
        loaded: Callable[..., Any] = vars(ops)[name]
        return loaded
    function: Callable[..., Any] | None = None

    def method(x: Any, *args: Any, **keywords: Any) -> Any:
        nonlocal function
        if function is None:
            from amdgpu import namespace

            function = namespace.find(name)
        return function(x, *args, **keywords)

    method.__name__ = name
    method.__doc__ = f"`amdgpu.{name}` of this array."
    return method


def _repr(self: Any) -> str:
    if self.is_freed:
        return f"<amdgpu.Array shape={list(self.shape)} dtype={self.dtype} device={self.device} freed>"
    where = f"dtype={self.dtype}, device={self.device!r}"
    if _native.is_recording_graph():
        return f"<amdgpu.Array shape={list(self.shape)} {where}>"
    if self.size == 0:
        return f"array([], shape={self.shape}, {where})"
    return f"array({_values_text(self, 'array(')}, {where})"


def _str(self: Any) -> str:
    if self.is_freed or _native.is_recording_graph():
        return _repr(self)
    return _values_text(self, "")


def _format(self: Any, spec: str) -> str:
    return format(self.item(), spec) if self.ndim == 0 and spec else format(str(self), spec)


def _repr_html_(self: Any) -> str:
    import html

    return f"<pre>{html.escape(repr(self))}</pre>"


def _iter(self: Any) -> Iterator[Any]:
    if self.ndim == 0:
        raise InvalidTypeError("an array without axes cannot be iterated")
    item = self.__getitem__
    return (item(place) for place in range(self.shape[0]))


def _contains(self: Any, value: Any) -> bool:
    return bool(ops.any(ops.equal(self, value)))


def _complex(self: Any) -> complex:
    return complex(self.item())


def _reduce(self: Any) -> tuple[Any, ...]:
    """Pickled as the values, and the name of the device, on which they come back where it is there."""
    return _restored, (self.numpy(), self.device)


def _copy(self: Any) -> Any:
    return self.copy()


def _deepcopy(self: Any, _memo: Any) -> Any:
    return self.copy()


def _array_namespace(_self: Any, /, *, api_version: str | None = None) -> Any:
    """The module `amdgpu`, for code written against the array API standard.

    Raises:
        InvalidArgumentError: A version that does not exist.
    """
    import sys

    if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise InvalidArgumentError(f"there is no version {api_version!r} of the array API standard here")
    return sys.modules["amdgpu"]


def _array_ufunc(_self: Any, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
    """The function of ours that NumPy's stands for, on the device; where there is none the host computes, which is counted."""
    out = keywords.pop("out", None)
    target = out[0] if isinstance(out, tuple) else out
    name = ufunc.__name__
    ours = None
    if method == "__call__":
        ours = getattr(ops, _UFUNCS.get(name, name), None)
    elif method == "reduce" and name in _REDUCTIONS and set(keywords) <= {"axis", "keepdims"}:
        ours = getattr(ops, _REDUCTIONS[name])
        keywords.setdefault("axis", 0)
    if ours is not None and not (method == "__call__" and keywords):
        if target is not None:
            keywords["out"] = target
        return ours(*inputs, **keywords)
    return _on_host(f"numpy.{name}", getattr(ufunc, method), inputs, keywords, target)


def _array_function(_self: Any, function: Any, _types: Any, args: Any, keywords: Any) -> Any:
    """As `__array_ufunc__`, for NumPy's other functions."""
    from amdgpu import namespace

    if function.__name__ in ("ndim", "shape", "size") and len(args) == 1 and isinstance(args[0], _native.Array):
        return getattr(args[0], function.__name__)
    name = function.__name__
    if name in namespace.FUNCTIONS and function.__module__ == "numpy":
        try:
            return namespace.find(name)(*args, **keywords)
        except (TypeError, NoImplementationError):
            # An argument, or a value of one, that NumPy alone has.
            pass
    return _on_host(f"numpy.{function.__name__}", function, args, keywords, None)


def tobytes(self: Any, order: str = "C") -> bytes:
    """The bytes of the elements in row-major order, or column by column with order="F"."""
    found: bytes = self.numpy().tobytes(order)
    return found


def tofile(self: Any, file: Any) -> None:
    """Write the bytes of the elements to a file, without shape or dtype; `amdgpu.save` keeps those."""
    self.numpy().tofile(file)


def tolist(self: Any) -> Any:
    """The values as nested lists of Python's numbers; a number where there are no axes."""
    return self.numpy().tolist()


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """The array on another device: itself where it is there already, else a copy.

    Args:
        self: The array.
        device: An open device, an index in `list_devices()`, or a name.
        stream: Not used: copies are ordered by the devices; the standard has the argument.
    """
    from amdgpu.array import empty
    from amdgpu.device import default_device

    if stream is not None:
        raise InvalidArgumentError("to_device: copies are ordered by the devices themselves; leave stream out")
    opened = default_device(device)
    if opened.name == self.device:
        return self
    made = empty(self.shape, self.dtype, device=opened)
    made.copy_from(self if self.is_contiguous else self.copy())
    return made


def ravel(self: Any) -> Any:
    """The elements in row-major order along one axis: a view where memory allows it."""
    return self.reshape(-1)


def flatten(self: Any) -> Any:
    """A copy of the elements in row-major order along one axis."""
    return self.reshape(-1, copy=True)


def sort(self: Any, axis: int = -1, **keywords: Any) -> None:
    """Sort this array along an axis, in place; `amdgpu.sort` makes a new one."""
    from amdgpu import namespace

    self[...] = namespace.find("sort")(self, axis=axis, **keywords)


# Methods that are functions of the namespace.
_FUNCTIONS = (
    "all any argmax argmin argsort clip conj conjugate cumprod cumsum cumulative_prod cumulative_sum diff dot max mean min nonzero prod"
    " repeat round searchsorted std sum swapaxes take topk trace var"
)
_METHODS: dict[str, Callable[..., Any]] = {
    "__array_function__": _array_function,
    "__array_namespace__": _array_namespace,
    "__array_ufunc__": _array_ufunc,
    "__complex__": _complex,
    "__contains__": _contains,
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__format__": _format,
    "__iter__": _iter,
    "__reduce__": _reduce,
    "__repr__": _repr,
    "__str__": _str,
    "_repr_html_": _repr_html_,
    "flatten": flatten,
    "ravel": ravel,
    "sort": sort,
    "to": to_device,
    "to_device": to_device,
    "tobytes": tobytes,
    "tofile": tofile,
    "tolist": tolist,
}


def install() -> None:
    """Gives the class its methods; called once, when the package is imported."""
    for name in _FUNCTIONS.split():
        setattr(_native.Array, name, _function(name))
    for name, method in _METHODS.items():
        setattr(_native.Array, name, method)
