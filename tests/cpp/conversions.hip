// p: 6 3 1 5 32 8 3 4 1 3
struct Number { float v; __device__ Number(float x) : v(x) {} __device__ operator float() const { return v; } };
struct Flag { int n; __device__ explicit operator bool() const { return n > 2; } };
struct Fraction { int n, d; __device__ Fraction(int a, int b = 1) : n(a), d(b) {} };
__device__ Fraction operator*(const Fraction& a, const Fraction& b) { return Fraction(a.n * b.n, a.d * b.d); }
struct Exact { int v; __device__ explicit Exact(int x) : v(x) {} };
__device__ int numerator(Fraction f) { return f.n; }
__device__ Number make() { return 2.5f; }

__global__ void k(int* p) {
    Number a = 1.5f; p[0] = a * 4; float f = a; p[1] = f * 2; Flag g{3}; p[2] = g ? 1 : 0; if (!Flag{1}) p[3] = 5;
    Fraction h = Fraction(1, 2) * 3; p[4] = h.n * 10 + h.d; p[5] = numerator(8); p[6] = make() + 0.5f; Exact e(4);
    p[7] = e.v; p[8] = static_cast<int>(a); p[9] = fmaxf(a, 1.0f) * 2;
}
