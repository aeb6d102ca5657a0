// Types every HIP and CUDA source takes for granted. Vector types have the layout of CUDA's.

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ssize_t;
typedef long ptrdiff_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#define AGPU_VECTOR(type, scalar, align2, align4)                                                                  \
    struct type##1 { scalar x; };                                                                                  \
    struct __align__(align2) type##2 { scalar x, y; };                                                             \
    struct type##3 { scalar x, y, z; };                                                                            \
    struct __align__(align4) type##4 { scalar x, y, z, w; };                                                       \
    __device__ type##1 make_##type##1(scalar x) { return type##1{x}; }                                             \
    __device__ type##2 make_##type##2(scalar x, scalar y) { return type##2{x, y}; }                                \
    __device__ type##3 make_##type##3(scalar x, scalar y, scalar z) { return type##3{x, y, z}; }                   \
    __device__ type##4 make_##type##4(scalar x, scalar y, scalar z, scalar w) { return type##4{x, y, z, w}; }

AGPU_VECTOR(char, signed char, 2, 4)
AGPU_VECTOR(uchar, unsigned char, 2, 4)
AGPU_VECTOR(short, short, 4, 8)
AGPU_VECTOR(ushort, unsigned short, 4, 8)
AGPU_VECTOR(int, int, 8, 16)
AGPU_VECTOR(uint, unsigned int, 8, 16)
AGPU_VECTOR(long, long, 16, 16)
AGPU_VECTOR(ulong, unsigned long, 16, 16)
AGPU_VECTOR(longlong, long long, 16, 16)
AGPU_VECTOR(ulonglong, unsigned long long, 16, 16)
AGPU_VECTOR(float, float, 8, 16)
AGPU_VECTOR(double, double, 16, 16)
#undef AGPU_VECTOR

typedef uint3 dim3;
