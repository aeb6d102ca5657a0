// What processors without the instruction call instead: fused multiply-add (x86-64-v2), and conversions of half. The same bits as
// the instructions. Nothing here may use what it replaces.

__device__ float __agpu_fused_float(float a, float b, float c) {
    // The product is exact. The sum is rounded to odd, so that rounding it to float rounds once.
    double product = (double)a * (double)b;
    double addend = c;
    double sum = product + addend;
    double part = sum - product;
    double lost = (product - (sum - part)) + (addend - part);
    long bits = __builtin_bits_long(sum);
    bool is_inexact = lost < 0.0 || lost > 0.0;
    long neighbour = (lost > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1;
    return (float)__builtin_bits_double(is_inexact && (bits & 1) == 0 ? neighbour : bits);
}

// In integers of 128 bits, as two words. Too long to be put in place of every product.
__device__ double __agpu_fused_double(double a, double b, double c) {
    unsigned long a_bits = __builtin_bits_long(a);
    unsigned long b_bits = __builtin_bits_long(b);
    unsigned long c_bits = __builtin_bits_long(c);
    int a_exponent = (int)(a_bits >> 52) & 0x7ff;
    int b_exponent = (int)(b_bits >> 52) & 0x7ff;
    int c_exponent = (int)(c_bits >> 52) & 0x7ff;
    double product = a * b;
    if (a_exponent == 0x7ff || b_exponent == 0x7ff || a == 0.0 || b == 0.0) return product + c;
    if (c_exponent == 0x7ff) return c + c;
    if (c == 0.0) return product;
    bool is_negative = (long)(a_bits ^ b_bits) < 0;
    bool c_is_negative = (long)c_bits < 0;
    // Mantissas of 53 bits with the top one set; the value is mantissa * 2^exponent, times a constant.
    unsigned long fraction = 0xffffffffffffful;
    unsigned long a_part = a_bits & fraction | (a_exponent != 0 ? 0x10000000000000ul : 0ul);
    unsigned long b_part = b_bits & fraction | (b_exponent != 0 ? 0x10000000000000ul : 0ul);
    unsigned long c_part = c_bits & fraction | (c_exponent != 0 ? 0x10000000000000ul : 0ul);
    int a_shift = __builtin_leading_zeros(a_part) - 11;
    int b_shift = __builtin_leading_zeros(b_part) - 11;
    int c_shift = __builtin_leading_zeros(c_part) - 11;
    a_part <<= a_shift;
    b_part <<= b_shift;
    c_part <<= c_shift;
    a_exponent = (a_exponent != 0 ? a_exponent : 1) - a_shift;
    b_exponent = (b_exponent != 0 ? b_exponent : 1) - b_shift;
    c_exponent = (c_exponent != 0 ? c_exponent : 1) - c_shift;
    // Both numbers with their top bit at 124 to 126 of 128.
    unsigned long low = a_part * b_part;
    unsigned long high = __builtin_multiply_high(a_part, b_part) << 20 | low >> 44;
    low <<= 20;
    int exponent = a_exponent + b_exponent - 1075 - 20;
    unsigned long c_high = c_part << 9;
    unsigned long c_low = 0;
    c_exponent -= 73;
    int distance = exponent - c_exponent;
    // The smaller one is shifted right; bits that fall out leave a mark in the last bit.
    bool is_far = distance > 127 || distance < -127;
    int count = is_far ? 0 : (distance < 0 ? -distance : distance);
    unsigned long from_high = distance > 0 ? c_high : high;
    unsigned long from_low = distance > 0 ? c_low : low;
    unsigned long lost = 0;
    if (count >= 64) {
        lost = from_low;
        from_low = from_high;
        from_high = 0;
        count -= 64;
    }
    if (count > 0) {
        lost |= from_low << (64 - count);
        from_low = from_low >> count | from_high << (64 - count);
        from_high >>= count;
    }
    from_low |= lost != 0 ? 1ul : 0ul;
    if (is_far) {
        from_high = 0;
        from_low = 1;
    }
    if (distance > 0) {
        c_high = from_high;
        c_low = from_low;
    } else {
        high = from_high;
        low = from_low;
        exponent = c_exponent;
    }
    if (is_negative == c_is_negative) {
        low += c_low;
        high += c_high + (low < c_low ? 1ul : 0ul);
    } else {
        bool c_is_larger = c_high > high || c_high == high && c_low > low;
        unsigned long large_high = c_is_larger ? c_high : high;
        unsigned long large_low = c_is_larger ? c_low : low;
        unsigned long small_high = c_is_larger ? high : c_high;
        unsigned long small_low = c_is_larger ? low : c_low;
        high = large_high - small_high - (large_low < small_low ? 1ul : 0ul);
        low = large_low - small_low;
        is_negative = c_is_larger ? c_is_negative : is_negative;
        if ((high | low) == 0) return 0.0;
    }
    if (high == 0) {
        high = low;
        low = 0;
        exponent -= 64;
    }
    int zeros = __builtin_leading_zeros(high);
    if (zeros > 0) {
        high = high << zeros | low >> (64 - zeros);
        low <<= zeros;
        exponent -= zeros;
    }
    // The top 53 bits are the mantissa; below 2^-1022 fewer.
    int biased = exponent + 75;
    unsigned long sign = is_negative ? 0x8000000000000000ul : 0ul;
    if (biased >= 0x7ff) return __builtin_bits_double(sign | 0x7ff0000000000000ul);
    int drop = 11;
    if (biased <= 0) {
        drop = min(12 - biased, 63);
        // All of the number lies below the last bit: less than half of it, or the half and what follows.
        if (12 - biased > 64) return __builtin_bits_double(sign);
        if (12 - biased == 64) {
            bool is_above_half = high > 0x8000000000000000ul || low != 0;
            return __builtin_bits_double(sign | (is_above_half ? 1ul : 0ul));
        }
    }
    unsigned long mantissa = high >> drop;
    unsigned long half = 1ul << (drop - 1);
    unsigned long rest = high & (half * 2 - 1);
    bool rounds_up = rest > half || rest == half && (low != 0 || (mantissa & 1) != 0);
    mantissa += rounds_up ? 1ul : 0ul;
    unsigned long base = biased <= 0 ? 0ul : (unsigned long)(biased - 1) << 52;
    return __builtin_bits_double(sign | (base + mantissa));
}

__device__ float __agpu_widen_half(unsigned short value) {
    unsigned int size = value & 0x7fffu;
    unsigned int sign = (unsigned int)(value & 0x8000u) << 16;
    unsigned int normal = (size << 13) + (size >= 0x7c00u ? 0x70000000u : 0x38000000u);
    // Denormals are whole multiples of 2^-24.
    unsigned int small = __builtin_bits_int((float)(int)size * 0x1p-24f);
    return __builtin_bits_float(sign | (size < 0x400u ? small : normal));
}

__device__ unsigned short __agpu_narrow_half(float value) {
    unsigned int bits = __builtin_bits_int(value);
    unsigned int size = bits & 0x7fffffffu;
    unsigned int moved = size + 0xfffu + (size >> 13 & 1u) - 0x38000000u >> 13;
    unsigned int normal = moved > 0x7c00u ? 0x7c00u : moved;
    // Below 2^-14: adding 1/2 rounds to multiples of 2^-24.
    unsigned int small = __builtin_bits_int(__builtin_bits_float(size) + 0.5f) - 0x3f000000u;
    unsigned int rounded = size > 0x7f800000u ? 0x7e00u : (size < 0x38800000u ? small : normal);
    return (unsigned short)(bits >> 16 & 0x8000u | rounded);
}
