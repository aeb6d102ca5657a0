"""What the tests of the tensor operations share: arrays of every layout, distances in units of the last place."""

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16]
INTEGERS = [np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 65504.0, 3e38, -3e38, 0.5, 1.5, 2.5, -2.5]

shapes = st.lists(st.integers(0, 7), min_size=0, max_size=4).map(tuple)
layouts = st.sampled_from(["C", "F", "step", "reversed", "offset"])


def arrange(values, layout):
    """The same values with other strides."""
    values = np.asarray(values)
    if values.ndim == 0 or layout == "C":
        return np.ascontiguousarray(values).reshape(values.shape)
    if layout == "F":
        return np.asfortranarray(values)
    if layout == "reversed":
        return values[..., ::-1].copy()[..., ::-1]
    grown = np.zeros([extent * 2 + 1 for extent in values.shape], values.dtype)
    window = grown[tuple(slice(layout == "offset", extent * 2, 2) for extent in values.shape)]
    window[...] = values
    return window


def random_values(rng, shape, dtype, scale=3.0):
    """Values of order `scale`; integers over their whole range."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return (rng.standard_normal(shape) * scale).astype(dtype)


def ulps(result, exact):
    """Distance of each result from the exact value (longdouble), in units of the last place of the result's dtype."""
    dtype = result.dtype
    info = ml_dtypes.finfo(dtype)
    exact = np.asarray(exact, np.longdouble)
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float64).astype(dtype)
    same = (np.isnan(result) & np.isnan(rounded)) | (result == rounded)
    magnitude = np.maximum(np.abs(exact), np.longdouble(float(info.smallest_normal)))
    with np.errstate(all="ignore"):
        unit = np.exp2(np.floor(np.log2(magnitude))) * np.longdouble(float(info.eps))
        distance = np.abs(result.astype(np.longdouble) - exact) / unit
    return np.where(same, 0.0, np.where(np.isfinite(distance), distance, np.inf)).astype(np.float64)
