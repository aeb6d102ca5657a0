"""Functions of the device library beside the exact ones of mpmath: where to sample, and the error that is promised.

`docs/language.md` states the same bounds; `test_compiler_math_library.py` measures them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath as mp
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# Enough for arguments up to 2^1024 in trigonometric functions, whose reduction mpmath does with its own extra digits.
mp.mp.prec = 140


class Function(NamedTuple):
    """A function of one or two arguments, the ranges to sample each in, and the largest error in units in the last place."""

    oracle: Callable[..., Any]
    ranges: tuple[tuple[float, float], ...]
    bound: float
    float_bound: float = 0.51


def _erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def _erfcinv(q: Any) -> Any:
    if 0.5 <= q <= 1.5:
        return mp.erfinv(1 - q)
    small = q if q < 1 else 2 - q
    # From a rough start, Newton's method on the logarithm, which is close to a parabola.
    y = mp.sqrt(-mp.log(small))
    for _ in range(60):
        value = mp.erfc(y)
        step = (mp.log(value) - mp.log(small)) * value / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y -= step
        if abs(step) < abs(y) * mp.mpf(2) ** -110:
            break
    return y if q < 1 else -y


def _normcdf(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _lgamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if x < 100 else mp.loggamma(x)


def _log1p(x: Any) -> Any:
    with mp.workprec(1200):
        return mp.log(1 + x)


def _asinh(x: Any) -> Any:
    with mp.workprec(1200):
        return mp.asinh(x)


def _atanh(x: Any) -> Any:
    with mp.workprec(1200):
        return mp.atanh(x)


EVERYWHERE = ((-1.7e308, 1.7e308),)
POSITIVE = ((0.0, 1.7e308),)
UNIT = ((-1.0, 1.0),)

UNARY: dict[str, Function] = {
    "exp": Function(mp.exp, ((-750, 715), (-1, 1)), 1.0, 1.0),
    "exp2": Function(lambda x: mp.mpf(2) ** x, ((-1080, 1030), (-1, 1)), 1.0),
    "exp10": Function(lambda x: mp.mpf(10) ** x, ((-325, 310), (-1, 1)), 1.0),
    "expm1": Function(mp.expm1, ((-50, 715), (-1, 1)), 1.5),
    "log": Function(mp.log, (*POSITIVE, (0.5, 2)), 1.0, 1.0),
    "log2": Function(lambda x: mp.log(x) / mp.log(2), (*POSITIVE, (0.5, 2)), 0.6),
    "log10": Function(lambda x: mp.log(x) / mp.log(10), (*POSITIVE, (0.5, 2)), 0.6),
    "log1p": Function(_log1p, (*POSITIVE, (-0.99, 1)), 1.0),
    "sin": Function(mp.sin, (*EVERYWHERE, (-1e6, 1e6), (-4, 4)), 0.9, 1.6),
    "cos": Function(mp.cos, (*EVERYWHERE, (-1e6, 1e6), (-4, 4)), 0.9, 1.6),
    "tan": Function(mp.tan, (*EVERYWHERE, (-1e6, 1e6), (-4, 4)), 2.5, 4.0),
    "sinpi": Function(mp.sinpi, ((-1e15, 1e15), (-3, 3)), 1.0),
    "cospi": Function(mp.cospi, ((-1e15, 1e15), (-3, 3)), 1.0),
    "asin": Function(mp.asin, UNIT, 1.0),
    "acos": Function(mp.acos, UNIT, 1.0),
    "atan": Function(mp.atan, (*EVERYWHERE, (-4, 4)), 1.0),
    "sinh": Function(mp.sinh, ((-715, 715), (-2, 2)), 2.0),
    "cosh": Function(mp.cosh, ((-715, 715), (-2, 2)), 1.5),
    "tanh": Function(mp.tanh, ((-25, 25), (-1, 1)), 2.5, 1.5),
    "asinh": Function(_asinh, (*EVERYWHERE, (-4, 4)), 2.0),
    "acosh": Function(mp.acosh, ((1.0, 1.7e308), (1, 4)), 2.5),
    "atanh": Function(_atanh, UNIT, 2.0),
    "cbrt": Function(lambda x: mp.sign(x) * mp.cbrt(abs(x)), EVERYWHERE, 0.8),
    "rcbrt": Function(lambda x: mp.sign(x) / mp.cbrt(abs(x)), EVERYWHERE, 1.5),
    "sqrt": Function(mp.sqrt, POSITIVE, 0.5),
    "rsqrt": Function(lambda x: 1 / mp.sqrt(x), POSITIVE, 1.5, 1.5),
    "erf": Function(mp.erf, ((-7, 7), (-1, 1)), 1.2),
    "erfc": Function(mp.erfc, ((-7, 28), (-1, 1)), 3.5),
    "erfcx": Function(_erfcx, ((-26, 28), (-1, 1)), 3.0),
    "normcdf": Function(_normcdf, ((-39, 10), (-1, 1)), 5.0),
    "erfinv": Function(mp.erfinv, UNIT, 3.0),
    "erfcinv": Function(_erfcinv, ((0.0, 2.0),), 3.0),
    "normcdfinv": Function(lambda p: -mp.sqrt(2) * _erfcinv(2 * p), ((0.0, 1.0),), 4.0),
    "tgamma": Function(mp.gamma, ((-180, 172), (-3, 3)), 6.0),
    "lgamma": Function(_lgamma, ((0.0, 1e305), (0, 12)), 2.5),
}

BINARY: dict[str, Function] = {
    "pow": Function(mp.power, ((0.0, 1e300), (-2, 2)), 1.0),
    "atan2": Function(mp.atan2, ((-10, 10), (-10, 10)), 1.5),
    "hypot": Function(lambda x, y: mp.sqrt(x * x + y * y), (*EVERYWHERE, *EVERYWHERE), 0.6),
    "rhypot": Function(lambda x, y: 1 / mp.sqrt(x * x + y * y), ((-1e100, 1e100), (-1e100, 1e100)), 1.5),
    "fmod": Function(mp.fmod, ((0, 1e200), (1e-3, 1e3)), 0.0, 0.0),
}


def samples(low: float, high: float, count: int, dtype: type[np.floating[Any]], rng: np.random.Generator) -> np.ndarray:
    """Values of a range: evenly spread ones, and ones whose bits are, so that every exponent is met."""
    info = np.finfo(dtype)
    low, high = max(low, float(info.min)), min(high, float(info.max))
    even = rng.uniform(low / 2, high / 2, count // 2) * 2
    largest = np.array(max(abs(low), abs(high)), dtype).view(f"u{info.bits // 8}")
    bits = (
        rng.integers(0, int(largest), count, dtype=f"u{info.bits // 8}", endpoint=True).view(dtype).astype(np.float64)
    )
    bits = np.where(rng.random(count) < 0.5, bits, -bits) if low < 0 else bits
    values = np.concatenate([even, bits]).astype(dtype)
    return values[(values >= low) & (values <= high)]


def exact_values(oracle: Callable[..., Any], *arguments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exact results as doubles and what they leave."""
    high, low = [], []
    for values in zip(*(argument.tolist() for argument in arguments), strict=True):
        exact = mp.mpf(oracle(*(mp.mpf(value) for value in values)))
        near = float(exact)
        high.append(near)
        low.append(float(exact - near) if np.isfinite(near) else 0.0)
    return np.array(high), np.array(low)


def error_in_ulp(result: np.ndarray, high: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Distance from the exact value in spacings of the result's type there; infinite results must be equal."""
    with np.errstate(all="ignore"):
        rounded = high.astype(result.dtype)
        spacing = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs((result.astype(np.float64) - high) - low) / spacing
        same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
        limit = float(np.finfo(result.dtype).max)
        # Just below the overflow threshold one rounding decides between the largest number and infinity.
        borderline = np.isinf(result) & (np.abs(high) >= limit * (1 - 1e-7)) | np.isinf(rounded) & (
            np.abs(result) >= limit
        )
    return np.where(np.isfinite(rounded) & np.isfinite(result), error, np.where(same | borderline, 0.0, np.inf))
