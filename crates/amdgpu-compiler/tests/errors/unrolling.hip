__global__ void k(float* p, int n) {
    #pragma unroll 4
    float s = 0;
    #pragma unroll 0
    for (int i = 0; i < n; ++i) s += p[i];
    #pragma unroll n
    for (int i = 0; i < n; ++i) s += p[i];
    #pragma unroll 4 4
    for (int i = 0; i < n; ++i) s += p[i];
    #pragma unroll 2.5
    for (int i = 0; i < n; ++i) s += p[i];
    #pragma unroll (
    for (int i = 0; i < n; ++i) s += p[i];
    #pragma unroll 2
    #pragma nounroll
    for (int i = 0; i < n; ++i) s += p[i];
    p[0] = s;
    #pragma unroll missing
    for (int i = 0; i < n; ++i) s += p[i];
    #pragma unroll
}
