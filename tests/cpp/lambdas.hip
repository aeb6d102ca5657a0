// p: 10 26 24 2 6 2 120 81 17 8
template <typename F> __device__ int call(F f) { return f(2); }
struct S { int k; __device__ int run(int x) { auto f = [this](int y) { return k * y; }; auto g = [=] { return k + x; }; return f(x) + g(); } };

__global__ void k(int* p) {
    int a = 3, b = 4; p[0] = call([=](int x) { return a * x + b; }); auto f = [&](int x) { a += x; return a; };
    p[1] = f(10) + a; p[2] = call([n = a * 2](int x) { return n - x; }); auto c = [k = 0]() mutable { return ++k; };
    c(); p[3] = c(); auto g = [](auto x, auto y) { return x < y ? x : y; }; p[4] = g(3, 7) + g(2.5f, 1.5f) * 2;
    int t[3] = {1, 2, 3}; auto h = [t](int i) { return t[i]; }; t[1] = 50; p[5] = h(1);
    auto rec = [](auto self, int n) -> int { return n < 2 ? 1 : n * self(self, n - 1); }; p[6] = rec(rec, 5);
    p[7] = [](int x) { return x * x; } (9); S s{5}; p[8] = s.run(2);
    auto tmpl = []<typename T>(T x) { return sizeof(T); }; p[9] = tmpl(1.0);
}
