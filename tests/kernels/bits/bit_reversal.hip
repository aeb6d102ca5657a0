// Bits and bytes the other way round, leading and trailing zeros.
__global__ void bit_reversal(const unsigned long long* in, unsigned long long* reversed, unsigned* bytes, int4* zeros, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long x = in[i];
    unsigned low = (unsigned)x;
    reversed[i] = __brevll(x);
    bytes[i] = low << 24 | (low & 0xff00u) << 8 | (low >> 8 & 0xff00u) | low >> 24;
    zeros[i] = make_int4(__clz((int)low), __clzll((long long)x), __ffs((int)low), __ffsll((long long)x));
}
