// Atomics beside those the compiler knows: on floats where processors have none, on half and bfloat16, and the built-ins of
// clang with an order and a scope. Each loops until nobody came between reading and writing.

#define __ATOMIC_RELAXED 0
#define __ATOMIC_CONSUME 1
#define __ATOMIC_ACQUIRE 2
#define __ATOMIC_RELEASE 3
#define __ATOMIC_ACQ_REL 4
#define __ATOMIC_SEQ_CST 5
#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

__device__ unsigned int __agpu_cell_of(float x) { return (unsigned int)__builtin_bits_int(x); }
__device__ unsigned long long __agpu_cell_of(double x) { return (unsigned long long)__builtin_bits_long(x); }
__device__ unsigned short __agpu_cell_of(__half x) { return (unsigned short)__builtin_bits_short(x); }
__device__ unsigned short __agpu_cell_of(__bf16 x) { return (unsigned short)__builtin_bits_short(x); }
__device__ unsigned int __agpu_cell_of(__half2 x) {
    return (unsigned int)__agpu_cell_of(x.x) | (unsigned int)__agpu_cell_of(x.y) << 16;
}
__device__ unsigned int __agpu_cell_of(__hip_bfloat162 x) {
    return (unsigned int)__agpu_cell_of(x.x) | (unsigned int)__agpu_cell_of(x.y) << 16;
}
__device__ void __agpu_from_cell(unsigned int cell, float* x) { *x = __builtin_bits_float((int)cell); }
__device__ void __agpu_from_cell(unsigned long long cell, double* x) { *x = __builtin_bits_double((long long)cell); }
__device__ void __agpu_from_cell(unsigned short cell, __half* x) { *x = __builtin_bits_half(cell); }
__device__ void __agpu_from_cell(unsigned short cell, __bf16* x) { *x = __builtin_bits_bfloat(cell); }
__device__ void __agpu_from_cell(unsigned int cell, __half2* x) {
    *x = __half2{__builtin_bits_half((unsigned short)cell), __builtin_bits_half((unsigned short)(cell >> 16))};
}
__device__ void __agpu_from_cell(unsigned int cell, __hip_bfloat162* x) {
    *x = __hip_bfloat162{__builtin_bits_bfloat((unsigned short)cell), __builtin_bits_bfloat((unsigned short)(cell >> 16))};
}

// `result` is made of `old` and `value`.
#define AGPU_ATOMIC(name, scope, type, integer, result)                                                            \
    __device__ type name##scope(type* address, type value) {                                                       \
        integer* cell = (integer*)address;                                                                         \
        integer seen = *cell, expected;                                                                            \
        type old;                                                                                                  \
        do {                                                                                                       \
            expected = seen;                                                                                       \
            __agpu_from_cell(expected, &old);                                                                      \
            seen = atomicCAS##scope(cell, expected, __agpu_cell_of(result));                                       \
        } while (seen != expected);                                                                                \
        return old;                                                                                                \
    }
#define AGPU_ATOMIC_FLOAT(scope, type, integer)                                                                    \
    AGPU_ATOMIC(atomicMin, scope, type, integer, __builtin_fmin(old, value))                                       \
    AGPU_ATOMIC(atomicMax, scope, type, integer, __builtin_fmax(old, value))                                       \
    __device__ type atomicSub##scope(type* address, type value) { return atomicAdd##scope(address, -value); }      \
    __device__ type atomicCAS##scope(type* address, type expected, type desired) {                                 \
        type old;                                                                                                  \
        __agpu_from_cell(atomicCAS##scope((integer*)address, __agpu_cell_of(expected), __agpu_cell_of(desired)), &old); \
        return old;                                                                                                \
    }
#define AGPU_ATOMICS(scope)                                                                                        \
    AGPU_ATOMIC_FLOAT(scope, float, unsigned int)                                                                  \
    AGPU_ATOMIC_FLOAT(scope, double, unsigned long long)                                                           \
    AGPU_ATOMIC(atomicAdd, scope, __half, unsigned short, old + value)                                             \
    AGPU_ATOMIC(atomicAdd, scope, __bf16, unsigned short, old + value)                                             \
    AGPU_ATOMIC(atomicAdd, scope, __half2, unsigned int, (__half2{old.x + value.x, old.y + value.y}))              \
    AGPU_ATOMIC(atomicAdd, scope, __hip_bfloat162, unsigned int, (__hip_bfloat162{old.x + value.x, old.y + value.y}))
AGPU_ATOMICS()
AGPU_ATOMICS(_system)
AGPU_ATOMICS(_block)
#undef AGPU_ATOMICS
#undef AGPU_ATOMIC_FLOAT
#undef AGPU_ATOMIC

#define AGPU_UNSAFE(type)                                                                                          \
    __device__ type unsafeAtomicAdd(type* address, type value) { return atomicAdd(address, value); }               \
    __device__ type safeAtomicAdd(type* address, type value) { return atomicAdd(address, value); }
AGPU_UNSAFE(float)
AGPU_UNSAFE(double)
AGPU_UNSAFE(__half2)
AGPU_UNSAFE(__hip_bfloat162)
#undef AGPU_UNSAFE
#define AGPU_UNSAFE(type)                                                                                          \
    __device__ type unsafeAtomicMin(type* address, type value) { return atomicMin(address, value); }               \
    __device__ type unsafeAtomicMax(type* address, type value) { return atomicMax(address, value); }               \
    __device__ type safeAtomicMin(type* address, type value) { return atomicMin(address, value); }                 \
    __device__ type safeAtomicMax(type* address, type value) { return atomicMax(address, value); }
AGPU_UNSAFE(float)
AGPU_UNSAFE(double)
#undef AGPU_UNSAFE
__device__ void atomicAddNoRet(float* address, float value) { atomicAdd(address, value); }

// Built-ins of clang. Atomics order nothing by themselves: fences beside them do.
__device__ void __agpu_fence_of(int scope) {
    if (scope >= __HIP_MEMORY_SCOPE_SYSTEM) __threadfence_system();
    else if (scope == __HIP_MEMORY_SCOPE_AGENT) __threadfence();
    else __threadfence_block();
}
__device__ void __agpu_fence_before(int order, int scope) {
    if (order >= __ATOMIC_RELEASE) __agpu_fence_of(scope);
}
__device__ void __agpu_fence_after(int order, int scope) {
    if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE) __agpu_fence_of(scope);
}
__device__ void __hip_atomic_thread_fence(int order, int scope) {
    if (order != __ATOMIC_RELAXED) __agpu_fence_of(scope);
}
__device__ void __atomic_thread_fence(int order) { __hip_atomic_thread_fence(order, __HIP_MEMORY_SCOPE_SYSTEM); }

#define AGPU_BUILTIN(name, operation)                                                                              \
    template <typename T, typename V>                                                                              \
    __device__ T __hip_atomic_##name(T* address, V value, int order, int scope) {                                  \
        __agpu_fence_before(order, scope);                                                                         \
        T old = scope >= __HIP_MEMORY_SCOPE_SYSTEM ? operation##_system(address, (T)value) : operation(address, (T)value); \
        __agpu_fence_after(order, scope);                                                                          \
        return old;                                                                                                \
    }
AGPU_BUILTIN(fetch_add, atomicAdd)
AGPU_BUILTIN(fetch_sub, atomicSub)
AGPU_BUILTIN(fetch_and, atomicAnd)
AGPU_BUILTIN(fetch_or, atomicOr)
AGPU_BUILTIN(fetch_xor, atomicXor)
AGPU_BUILTIN(fetch_min, atomicMin)
AGPU_BUILTIN(fetch_max, atomicMax)
AGPU_BUILTIN(exchange, atomicExch)
#undef AGPU_BUILTIN

template <typename T>
__device__ T __agpu_atomic_read(T* address, int scope) {
    return scope >= __HIP_MEMORY_SCOPE_SYSTEM ? atomicOr_system(address, (T)0) : atomicOr(address, (T)0);
}
__device__ float __agpu_atomic_read(float* address, int scope) {
    float x;
    __agpu_from_cell(__agpu_atomic_read((unsigned int*)address, scope), &x);
    return x;
}
__device__ double __agpu_atomic_read(double* address, int scope) {
    double x;
    __agpu_from_cell(__agpu_atomic_read((unsigned long long*)address, scope), &x);
    return x;
}
template <typename T>
__device__ T __hip_atomic_load(const T* address, int order, int scope) {
    if (order == __ATOMIC_SEQ_CST) __agpu_fence_of(scope);
    T value = __agpu_atomic_read((T*)address, scope);
    __agpu_fence_after(order, scope);
    return value;
}
template <typename T, typename V>
__device__ void __hip_atomic_store(T* address, V value, int order, int scope) {
    __hip_atomic_exchange(address, value, order, scope);
}

template <typename T> __device__ bool __agpu_is_same_cell(T a, T b) { return a == b; }
__device__ bool __agpu_is_same_cell(float a, float b) { return __builtin_bits_int(a) == __builtin_bits_int(b); }
__device__ bool __agpu_is_same_cell(double a, double b) { return __builtin_bits_long(a) == __builtin_bits_long(b); }
template <typename T, typename V>
__device__ bool __hip_atomic_compare_exchange_strong(T* address, T* expected, V desired, int success, int failure, int scope) {
    T wanted = *expected;
    __agpu_fence_before(success, scope);
    T old = scope >= __HIP_MEMORY_SCOPE_SYSTEM ? atomicCAS_system(address, wanted, (T)desired)
                                               : atomicCAS(address, wanted, (T)desired);
    bool is_done = __agpu_is_same_cell(old, wanted);
    __agpu_fence_after(is_done ? success : failure, scope);
    if (!is_done) *expected = old;
    return is_done;
}
template <typename T, typename V>
__device__ bool __hip_atomic_compare_exchange_weak(T* address, T* expected, V desired, int success, int failure, int scope) {
    return __hip_atomic_compare_exchange_strong(address, expected, desired, success, failure, scope);
}

template <typename T> __device__ T __atomic_load_n(const T* address, int order) {
    return __hip_atomic_load(address, order, __HIP_MEMORY_SCOPE_SYSTEM);
}
template <typename T, typename V> __device__ void __atomic_store_n(T* address, V value, int order) {
    __hip_atomic_store(address, value, order, __HIP_MEMORY_SCOPE_SYSTEM);
}
#define AGPU_BUILTIN(name, operation)                                                                              \
    template <typename T, typename V> __device__ T __atomic_##name(T* address, V value, int order) {               \
        return __hip_atomic_##operation(address, value, order, __HIP_MEMORY_SCOPE_SYSTEM);                         \
    }
AGPU_BUILTIN(exchange_n, exchange)
AGPU_BUILTIN(fetch_add, fetch_add)
AGPU_BUILTIN(fetch_sub, fetch_sub)
AGPU_BUILTIN(fetch_and, fetch_and)
AGPU_BUILTIN(fetch_or, fetch_or)
AGPU_BUILTIN(fetch_xor, fetch_xor)
#undef AGPU_BUILTIN
template <typename T, typename V>
__device__ bool __atomic_compare_exchange_n(T* address, T* expected, V desired, bool is_weak, int success, int failure) {
    return __hip_atomic_compare_exchange_strong(address, expected, desired, success, failure, __HIP_MEMORY_SCOPE_SYSTEM);
}

// Clocks. What they count is the target's business: see docs/language.md.
__device__ long long clock64() { return __builtin_readcyclecounter(); }
__device__ long clock() { return (long)__builtin_readcyclecounter(); }
__device__ long long wall_clock64() { return __builtin_readsteadycounter(); }

// The text may name a payload; every NaN of ours is the same one.
__device__ double nan(const char* text) { return __builtin_bits_double(0x7ff8000000000000ll); }
__device__ float nanf(const char* text) { return __builtin_bits_float(0x7fc00000); }
