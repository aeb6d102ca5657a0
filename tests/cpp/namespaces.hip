// p: 1 2 1 3 4 3 4 8 23 23 101 109 9 5 8 12 4 15 8 4 5 12 3 7 7 2 6 4 8 11 2 8 4 6
__device__ int shared_name(int x) { return x + 1; }
namespace a {
struct S { int v; __device__ int get() const { return v + 1; } };
constexpr int N = 3;
__device__ int f(int x) { return x + 1; }
enum class E { X = 1, Y };
typedef float real;
__device__ int only_here(S s) { return s.v + 1; }
__device__ S operator+(S x, S y) { return S{x.v + y.v}; }
template <typename T> __device__ int times_three(T s) { return s.v * 3; }
}  // namespace a
namespace b {
struct S { int v, w; };
constexpr int N = 4;
__device__ int f(int x) { return x + 2; }
__device__ int shared_name(int x) { return x + 2; }
__device__ int both(int x) { return shared_name(x) + ::shared_name(x); }
enum class E { X = 5, Y };
typedef double real;
}  // namespace b
namespace outer {
constexpr int N = 1;
namespace middle {
constexpr int N = 2;
__device__ int f() { return N; }
namespace inner { __device__ int f() { return N * 10 + middle::f() + outer::N; } }
}  // namespace middle
__device__ int f() { return N + 100; }
}  // namespace outer
namespace outer::middle::inner { __device__ int g() { return f(); } }
namespace { __device__ int hidden() { return 109; } }
namespace c { namespace { __device__ int hidden() { return 9; } } __device__ int g() { return hidden(); } }
namespace versions { inline namespace v2 { __device__ int f() { return 5; } } }
namespace own { __device__ float sqrtf(float x) { return 4 * x; } }
namespace boxes {
template <typename T> struct Box { T v; static constexpr int K = 4; };
template <> struct Box<float> { static constexpr int K = 5; };
template <typename T, int N> __device__ T scaled(T x) { return helper(x) * N; }
__device__ int helper(int x) { return x + 1; }
template <typename T> __device__ int kind(T) { return 1; }
template <> __device__ int kind<float>(float) { return 2; }
template <typename T> constexpr T three = T(3);
__device__ int declared(int);
struct Base { int v; __device__ Base(int x) : v(x) {} };
}  // namespace boxes
__device__ int boxes::declared(int x) { return x + Base(2).v + 4; }
struct Derived : boxes::Base { int w; __device__ Derived(int x) : boxes::Base(x + 1), w(x) {} };
namespace floats { __device__ int pick(int) { return 2; } }
__device__ int pick(float) { return 8; }
using namespace floats;
using boxes::three;
namespace short_name = outer::middle;

__global__ void k(int* p) {
    p[0] = a::f(0); p[1] = b::f(0); p[2] = shared_name(0); p[3] = b::both(0);
    p[4] = sizeof(a::S); p[5] = a::N; p[6] = b::N; p[7] = sizeof(b::S);
    p[8] = outer::middle::inner::f(); p[9] = short_name::inner::g(); p[10] = outer::f(); p[11] = hidden(); p[12] = c::g();
    p[13] = versions::f();
    a::S s{7}; p[14] = only_here(s); p[15] = times_three(a::S{4}); p[16] = (a::S{1} + a::S{3}).v;
    p[17] = boxes::scaled<int, 3>(4); p[18] = sizeof(boxes::Box<double>); p[19] = boxes::Box<int>::K; p[20] = boxes::Box<float>::K;
    p[21] = boxes::kind(1) * 10 + boxes::kind(1.0f); p[22] = three<int>; p[23] = boxes::declared(1);
    { using namespace a; auto get = [=](int x) { S t{x}; return t.get() + N; }; p[24] = get(3); }
    p[25] = (int)a::E::Y; p[26] = (int)b::E::Y; p[27] = sizeof(a::real); p[28] = sizeof(b::real);
    Derived d(5); p[29] = d.v + d.w; p[30] = pick(1); p[31] = pick(1.0f); p[32] = own::sqrtf(1.0f); p[33] = own::sqrtf(1.0f) + ::sqrtf(4.0f);
}
