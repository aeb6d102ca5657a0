// Three coordinates of 21 bits interleaved into one code and taken apart again.
__device__ unsigned long long spread(unsigned long long x) {
    x &= 0x1fffff;
    x = (x | x << 32) & 0x1f00000000ffffull;
    x = (x | x << 16) & 0x1f0000ff0000ffull;
    x = (x | x << 8) & 0x100f00f00f00f00full;
    x = (x | x << 4) & 0x10c30c30c30c30c3ull;
    return (x | x << 2) & 0x1249249249249249ull;
}
__device__ unsigned gathered(unsigned long long x) {
    x &= 0x1249249249249249ull;
    x = (x ^ x >> 2) & 0x10c30c30c30c30c3ull;
    x = (x ^ x >> 4) & 0x100f00f00f00f00full;
    x = (x ^ x >> 8) & 0x1f0000ff0000ffull;
    x = (x ^ x >> 16) & 0x1f00000000ffffull;
    return (unsigned)((x ^ x >> 32) & 0x1fffff);
}

__global__ void morton_codes(const uint3* points, unsigned long long* codes, uint3* again, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long code = spread(points[i].x) | spread(points[i].y) << 1 | spread(points[i].z) << 2;
    codes[i] = code;
    again[i] = make_uint3(gathered(code), gathered(code >> 1), gathered(code >> 2));
}
