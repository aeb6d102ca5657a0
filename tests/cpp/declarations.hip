// p: 5 6 7 8 6 8 4 9 2 2 8 32 5 5 1 1
namespace outer { namespace inner { __device__ int f() { return 5; } } constexpr int three = 3; }
namespace a::b { struct T { int v; }; }
namespace { __device__ int hidden() { return 8; } }
using namespace outer;
struct Counter { static constexpr int limit = 6; static __device__ int twice(int x) { return 2 * x; } enum State { Idle, Busy = 4 }; struct Part { int n; }; using Int = int; mutable int hits; };
extern "C" { __device__ int c_name(int x) { return x + 1; } }
__device__ inline __attribute__((always_inline)) int attributed(int x) { return x; }
static __device__ __noinline__ int apart(volatile int x, int y = 4) { return x + y; }
struct alignas(16) Aligned { float v; };
struct __align__(8) Also { int v; };

__global__ void k(int* p) {
    p[0] = outer::inner::f(); p[1] = outer::three + three; a::b::T t{7}; p[2] = t.v; p[3] = hidden();
    p[4] = Counter::limit; p[5] = Counter::twice(4); p[6] = Counter::Busy; Counter::Part q{9}; p[7] = q.n;
    Counter::Int i = 2; p[8] = i; p[9] = c_name(1); p[10] = attributed(3) + apart(1);
    p[11] = alignof(Aligned) + sizeof(Also) + alignof(double); using Local = float; Local l = 2.5f; p[12] = l * 2;
    const Counter c{1}; c.hits = 5; p[13] = c.hits; if (__builtin_expect(i == 2, 1)) p[14] = 1;
    __builtin_assume(i > 0); _Pragma("unroll") for (int z = 0; z < 2; ++z) p[15] = z;
}
