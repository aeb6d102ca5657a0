"""Which operations ran on RDNA and which TensorFlow placed on the CPU because RDNA has no kernel for them.

TensorFlow places an operation without a kernel on another device and says nothing. A callback of its own sees each operation that runs
eagerly, and each node of a graph when the graph is traced.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from typing import Any

from amdgpu.tensorflow.loading import plug_in

MODES = ("warn", "silent", "error", "off")
# Operations that belong to the host: they have no data, or data that no device has; those of input pipelines; calls of functions, whose
# nodes were seen when they were traced.
_OF_THE_HOST = re.compile(
    r"(Placeholder|NoOp|PyFunc|EagerPyFunc|Assert|PrintV2|StringFormat|\w*Dataset(V\d+)?|(Dataset|Iterator|MultiDeviceIterator|Optional|Anonymous)\w*|__.+)$"
)

_counts: Counter[str] = Counter()
_mode = "warn"
_is_installed = False


@dataclass(frozen=True)
class Fallback:
    """An operation that TensorFlow placed on the CPU, as RDNA has no kernel for it.

    Attributes:
        operation: With its dtypes, for example "Betainc(T=float32)".
        calls: How often it ran eagerly or was traced into a graph.
    """

    operation: str
    calls: int


def fallback_report() -> list[Fallback]:
    """Operations that were placed on the CPU so far, the one that occurred most often first."""
    return [Fallback(operation, calls) for operation, calls in _counts.most_common()]


def reset_fallback_report() -> None:
    """Lets the counts begin again; operations that were told are told again."""
    _counts.clear()


def native_report() -> dict[str, int]:
    """How often the kernels of each operation ran on RDNA so far."""
    name, calls = ctypes.c_char_p(), ctypes.c_uint64()
    report: dict[str, int] = {}
    place = 0
    while not plug_in().agpu_tensorflow_native_calls(ctypes.c_uint64(place), ctypes.byref(name), ctypes.byref(calls)):
        if calls.value and name.value is not None:
            report[name.value.decode()] = calls.value
        place += 1
    return report


def get_fallback_mode() -> str:
    """What happens to operations without a kernel: "warn", "silent", "error" or "off"."""
    return _mode


def set_fallback_mode(mode: str) -> None:
    """Says what happens to operations without a kernel, as TF_RDNA_FALLBACK does at the start.

    Args:
        mode: "warn": the CPU computes them, told once for each; "silent": counted without a word; "error": NotImplementedError, also for
            nodes of graphs when they are traced; "off": not even counted, which spares a call of Python for each operation.

    Raises:
        ValueError: It is none of these.
    """
    global _mode, _is_installed
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; known are {', '.join(MODES)}")
    from tensorflow.python.framework import op_callbacks

    _mode = mode
    if (mode != "off") == _is_installed:
        return
    if mode == "off":
        op_callbacks.remove_op_callback(_seen)
    else:
        op_callbacks.add_op_callback(_seen)
    _is_installed = mode != "off"


def install() -> None:
    """Begins with the mode that TF_RDNA_FALLBACK names."""
    set_fallback_mode(os.environ.get("TF_RDNA_FALLBACK") or "warn")


def _seen(op_type: Any, _inputs: Any, attrs: Any, outputs: Any, *_name: Any, **where: Any) -> None:
    """TensorFlow's callback."""
    kind = op_type.decode() if isinstance(op_type, bytes) else str(op_type)
    if _OF_THE_HOST.match(kind):
        return
    dtypes = _dtypes(attrs)
    if _has_kernel(kind, dtypes) or not _is_meant_for_rdna(outputs, where.get("graph")):
        return
    name = f"{kind}({', '.join(f'{attribute}={dtype}' for attribute, dtype in dtypes)})" if dtypes else kind
    _counts[name] += 1
    sentence = f"{name} has no kernel for RDNA; TensorFlow runs it on the CPU and copies its tensors (docs/tensorflow_kernels.md)"
    if _mode == "error":
        raise NotImplementedError(sentence)
    if _mode == "warn" and _counts[name] == 1:
        warnings.warn(sentence, stacklevel=3)
    return


def _dtypes(attrs: Any) -> tuple[tuple[str, str], ...]:
    """The attributes that are dtypes, from a list of names and values by turns."""
    import tensorflow as tf

    if not attrs:
        return ()
    pairs = zip(attrs[::2], attrs[1::2], strict=False)
    found = []
    for name, value in pairs:
        number = getattr(value, "type", value)
        if isinstance(number, tf.DType):
            number = number.as_datatype_enum
        label = name.decode() if isinstance(name, bytes) else str(name)
        if isinstance(number, int) and number and label[:1] in "TSDdU" and label not in ("N", "T_shape"):
            try:
                found.append((label, tf.as_dtype(number).name))
            except TypeError:
                continue
    return tuple(found)


@functools.cache
def _kernels(kind: str) -> tuple[tuple[tuple[str, frozenset[str]], ...], ...]:
    """The constraints of each kernel that an operation has on RDNA."""
    import tensorflow as tf
    from tensorflow.python.framework import kernels

    found = []
    for kernel in kernels.get_registered_kernels_for_op(kind).kernel:
        if kernel.device_type in ("RDNA", "DEFAULT"):
            named = [
                (one.name, frozenset(tf.as_dtype(number).name for number in one.allowed_values.list.type))
                for one in kernel.constraint
            ]
            found.append(tuple(named))
    return tuple(found)


@functools.cache
def _has_kernel(kind: str, dtypes: tuple[tuple[str, str], ...]) -> bool:
    given = dict(dtypes)
    return any(
        all(given.get(name, next(iter(allowed))) in allowed for name, allowed in kernel) for kernel in _kernels(kind)
    )


def _is_meant_for_rdna(outputs: Any, graph: Any) -> bool:
    """Whether the operation would be on RDNA if there were a kernel: unless the CPU was asked for, or its data cannot be on a device."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    if graph is not None:
        # Functions of input pipelines run on the CPU.
        if "Dataset_" in str(getattr(graph, "name", "")):
            return False
        asked = next((str(one.op.device) for one in outputs if getattr(one, "op", None) is not None), "")
    else:
        asked = context.context().device_name or ""
    if "CPU" in asked:
        return False
    movable = (tf.string, tf.resource, tf.variant)
    return bool(outputs) and not any(getattr(one, "dtype", None) in movable for one in outputs)
