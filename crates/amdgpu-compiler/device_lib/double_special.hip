// Error functions and their inverses, the normal distribution, the gamma function, and lengths of vectors in double precision.
// Coefficients: tools/fit_polynomials.py.

// e^(x^2) erfc(x) for x of at least 0.49: a polynomial in (x - 3) / (x + 3) for (1 + 2 x) of it, after Shepherd and Laframboise
// (Mathematics of Computation 36, 1981).
__device__ double __agpu_erfcx_right(double x) {
    double limited = x > 1e300 ? 1e300 : x;
    double t = (limited - 3.0) / (limited + 3.0);
    double p = 0x1.c08c2471a79c6p-29;
    p = __builtin_fma(p, t, -0x1.88c13ac329b86p-26);
    p = __builtin_fma(p, t, 0x1.34b23ae499f0fp-26);
    p = __builtin_fma(p, t, 0x1.1c3534b25c6a6p-23);
    p = __builtin_fma(p, t, -0x1.0603dfbd03d4dp-23);
    p = __builtin_fma(p, t, -0x1.5f4fefcaa9ab2p-21);
    p = __builtin_fma(p, t, 0x1.7845fe8b07575p-22);
    p = __builtin_fma(p, t, 0x1.d58113330c9bep-19);
    p = __builtin_fma(p, t, -0x1.89270501c8787p-21);
    p = __builtin_fma(p, t, -0x1.516932a66086ep-16);
    p = __builtin_fma(p, t, 0x1.4c3f29e502b36p-18);
    p = __builtin_fma(p, t, 0x1.065bb8ccde45fp-13);
    p = __builtin_fma(p, t, -0x1.b913002679cbap-14);
    p = __builtin_fma(p, t, -0x1.98db61221b578p-11);
    p = __builtin_fma(p, t, 0x1.ef1bdec87adc8p-10);
    p = __builtin_fma(p, t, 0x1.4b884eaca454fp-9);
    p = __builtin_fma(p, t, -0x1.8574c40e060a5p-6);
    p = __builtin_fma(p, t, 0x1.17ca2877c15eep-4);
    p = __builtin_fma(p, t, -0x1.e88b803a42d44p-4);
    p = __builtin_fma(p, t, 0x1.098366a5b50f4p-3);
    p = __builtin_fma(p, t, -0x1.85a15c58aa93ep-5);
    p = __builtin_fma(p, t, -0x1.15c084bb9e908p-3);
    p = __builtin_fma(p, t, 0x1.40c522d7e4987p+0);
    return p / __builtin_fma(2.0, x, 1.0);
}

// erfc(high + low) for at least 0.49.
__device__ double __agpu_erfc_right(double high, double low) {
    double limited = high > 28.0 ? 28.0 : high;
    double square = limited * limited;
    double square_low = __builtin_fma(limited, limited, -square) + 2.0 * limited * low;
    return __agpu_exp_pair(-square, -square_low, __agpu_erfcx_right(limited), 0);
}

// For -0.8 <= x <= 0.8.
__device__ double __agpu_erf_centre(double x) {
    double z = x * x;
    double p = 0x1.855ada0463fd9p-27;
    p = __builtin_fma(p, z, -0x1.55a0cd5815f76p-23);
    p = __builtin_fma(p, z, 0x1.b8fbfbe823d37p-20);
    p = __builtin_fma(p, z, -0x1.f4c4fbaa8626dp-17);
    p = __builtin_fma(p, z, 0x1.f9a2ad9d38977p-14);
    p = __builtin_fma(p, z, -0x1.c02db16000112p-11);
    p = __builtin_fma(p, z, 0x1.565bcd060b5dap-8);
    p = __builtin_fma(p, z, -0x1.b82ce3126d915p-6);
    p = __builtin_fma(p, z, 0x1.ce2f21a0429bfp-4);
    p = __builtin_fma(p, z, -0x1.812746b0379e6p-2);
    double tail = x * z * p;
    double first = x * 0x1.20dd750429b6dp+0;
    double lost = __builtin_fma(x, 0x1.20dd750429b6dp+0, -first) + x * 0x1.1ae3a914fed80p-56;
    return first + (tail + lost);
}

__device__ double erf(double x) {
    double a = __builtin_fabs(x);
    if (a < 0.8) return a < 0x1p-970 ? x * 0x1.20dd750429b6dp+0 : __agpu_erf_centre(x);
    if (x != x) return x;
    return __builtin_copysign(a > 6.0 ? 1.0 : 1.0 - __agpu_erfc_right(a, 0.0), x);
}
__device__ double erfc(double x) {
    if (x != x) return x;
    if (__builtin_fabs(x) < 0.5) return 1.0 - __agpu_erf_centre(x);
    double right = __agpu_erfc_right(__builtin_fabs(x), 0.0);
    return x < 0.0 ? 2.0 - right : right;
}
__device__ double erfcx(double x) {
    if (x != x) return x;
    if (x >= 0.5) return __agpu_erfcx_right(x);
    // e^(x^2) with the square as two doubles.
    double limited = x < -27.0 ? -27.0 : x;
    double square = limited * limited;
    double low = __builtin_fma(limited, limited, -square);
    return __agpu_exp_pair(square, low, erfc(limited), 0);
}
__device__ double normcdf(double x) {
    if (x != x) return x;
    double limited = x > 40.0 ? 40.0 : (x < -40.0 ? -40.0 : x);
    // x / sqrt(2) as two doubles.
    double high = limited * -0x1.6a09e667f3bcdp-1;
    double low = __builtin_fma(limited, -0x1.6a09e667f3bcdp-1, -high) + limited * 0x1.bdd3413b26456p-55;
    if (__builtin_fabs(high) < 0.5) return 0.5 - 0.5 * __agpu_erf_centre(high);
    bool is_left = high > 0.0;
    double right = 0.5 * __agpu_erfc_right(is_left ? high : -high, is_left ? low : -low);
    return is_left ? right : 1.0 - right;
}

// One step of Halley's method towards f(y) = 0, where f' is `slope` * e^(-y^2) * 2 / sqrt(pi).
__device__ double __agpu_erf_step(double y, double distance, double slope) {
    double u = distance / (slope * 0x1.20dd750429b6dp+0 * exp(-y * y));
    return y - u / __builtin_fma(y, u, 1.0);
}
// erfcinv for 0 < q <= 0.26.
__device__ double __agpu_erfcinv_right(double q) {
    double s = __builtin_sqrt(-log(q));
    double y;
    if (s < 2.95) {
    double p = -0x1.c5fc6695dc08ap-15;
    p = __builtin_fma(p, s, 0x1.3a207b1d67459p-10);
    p = __builtin_fma(p, s, -0x1.870a46ccefbc7p-7);
    p = __builtin_fma(p, s, 0x1.20c9de91ad25ap-4);
    p = __builtin_fma(p, s, -0x1.18b723f1f33e3p-2);
    p = __builtin_fma(p, s, 0x1.77ac77bdf6f47p-1);
    p = __builtin_fma(p, s, -0x1.5db2b049be77fp+0);
    p = __builtin_fma(p, s, 0x1.b7e47a2eb466ep+0);
    p = __builtin_fma(p, s, -0x1.180808024e987p-2);
    p = __builtin_fma(p, s, 0x1.3bc04b563440ap-5);
        y = p;
    } else {
        double v = 1.0 / s;
    double p = 0x1.a4496ab5d2da6p+13;
    p = __builtin_fma(p, v, -0x1.ebaa77a88de4ap+14);
    p = __builtin_fma(p, v, 0x1.017beacd4fb96p+15);
    p = __builtin_fma(p, v, -0x1.3f561e8a5c54bp+14);
    p = __builtin_fma(p, v, 0x1.05a485ecd32edp+13);
    p = __builtin_fma(p, v, -0x1.2c1506439d9efp+11);
    p = __builtin_fma(p, v, 0x1.f5366355f2021p+8);
    p = __builtin_fma(p, v, -0x1.3fc7029b940eep+6);
    p = __builtin_fma(p, v, 0x1.666d8086f31b9p+3);
    p = __builtin_fma(p, v, -0x1.f8f4e765443e9p+0);
    p = __builtin_fma(p, v, -0x1.9b11feec9a0f9p-7);
    p = __builtin_fma(p, v, 0x1.00046454f92c9p+0);
        y = p * s;
    }
    // Far out e^(-y^2) is a denormal number; q divided by it is not, and close to erfcx(y).
    double ratio = __agpu_erfcx_right(y);
    double wanted = exp(y * y + log(q));
    double u = (wanted - ratio) * (1.0 / 0x1.20dd750429b6dp+0);
    return y - u / __builtin_fma(y, u, 1.0);
}
__device__ double __agpu_erfinv_guess(double x) {
    double w = x * x;
    double p = 0x1.29d1ab7b9fc0ep-1;
    p = __builtin_fma(p, w, -0x1.a96863bc50ddap-1);
    p = __builtin_fma(p, w, 0x1.49d33bde32c92p-1);
    p = __builtin_fma(p, w, -0x1.618ec251b4600p-3);
    p = __builtin_fma(p, w, 0x1.cb3001de9823ep-4);
    p = __builtin_fma(p, w, 0x1.4c50bb42a2cbep-4);
    p = __builtin_fma(p, w, 0x1.05dccf4824cc7p-3);
    p = __builtin_fma(p, w, 0x1.db26897058fd8p-3);
    p = __builtin_fma(p, w, 0x1.c5bf89dfe19f8p-1);
    return x * p;
}
__device__ double erfinv(double x) {
    double a = __builtin_fabs(x);
    if (!(a < 1.0)) return a == 1.0 ? __builtin_copysign(HUGE_VAL, x) : (double)NAN;
    if (a < 0x1p-970) return x * 0x1.c5bf891b4ef6bp-1;
    if (a > 0.75) return __builtin_copysign(__agpu_erfcinv_right(1.0 - a), x);
    double y = __agpu_erfinv_guess(x);
    return __agpu_erf_step(y, erf(y) - x, 1.0);
}
__device__ double erfcinv(double x) {
    if (!(x > 0.0 && x < 2.0)) return x == 0.0 ? HUGE_VAL : (x == 2.0 ? -HUGE_VAL : (double)NAN);
    if (x >= 0.5 && x <= 1.5) return erfinv(1.0 - x);
    double q = x > 1.0 ? 2.0 - x : x;
    double y;
    if (q > 0.25) {
        y = __agpu_erfinv_guess(1.0 - q);
        y = __agpu_erf_step(y, erfc(y) - q, -1.0);
    } else {
        y = __agpu_erfcinv_right(q);
    }
    return x > 1.0 ? -y : y;
}
__device__ double normcdfinv(double x) { return -0x1.6a09e667f3bcdp+0 * erfcinv(2.0 * x) + 0.0; }

// Gamma of a number between 1 and 2, given how far above 1.5 it lies.
__device__ double __agpu_gamma_centre(double u) {
    double p = -0x1.09546451e99c8p-12;
    p = __builtin_fma(p, u, 0x1.8dfdff69832dap-12);
    p = __builtin_fma(p, u, -0x1.d04ef72b50b52p-13);
    p = __builtin_fma(p, u, 0x1.5c3859742eb2bp-12);
    p = __builtin_fma(p, u, -0x1.71759e5b83295p-11);
    p = __builtin_fma(p, u, 0x1.15139c02edd48p-10);
    p = __builtin_fma(p, u, -0x1.8d6653728eceap-10);
    p = __builtin_fma(p, u, 0x1.29fe79163794cp-9);
    p = __builtin_fma(p, u, -0x1.c0bdf0153ac91p-9);
    p = __builtin_fma(p, u, 0x1.50637fe2d2087p-8);
    p = __builtin_fma(p, u, -0x1.f7fb20be2bce9p-8);
    p = __builtin_fma(p, u, 0x1.7990f5370f825p-7);
    p = __builtin_fma(p, u, -0x1.1a2c2dab649e5p-6);
    p = __builtin_fma(p, u, 0x1.a752ccf6d9af4p-6);
    p = __builtin_fma(p, u, -0x1.374fd5bbb581fp-5);
    p = __builtin_fma(p, u, 0x1.e022b72a04033p-5);
    p = __builtin_fma(p, u, -0x1.3d88cfe528c43p-4);
    p = __builtin_fma(p, u, 0x1.283bd37505389p-3);
    p = __builtin_fma(p, u, -0x1.b77ac1ca2e82ap-4);
    p = __builtin_fma(p, u, 0x1.a8c4dba620c08p-2);
    p = __builtin_fma(p, u, 0x1.08ea88ee561b0p-5);
    p = __builtin_fma(p, u, 0x1.c5bf891b4ef6bp-1);
    return p;
}
// The tail of Stirling's series for x of at least 10.
__device__ double __agpu_stirling(double x) {
    double r = 1.0 / x;
    double w = r * r;
    double p = 0x1.67f0dbbe940ecp-8;
    p = __builtin_fma(p, w, -0x1.f37ae7517f15cp-10);
    p = __builtin_fma(p, w, 0x1.b946ea767cbe0p-11);
    p = __builtin_fma(p, w, -0x1.3813776b518c8p-11);
    p = __builtin_fma(p, w, 0x1.a01a019be34e0p-11);
    p = __builtin_fma(p, w, -0x1.6c16c16c16950p-9);
    p = __builtin_fma(p, w, 0x1.5555555555555p-4);
    return p * r;
}
// log(gamma(x)) / ((x - 1) (x - 2)) for 1 <= x <= 3, given x - 2.
__device__ double __agpu_log_gamma_part(double u) {
    double p = -0x1.a3f97b5464f9ap-31;
    p = __builtin_fma(p, u, 0x1.b0d6e55603b75p-30);
    p = __builtin_fma(p, u, 0x1.206dee4c838a5p-29);
    p = __builtin_fma(p, u, -0x1.285a3a5829dd0p-28);
    p = __builtin_fma(p, u, -0x1.0d77de0390873p-27);
    p = __builtin_fma(p, u, 0x1.16378b8e8e56cp-26);
    p = __builtin_fma(p, u, -0x1.77288613c1092p-29);
    p = __builtin_fma(p, u, 0x1.962bc62ce7761p-28);
    p = __builtin_fma(p, u, -0x1.ac03e6dbcadd4p-25);
    p = __builtin_fma(p, u, 0x1.bf8db5e33a58dp-24);
    p = __builtin_fma(p, u, -0x1.936479fb9046fp-23);
    p = __builtin_fma(p, u, 0x1.a91686d709253p-22);
    p = __builtin_fma(p, u, -0x1.cac9f4fe7556fp-21);
    p = __builtin_fma(p, u, 0x1.e63dd1f85f483p-20);
    p = __builtin_fma(p, u, -0x1.022884cee4d11p-18);
    p = __builtin_fma(p, u, 0x1.13dbddcd4c38ep-17);
    p = __builtin_fma(p, u, -0x1.2850b6e854fa0p-16);
    p = __builtin_fma(p, u, 0x1.402f77c319948p-15);
    p = __builtin_fma(p, u, -0x1.5c86b33a29beep-14);
    p = __builtin_fma(p, u, 0x1.7ed73069f642cp-13);
    p = __builtin_fma(p, u, -0x1.a96a401fda6e3p-12);
    p = __builtin_fma(p, u, 0x1.dfebcf9e3a196p-11);
    p = __builtin_fma(p, u, -0x1.145121f98a3c7p-9);
    p = __builtin_fma(p, u, 0x1.479748539658fp-8);
    p = __builtin_fma(p, u, -0x1.95ce223a9ccefp-7);
    p = __builtin_fma(p, u, 0x1.0e0c9df2935cep-5);
    p = __builtin_fma(p, u, -0x1.9ae6509ea109fp-4);
    p = __builtin_fma(p, u, 0x1.b0ee6072093cep-2);
    return p;
}
// (x - 1) (x - 2) … (x - count) as two doubles; the factors are exact.
__device__ __agpu_pair __agpu_falling(double x, int count) {
    double high = 1.0;
    double low = 0.0;
    for (int k = 1; k <= count; ++k) {
        double factor = x - (double)k;
        double product = high * factor;
        low = __builtin_fma(high, factor, -product) + low * factor;
        high = product;
    }
    return __agpu_pair{high, low};
}
// Gamma of 0 < x < 172.
__device__ double __agpu_gamma_right(double x) {
    if (x < 1.0) return __agpu_gamma_centre(x - 0.5) / x;
    if (x < 20.0) {
        int count = (int)x - 1;
        __agpu_pair product = __agpu_falling(x, count);
        double centre = __agpu_gamma_centre(x - (double)count - 1.5);
        return __builtin_fma(centre, product.high, centre * product.low);
    }
    // (x - 1/2) log(x) - x + log(2 pi) / 2 + the tail, as two doubles.
    __agpu_pair logarithm = __agpu_whole_log(x);
    double factor = x - 0.5;
    double first = factor * logarithm.high;
    double first_low = __builtin_fma(factor, logarithm.high, -first) + factor * logarithm.low;
    double sum = first - x;
    double lost = (first - sum) - x;
    double rest = 0x1.d67f1c864beb5p-1 + __agpu_stirling(x);
    double total = sum + rest;
    double total_low = (sum - total) + rest + (lost + first_low);
    return __agpu_exp_pair(total, total_low, 1.0, 0);
}
__device__ double tgamma(double x) {
    if (x != x || x == HUGE_VAL) return x;
    if (x > 171.7) return HUGE_VAL;
    if (x > 0.0) return __agpu_gamma_right(x);
    if (x == 0.0) return 1.0 / x;
    if (__builtin_trunc(x) == x) return NAN;
    // gamma(x) gamma(-x) = -pi / (x sin(pi x)).
    double a = -x;
    double sine = sinpi(a);
    if (a > 184.0) return __builtin_copysign(0.0, -sine);
    if (a < 0x1p-60) return 1.0 / x;
    // Gamma of more than 171 is no number, the result may be one; part of the product is divided by last.
    int count = a > 150.0 ? 14 : 0;
    __agpu_pair product = __agpu_falling(a, count);
    double gamma = __agpu_gamma_right(a - (double)count);
    return -0x1.921fb54442d18p+1 / (a * sine) / gamma / product.high;
}
__device__ double __agpu_log_gamma_right(double x) {
    if (x < 1.0) return x * (x - 1.0) * __agpu_log_gamma_part(x - 1.0) - log(x);
    if (x < 3.0) return (x - 1.0) * (x - 2.0) * __agpu_log_gamma_part(x - 2.0) + 0.0;
    if (x < 10.0) {
        int count = (int)x - 2;
        __agpu_pair product = __agpu_falling(x, count);
        double rest = x - (double)count;
        return log(product.high) + (rest - 1.0) * (rest - 2.0) * __agpu_log_gamma_part(rest - 2.0);
    }
    double tail = x > 1e17 ? 0.0 : __agpu_stirling(x);
    return (x - 0.5) * (log(x) - 1.0) + (0x1.acfe390c97d69p-2 + tail);
}
__device__ double lgamma(double x) {
    if (x != x) return x;
    if (__builtin_fabs(x) == HUGE_VAL) return HUGE_VAL;
    if (x > 0.0) return __agpu_log_gamma_right(x);
    double a = -x;
    if (__builtin_trunc(a) == a) return HUGE_VAL;
    if (a < 0x1p-60) return -log(a);
    return log(0x1.921fb54442d18p+1 / (a * __builtin_fabs(sinpi(a)))) - __agpu_log_gamma_right(a);
}

// The square root of a sum of up to four squares, scaled so that nothing over- or underflows; the sum is two doubles.
__device__ double __agpu_length(double a, double b, double c, double d) {
    double largest = __builtin_fmax(__builtin_fmax(a, b), __builtin_fmax(c, d));
    if (a == HUGE_VAL || b == HUGE_VAL || c == HUGE_VAL || d == HUGE_VAL) return HUGE_VAL;
    if (a != a || b != b || c != c || d != d) return NAN;
    if (largest == 0.0) return 0.0;
    double lift = largest < 0x1p-500 ? 0x1p600 : (largest > 0x1p500 ? 0x1p-600 : 1.0);
    double back = largest < 0x1p-500 ? 0x1p-600 : (largest > 0x1p500 ? 0x1p600 : 1.0);
    a *= lift;
    b *= lift;
    c *= lift;
    d *= lift;
    double sum = a * a;
    double low = __builtin_fma(a, a, -sum);
    double square = b * b;
    double next = sum + square;
    double part = next - sum;
    low += (sum - (next - part)) + (square - part) + __builtin_fma(b, b, -square);
    sum = next;
    square = c * c;
    next = sum + square;
    part = next - sum;
    low += (sum - (next - part)) + (square - part) + __builtin_fma(c, c, -square);
    sum = next;
    square = d * d;
    next = sum + square;
    part = next - sum;
    low += (sum - (next - part)) + (square - part) + __builtin_fma(d, d, -square);
    sum = next;
    double root = __builtin_sqrt(sum);
    root += (__builtin_fma(-root, root, sum) + low) / (2.0 * root);
    return root * back;
}
__device__ double hypot(double x, double y) { return __agpu_length(__builtin_fabs(x), __builtin_fabs(y), 0.0, 0.0); }
__device__ double norm3d(double x, double y, double z) {
    return __agpu_length(__builtin_fabs(x), __builtin_fabs(y), __builtin_fabs(z), 0.0);
}
__device__ double norm4d(double x, double y, double z, double w) {
    return __agpu_length(__builtin_fabs(x), __builtin_fabs(y), __builtin_fabs(z), __builtin_fabs(w));
}
__device__ double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
__device__ double rnorm3d(double x, double y, double z) { return 1.0 / norm3d(x, y, z); }
__device__ double rnorm4d(double x, double y, double z, double w) { return 1.0 / norm4d(x, y, z, w); }
