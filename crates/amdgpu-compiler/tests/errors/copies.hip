struct S { int x; __device__ S(int a) : x(a) {} __device__ S(const S& o) : x(o.x) {} };
struct Many { S all[2]; int y; };
struct M { int x; __device__ M(int a) : x(a) {} __device__ M(M&& o) : x(o.x) {} };
struct A { int x; __device__ A& operator=(const A& o) { x = o.x; return *this; } };
struct Holder { A a; int y; };
__device__ M give(M m) { return m; }
__global__ void k(int* p) {
    Many a{{S(1), S(2)}, 3};
    Many b = a;
    M c(1);
    M d = c;
    S e(1);
    S f = std::move(e);
    Holder g, h;
    g = h;
}
