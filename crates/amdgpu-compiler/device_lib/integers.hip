// Integer functions of HIP and CUDA: bits, wide products, byte selection, sums of products, packed bytes and half words.

__device__ int __popc(unsigned int x) { return __builtin_popcount(x); }
__device__ int __popcll(unsigned long long x) { return __builtin_popcount(x); }
__device__ int __clz(int x) { return __builtin_leading_zeros(x); }
__device__ int __clzll(long long x) { return __builtin_leading_zeros(x); }
__device__ int __ffs(int x) { return x == 0 ? 0 : __builtin_trailing_zeros(x) + 1; }
__device__ int __ffs(unsigned int x) { return x == 0 ? 0 : __builtin_trailing_zeros(x) + 1; }
__device__ int __ffsll(long long x) { return x == 0 ? 0 : __builtin_trailing_zeros(x) + 1; }
__device__ int __ffsll(unsigned long long x) { return x == 0 ? 0 : __builtin_trailing_zeros(x) + 1; }
__device__ int __ctz(int x) { return __builtin_trailing_zeros(x); }
__device__ int __ctzll(long long x) { return __builtin_trailing_zeros(x); }
__device__ unsigned int __brev(unsigned int x) { return __builtin_reverse_bits(x); }
__device__ unsigned long long __brevll(unsigned long long x) { return __builtin_reverse_bits(x); }
// The compiler's own names for the same.
__device__ int __builtin_popcountll(unsigned long long x) { return __builtin_popcount(x); }
__device__ int __builtin_clz(unsigned int x) { return __builtin_leading_zeros(x); }
__device__ int __builtin_clzll(unsigned long long x) { return __builtin_leading_zeros(x); }
__device__ int __builtin_ctz(unsigned int x) { return __builtin_trailing_zeros(x); }
__device__ int __builtin_ctzll(unsigned long long x) { return __builtin_trailing_zeros(x); }
__device__ int __builtin_ffs(int x) { return __ffs(x); }

__device__ int __mulhi(int a, int b) { return __builtin_multiply_high(a, b); }
__device__ unsigned int __umulhi(unsigned int a, unsigned int b) { return __builtin_multiply_high(a, b); }
__device__ long long __mul64hi(long long a, long long b) { return __builtin_multiply_high(a, b); }
__device__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return __builtin_multiply_high(a, b); }
__device__ int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
__device__ unsigned int __umul24(unsigned int a, unsigned int b) { return (a & 0xffffffu) * (b & 0xffffffu); }

// Averages without overflow, rounded down and up.
__device__ int __hadd(int a, int b) { return (a & b) + ((a ^ b) >> 1); }
__device__ int __rhadd(int a, int b) { return (a | b) - ((a ^ b) >> 1); }
__device__ unsigned int __uhadd(unsigned int a, unsigned int b) { return (a & b) + ((a ^ b) >> 1); }
__device__ unsigned int __urhadd(unsigned int a, unsigned int b) { return (a | b) - ((a ^ b) >> 1); }
__device__ unsigned int __usad(unsigned int a, unsigned int b, unsigned int sum) { return (a > b ? a - b : b - a) + sum; }
__device__ unsigned int __sad(int a, int b, unsigned int sum) {
    return (a > b ? (unsigned int)a - (unsigned int)b : (unsigned int)b - (unsigned int)a) + sum;
}

// Four bytes chosen out of eight by the low three bits of each nibble of the selector.
__device__ unsigned int __byte_perm(unsigned int low, unsigned int high, unsigned int selector) {
    unsigned long bytes = (unsigned long)high << 32 | low;
    unsigned int a = (unsigned int)(bytes >> (selector & 7u) * 8) & 0xffu;
    unsigned int b = (unsigned int)(bytes >> (selector >> 4 & 7u) * 8) & 0xffu;
    unsigned int c = (unsigned int)(bytes >> (selector >> 8 & 7u) * 8) & 0xffu;
    unsigned int d = (unsigned int)(bytes >> (selector >> 12 & 7u) * 8) & 0xffu;
    return a | b << 8 | c << 16 | d << 24;
}
__device__ unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int count) {
    return (unsigned int)(((unsigned long)high << 32 | low) << (count & 31u) >> 32);
}
__device__ unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int count) {
    return count >= 32u ? low : __funnelshift_l(low, high, count);
}
__device__ unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int count) {
    return (unsigned int)(((unsigned long)high << 32 | low) >> (count & 31u));
}
__device__ unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int count) {
    return count >= 32u ? high : __funnelshift_r(low, high, count);
}

// Sums of products of packed bytes.
__device__ int __dp4a(int a, int b, int sum) {
    sum += (a << 24 >> 24) * (b << 24 >> 24);
    sum += (a << 16 >> 24) * (b << 16 >> 24);
    sum += (a << 8 >> 24) * (b << 8 >> 24);
    return sum + (a >> 24) * (b >> 24);
}
__device__ unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int sum) {
    sum += (a & 0xffu) * (b & 0xffu);
    sum += (a >> 8 & 0xffu) * (b >> 8 & 0xffu);
    sum += (a >> 16 & 0xffu) * (b >> 16 & 0xffu);
    return sum + (a >> 24) * (b >> 24);
}
__device__ int __dp4a(char4 a, char4 b, int sum) { return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
__device__ unsigned int __dp4a(uchar4 a, uchar4 b, unsigned int sum) {
    return sum + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}
// Two half words of `a` with the low or the high two bytes of `b`.
__device__ int __dp2a_lo(int a, int b, int sum) {
    return sum + (a << 16 >> 16) * (b << 24 >> 24) + (a >> 16) * (b << 16 >> 24);
}
__device__ int __dp2a_hi(int a, int b, int sum) {
    return sum + (a << 16 >> 16) * (b << 8 >> 24) + (a >> 16) * (b >> 24);
}
__device__ unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int sum) {
    return sum + (a & 0xffffu) * (b & 0xffu) + (a >> 16) * (b >> 8 & 0xffu);
}
__device__ unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int sum) {
    return sum + (a & 0xffffu) * (b >> 16 & 0xffu) + (a >> 16) * (b >> 24);
}

// Packed sums and differences: carries stop at the top bit of each lane.
__device__ unsigned int __vadd4(unsigned int a, unsigned int b) {
    return ((a & 0x7f7f7f7fu) + (b & 0x7f7f7f7fu)) ^ ((a ^ b) & 0x80808080u);
}
__device__ unsigned int __vsub4(unsigned int a, unsigned int b) {
    return ((a | 0x80808080u) - (b & 0x7f7f7f7fu)) ^ ((a ^ ~b) & 0x80808080u);
}
__device__ unsigned int __vadd2(unsigned int a, unsigned int b) {
    return ((a & 0x7fff7fffu) + (b & 0x7fff7fffu)) ^ ((a ^ b) & 0x80008000u);
}
__device__ unsigned int __vsub2(unsigned int a, unsigned int b) {
    return ((a | 0x80008000u) - (b & 0x7fff7fffu)) ^ ((a ^ ~b) & 0x80008000u);
}
__device__ unsigned int __vavgu4(unsigned int a, unsigned int b) { return (a | b) - (((a ^ b) & 0xfefefefeu) >> 1); }

// Hints that change no result.
__device__ void __nanosleep(unsigned int nanoseconds) {}

// Loads and stores that say how caches should treat them, which our targets choose themselves.
#define AGPU_CACHED_LOAD(name) template <typename T> __device__ T name(const T* pointer) { return *pointer; }
AGPU_CACHED_LOAD(__ldcg)
AGPU_CACHED_LOAD(__ldca)
AGPU_CACHED_LOAD(__ldcs)
AGPU_CACHED_LOAD(__ldlu)
AGPU_CACHED_LOAD(__ldcv)
#undef AGPU_CACHED_LOAD
#define AGPU_CACHED_STORE(name) template <typename T> __device__ void name(T* pointer, T value) { *pointer = value; }
AGPU_CACHED_STORE(__stwb)
AGPU_CACHED_STORE(__stcg)
AGPU_CACHED_STORE(__stcs)
AGPU_CACHED_STORE(__stwt)
#undef AGPU_CACHED_STORE
