"""The scalar formulas of `ops.toml`: oracles and derivatives, evaluated by NumPy in the type of their arguments, `longdouble` where given.

A formula may use the functions below and the names of its arguments; the generator refuses any other name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from amdgpu._generated.operations import Elementwise


def erfc(z: Any) -> Any:
    """erfc of the nearest float64, led by its derivative to the very argument."""
    z = np.asarray(z, np.longdouble)
    near = z.astype(np.float64)
    value = np.vectorize(math.erfc, otypes=[np.longdouble])(near)
    return value - np.where(np.isfinite(z), z - near, 0) * np.exp(-z * z) * 2 / np.sqrt(np.longdouble(np.pi))


def erf(z: Any) -> Any:
    """As `erfc`."""
    z = np.asarray(z, np.longdouble)
    near = z.astype(np.float64)
    value = np.vectorize(math.erf, otypes=[np.longdouble])(near)
    value = value + np.where(np.isfinite(z), z - near, 0) * np.exp(-z * z) * 2 / np.sqrt(np.longdouble(np.pi))
    # A zero keeps its sign.
    return np.copysign(value, z)


def _of_constants(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, of Python's numbers in extended precision."""
    return lambda z: function(np.longdouble(z) if isinstance(z, (int, float)) else z)


def _pi() -> np.longdouble:
    return 4 * np.arctan(np.longdouble(1))


_NUMPY = (
    *("abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "ceil"),
    *("copysign", "cos", "cosh", "exp", "exp2", "expm1", "floor", "floor_divide", "fmod"),
    *("hypot", "isfinite", "isinf", "isnan", "log10", "log1p", "log2", "maximum", "minimum"),
    *("nextafter", "power", "remainder", "rint", "sign", "signbit", "sin", "sinh", "tan"),
    *("tanh", "trunc", "where"),
)
FUNCTIONS: dict[str, Any] = {
    **{name: getattr(np, name) for name in _NUMPY},
    "sqrt": _of_constants(np.sqrt),
    "log": _of_constants(np.log),
    "erf": erf,
    "erfc": erfc,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "pi": _pi(),
}


def evaluate(formula: str, **arguments: Any) -> Any:
    """The value of a formula; infinities and NaN arise without warnings."""
    with np.errstate(all="ignore"):
        return eval(formula, {"__builtins__": {}} | FUNCTIONS, arguments)  # the table is ours


def wide(array: Any) -> Any:
    """An array in extended precision."""
    return np.asarray(array).astype(np.longdouble)


def oracle(row: Elementwise, dtype: Any, alpha: float | None = None, **values: Any) -> Any:
    """The exact result of an operation whose parameter has the type that `dtype` is computed in; its default unless it is given."""
    alpha = row.alpha if alpha is None else alpha
    parameters = {} if alpha is None else {"alpha": np.float64(alpha) if dtype == np.float64 else np.float32(alpha)}
    return evaluate(row.oracle, **values, **parameters)
