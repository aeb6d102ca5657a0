namespace a { __device__ int f(int x) { return x; } struct S { int v; }; constexpr int N = 3; __global__ void twice(int* p) {} }
namespace b { __device__ int f(float x) { return 2; } __global__ void twice(int* p) {} }
__device__ int g(int x) { return x; }
namespace c { __device__ int g(int x) { return x; } }
using namespace c;
namespace d { __device__ int same(int x) { return x; } __device__ int same(int x) { return 2; } }
__global__ void k(int* p) {
    p[0] = f(1);
    p[1] = N;
    S s;
    p[2] = b::N;
    p[3] = g(1);
    p[4] = missing::f(1);
    p[5] = a::missing(1);
    a::T t;
}
