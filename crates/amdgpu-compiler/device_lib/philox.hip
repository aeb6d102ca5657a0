// What "amdgpu_philox.h" declares: the random numbers of `amdgpu.random` as functions of a stream and an index, and a generator that draws
// one number after the other. Philox4x32-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
// Read only where it is included.
//
// zig/src/random computes the same on the CPU, operation by operation, so that the bits are equal: what changes here changes there. Products
// that are added to something have a name or are operands of an fma: nothing else may fuse them.

__device__ uint4 agpu_philox4x32_10(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; ++round) {
        unsigned int high_0 = __umulhi(0xD2511F53u, counter.x), low_0 = 0xD2511F53u * counter.x;
        unsigned int high_1 = __umulhi(0xCD9E8D57u, counter.z), low_1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(high_1 ^ counter.y ^ key.x, low_1, high_0 ^ counter.w ^ key.y, low_0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

// A place in the numbers of a key: `key` and `position` of the state of `amdgpu.random.Generator`; `high` is its `jumps` << 32.
struct agpu_stream {
    unsigned long long key;
    unsigned long long position;
    unsigned long long high;
};

__device__ agpu_stream agpu_stream_at(unsigned long long key, unsigned long long position, unsigned long long jumps) {
    agpu_stream stream = {key, position, jumps << 32};
    return stream;
}

// The four words of block `low` of a stream; attempts of samplers that reject are numbered in the high half of the counter.
__device__ uint4 agpu_block(agpu_stream stream, unsigned long long low, unsigned int attempt) {
    unsigned long long high = stream.high + attempt;
    uint4 counter = make_uint4((unsigned int)low, (unsigned int)(low >> 32), (unsigned int)high, (unsigned int)(high >> 32));
    return agpu_philox4x32_10(counter, make_uint2((unsigned int)stream.key, (unsigned int)(stream.key >> 32)));
}

__device__ unsigned int agpu_word_of(uint4 block, unsigned int place) {
    return place == 0u ? block.x : place == 1u ? block.y : place == 2u ? block.z : block.w;
}

__device__ unsigned long long agpu_pair_of(unsigned int first, unsigned int second) {
    return (unsigned long long)second << 32 | first;
}

// Numbers of words.

// (0, 1], of 31 bits: above zero, so that its logarithm is finite.
__device__ float agpu_open_unit32(unsigned int word) { return fmaf((float)(int)(word >> 1), 4.656612873077393e-10f, 2.3283064365386963e-10f); }

// [0, 1) of 53 bits, and (0, 1].
__device__ double agpu_unit64(unsigned long long pair) { return (double)(pair >> 11) * 1.1102230246251565e-16; }
__device__ double agpu_open_unit64(unsigned long long pair) { return fma((double)(pair >> 11), 1.1102230246251565e-16, 1.1102230246251565e-16); }

// Of positive normal numbers. Polynomial of Moshier's Cephes (logf).
__device__ float agpu_log32(float x) {
    unsigned int moved = __float_as_uint(x) + (0x3F800000u - 0x3F3504F3u);
    // The exponent below those bits of 2^23, so that it needs no conversion.
    float e = __uint_as_float(0x4B000000u | moved >> 23) - 8388735.0f;
    float f = __uint_as_float((moved & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    float square = f * f;
    float cube = f * square;
    float series = 7.0376836292e-2f;
    series = fmaf(series, f, -1.1514610310e-1f);
    series = fmaf(series, f, 1.1676998740e-1f);
    series = fmaf(series, f, -1.2420140846e-1f);
    series = fmaf(series, f, 1.4249322787e-1f);
    series = fmaf(series, f, -1.6668057665e-1f);
    series = fmaf(series, f, 2.0000714765e-1f);
    series = fmaf(series, f, -2.4999993993e-1f);
    series = fmaf(series, f, 3.3333331174e-1f);
    float result = series * cube;
    result = fmaf(e, -2.12194440e-4f, result);
    result = fmaf(square, -0.5f, result);
    result = result + f;
    return fmaf(e, 0.693359375f, result);
}

// Of positive normal numbers. Series of Sun's fdlibm (e_log).
__device__ double agpu_log64(double x) {
    unsigned long long moved = (unsigned long long)__double_as_longlong(x) + (0x3FF0000000000000ull - 0x3FE6A09E667F3BCDull);
    double e = (double)((int)(moved >> 52) - 1023);
    double f = __longlong_as_double((long long)((moved & 0x000FFFFFFFFFFFFFull) + 0x3FE6A09E667F3BCDull)) - 1.0;
    double s = f / (f + 2.0);
    double z = s * s;
    double series = 1.479819860511658591e-01;
    series = fma(series, z, 1.531383769920937332e-01);
    series = fma(series, z, 1.818357216161805012e-01);
    series = fma(series, z, 2.222219843214978396e-01);
    series = fma(series, z, 2.857142874366239149e-01);
    series = fma(series, z, 3.999999999940941908e-01);
    series = fma(series, z, 6.666666666666735130e-01);
    double half = f * 0.5;
    double half_square = half * f;
    double rest = fma(series, z, half_square);
    double low = e * 1.90821492927058770002e-10;
    double sum = half_square - fma(s, rest, low);
    return fma(e, 6.93147180369123816490e-01, f - sum);
}

// e^x; 0 below -745, the largest powers that are finite above 709. Taylor's series of |x| <= ln(2) / 2.
__device__ double agpu_exp64(double x) {
    const double magic = 6755399441055744.0;
    double bounded = x < -746.0 ? -746.0 : x;
    bounded = bounded > 709.0 ? 709.0 : bounded;
    double shifted = fma(bounded, 1.4426950408889634, magic);
    double n = shifted - magic;
    double near = fma(n, -6.93147180369123816490e-01, bounded);
    double r = fma(n, -1.90821492927058770002e-10, near);
    double power = 1.6059043836821613e-10;
    power = fma(power, r, 2.08767569878681e-9);
    power = fma(power, r, 2.505210838544172e-8);
    power = fma(power, r, 2.755731922398589e-7);
    power = fma(power, r, 2.7557319223985893e-6);
    power = fma(power, r, 2.48015873015873e-5);
    power = fma(power, r, 1.984126984126984e-4);
    power = fma(power, r, 1.3888888888888889e-3);
    power = fma(power, r, 8.333333333333333e-3);
    power = fma(power, r, 4.1666666666666664e-2);
    power = fma(power, r, 0.16666666666666666);
    power = fma(power, r, 0.5);
    power = fma(power, r, 1.0);
    power = fma(power, r, 1.0);
    // Two factors, so that subnormal results are reached.
    unsigned long long whole = (unsigned long long)__double_as_longlong(shifted) - (0x4338000000000000ull - 2048ull);
    unsigned long long first = whole >> 1;
    unsigned long long second = whole - first;
    double half_scaled = power * __longlong_as_double((long long)((first - 1ull) << 52));
    return half_scaled * __longlong_as_double((long long)((second - 1ull) << 52));
}

// log(1 + x) of x in (-0.5, 0]: what the sum loses is put back (Kahan).
__device__ double agpu_log1p64(double x) {
    double sum = x + 1.0;
    double lost = x - (sum - 1.0);
    return agpu_log64(sum) + lost / sum;
}

// log(k!) of whole k >= 0: Stirling's series, which needs k + 1 >= 10; smaller ones are multiplied up to it.
__device__ double agpu_log_factorial(double k) {
    double x = k + 1.0, product = 1.0;
    while (x < 10.0) {
        product = product * x;
        x = x + 1.0;
    }
    double inverse = 1.0 / x;
    double square = inverse * inverse;
    double series = 8.417508417508417e-4;
    series = fma(series, square, -5.952380952380953e-4);
    series = fma(series, square, 7.936507936507937e-4);
    series = fma(series, square, -2.777777777777778e-3);
    series = fma(series, square, 8.333333333333333e-2);
    double correction = series * inverse;
    double main = fma(x - 0.5, agpu_log64(x), -x);
    double sum = main + (correction + 0.9189385332046728);
    return sum - agpu_log64(product);
}

// The point (cosine, sine), so many quarters of a turn further.
__device__ float2 agpu_rotated(unsigned int quarter, float cosine, float sine) {
    float first = quarter & 1u ? sine : cosine, second = quarter & 1u ? cosine : sine;
    return make_float2((quarter + 1u) & 2u ? -first : first, quarter & 2u ? -second : second);
}

__device__ double2 agpu_rotated(unsigned int quarter, double cosine, double sine) {
    double first = quarter & 1u ? sine : cosine, second = quarter & 1u ? cosine : sine;
    return make_double2((quarter + 1u) & 2u ? -first : first, quarter & 2u ? -second : second);
}

// Cosine and sine of the word's part of a turn. Polynomials of Cephes (sinf, cosf).
__device__ float2 agpu_turn32(unsigned int word) {
    unsigned int moved = word + (1u << 29);
    float place = (float)(int)((moved & 0x3FFFFFFFu) >> 6);
    float x = (place - 8388608.0f) * 9.362675967850009e-08f;
    float z = x * x;
    float sine_series = fmaf(fmaf(-1.9515295891e-4f, z, 8.3321608736e-3f), z, -1.6666654611e-1f);
    float cosine_series = fmaf(fmaf(2.443315711809948e-5f, z, -1.388731625493765e-3f), z, 4.166664568298827e-2f);
    float cube = x * z;
    float fourth = z * z;
    float sine = fmaf(sine_series, cube, x);
    float cosine = fmaf(cosine_series, fourth, fmaf(z, -0.5f, 1.0f));
    return agpu_rotated(moved >> 30, cosine, sine);
}

// The same of a pair of words. Polynomials of fdlibm (k_sin, k_cos).
__device__ double2 agpu_turn64(unsigned long long pair) {
    unsigned long long moved = pair + (1ull << 61);
    double place = (double)((moved & 0x3FFFFFFFFFFFFFFFull) >> 9);
    double x = (place - 4503599627370496.0) * 1.743934249004316e-16;
    double z = x * x;
    double sine_series = 1.58969099521155010221e-10;
    sine_series = fma(sine_series, z, -2.50507602534068634195e-08);
    sine_series = fma(sine_series, z, 2.75573137070700676789e-06);
    sine_series = fma(sine_series, z, -1.98412698298579493134e-04);
    sine_series = fma(sine_series, z, 8.33333333332248946124e-03);
    sine_series = fma(sine_series, z, -1.66666666666666324348e-01);
    double cosine_series = -1.13596475577881948265e-11;
    cosine_series = fma(cosine_series, z, 2.08757232129817482790e-09);
    cosine_series = fma(cosine_series, z, -2.75573143513906633035e-07);
    cosine_series = fma(cosine_series, z, 2.48015872894767294178e-05);
    cosine_series = fma(cosine_series, z, -1.38888888888741095749e-03);
    cosine_series = fma(cosine_series, z, 4.16666666666666019037e-02);
    double cube = x * z;
    double fourth = z * z;
    double sine = fma(sine_series, cube, x);
    double cosine = fma(cosine_series, fourth, fma(z, -0.5, 1.0));
    return agpu_rotated((unsigned int)(moved >> 62), cosine, sine);
}

// Two normal numbers of two words, or of two pairs (Box and Muller 1958).
__device__ float2 agpu_normals32(unsigned int first, unsigned int second) {
    float radius = sqrtf(agpu_log32(agpu_open_unit32(first)) * -2.0f);
    float2 turn = agpu_turn32(second);
    return make_float2(radius * turn.x, radius * turn.y);
}

__device__ double2 agpu_normals64(unsigned long long first, unsigned long long second) {
    double radius = sqrt(agpu_log64(agpu_open_unit64(first)) * -2.0);
    double2 turn = agpu_turn64(second);
    return make_double2(radius * turn.x, radius * turn.y);
}

// Two normal numbers with the roundings of TensorFlow's float functions (`tsl/lib/random/random_distributions.h`): sine, then cosine.
__device__ float2 agpu_grouped_normals32(unsigned int first, unsigned int second) {
    double fraction = (double)(first & 0x7FFFFFu) * 1.1920928955078125e-07;
    double least = (double)1e-7f;
    float radius = sqrtf((float)agpu_log64(fraction < least ? least : fraction) * -2.0f);
    double x = (double)(second & 0x7FFFFFu) * 1.1920928955078125e-07;
    float angle = (float)(x * 6.283185307179586);
    double lost = fma(x, -6.283185307179586, (double)angle);
    double2 turn = agpu_turn64((unsigned long long)second << 41);
    float sine = (float)fma(turn.x, lost, turn.y), cosine = (float)fma(-turn.y, lost, turn.x);
    return make_float2(sine * radius, cosine * radius);
}

// The same of a block; of a pair the first word is the upper one.
__device__ double2 agpu_grouped_normals64(uint4 words) {
    unsigned long long first = agpu_pair_of(words.y, words.x & 0xFFFFFu), second = agpu_pair_of(words.w, words.z & 0xFFFFFu);
    double fraction = (double)first * 2.220446049250313e-16;
    double radius = sqrt(agpu_log64(fraction < 1e-7 ? 1e-7 : fraction) * -2.0);
    double x = (double)second * 2.220446049250313e-16;
    double angle = x * 6.283185307179586;
    double rest = x * 2.4492935982947064e-16;
    double lost = fma(x, -6.283185307179586, angle) - rest;
    double2 turn = agpu_turn64(second << 12);
    double sine = fma(turn.x, lost, turn.y), cosine = fma(-turn.y, lost, turn.x);
    return make_double2(sine * radius, cosine * radius);
}

__device__ float agpu_exponential32(unsigned int word) { return 0.0f - agpu_log32(agpu_open_unit32(word)); }
__device__ double agpu_exponential64(unsigned long long pair) { return 0.0 - agpu_log64(agpu_open_unit64(pair)); }

// [0, span) of a word without bias (Lemire 2019), for spans up to 2^32: a word that would make some values likelier is drawn again from the
// next attempt of its block.
__device__ unsigned int agpu_below32(agpu_stream stream, unsigned long long block, unsigned int place, unsigned int word, unsigned long long span) {
    unsigned long long product = word * span;
    if ((product & 0xFFFFFFFFull) < span) {
        unsigned int threshold = (unsigned int)((0x100000000ull - span) % span);
        for (unsigned int attempt = 1u; attempt < 64u && (unsigned int)product < threshold; ++attempt)
            product = agpu_word_of(agpu_block(stream, block, attempt), place) * span;
    }
    return (unsigned int)(product >> 32);
}

// [0, span) of a pair of words; 0 is 2^64.
__device__ unsigned long long agpu_below64(agpu_stream stream, unsigned long long block, unsigned int place, unsigned long long pair,
                                           unsigned long long span) {
    if (span == 0ull) return pair;
    unsigned long long low = pair * span, high = __umul64hi(pair, span);
    if (low < span) {
        unsigned long long threshold = (0ull - span) % span;
        for (unsigned int attempt = 1u; attempt < 64u && low < threshold; ++attempt) {
            uint4 words = agpu_block(stream, block, attempt);
            pair = place == 0u ? agpu_pair_of(words.x, words.y) : agpu_pair_of(words.z, words.w);
            low = pair * span;
            high = __umul64hi(pair, span);
        }
    }
    return high;
}

// Words below it are as likely as the chance, which lies in [0, 1].
__device__ unsigned long long agpu_threshold(double chance) { return (unsigned long long)ceil(chance * 4294967296.0); }

// Samplers of a block of their own, by rejection or search: in float64.

// A gamma number and the logarithm of the factor that small shapes take: apart, because the product may be too small for a float.
// Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; shapes below 1 by its section 6.
__device__ double2 agpu_gamma_parts(agpu_stream stream, unsigned long long block, double shape) {
    bool is_small = shape < 1.0;
    double raised = is_small ? shape + 1.0 : shape;
    double d = raised - 0.3333333333333333;
    double c = 1.0 / sqrt(d * 9.0);
    double result = d;
    for (unsigned int attempt = 0u; attempt < 256u; ++attempt) {
        uint4 words = agpu_block(stream, block, attempt);
        double radius = sqrt(agpu_log64(agpu_open_unit64(agpu_pair_of(words.x, words.y))) * -2.0);
        double x = radius * agpu_turn64((unsigned long long)words.z << 32).x;
        double t = fma(c, x, 1.0);
        if (!(t > 0.0)) continue;
        double square = t * t;
        double v = square * t;
        double u = fma((double)words.w, 2.3283064365386963e-10, 1.1641532182693481e-10);
        double inner = (1.0 - v) + agpu_log64(v);
        double half = x * 0.5;
        double scaled = d * inner;
        if (agpu_log64(u) < fma(half, x, scaled)) {
            result = d * v;
            break;
        }
    }
    double log_factor = 0.0;
    if (is_small) {
        uint4 words = agpu_block(stream, block, 0x80000000u);
        double u = agpu_open_unit64(agpu_pair_of(words.x, words.y));
        log_factor = agpu_log64(u * 0.9999999999999999) / shape;
    }
    return make_double2(result, log_factor);
}

__device__ double agpu_gamma_of(agpu_stream stream, unsigned long long block, double shape) {
    double2 parts = agpu_gamma_parts(stream, block, shape);
    return parts.y != 0.0 ? parts.x * agpu_exp64(parts.y) : parts.x;
}

// X / (X + Y) of two gamma numbers, by their logarithms.
__device__ double agpu_beta_of(agpu_stream stream, unsigned long long block, double a, double b) {
    double2 x = agpu_gamma_parts(stream, block, a);
    double2 y = agpu_gamma_parts(stream, block + 1ull, b);
    double log_x = agpu_log64(x.x) + x.y;
    double log_y = agpu_log64(y.x) + y.y;
    return 1.0 / (agpu_exp64(log_y - log_x) + 1.0);
}

// Inversion by search for means below 10, transformed rejection with squeeze (Hoermann 1993, algorithm PTRS) for others.
__device__ double agpu_poisson_of(agpu_stream stream, unsigned long long block, double mean) {
    if (mean < 10.0) {
        uint4 words = agpu_block(stream, block, 0u);
        double u = agpu_unit64(agpu_pair_of(words.x, words.y));
        double probability = agpu_exp64(-mean);
        double sum = probability, k = 0.0;
        for (int searched = 0; searched < 256 && u >= sum; ++searched) {
            k = k + 1.0;
            probability = probability * (mean / k);
            sum = sum + probability;
        }
        return k;
    }
    double root = sqrt(mean);
    double log_mean = agpu_log64(mean);
    double b = fma(root, 2.53, 0.931);
    double a = fma(b, 0.02483, -0.059);
    double log_inverse_alpha = agpu_log64(1.1328 / (b - 3.4) + 1.1239);
    double squeeze = 0.9277 - 3.6224 / (b - 2.0);
    double centre = mean + 0.43;
    for (unsigned int attempt = 0u; attempt < 256u; ++attempt) {
        uint4 words = agpu_block(stream, block, attempt);
        double u = agpu_unit64(agpu_pair_of(words.x, words.y)) - 0.5;
        double v = agpu_open_unit64(agpu_pair_of(words.z, words.w));
        double tail = 0.5 - fabs(u);
        double slope = (a + a) / tail + b;
        double k = floor(fma(slope, u, centre));
        if (tail >= 0.07 && v <= squeeze) return k;
        if (!(k >= 0.0)) continue;
        double square = tail * tail;
        double left = (agpu_log64(v) + log_inverse_alpha) - agpu_log64(a / square + b);
        double right = fma(k, log_mean, -mean) - agpu_log_factorial(k);
        if (left <= right) return k;
    }
    return 0.0;
}

// Transformed rejection (Hoermann 1993, algorithm BTRS), for means from 10 on and chances up to 1/2.
__device__ double agpu_binomial_rejected(agpu_stream stream, unsigned long long block, double n, double q, double odds) {
    double mean = n * q;
    double deviation = sqrt(mean * (1.0 - q));
    double b = fma(deviation, 2.53, 1.15);
    double a = fma(q, 0.01, fma(b, 0.0248, -0.0873));
    double centre = mean + 0.5;
    double squeeze = 0.92 - 4.2 / b;
    double alpha = (5.1 / b + 2.83) * deviation;
    double log_odds = agpu_log64(odds);
    double mode = floor(fma(n, q, q));
    double at_mode = agpu_log_factorial(mode) + agpu_log_factorial(n - mode);
    for (unsigned int attempt = 0u; attempt < 256u; ++attempt) {
        uint4 words = agpu_block(stream, block, attempt);
        double u = agpu_unit64(agpu_pair_of(words.x, words.y)) - 0.5;
        double v = agpu_open_unit64(agpu_pair_of(words.z, words.w));
        double tail = 0.5 - fabs(u);
        double slope = (a + a) / tail + b;
        double k = floor(fma(slope, u, centre));
        if (!(k >= 0.0 && k <= n)) continue;
        if (tail >= 0.07 && v <= squeeze) return k;
        double square = tail * tail;
        double scaled = v * alpha;
        double left = agpu_log64(scaled / (a / square + b));
        double ratio = at_mode - (agpu_log_factorial(k) + agpu_log_factorial(n - k));
        if (left <= fma(k - mode, log_odds, ratio)) return k;
    }
    return mode;
}

// Inversion by search for small means, rejection for others; above 1/2 the failures are drawn.
__device__ double agpu_binomial_of(agpu_stream stream, unsigned long long block, double n, double p) {
    bool is_flipped = p > 0.5;
    double q = is_flipped ? 1.0 - p : p;
    double odds = q / (1.0 - q);
    double k = 0.0;
    if (n * q < 10.0) {
        uint4 words = agpu_block(stream, block, 0u);
        double u = agpu_unit64(agpu_pair_of(words.x, words.y));
        double probability = agpu_exp64(n * agpu_log1p64(-q));
        double sum = probability;
        for (int searched = 0; searched < 256 && u >= sum && k < n; ++searched) {
            double left = n - k;
            k = k + 1.0;
            probability = probability * (odds * (left / k));
            sum = sum + probability;
        }
    } else {
        k = agpu_binomial_rejected(stream, block, n, q, odds);
    }
    return is_flipped ? n - k : k;
}

// Element `index` of a draw that begins at the position of a stream.

__device__ unsigned int agpu_bits(agpu_stream stream, unsigned long long index) {
    unsigned long long word = stream.position + index;
    return agpu_word_of(agpu_block(stream, word >> 2, 0u), (unsigned int)word & 3u);
}

// Draws of float64 begin at even positions, as those of `Generator` do.
__device__ unsigned long long agpu_bits64(agpu_stream stream, unsigned long long index) {
    unsigned long long word = (stream.position + 1ull & ~1ull) + 2ull * index;
    uint4 words = agpu_block(stream, word >> 2, 0u);
    return word & 2ull ? agpu_pair_of(words.z, words.w) : agpu_pair_of(words.x, words.y);
}

__device__ float agpu_uniform(agpu_stream stream, unsigned long long index) {
    return (float)(int)(agpu_bits(stream, index) >> 8) * 5.9604644775390625e-08f;
}

__device__ double agpu_uniform_double(agpu_stream stream, unsigned long long index) { return agpu_unit64(agpu_bits64(stream, index)); }

__device__ float agpu_normal(agpu_stream stream, unsigned long long index) {
    unsigned long long word = stream.position + index;
    uint4 words = agpu_block(stream, word >> 2, 0u);
    float2 pair = word & 2ull ? agpu_normals32(words.z, words.w) : agpu_normals32(words.x, words.y);
    return word & 1ull ? pair.y : pair.x;
}

__device__ double agpu_normal_double(agpu_stream stream, unsigned long long index) {
    unsigned long long word = (stream.position + 1ull & ~1ull) + 2ull * index;
    uint4 words = agpu_block(stream, word >> 2, 0u);
    double2 pair = agpu_normals64(agpu_pair_of(words.x, words.y), agpu_pair_of(words.z, words.w));
    return word & 2ull ? pair.y : pair.x;
}

__device__ float agpu_exponential(agpu_stream stream, unsigned long long index) { return agpu_exponential32(agpu_bits(stream, index)); }
__device__ double agpu_exponential_double(agpu_stream stream, unsigned long long index) { return agpu_exponential64(agpu_bits64(stream, index)); }

// [0, span) for a span from 1 on; up to 2^32 as an element of one word, beyond it of two.
__device__ unsigned long long agpu_integer(agpu_stream stream, unsigned long long index, unsigned long long span) {
    if (span <= 0x100000000ull) {
        unsigned long long word = stream.position + index;
        return agpu_below32(stream, word >> 2, (unsigned int)word & 3u, agpu_bits(stream, index), span);
    }
    unsigned long long word = (stream.position + 1ull & ~1ull) + 2ull * index;
    return agpu_below64(stream, word >> 2, (unsigned int)word & 3u, agpu_bits64(stream, index), span);
}

__device__ bool agpu_bernoulli(agpu_stream stream, unsigned long long index, double chance) {
    return agpu_bits(stream, index) < agpu_threshold(chance);
}

// Elements with blocks of their own begin at the next whole block.
__device__ unsigned long long agpu_own_block(agpu_stream stream, unsigned long long index, unsigned long long blocks_each) {
    return (stream.position + 3ull >> 2) + index * blocks_each;
}

__device__ double agpu_gamma(agpu_stream stream, unsigned long long index, double shape) {
    return agpu_gamma_of(stream, agpu_own_block(stream, index, 1ull), shape);
}

__device__ double agpu_beta(agpu_stream stream, unsigned long long index, double a, double b) {
    return agpu_beta_of(stream, agpu_own_block(stream, index, 2ull), a, b);
}

__device__ long long agpu_poisson(agpu_stream stream, unsigned long long index, double mean) {
    return (long long)agpu_poisson_of(stream, agpu_own_block(stream, index, 1ull), mean);
}

__device__ long long agpu_binomial(agpu_stream stream, unsigned long long index, double n, double p) {
    return (long long)agpu_binomial_of(stream, agpu_own_block(stream, index, 1ull), n, p);
}
