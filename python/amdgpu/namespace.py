"""`import amdgpu as xp`: the names of the Python array API standard 2025.12, and NumPy's besides.

Each name is loaded when it is first used. Source: data-apis.org/array-api/2025.12.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

ARRAY_API_VERSION = "2025.12"

DTYPES = (
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)

# Dtypes that the standard does not have.
_BESIDES = ("float16", "bfloat16")

_COMPLEX = ("complex64", "complex128")

# Module in `amdgpu.ops` -> names that it gives under their own name.
_OWN = {
    "": "absolute acos acosh add all any argmax argmin asin asinh atan atan2 atanh ceil clip copysign cos cosh cumprod cumsum divide"
    " equal exp exp2 expm1 floor floor_divide fmod greater greater_equal hypot invert isfinite isinf isnan left_shift less"
    " less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor max maximum mean min minimum"
    " multiply negative nextafter not_equal positive power prod reciprocal remainder right_shift rint round sign signbit sin sinh"
    " sqrt square std subtract sum tan tanh trunc var where",
    "creation": "arange asarray empty_like eye full full_like linspace meshgrid ones ones_like tril triu zeros_like",
    "manipulation": "broadcast_arrays broadcast_shapes broadcast_to concat expand_dims flip matrix_transpose moveaxis permute_dims ravel"
    " repeat reshape roll split squeeze stack swapaxes tile unstack",
    "complex_parts": "angle conj imag real",
    "data_types": "astype can_cast finfo iinfo isdtype result_type",
    "statistics": "count_nonzero cumulative_prod cumulative_sum diff",
    "linear_algebra": "matmul tensordot vecdot",
    "contraction": "einsum",
    "counting": "bincount histogram",
    "numpy_names": "allclose array_equal atleast_1d atleast_2d average column_stack copy diagonal dot dstack flatnonzero fliplr flipud"
    " hstack identity inner isclose nan_to_num outer ptp trace transpose unique vstack",
    "padding": "pad",
    "indexing": "argwhere nonzero put_along_axis take take_along_axis",
    "sets": "isin unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort searchsorted sort",
}
# The standard's name, or NumPy's -> ours.
_OTHER = {
    "abs": "absolute",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_and": "bitwise_and",
    "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert",
    "bitwise_or": "bitwise_or",
    "bitwise_right_shift": "right_shift",
    "bitwise_xor": "bitwise_xor",
    "mod": "remainder",
    "pow": "power",
    "topk": "top_k",
    "true_divide": "divide",
}
# NumPy's name -> ours, where the standard has another one or none.
_NUMPY = {
    "absolute": "absolute",
    "amax": "max",
    "amin": "min",
    "around": "round",
    "bitwise_not": "invert",
    "exp2": "exp2",
    "fabs": "absolute",
    "fmod": "fmod",
    "invert": "invert",
    "mod": "remainder",
    "power": "power",
    "rint": "rint",
    "true_divide": "divide",
}
_CONSTANTS = {
    "e": 2.718281828459045,
    "inf": float("inf"),
    "nan": float("nan"),
    "newaxis": None,
    "pi": 3.141592653589793,
}
_PLACES = {name: (module, name) for module, names in _OWN.items() for name in names.split()}
_PLACES |= {name: ("", own) for name, own in (*_OTHER.items(), *_NUMPY.items())}
_PLACES |= {"concatenate": ("manipulation", "concat"), "conjugate": ("complex_parts", "conj")}

FUNCTIONS = frozenset(_PLACES)
NAMES = frozenset({*FUNCTIONS, *_CONSTANTS, *DTYPES, *_COMPLEX})


def find(name: str) -> Any:
    """What a name of the namespace stands for.

    Raises:
        KeyError: The standard and NumPy have no such name, or it is not there yet.
    """
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name in DTYPES or name in _COMPLEX:
        return _native.numpy_dtype(name)
    module, own = _PLACES[name]
    return getattr(importlib.import_module(f"amdgpu.ops.{module}" if module else "amdgpu.ops"), own)


class NamespaceInfo:
    """What the namespace can do, as the standard asks for it (`__array_namespace_info__`)."""

    def capabilities(self) -> dict[str, Any]:
        """Masks pick elements and results may have shapes that depend on values; arrays have 16 axes at most in operations."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 16}

    def default_device(self) -> str:
        """The current device of the thread."""
        return _native.device_name(_native.current_device())

    def devices(self) -> tuple[str, ...]:
        """Every device of this machine."""
        from amdgpu.device import list_devices

        return tuple(info.device for info in list_devices())

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """What numbers become where no dtype is named."""
        self._check(device)
        return {
            "real floating": _native.numpy_dtype("float64"),
            "complex floating": _native.numpy_dtype("complex128"),
            "integral": _native.numpy_dtype("int64"),
            "indexing": _native.numpy_dtype("int64"),
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """The standard's dtypes of a kind, by name; of all kinds without one. There are float16 and bfloat16 besides."""
        from amdgpu.ops.data_types import isdtype

        self._check(device)
        standards = [name for name in (*DTYPES, *_COMPLEX) if name not in _BESIDES]
        known: Mapping[str, Any] = {name: _native.numpy_dtype(name) for name in standards}
        return {name: dtype for name, dtype in known.items() if kind is None or isdtype(dtype, kind)}

    def _check(self, device: Any) -> None:
        if device is not None and device not in self.devices():
            raise InvalidArgumentError(f"no device is called {device!r}; there are {', '.join(self.devices())}")
