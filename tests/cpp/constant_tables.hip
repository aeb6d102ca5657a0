// p: 56 97 8 30 2 7
constexpr int table[2][3] = {{1, 2, 3}, {4, 5, 6}};
constexpr float weights[] = {0.5f, 1.5f};
struct Shape { int m, n; };
constexpr Shape shapes[] = {{1, 2}, {3, 4}};
__constant__ char digits[] = "0123456789abcdef";
static_assert(table[1][2] == 6 && shapes[1].n == 4, "tables are known while compiling");
template <int N> __device__ int times(int x) { return N * x; }

__global__ void k(int* p) {
    int sized[table[0][1]] = {5, 6};
    p[0] = sized[0] * 10 + sized[1];
    p[1] = digits[10];
    p[2] = sizeof(int[table[0][1]]);
    p[3] = times<shapes[1].m>(10);
    if constexpr (weights[1] > 1.0f) p[4] = 2;
    int i = 1;
    p[5] = table[i][0] + shapes[i].m;
}
