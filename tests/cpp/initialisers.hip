// p: 5 32 103 102 79 40 41 9 5 6 30 7 4 2 5 2
struct V { float x = 1, y = 2; int n[3] = {4, 5, 6}; };
struct W { V a; int k; };
struct Inner { int a; Inner() = default; };
struct D { int x, y, z; };
struct Made { int v[4]; __device__ Made(int s) : v{s, s + 1, s + 2} { v[3] = 9; } __device__ Made() : Made(40) {} };
constexpr int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
__constant__ float weights[] = {0.5f, 1.5f};
enum { FIRST = 2, SECOND };
typedef struct { int a; float b; } Named;

__global__ void k(int* p) {
    V v; p[0] = v.n[1]; V w{3}; p[1] = w.x * 10 + w.y; D d = {.x = 1, .z = 3}; p[2] = d.x * 100 + d.y * 10 + d.z;
    W big{{7, 8, {1}}, 2}; p[3] = big.a.n[0] * 100 + big.a.n[2] * 10 + big.k; Made m(5);
    p[4] = m.v[2] * 10 + m.v[3]; Made n; p[5] = n.v[0]; Made many[2]; p[6] = many[1].v[1];
    p[7] = table[1][2] + weights[1] * 2; p[8] = FIRST + SECOND; Named z = {1, 2.5f}; p[9] = z.a + z.b * 2;
    int grid[2][2] = {{1, 2}, {3}}; p[10] = grid[1][0] * 10 + grid[1][1]; int* q{p + 11}; *q = int(3.9f) + int{4};
    float4 f4 = (float4){1, 2, 3, 4}; p[12] = f4.w; auto l = D{1, 2, 3}; p[13] = l.y;
    D arr[] = {{1, 2, 3}, {.y = 5}}; p[14] = arr[1].y; p[15] = sizeof(arr) / sizeof(arr[0]);
}
