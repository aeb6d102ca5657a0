"""Fits the polynomials of `crates/amdgpu-compiler/device_lib/` and prints them: coefficients in the order of Horner's scheme.

`python tools/fit_polynomials.py [NAME...]`; needs mpmath. Interpolation in Chebyshev nodes of the function divided by what the
polynomial's own weight is: within a factor of two of the best polynomial there is, which one more coefficient makes up for.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath as mp

if TYPE_CHECKING:
    from collections.abc import Callable

mp.mp.dps = 60


class Fit(NamedTuple):
    """A polynomial of `degree` for `function` between two arguments, in double or float precision."""

    function: Callable[[Any], Any]
    low: float
    high: float
    degree: int
    bits: int = 53


def exp_tail(r: Any) -> Any:
    """(e^r - 1 - r) / r^2."""
    return mp.nsum(lambda k: r**k / mp.factorial(k + 2), [0, 60]) if abs(r) < 0.5 else (mp.exp(r) - 1 - r) / r**2


def log_series(z: Any, first: int) -> Any:
    """The series of log((1 + s) / (1 - s)) / s in z = s^2, from the term of z^first on, divided by that power."""
    return sum(mp.mpf(2) / (2 * k + 1) * z ** (k - first) for k in range(first, first + 60))


def sine_tail(z: Any) -> Any:
    """(sin(x) / x - 1) / x^2."""
    return sum((-1) ** k * z ** (k - 1) / mp.factorial(2 * k + 1) for k in range(1, 40))


def cosine_tail(z: Any) -> Any:
    """(cos(x) - 1 + x^2 / 2) / x^4."""
    return sum((-1) ** k * z ** (k - 2) / mp.factorial(2 * k) for k in range(2, 40))


def atan_tail(z: Any) -> Any:
    """(atan(x) / x - 1) / x^2."""
    return sum((-1) ** k * z ** (k - 1) / (2 * k + 1) for k in range(1, 160))


def asin_tail(z: Any) -> Any:
    """(asin(x) / x - 1) / x^2."""
    return sum(mp.binomial(2 * k, k) / mp.mpf(4) ** k / (2 * k + 1) * z ** (k - 1) for k in range(1, 160))


def erf_tail(z: Any) -> Any:
    """erf(x) / x - 2 / sqrt(pi), divided by x^2."""
    return 2 / mp.sqrt(mp.pi) * sum((-1) ** k * z ** (k - 1) / mp.factorial(k) / (2 * k + 1) for k in range(1, 80))


def erfcx_of(t: Any, centre: float) -> Any:
    """(1 + 2 x) e^(x^2) erfc(x) where t = (x - centre) / (x + centre)."""
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = centre * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def log_gamma_part(x: Any) -> Any:
    """log(gamma(x)) / ((x - 1) (x - 2))."""
    with mp.workdps(120):
        for zero in (1, 2):
            if abs(x - zero) < mp.mpf(10) ** -40:
                x += mp.mpf(10) ** -35
        return mp.loggamma(x) / ((x - 1) * (x - 2))


def stirling_part(w: Any) -> Any:
    """The tail of Stirling's series times x, in w = 1 / x^2."""
    x = 1 / mp.sqrt(w)
    with mp.workdps(100):
        return (mp.loggamma(x) - (x - mp.mpf(1) / 2) * mp.log(x) + x - mp.log(2 * mp.pi) / 2) * x


def erfinv_centre(w: Any) -> Any:
    """erfinv(x) / x in w = x^2."""
    x = mp.sqrt(w)
    return mp.erfinv(x) / x


def erfcinv_far(v: Any) -> Any:
    """erfcinv(q) / s in v = 1 / s."""
    return erfcinv_tail(1 / v) * v


def erfcinv_tail(s: Any) -> Any:
    """erfcinv(q) where s = sqrt(-log(q))."""
    with mp.workdps(60):
        logarithm = -(s**2)
        guess = s
        for _ in range(60):
            # Newton's method on the logarithm of erfc, which is close to a parabola.
            value = mp.log(mp.erfc(guess))
            slope = -2 / mp.sqrt(mp.pi) * mp.exp(-(guess**2)) / mp.erfc(guess)
            step = (value - logarithm) / slope
            guess -= step
            if abs(step) < mp.mpf(10) ** -45:
                break
        return guess


HALF_LN2 = 0.3466
FITS = {
    "exp": Fit(exp_tail, -HALF_LN2, HALF_LN2, 9),
    "log": Fit(lambda z: log_series(z, 1), 1e-30, 0.02945, 6),
    "log_pair": Fit(lambda z: log_series(z, 2), 1e-30, 0.02945, 7),
    "sine": Fit(sine_tail, 1e-30, 0.617, 5),
    "cosine": Fit(cosine_tail, 1e-30, 0.617, 5),
    "atan": Fit(atan_tail, 1e-30, 0.1915, 11),
    "asin": Fit(asin_tail, 1e-30, 0.2501, 12),
    "erf": Fit(erf_tail, 1e-30, 0.65, 9),
    "erfcx": Fit(lambda t: erfcx_of(t, 3.0), -0.72, 1.0, 22),
    "log_gamma": Fit(lambda u: log_gamma_part(u + 2), -1.0, 1.0, 27),
    "gamma": Fit(lambda u: mp.gamma(u + mp.mpf(3) / 2), -0.5, 0.5, 21),
    "stirling": Fit(stirling_part, 1 / 40000, 1 / 100, 6),
    "erfinv": Fit(erfinv_centre, 1e-20, 0.5625, 8),
    "erfcinv_near": Fit(erfcinv_tail, 1.17, 3.0, 9),
    "erfcinv_far": Fit(erfcinv_far, 1 / 27.4, 1 / 2.9, 11),
    "atanf": Fit(atan_tail, 1e-30, 0.1716, 5, 24),
    "asinf": Fit(asin_tail, 1e-30, 0.2501, 5, 24),
    "erff": Fit(erf_tail, 1e-30, 1.0, 6, 24),
}


def coefficients(fit: Fit) -> tuple[list[Any], Any]:
    """The coefficients, highest power first, and the largest error relative to the function."""
    count = fit.degree + 1
    low, high = mp.mpf(fit.low), mp.mpf(fit.high)
    nodes = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    matrix = mp.matrix(count, count)
    values = mp.matrix(count, 1)
    for row, node in enumerate(nodes):
        for power in range(count):
            matrix[row, power] = node**power
        values[row] = fit.function(node)
    solution = mp.lu_solve(matrix, values)
    found = [solution[power] for power in range(fit.degree, -1, -1)]
    worst = mp.mpf(0)
    for step in range(101):
        x = low + (high - low) * step / 100
        exact = fit.function(x)
        worst = max(worst, abs((mp.polyval(found, x) - exact) / exact))
    return found, worst


def hexadecimal(value: Any, bits: int) -> str:
    """The nearest number of that precision as a literal of HIP-C."""
    mantissa, exponent = mp.frexp(value)
    whole = int(mp.nint(mantissa * mp.mpf(2) ** bits))
    return float(mp.ldexp(mp.mpf(whole), int(exponent) - bits)).hex() + ("f" if bits == 24 else "")


def main(names: list[str]) -> None:
    """Prints the fits of these names, or all."""
    for name in names or FITS:
        found, worst = coefficients(FITS[name])
        print(f"{name}: relative error 2^{float(mp.log(worst, 2)):.1f}")
        for value in found:
            print(f"    {hexadecimal(value, FITS[name].bits)}")


if __name__ == "__main__":
    main(sys.argv[1:])
