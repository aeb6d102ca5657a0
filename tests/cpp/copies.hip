// p: 101 101 101 1 101 1 201 1 1 101 101 5 105 7 301 4 104 1101 1 302 9 3
struct S {
    int x;
    __device__ S(int a) : x(a) {}
    __device__ S(const S& o) : x(o.x + 100) {}
};
struct Pair { S first; int second; };
struct Assigned {
    int x;
    __device__ Assigned& operator=(const Assigned& o) { x = o.x + 1000; return *this; }
};
struct FromNumber {
    int x;
    __device__ FromNumber& operator=(int v) { x = v; return *this; }
};
struct Derived : S {
    int y;
    __device__ Derived(int a) : S(a), y(a) {}
};
__device__ int by_value(S s) { return s.x; }
__device__ int by_reference(const S& s) { return s.x; }
__device__ S make(int a) { S local(a); return local; }
__device__ S pass(S s) { return s; }
__device__ S& same(S& s) { return s; }
template <typename T> __device__ T copy_of(const T& t) { return t; }
template <typename F> __device__ int call(F f) { return f(); }

__global__ void k(int* p) {
    S a(1);
    S b = a; p[0] = b.x;
    S c(a); p[1] = c.x;
    p[2] = by_value(a); p[3] = by_reference(a);
    S d{a}; p[4] = d.x;
    S e = make(1); p[5] = e.x;
    p[6] = pass(a).x;
    S f(5); f = a; p[7] = f.x;
    same(a); (void)p[0]; p[8] = same(a).x;
    S g = same(a); p[9] = g.x;
    p[10] = call([=] { return a.x; });
    Pair one{S(5), 7}; p[11] = one.first.x;
    Pair two = one; p[12] = two.first.x; p[13] = two.second;
    S many[2] = {pass(b), S(4)}; p[14] = many[0].x; p[15] = many[1].x;
    p[16] = (p[15] > 0 ? many[1] : many[0]).x == 4 ? by_value(many[1]) : 0;
    Assigned h, i; h.x = 101; i = h; p[17] = i.x;
    Derived j(1); p[18] = j.x; S l = j; S m = copy_of(b); p[19] = copy_of(m).x + l.x - 200 + (m.x == 201 ? 100 : 0);
    FromNumber n, o; n = 9; o = n; p[20] = o.x;
    int total = 0; for (S s : many) total += s.x >= 100; p[21] = total + 1;
}
