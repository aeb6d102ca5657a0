// p: 17 20 12 32 15 12 506 12 14 8 35 21 11 11 25 30 18 10 9 14 7 102 11 9 137 90 21 25
struct Counter {
    int base, step;
    __device__ int twice(int x) {
        auto outer = [=](int y) { auto inner = [=](int z) { return base + step * z + x; }; return inner(y) + inner(1); };
        return outer(x);
    }
    __device__ int raise(int x) {
        auto add = [this](int y) { base += y; return base; };
        auto both = [&] { add(x); return add(1); };
        return both();
    }
    __device__ int field() { return [own = base * 2, s = step] { return own + s; }(); }
};
template <typename F, typename G> __device__ auto compose(F f, G g) { return [=](int x) { return f(g(x)); }; }
template <typename... T> __device__ int total(T... x) { auto sum = [=] { return (0 + ... + x); }; auto by = [&](int k) { return (0 + ... + (x * k)); }; return sum() + by(2); }

__global__ void k(int* p) {
    int a = 2, b = 3, c = 5;
    const int fixed = 7;
    p[0] = [=] { return [=] { return [=] { return a + b * c; }(); }(); }();
    p[1] = [&] { return [&] { return [&] { a += 10; return a; }() + b; }() + c; }();
    p[2] = a;
    auto mixed = [=, &b] { b += a; return a + b + c; };
    p[3] = mixed(); p[4] = b;
    auto other = [&, c] { a = c; b = c + 1; return fixed + c; };
    p[5] = other(); p[6] = a * 100 + b;
    auto init = [x = a + b, &r = c](int y) mutable { x += y; r += y; return x; };
    p[7] = init(1); p[8] = init(2); p[9] = c;
    auto copied = init; p[10] = copied(3) + init(4);
    Counter counter{4, 3}; p[11] = counter.twice(2); p[12] = counter.raise(6); p[13] = counter.base; p[14] = counter.field();
    p[15] = compose([](int x) { return x * 2; }, [a](int x) { return x + a; })(10);
    p[16] = total(1, 2, 3);
    int t[4] = {1, 2, 3, 4};
    auto change = [&t](int i, int v) { t[i] = v; return t[0] + t[1]; };
    p[17] = change(1, 9); p[18] = t[1];
    auto keep = [t] { return t[0] + t[1] + t[3]; }; t[3] = 100; p[19] = keep();
    int& ref = b; auto through = [=] { return ref + 1; }; b = 50; p[20] = through();
    auto through2 = [&] { ref++; return ref; }; p[21] = through2() + b;
    int shadow = 1; auto hides = [=](int shadow) { { int shadow = 9; if (shadow) return shadow + 1; } return shadow; };
    p[22] = hides(5) + shadow;
    auto choose = [](bool up) { return up ? 1.5f : -1.5f; }; p[23] = (int)(choose(true) * 2 - choose(false) * 4);
    auto generic = [&](auto x) { return (int)(x + sizeof(x) + c); }; p[24] = generic(1.5) + generic('a');
    auto nested = [&](int n) { int s = 0; for (int i = 0; i < n; ++i) { auto add = [&] { s += i * c; }; add(); } return s; };
    p[25] = nested(4);
    p[26] = fixed + [] { return fixed * 2; }();
    auto none = [] {}; none(); auto ret = [](int x) -> float { return x / 2.0f; }; p[27] = (int)(ret(5) * 10);
}
