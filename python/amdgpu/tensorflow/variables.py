"""Updates of variables on RDNA, where TensorFlow does not let a plug-in do them.

TensorFlow 2.19 to 2.21 declare the functions of `tensorflow/c/kernels_experimental.h` with which a plug-in updates variables, but do not
export them on Linux. Their own kernels of AssignAddVariableOp and AssignSubVariableOp would then read memory of the device on the host, so
`assign_add` and `assign_sub` of such variables read, compute and assign.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def install(*, updates_natively: bool) -> None:
    """Changes `assign_add` and `assign_sub` of variables, unless the plug-in has kernels for them."""
    if updates_natively:
        return
    from tensorflow.python.ops import resource_variable_ops as module

    for name, sign in (("assign_add", 1), ("assign_sub", -1)):
        changed = _changed(getattr(module.BaseResourceVariable, name), sign)
        # Both classes have these methods of their own: a decorator copies those that are inherited.
        for owner in (module.BaseResourceVariable, module.ResourceVariable):
            setattr(owner, name, changed)


def _changed(original: Callable[..., Any], sign: int) -> Callable[..., Any]:
    @functools.wraps(original)
    def assign(
        self: Any, delta: Any, use_locking: Any = None, name: Any = None, read_value: bool = True
    ) -> Any:
        import tensorflow as tf

        # int32 variables are in memory of the host, where TensorFlow's own kernels are right.
        if "RDNA" not in str(self.device) or self.dtype == tf.int32:
            return original(self, delta, use_locking=use_locking, name=name, read_value=read_value)
        delta = tf.convert_to_tensor(delta, dtype=self.dtype)
        with tf.device(self.device):
            value = self.read_value() + delta if sign > 0 else self.read_value() - delta
        return self.assign(value, use_locking=use_locking, name=name, read_value=read_value)

    return assign
