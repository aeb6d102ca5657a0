"""Where an operation runs: on the device of its operands, where the result stays.

Values without a device (NumPy arrays, numbers, host memory of other libraries) go where the others are, and all arrays of a call are of one
device. Where no operand has a device, the CPU computes, or the device that the caller names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from amdgpu import _native, dispatch
from amdgpu.device import default_device
from amdgpu.errors import InvalidTypeError, WrongDeviceError

# What names of devices begin with whose memory is the host's.
_HOST = "cpu:"
# DLPack's kinds of memory that a GPU works on: CUDA, CUDA managed, ROCm.
_GPU_MEMORY = (2, 13, 10)
# Types whose objects are never on a GPU, as far as they were met; so many at most, because types can be made without end.
_host_types: set[type] = set()
_MOST_HOST_TYPES = 64


def elementwise(operation: str, inputs: tuple[Any, ...], out: Any, alpha: float = 0.0) -> Any:
    """Runs an elementwise operation on the device of its arguments."""
    # What follows is `implementation` for the common case: a thousand elements take a microsecond in all.
    for argument in inputs:
        if type(argument) not in _host_types:
            compute = implementation("elementwise", *inputs, out, said=operation)
            break
    else:
        is_on_host = out is None or type(out) in _host_types
        compute = dispatch.of_host("elementwise") if is_on_host else implementation("elementwise", out)
    return compute(operation, inputs, out, alpha=alpha) if alpha else compute(operation, inputs, out)


def run(options: tuple[Any, ...], arrays: tuple[Any, ...], *arguments: Any, **keywords: Any) -> Any:
    """Runs an operation on the device of its arguments.

    Args:
        options: The operation's name in the table; behind it, where there are several of one name, the one that messages use.
        arrays: All arrays among the arguments, None in the place of one that is not given.
        arguments: Positional arguments of the implementation.
        keywords: Keyword arguments of the implementation.
    """
    return _found(options, arrays)(*arguments, **keywords)


def _found(options: tuple[Any, ...], arrays: tuple[Any, ...]) -> Callable[..., Any]:
    """The implementation; errors call the operation what its user does: the name behind that in the table, where there are several."""
    is_one_of_many = len(options) > 1 and isinstance(options[1], str)
    return implementation(options[0], *arrays, said=options[1] if is_one_of_many else None)


def implementation(operation: str, *arguments: Any, said: str | None = None) -> Callable[..., Any]:
    """The function that computes an operation of the Matrix core where its arguments lie; the decision is recorded.

    Args:
        operation: Its name in the table.
        arguments: Whatever may lie on a device.
        said: What messages call it; None for the name in the table.

    Raises:
        WrongDeviceError: Arguments of two devices.
    """
    name = device_of(said or operation, arguments)
    if name is None:
        return dispatch.of_host(operation)
    if not name.startswith(_HOST):
        return _on(operation, name)
    if _native.is_tracing():
        return dispatch.of_traced(operation, default_device(name))
    return dispatch.of_host(operation)


def device_of(operation: str, arguments: Iterable[Any]) -> str | None:
    """Name of the device that arguments lie on; None where none of them has one.

    Raises:
        WrongDeviceError: Arguments of two devices.
    """
    found: str | None = None
    for argument in arguments:
        kind = type(argument)
        if kind in _host_types:
            continue
        if isinstance(argument, _native.Array):
            name = argument.device
        elif not hasattr(kind, "__cuda_array_interface__"):
            if len(_host_types) < _MOST_HOST_TYPES:
                _host_types.add(kind)
            continue
        elif _is_on_gpu(argument):
            name = _native.from_dlpack(argument).device
        else:
            continue
        if found is None:
            found = name
        elif name != found:
            raise two_devices(operation, found, name)
    return found


def two_devices(operation: str, first: str, second: str) -> WrongDeviceError:
    """The error about operands of two devices."""
    return WrongDeviceError(
        f"{operation}: operands are on {first} and {second}; an operation runs on the device of its operands, so copy one of them,"
        f" as in amdgpu.array(x, device={first!r})"
    )


def held(operation: str, name: str, value: Any) -> Any:
    """An argument as an array with a shape and a dtype of NumPy's: what it is already, what it lends, or what NumPy makes of it."""
    import numpy as np

    if isinstance(value, (np.ndarray, _native.Array)):
        return value
    if hasattr(value, "__dlpack__") or hasattr(value, "__cuda_array_interface__"):
        lent = _native.from_dlpack(value)
        return lent.numpy() if lent.is_on_host else lent
    try:
        return np.asarray(value)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{operation}: {name} is no array of numbers: {error}") from None


def on_host(operation: str, name: str, value: Any) -> Any:
    """A few values, one for each channel for example, as a NumPy array of float64, wherever they lie."""
    try:
        return values_of(held(operation, name, value), float)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidTypeError(f"{operation}: {name} is no array of numbers: {error}") from None


def values_of(array: Any, dtype: Any = None) -> Any:
    """The values of an array that `held` or an operation returned, in the memory of the host."""
    import numpy as np

    return np.asarray(array.numpy() if isinstance(array, _native.Array) else array, dtype)


def converted(array: Any, dtype: str) -> Any:
    """An array of floats in another float dtype, where it lies."""
    import numpy as np

    if np.dtype(array.dtype).name == dtype:
        return array
    # A sum over no axes rounds each value once.
    return implementation("reduce", array)("sum", array, (), None, dtype=dtype)


def _on(operation: str, name: str) -> Callable[..., Any]:
    return dispatch.of_device(operation, default_device(name))


def _is_on_gpu(argument: Any) -> bool:
    """Whether an array of another library lies in memory that a GPU works on."""
    return hasattr(argument, "__dlpack_device__") and argument.__dlpack_device__()[0] in _GPU_MEMORY
