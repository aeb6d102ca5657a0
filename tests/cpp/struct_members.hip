// p: 30 5873 410045 150 50 8 10521 107 1010 12 1016 11 1112 1015 -8015 2963 27 11111 7 2412 528 -5689 -47 11026 63192 16320 4660 166164 1216 5 1 6 21 7 23331 7 231 232 453 648 14 18 87
enum class Kind : unsigned char { none, some = 5, all };
struct Inner { int a = 3; float b = 1.5f; int c[3] = {4, 5}; };
struct Outer {
    Inner one, two{7, 2.5f, {1, 2, 3}};
    Inner list[2] = {{8}, {9, 0.5f}};
    Kind kind = Kind::some;
    static constexpr int size = 4;
    using Number = int;
    enum { small = 2, large = small * 50 };
    struct Nested { Number n; __device__ int twice() const { return n * 2; } };
    Nested nested = {small + 1};
    __device__ Number sum() const { Number s = 0; for (int i = 0; i < 3; ++i) s += one.c[i] + two.c[i]; return s + list[1].a + nested.twice(); }
};
struct Vec {
    int x, y;
    __device__ Vec() : x(1), y(x + 1) {}
    __device__ Vec(int a) : Vec(a, a * 2) {}
    __device__ Vec(int a, int b) : x{a}, y{b} {}
    __device__ Vec(const Vec& o) : x(o.x + 100), y(o.y) {}
    __device__ Vec& operator=(const Vec& o) { x = o.x; y = o.y + 1000; return *this; }
    __device__ Vec& operator+=(const Vec& o) { x += o.x; y += o.y; return *this; }
    __device__ Vec& operator-=(int k) { x -= k; y -= k; return *this; }
    __device__ Vec& operator++() { ++x; return *this; }
    __device__ int operator++(int) { return x++; }
    __device__ Vec& operator--() { --y; return *this; }
    __device__ int operator-() const { return -x - y; }
    __device__ int operator~() const { return ~x; }
    __device__ bool operator!() const { return x == 0; }
    __device__ int operator*() const { return x * y; }
    __device__ int operator()(int k) const { return x * k + y; }
    __device__ int operator()() const { return x; }
    __device__ int& operator[](int i) { return i ? y : x; }
    __device__ const int& operator[](int i) const { return i ? y : x; }
    __device__ explicit operator bool() const { return x > 0; }
    __device__ operator long long() const { return x * 1000LL + y; }
    __device__ bool operator==(const Vec& o) const { return x == o.x && y == o.y; }
    __device__ bool operator<(const Vec& o) const { return x < o.x; }
};
__device__ int operator+(const Vec& a, const Vec& b) { return a.x + b.x; }
__device__ int operator-(const Vec& a, int k) { return a.x - k; }
__device__ int operator%(int k, const Vec& a) { return k % a.x; }
__device__ int operator<<(const Vec& a, int k) { return a.x << k; }
__device__ int operator|(const Vec& a, const Vec& b) { return a.x & b.x; }
__device__ bool operator!=(const Vec& a, const Vec& b) { return !(a == b); }
struct Bits { unsigned a : 3, b : 5; int c : 4; unsigned : 0; unsigned d : 1; bool e : 1; long long f : 40; };
union Word { unsigned u; float f; unsigned char bytes[4]; struct { unsigned short low, high; }; };
struct Guard { int* at; int v; __device__ Guard(int* p, int x) : at(p), v(x) {} __device__ ~Guard() { *at = *at * 10 + v; } };
struct Empty {};
struct Small : Empty { char a; short b; char c; };
struct alignas(16) Wide { int a; };
__device__ int leave(int* log, int n) { Guard a(log, 1); if (n == 1) return 5; { Guard b(log, 2); if (n == 2) return 6; } for (int i = 0; i < 3; ++i) { Guard c(log, 3); if (i == n) continue; if (n == 4) break; } return 7; }
__global__ void k(int* p) {
    Outer o; p[0] = o.sum(); p[1] = o.one.a + o.two.a * 10 + o.list[0].a * 100 + o.list[0].c[1] * 1000; p[2] = (int)o.kind + Outer::size * 10 + Outer::large * 100 + (int)sizeof(Outer::Number) * 100000;
    Outer copy = o; copy.one.c[2] = 50; copy.kind = Kind::all; p[3] = copy.sum() - o.sum() + (copy.kind == Kind::all) * 100; o = copy; p[4] = o.one.c[2]; Outer::Nested n{4}; p[5] = n.twice();
    Vec a, b(5), c(7, 8); p[6] = a.x + a.y * 10 + b.x * 100 + b.y * 1000; Vec d = c; p[7] = d.x; d = b; p[8] = d.y; d += c; p[9] = d.x; d -= 2; p[10] = d.y;
    ++d; p[11] = d.x; p[12] = d++ * 100 + d.x; --d; p[13] = d.y; p[14] = -c + ~c * 1000 + !c; p[15] = *c + c(3) * 100 + c(); c[1] = 20; const Vec& r = c; p[16] = r[0] + r[1];
    p[17] = (c ? 1 : 2) + (bool(c) && 3) * 10 + (b == b) * 100 + (b != c) * 1000 + (b < c) * 10000; p[18] = (int)(long long)Bits().f + 7; p[19] = (c + b) + (c - 3) * 100 + (23 % c) * 1000; p[20] = (c << 2) + (c | b) * 100;
    Bits bits = {}; bits.a = 9; bits.b = 31; bits.c = 7; bits.c += 3; bits.d = 3; bits.e = 4; bits.f = -5; p[21] = bits.a + bits.b * 10 + bits.c * 1000; p[22] = bits.d + bits.e * 2 + (int)bits.f * 10; bits.b ^= 5; bits.a--; p[23] = bits.b + bits.a * 100 + (bits.a++ == 0) * 1000 + bits.a * 10000;
    Word w; w.f = 1.5f; p[24] = w.bytes[3] * 1000 + w.bytes[2]; p[25] = w.high; w.low = 0x1234; p[26] = (int)(w.u & 0xffff); p[27] = sizeof(Word) + sizeof(Bits) * 10 + sizeof(Small) * 1000 + sizeof(Wide) * 10000; p[28] = alignof(Wide) + alignof(Small) * 100 + sizeof(Empty) * 1000;
    int log = 0; p[29] = leave(&log, 1); p[30] = log; log = 0; p[31] = leave(&log, 2); p[32] = log; log = 0; p[33] = leave(&log, 0); p[34] = log; log = 0; p[35] = leave(&log, 4); p[36] = log;
    Vec many[3] = {1, {2, 3}, Vec()}; p[37] = many[0].y + many[1].y * 10 + many[2].y * 100; Inner grid[2][2] = {{{1}, {2}}, {{3}, {4, 5.0f}}}; p[38] = grid[1][0].a + grid[1][1].b * 10 + grid[0][1].c[0] * 100;
    Inner named = {.b = 4.5f, .c = {6}}; p[39] = named.a + (int)(named.b * 10) + named.c[0] * 100 + named.c[1] * 1000; Inner* at = &named; at->c[2] = 12; (*at).a = 2; p[40] = named.c[2] + named.a; auto [x, y, z] = named; p[41] = x + (int)y + z[2]; auto& [u, v, t] = named; u = 77; p[42] = named.a + (int)v + t[0];
}
