// p: 21321 154 776 30 39 11 33213 121 1221 630 21 21 54321 15 1107 2036 9146 18 463 156 10 25
struct Base { int b; };
struct Derived : Base { int d; };
struct FromInt { int v; __device__ FromInt(int x) : v(x) {} };
__device__ int f(int x) { return 1; }
__device__ int f(double x) { return 2; }
__device__ int f(const char* x) { return 3; }
__device__ int f(int x, int y) { return 4; }
__device__ int f(int x, float y) { return 5; }
__device__ int f(Base& x) { return 6; }
__device__ int f(const Base& x) { return 7; }
__device__ int f(FromInt x, FromInt y, int z) { return 8 + x.v * 10; }
template <typename T> __device__ int f(T* x) { return 10; }
template <typename T> __device__ int f(T x, T y, T z) { return 11; }
__device__ int g(long long x) { return 1; }
__device__ int g(unsigned char x) { return 2; }
template <typename T> __device__ int g(T x) { return 3; }
__device__ int h(float x) { return 1; }
__device__ int h(int* x) { return 2; }
__device__ int r(int& x) { return 1; }
__device__ int r(const int& x) { return 2; }
__device__ int d(int a, int b = 20, int c = 300) { return a + b + c; }
__device__ int v(void* x) { return 1; }
__device__ int v(const void* x) { return 2; }
__device__ int e(Base* x) { return 1; }
__device__ int e(const char* x) { return 2; }
template <typename T> __device__ int s(T x) { return 1; }
template <typename T> __device__ int s(T* x) { return 2; }
template <typename T> __device__ int s(const T* x) { return 3; }
template <> __device__ int s<float>(float x) { return 4; }
__device__ int s(double x) { return 5; }
template <typename T, int N> __device__ int n(T (&x)[N]) { return N * sizeof(T); }
template <typename T> __device__ int only(const T& x, T y) { return (int)sizeof(T) + (int)(x + y); }
namespace one { struct A { int x; }; __device__ int q(A a) { return a.x; } __device__ int w(int x) { return x + 1; } }
namespace two { __device__ int w(int x) { return x + 2; } __device__ int z(int x) { return w(x) + ::one::w(x); } using one::q; }
struct M {
    int x;
    __device__ int get() { return x; }
    __device__ int get() const { return -x; }
    __device__ int get(int k) const { return x * k; }
    __device__ int get(float k) { return (int)(x + k); }
    static __device__ int make(int a) { return a; }
    static __device__ int make(double a) { return (int)a * 2; }
    template <typename T> __device__ T as() const { return (T)x; }
    __device__ M& set(int a) { x = a; return *this; }
};
__global__ void k(int* p) {
    Derived a; a.b = 1; a.d = 2; const Derived& c = a; short sh = 1; float fl = 2; unsigned char uc = 3; const int* cp = p; int i = 4; const int ci = 5;
    p[0] = f(1) + f(1.5) * 10 + f("x") * 100 + f(sh) * 1000 + f(fl) * 10000; p[1] = f(1, 2) + f(1, 2.5f) * 10 + f('a') * 100;
    p[2] = f(a) + f(c) * 10 + f(Base{3}) * 100; p[3] = f(p) + f(cp) + f(&fl); p[4] = f(1, 2, 3) + f(FromInt(2), 3, 4); p[5] = f(1.0f, 2.0f, 3.0f);
    p[6] = g(1) + g(1LL) * 10 + g(uc) * 100 + g(fl) * 1000 + g<int>(5) * 10000; p[7] = h(1) + h(p) * 10 + h(2.5) * 100;
    p[8] = r(i) + r(ci) * 10 + r(3) * 100 + r(p[0]) * 1000; p[9] = d(1) + d(1, 2) + d(1, 2, 3); p[10] = v((void*)p) + v(cp) * 10;
    p[11] = e(&a) + e("text") * 10; p[12] = s(1) + s(p) * 10 + s(cp) * 100 + s(1.0f) * 1000 + s(1.0) * 10000; short t[7]; t[0] = 1; p[13] = n(t) + t[0];
    p[14] = only(1.5f, 2.0f) + only<double>(1, 2) * 100; p[15] = q(one::A{8}) + two::z(10) + two::q(one::A{5}) + one::w(1) * 1000;
    M m{6}; const M& cm = m; p[16] = m.get() + cm.get() * 10 + m.get(2) * 100 + m.get(2.5f) * 1000; p[17] = cm.get(3); p[18] = M::make(3) + M::make(3.5) * 10 + m.make(4) * 100;
    p[19] = m.as<int>() + (int)(m.as<float>() / 4 * 100); p[20] = m.set(9).set(10).get(); p[21] = (&m)->get(1) + M{3}.get(5);
}
