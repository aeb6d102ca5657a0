// Operations of a wave, under the names of HIP and CUDA. Beneath are four built-ins: a value of another lane, the lanes whose
// condition holds, the lanes with the same value, a barrier. Their first argument names the lanes that take part; 0 stands for
// those that arrive together, which is what the forms without `_sync` mean.
//
// The lane a value comes from is computed here, so that it is the same on every target: HIP's rules, which are CUDA's where that
// has rules.

__device__ unsigned int __lane_id() { return (unsigned int)__builtin_wave_lane(); }

__device__ int __agpu_lane_of(int lane, int width) {
    return (__builtin_wave_lane() & ~(width - 1)) | (lane & (width - 1));
}
__device__ int __agpu_lane_up(unsigned int delta, int width) {
    int own = __builtin_wave_lane(), in_group = own & (width - 1);
    return delta > (unsigned int)in_group ? own : own - (int)delta;
}
__device__ int __agpu_lane_down(unsigned int delta, int width) {
    int own = __builtin_wave_lane(), left = width - 1 - (own & (width - 1));
    return delta > (unsigned int)left ? own : own + (int)delta;
}
__device__ int __agpu_lane_xor(int lane_mask, int width) {
    int own = __builtin_wave_lane(), other = own ^ (lane_mask & (warpSize - 1));
    return other >= ((own + width) & ~(width - 1)) ? own : other;
}

// `to` and `from` turn a value into an integer of its size and back.
#define AGPU_SHUFFLES(type, to, from)                                                                              \
    __device__ type __shfl(type value, int lane, int width = warpSize) {                                           \
        return from(__builtin_wave_shuffle(0, to(value), __agpu_lane_of(lane, width)));                            \
    }                                                                                                              \
    __device__ type __shfl_up(type value, unsigned int delta, int width = warpSize) {                              \
        return from(__builtin_wave_shuffle(0, to(value), __agpu_lane_up(delta, width)));                           \
    }                                                                                                              \
    __device__ type __shfl_down(type value, unsigned int delta, int width = warpSize) {                            \
        return from(__builtin_wave_shuffle(0, to(value), __agpu_lane_down(delta, width)));                         \
    }                                                                                                              \
    __device__ type __shfl_xor(type value, int lane_mask, int width = warpSize) {                                  \
        return from(__builtin_wave_shuffle(0, to(value), __agpu_lane_xor(lane_mask, width)));                      \
    }                                                                                                              \
    __device__ type __shfl_sync(unsigned long long mask, type value, int lane, int width = warpSize) {             \
        return from(__builtin_wave_shuffle(mask, to(value), __agpu_lane_of(lane, width)));                         \
    }                                                                                                              \
    __device__ type __shfl_up_sync(unsigned long long mask, type value, unsigned int delta, int width = warpSize) { \
        return from(__builtin_wave_shuffle(mask, to(value), __agpu_lane_up(delta, width)));                        \
    }                                                                                                              \
    __device__ type __shfl_down_sync(unsigned long long mask, type value, unsigned int delta, int width = warpSize) { \
        return from(__builtin_wave_shuffle(mask, to(value), __agpu_lane_down(delta, width)));                      \
    }                                                                                                              \
    __device__ type __shfl_xor_sync(unsigned long long mask, type value, int lane_mask, int width = warpSize) {    \
        return from(__builtin_wave_shuffle(mask, to(value), __agpu_lane_xor(lane_mask, width)));                   \
    }
AGPU_SHUFFLES(int, , )
AGPU_SHUFFLES(unsigned int, , )
AGPU_SHUFFLES(long, , )
AGPU_SHUFFLES(unsigned long, , )
AGPU_SHUFFLES(long long, , )
AGPU_SHUFFLES(unsigned long long, , )
AGPU_SHUFFLES(float, __builtin_bits_int, __builtin_bits_float)
AGPU_SHUFFLES(double, __builtin_bits_long, __builtin_bits_double)
__device__ int __agpu_word_of(__half x) { return (unsigned short)__builtin_bits_short(x); }
__device__ int __agpu_word_of(__bf16 x) { return (unsigned short)__builtin_bits_short(x); }
__device__ int __agpu_word_of(__half2 x) { return __agpu_word_of(x.x) | __agpu_word_of(x.y) << 16; }
__device__ int __agpu_word_of(__hip_bfloat162 x) { return __agpu_word_of(x.x) | __agpu_word_of(x.y) << 16; }
__device__ __half __agpu_half_of(int word) { return __builtin_bits_half((unsigned short)word); }
__device__ __bf16 __agpu_bfloat_of(int word) { return __builtin_bits_bfloat((unsigned short)word); }
__device__ __half2 __agpu_half2_of(int word) { return __half2{__agpu_half_of(word), __agpu_half_of(word >> 16)}; }
__device__ __hip_bfloat162 __agpu_bfloat2_of(int word) {
    return __hip_bfloat162{__agpu_bfloat_of(word), __agpu_bfloat_of(word >> 16)};
}
AGPU_SHUFFLES(__half, __agpu_word_of, __agpu_half_of)
AGPU_SHUFFLES(__bf16, __agpu_word_of, __agpu_bfloat_of)
AGPU_SHUFFLES(__half2, __agpu_word_of, __agpu_half2_of)
AGPU_SHUFFLES(__hip_bfloat162, __agpu_word_of, __agpu_bfloat2_of)
#undef AGPU_SHUFFLES

// Votes. Masks have 64 bits, as in HIP.
__device__ unsigned long long __ballot(int predicate) { return __builtin_wave_ballot(0, predicate != 0); }
__device__ unsigned long long __activemask() { return __builtin_wave_ballot(0, true); }
__device__ int __any(int predicate) { return __ballot(predicate) != 0; }
__device__ int __all(int predicate) { return __ballot(predicate == 0) == 0; }
__device__ unsigned long long __ballot_sync(unsigned long long mask, int predicate) {
    return __builtin_wave_ballot(mask, predicate != 0) & mask;
}
__device__ int __any_sync(unsigned long long mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
__device__ int __all_sync(unsigned long long mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0; }
__device__ void __syncwarp(unsigned long long mask = 0xffffffffffffffffull) { __builtin_wave_barrier(mask); }

#define AGPU_MATCHES(type, to)                                                                                     \
    __device__ unsigned long long __match_any(type value) { return __builtin_wave_match(0, to(value)); }           \
    __device__ unsigned long long __match_all(type value, int* all) {                                              \
        unsigned long long here = __activemask(), same = __match_any(value);                                       \
        *all = __all(same == here);                                                                                \
        return *all != 0 ? here : 0;                                                                               \
    }                                                                                                              \
    __device__ unsigned long long __match_any_sync(unsigned long long mask, type value) {                          \
        return __builtin_wave_match(mask, to(value)) & mask;                                                       \
    }                                                                                                              \
    __device__ unsigned long long __match_all_sync(unsigned long long mask, type value, int* all) {                \
        unsigned long long here = __ballot_sync(mask, 1), same = __match_any_sync(mask, value);                    \
        *all = __all_sync(mask, same == here);                                                                     \
        return *all != 0 ? here : 0;                                                                               \
    }
AGPU_MATCHES(int, )
AGPU_MATCHES(unsigned int, )
AGPU_MATCHES(long, )
AGPU_MATCHES(unsigned long, )
AGPU_MATCHES(long long, )
AGPU_MATCHES(unsigned long long, )
AGPU_MATCHES(float, __builtin_bits_int)
AGPU_MATCHES(double, __builtin_bits_long)
#undef AGPU_MATCHES

// Reductions: a butterfly when the whole wave takes part, else lane by lane. Integers, so the order does not matter.
#define AGPU_REDUCTION(name, type, combine)                                                                        \
    __device__ type name(unsigned long long mask, type value) {                                                    \
        unsigned long long lanes = __ballot_sync(mask, 1);                                                         \
        if (lanes == 0xffffffffffffffffull >> (64 - warpSize)) {                                                   \
            for (int step = 1; step < warpSize; step *= 2) {                                                       \
                type other = __shfl_xor_sync(lanes, value, step);                                                  \
                value = combine(value, other);                                                                     \
            }                                                                                                      \
            return value;                                                                                          \
        }                                                                                                          \
        type result = __shfl_sync(lanes, value, __builtin_trailing_zeros(lanes));                                  \
        for (unsigned long long rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {                         \
            type other = __shfl_sync(lanes, value, __builtin_trailing_zeros(rest));                                \
            result = combine(result, other);                                                                       \
        }                                                                                                          \
        return result;                                                                                             \
    }
#define AGPU_SUM(a, b) ((a) + (b))
#define AGPU_LESSER(a, b) ((b) < (a) ? (b) : (a))
#define AGPU_GREATER(a, b) ((a) < (b) ? (b) : (a))
#define AGPU_BOTH(a, b) ((a) & (b))
#define AGPU_EITHER(a, b) ((a) | (b))
#define AGPU_ONE(a, b) ((a) ^ (b))
#define AGPU_REDUCTIONS(type)                                                                                      \
    AGPU_REDUCTION(__reduce_add_sync, type, AGPU_SUM)                                                              \
    AGPU_REDUCTION(__reduce_min_sync, type, AGPU_LESSER)                                                           \
    AGPU_REDUCTION(__reduce_max_sync, type, AGPU_GREATER)                                                          \
    AGPU_REDUCTION(__reduce_and_sync, type, AGPU_BOTH)                                                             \
    AGPU_REDUCTION(__reduce_or_sync, type, AGPU_EITHER)                                                            \
    AGPU_REDUCTION(__reduce_xor_sync, type, AGPU_ONE)
AGPU_REDUCTIONS(int)
AGPU_REDUCTIONS(unsigned int)
AGPU_REDUCTIONS(long long)
AGPU_REDUCTIONS(unsigned long long)
#undef AGPU_REDUCTIONS
#undef AGPU_REDUCTION
#undef AGPU_SUM
#undef AGPU_LESSER
#undef AGPU_GREATER
#undef AGPU_BOTH
#undef AGPU_EITHER
#undef AGPU_ONE

// Lanes before, after and including the own one.
__device__ unsigned long long __lanemask_eq() { return 1ull << __builtin_wave_lane(); }
__device__ unsigned long long __lanemask_lt() { return (1ull << __builtin_wave_lane()) - 1; }
__device__ unsigned long long __lanemask_le() { return (2ull << __builtin_wave_lane()) - 1; }
__device__ unsigned long long __lanemask_gt() {
    return (0xffffffffffffffffull >> (64 - warpSize)) & ~__lanemask_le();
}
__device__ unsigned long long __lanemask_ge() {
    return (0xffffffffffffffffull >> (64 - warpSize)) & ~__lanemask_lt();
}
