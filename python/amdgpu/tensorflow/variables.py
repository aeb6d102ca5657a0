"""Variables on RDNA, where TensorFlow does not let a plug-in read or update them.

TensorFlow 2.19 to 2.21 declare the functions of `tensorflow/c/kernels_experimental.h` with which a plug-in updates variables, but do not
export them on Linux. Their own kernels of AssignAddVariableOp and AssignSubVariableOp would then read memory of the device on the host, so
`assign_add` and `assign_sub` of such variables read, compute and assign. Operations that pick or change some rows of a variable have no
kernel for a plug-in in any version: `sparse_read`, `gather_nd` and the scatter methods work on the value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

# Of tensorflow.Tensor, by methods of variables.
_SCATTERED = {
    "scatter_add": "tensor_scatter_nd_add",
    "scatter_sub": "tensor_scatter_nd_sub",
    "scatter_max": "tensor_scatter_nd_max",
    "scatter_min": "tensor_scatter_nd_min",
    "scatter_update": "tensor_scatter_nd_update",
}
_SCATTERED_AT_POINTS = {name.replace("scatter", "scatter_nd"): function for name, function in _SCATTERED.items()}


def install(*, updates_natively: bool) -> None:
    """Changes methods of variables; `assign_add` and `assign_sub` only where the plug-in has no kernels for them."""
    if not updates_natively:
        _change("assign_add", functools.partial(_added, sign=1))
        _change("assign_sub", functools.partial(_added, sign=-1))
    _change("sparse_read", _rows)
    _change("gather_nd", _points)
    for name, function in _SCATTERED.items():
        _change(name, functools.partial(_scattered, function=function))
    for name, function in _SCATTERED_AT_POINTS.items():
        _change(name, functools.partial(_scattered_at_points, function=function))


def _change(name: str, method: Callable[..., Any]) -> None:
    """Lets variables on RDNA have another method of this name."""
    from tensorflow.python.ops import resource_variable_ops as module

    original = getattr(module.BaseResourceVariable, name)

    @functools.wraps(original)
    def chosen(self: Any, *arguments: Any, **options: Any) -> Any:
        import tensorflow as tf

        # int32 variables are in memory of the host, where TensorFlow's own kernels are right.
        if "RDNA" not in str(self.device) or self.dtype == tf.int32:
            return original(self, *arguments, **options)
        with tf.device(self.device):
            return method(self, *arguments, **options)

    # Both classes have methods of their own: a decorator copies those that are inherited.
    for owner in (module.BaseResourceVariable, module.ResourceVariable):
        setattr(owner, name, chosen)


def _added(
    self: Any, delta: Any, use_locking: Any = None, name: Any = None, read_value: bool = True, *, sign: int
) -> Any:
    import tensorflow as tf

    delta = tf.convert_to_tensor(delta, dtype=self.dtype)
    value = self.read_value() + delta if sign > 0 else self.read_value() - delta
    return self.assign(value, use_locking=use_locking, name=name, read_value=read_value)


def _rows(self: Any, indices: Any, name: Any = None) -> Any:
    import tensorflow as tf

    return tf.gather(self.read_value(), indices, name=name)


def _points(self: Any, indices: Any, name: Any = None) -> Any:
    import tensorflow as tf

    return tf.gather_nd(self.read_value(), indices, name=name)


def _scattered(
    self: Any, sparse_delta: Any, _use_locking: bool = False, name: Any = None, *, function: str, **_options: Any
) -> Any:
    import tensorflow as tf

    if not isinstance(sparse_delta, tf.IndexedSlices):
        raise TypeError(f"sparse_delta is not IndexedSlices: {sparse_delta!r}")
    indices = tf.expand_dims(sparse_delta.indices, -1)
    return _scattered_at_points(self, indices, sparse_delta.values, name, function=function)


def _scattered_at_points(self: Any, indices: Any, updates: Any, name: Any = None, *, function: str) -> Any:
    import tensorflow as tf

    updates = tf.convert_to_tensor(updates, dtype=self.dtype)
    return self.assign(getattr(tf, function)(self.read_value(), indices, updates), name=name)
