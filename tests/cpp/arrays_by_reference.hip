// p: 4 4 15 7 6 2 2 5 0 11
template <typename T, int N> __device__ int length(T (&a)[N]) { return N; }
template <typename T, size_t N> __device__ T last(const T (&a)[N]) { return a[N - 1]; }
__device__ int row_sum(int (*rows)[3], int i) { return rows[i][0] + rows[i][1] + rows[i][2]; }
__device__ void fill(int (&a)[4], int x) { for (int& e : a) e = x; }

__global__ void k(int* p) {
    int a[4] = {1, 2, 3, 4}; p[0] = length(a); p[1] = last(a); int m[2][3] = {{1, 2, 3}, {4, 5, 6}};
    p[2] = row_sum(m, 1); fill(a, 7); p[3] = a[2]; int (*q)[3] = &m[1]; p[4] = (*q)[2]; int (&r)[3] = m[0];
    p[5] = r[1]; p[6] = length(m); int* flat = reinterpret_cast<int*>(m); p[7] = flat[4]; auto rows = (int (*)[3])p;
    p[8] = 0; rows[3][0] = 11;
}
