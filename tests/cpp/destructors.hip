// p: 0 21 21 5 543 1234 9 8
struct Guard { int* p; int id; __device__ Guard(int* q, int i) : p(q), id(i) {} __device__ ~Guard() { p[0] = p[0] * 10 + id; } };
struct Pair { Guard one; Guard two; __device__ Pair(int* q) : one(q, 1), two(q, 2) {} };
__device__ int early(int* p, int n) { Guard a(p, 3); if (n > 1) { Guard b(p, 4); return p[0]; } return -1; }

__global__ void k(int* p) {
    p[0] = 0; { Guard a(p, 1); Guard b(p, 2); } p[1] = p[0]; p[0] = 0; { Pair x(p); } p[2] = p[0]; p[0] = 5;
    p[3] = early(p, 2); p[4] = p[0]; p[0] = 0;
    for (int i = 0; i < 5; ++i) { Guard g(p, i + 1); if (i == 1) continue; if (i == 3) break; } p[5] = p[0];
    p[0] = 0; auto f = [&](int x) { Guard g(p, x); return x + 1; }; p[6] = f(8); p[7] = p[0]; p[0] = 0;
}
