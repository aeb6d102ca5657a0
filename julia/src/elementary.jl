# Branch-free elementary functions on Float64 that LLVM turns into SIMD code inside `@simd` loops; those of Base branch and do
# not. They are accurate to far more than Float32, so that one rounding at the end decides the result.

const LOG2_E = 1.4426950408889634
# ln 2 in two parts (Cody & Waite 1980): the product of the first with an integer below 2^11 is exact.
const LN2_HIGH = 0.693147180369123816490
const LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits of the significand.
const ROUNDING_SHIFT = 6755399441055744.0
# exp of these still is a normal Float64; both are far outside the range of Float32 results.
const EXP_MIN = -708.0
const EXP_MAX = 709.0

"""
    exp_wide(x::Float64) -> Float64

e^x with a relative error below 1e-14 for x in [-708, 709], constant outside; NaN stays NaN. Range reduction by ln 2 and the Taylor
polynomial of degree 11 on |r| <= ln(2)/2, whose remainder is below 0.35^12 / 12! = 7e-15.
"""
@inline function exp_wide(x::Float64)
    x = ifelse(x < EXP_MIN, EXP_MIN, x)
    x = ifelse(x > EXP_MAX, EXP_MAX, x)
    shifted = muladd(x, LOG2_E, ROUNDING_SHIFT)
    k = shifted - ROUNDING_SHIFT
    r = muladd(-k, LN2_HIGH, x)
    r = muladd(-k, LN2_LOW, r)
    p = 1 / 39916800
    p = muladd(p, r, 1 / 3628800)
    p = muladd(p, r, 1 / 362880)
    p = muladd(p, r, 1 / 40320)
    p = muladd(p, r, 1 / 5040)
    p = muladd(p, r, 1 / 720)
    p = muladd(p, r, 1 / 120)
    p = muladd(p, r, 1 / 24)
    p = muladd(p, r, 1 / 6)
    p = muladd(p, r, 0.5)
    p = muladd(p, r, 1.0)
    p = muladd(p, r, 1.0)
    scale = reinterpret(Float64, (reinterpret(Int64, shifted) + 1023) << 52)
    return p * scale
end

"""
    expm1_wide(x::Float64) -> Float64

e^x - 1 with a relative error below 1e-11, also near zero, where the Taylor polynomial of degree 4 replaces the difference:
below |x| = 2^-9 its remainder is x^4/120 < 2e-13 of the result.
"""
@inline function expm1_wide(x::Float64)
    small = x * muladd(x, muladd(x, muladd(x, 1 / 24, 1 / 6), 0.5), 1.0)
    return ifelse(abs(x) < 0x1p-9, small, exp_wide(x) - 1.0)
end

"""
    log1p_unit(u::Float64) -> Float64

log(1 + u) for u in [0, 1] with a relative error below 2e-10: 2 atanh(s) with s = u / (2 + u) <= 1/3, nine terms of the series.
"""
@inline function log1p_unit(u::Float64)
    s = u / (2.0 + u)
    z = s * s
    p = 1 / 17
    p = muladd(p, z, 1 / 15)
    p = muladd(p, z, 1 / 13)
    p = muladd(p, z, 1 / 11)
    p = muladd(p, z, 1 / 9)
    p = muladd(p, z, 1 / 7)
    p = muladd(p, z, 1 / 5)
    p = muladd(p, z, 1 / 3)
    p = muladd(p, z, 1.0)
    return 2.0 * s * p
end

"""
    tanh_wide(x::Float64) -> Float64

tanh x with a relative error below 1e-11: (e^2x - 1) / (e^2x + 1), and below |x| = 2^-5 the Taylor polynomial of degree 7, whose
remainder is 62/2835 x^8 < 3e-14 of the result.
"""
@inline function tanh_wide(x::Float64)
    clamped = ifelse(x > 20.0, 20.0, ifelse(x < -20.0, -20.0, x))
    t = exp_wide(2.0 * clamped)
    z = x * x
    small = x * muladd(z, muladd(z, muladd(z, -17 / 315, 2 / 15), -1 / 3), 1.0)
    return ifelse(abs(x) < 0x1p-5, small, (t - 1.0) / (t + 1.0))
end

"""
    sigmoid_wide(x::Float64) -> Float64

1 / (1 + e^-x) with a relative error below 2e-14 for x >= -708.
"""
@inline function sigmoid_wide(x::Float64)
    return 1.0 / (1.0 + exp_wide(-x))
end

# erfc is below 1e-300 beyond; the bound keeps infinities out of the quotient.
const ERFC_MAX = 27.0

"""
    erfc_wide(z::Float64) -> Float64

Complementary error function with a relative error below 1e-10 for z <= 10; for larger z the result is below 1e-44 and only its order
of magnitude is right. For a = |z|, (1 + 2a) exp(a^2) erfc(a) is a polynomial in t = (a - 3) / (a + 3): the form of Shepherd and
Laframboise, "Chebyshev approximation of (1+2x) exp(x^2) erfc x in 0 <= x < inf", Math. Comp. 36 (1981). The coefficients are our
own: Chebyshev interpolation of degree 12 on a in [0, 10] at 700 bits, largest relative error 5.2e-11.
"""
@inline function erfc_wide(z::Float64)
    a = abs(z)
    a = ifelse(a > ERFC_MAX, ERFC_MAX, a)
    t = (a - 3.0) / (a + 3.0)
    p = 3.470618381744089e-5
    p = muladd(p, t, 0.00013116394026136392)
    p = muladd(p, t, -0.0001238810714855801)
    p = muladd(p, t, -0.0007921501195649666)
    p = muladd(p, t, 0.0018916384595721097)
    p = muladd(p, t, 0.0025336427233478716)
    p = muladd(p, t, -0.02377030952721432)
    p = muladd(p, t, 0.06830744117450786)
    p = muladd(p, t, -0.1192737395845588)
    p = muladd(p, t, 0.12964519143333791)
    p = muladd(p, t, -0.04756229020461589)
    p = muladd(p, t, -0.13562110665569863)
    p = muladd(p, t, 1.2530080582394574)
    tail = p * exp_wide(-a * a) / (1.0 + 2.0 * a)
    return ifelse(z < 0.0, 2.0 - tail, tail)
end
