template <typename T> __device__ T square(T x) { return x * x; }
template <typename T, int N = 2> __device__ T scaled(T x) { return x * N; }
template <int N> __device__ int power(int x) { return x * power<N - 1>(x); }
template <typename T> struct Pair { T first; T second; __device__ T sum() const { return first + second; } };
template <typename T, int N> struct Vec {
    T data[N];
    __device__ T& operator[](int i) { return data[i]; }
    __device__ const T& operator[](int i) const { return data[i]; }
    __device__ Vec operator+(const Vec& o) const { Vec r; for (int i = 0; i < N; ++i) r[i] = data[i] + o[i]; return r; }
    static constexpr int size = N;
    using value_type = T;
};
template <typename T> struct Traits { static constexpr int value = 1; };
template <> struct Traits<float> { static constexpr int value = 7; };
struct Complex {
    float re, im;
    __device__ Complex(float r, float i) : re(r), im(i) {}
    __device__ Complex operator*(const Complex& o) const { return Complex(re * o.re - im * o.im, re * o.im + im * o.re); }
    __device__ float norm() const { return re * re + im * im; }
    __device__ Complex& operator+=(const Complex& o) { re += o.re; im += o.im; return *this; }
};
__device__ Complex operator-(Complex a, Complex b) { return Complex(a.re - b.re, a.im - b.im); }
template <typename F> __device__ float apply(F f, float x) { return f(x); }
constexpr int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
template <typename T, typename Op>
__device__ T fold(const T* p, int n, T start, Op op) { for (int i = 0; i < n; ++i) start = op(start, p[i]); return start; }
template <typename T> __global__ void scale(T* p, T by, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if constexpr (sizeof(T) == 8) { if (i < n) p[i] *= by * 2; } else { if (i < n) p[i] *= by; }
}
__global__ void k(float* p, int* q) {
    int table[factorial(4)];
    table[3] = 2;
    Vec<float, 4> a, b;
    for (int i = 0; i < 4; ++i) { a[i] = p[i]; b[i] = i; }
    Vec<float, 4> c = a + b;
    Pair<Pair<int>> pp = {{1, 2}, {3, 4}};
    p[0] = square(p[0]) + scaled<float>(p[1]) + c[2] + Traits<float>::value + Traits<int>::value;
    q[0] = square(q[0]) + scaled<int, 5>(3) + Vec<int, 3>::size + pp.second.sum() + table[3];
    Complex z(p[2], p[3]);
    z = z * z - Complex(1, 2);
    z += z;
    p[1] = z.norm();
    float bias = p[5];
    p[2] = apply([=](float x) { return x * 2 + bias; }, p[2]);
    auto add = [](auto x, auto y) { return x + y; };
    p[3] = fold(p, 8, 0.0f, add);
    int count = 0;
    auto bump = [&](int by) { count += by; };
    bump(3); bump(4);
    q[1] = count;
    typename Vec<float, 4>::value_type last = c[3];
    p[4] = last;
}
