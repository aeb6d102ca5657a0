"""Operations of optimizers that change variables (`ResourceApply...`, of `tf.compat.v1.train` and `tf.raw_ops`) for variables on RDNA.

No TensorFlow lets a plug-in have kernels of them: the values are read, computed with and assigned. In graphs each result is one pass over
its elements, as chains are fused. Formulas are those of the operations' own documentation.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

# Values of the arguments by name; variables are there as their values.
_Values = Mapping[str, Any]
# New values of variables by their names.
_Update = Callable[[_Values], dict[str, Any]]


def _gradient_descent(given: _Values) -> dict[str, Any]:
    return {"var": given["var"] - given["alpha"] * given["delta"]}


def _momentum(given: _Values) -> dict[str, Any]:
    rate, momentum, gradient = given["lr"], given["momentum"], given["grad"]
    moved = given["accum"] * momentum + gradient
    step = gradient * rate + moved * momentum * rate if given["use_nesterov"] else rate * moved
    return {"accum": moved, "var": given["var"] - step}


def _keras_momentum(given: _Values) -> dict[str, Any]:
    rate, momentum, gradient = given["lr"], given["momentum"], given["grad"]
    moved = given["accum"] * momentum - rate * gradient
    step = moved * momentum - rate * gradient if given["use_nesterov"] else moved
    return {"accum": moved, "var": given["var"] + step}


def _adam(given: _Values) -> dict[str, Any]:
    import tensorflow as tf

    first, second, gradient = given["beta1"], given["beta2"], given["grad"]
    mean = given["m"] + (gradient - given["m"]) * (1 - first)
    square = given["v"] + (tf.square(gradient) - given["v"]) * (1 - second)
    rate = given["lr"] * tf.sqrt(1 - given["beta2_power"]) / (1 - given["beta1_power"])
    ahead = gradient * (1 - first) + first * mean if given["use_nesterov"] else mean
    return {"m": mean, "v": square, "var": given["var"] - rate * ahead / (tf.sqrt(square) + given["epsilon"])}


def _adamax(given: _Values) -> dict[str, Any]:
    import tensorflow as tf

    first, gradient = given["beta1"], given["grad"]
    mean = given["m"] + (gradient - given["m"]) * (1 - first)
    largest = tf.maximum(given["beta2"] * given["v"], tf.abs(gradient))
    rate = given["lr"] / (1 - given["beta1_power"])
    return {"m": mean, "v": largest, "var": given["var"] - rate * mean / (largest + given["epsilon"])}


def _rmsprop(given: _Values) -> dict[str, Any]:
    import tensorflow as tf

    gradient = given["grad"]
    square = given["ms"] + (tf.square(gradient) - given["ms"]) * (1 - given["rho"])
    step = given["mom"] * given["momentum"] + given["lr"] * gradient * tf.math.rsqrt(square + given["epsilon"])
    return {"ms": square, "mom": step, "var": given["var"] - step}


def _centered_rmsprop(given: _Values) -> dict[str, Any]:
    import tensorflow as tf

    gradient = given["grad"]
    square = given["ms"] + (tf.square(gradient) - given["ms"]) * (1 - given["rho"])
    mean = given["mg"] + (gradient - given["mg"]) * (1 - given["rho"])
    spread = square - tf.square(mean) + given["epsilon"]
    step = given["mom"] * given["momentum"] + given["lr"] * gradient * tf.math.rsqrt(spread)
    return {"ms": square, "mg": mean, "mom": step, "var": given["var"] - step}


def _adagrad(given: _Values) -> dict[str, Any]:
    import tensorflow as tf

    gradient = given["grad"]
    total = given["accum"] + tf.square(gradient) if given["update_slots"] else given["accum"]
    root = tf.sqrt(total) + given["epsilon"] if "epsilon" in given else tf.sqrt(total)
    return {"accum": total, "var": given["var"] - given["lr"] * gradient / root}


def _adadelta(given: _Values) -> dict[str, Any]:
    import tensorflow as tf

    rho, epsilon, gradient = given["rho"], given["epsilon"], given["grad"]
    total = given["accum"] * rho + tf.square(gradient) * (1 - rho)
    step = tf.sqrt(given["accum_update"] + epsilon) * tf.math.rsqrt(total + epsilon) * gradient
    moved = given["accum_update"] * rho + tf.square(step) * (1 - rho)
    return {"accum": total, "accum_update": moved, "var": given["var"] - given["lr"] * step}


_UPDATES: Mapping[str, _Update] = {
    "ResourceApplyGradientDescent": _gradient_descent,
    "ResourceApplyMomentum": _momentum,
    "ResourceApplyKerasMomentum": _keras_momentum,
    "ResourceApplyAdam": _adam,
    "ResourceApplyAdaMax": _adamax,
    "ResourceApplyRMSProp": _rmsprop,
    "ResourceApplyCenteredRMSProp": _centered_rmsprop,
    "ResourceApplyAdagrad": _adagrad,
    "ResourceApplyAdagradV2": _adagrad,
    "ResourceApplyAdadelta": _adadelta,
}


def install() -> None:
    """Changes the functions of the operations, for handles of variables on RDNA."""
    import tensorflow as tf
    from tensorflow.python.ops import gen_training_ops

    for name, update in _UPDATES.items():
        function = _python_name(gen_training_ops, name)
        changed = _changed(getattr(gen_training_ops, function), update)
        setattr(gen_training_ops, function, changed)
        setattr(tf.raw_ops, name, changed)


def _python_name(module: Any, operation: str) -> str:
    """The name of an operation's function, for which TensorFlow has rules of its own about capitals."""
    names = (name for name in dir(module) if not name.startswith("_"))
    return next(name for name in names if name.replace("_", "") == operation.lower())


def _changed(original: Callable[..., Any], update: _Update) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)
    def chosen(*arguments: Any, **options: Any) -> Any:
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        if "RDNA" not in str(getattr(bound.arguments["var"], "device", "")):
            return original(*arguments, **options)
        return _applied(bound.arguments, update)

    return chosen


def _applied(arguments: Mapping[str, Any], update: _Update) -> Any:
    """Reads the variables, computes and assigns, on the device of the first one. In graphs the result is an operation."""
    import tensorflow as tf
    from tensorflow.python.ops import gen_resource_variable_ops as resources

    handle = arguments["var"]
    dtype = tf.as_dtype(tf.convert_to_tensor(arguments["delta" if "delta" in arguments else "grad"]).dtype)
    with tf.device(handle.device):
        given = {}
        for name, value in arguments.items():
            if getattr(value, "dtype", None) == tf.resource:
                given[name] = resources.read_variable_op(value, dtype)
            elif isinstance(value, bool) or value is None or isinstance(value, str):
                given[name] = value
            else:
                given[name] = tf.cast(value, dtype)
        assigned = [resources.assign_variable_op(arguments[name], value) for name, value in update(given).items()]
    return None if tf.executing_eagerly() else tf.group(*assigned)
