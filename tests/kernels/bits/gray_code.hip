// To Gray's code and back, for types of two widths through one template.
template <typename T>
__device__ T to_gray(T x) { return x ^ x >> 1; }

template <typename T>
__device__ T from_gray(T x) {
    for (unsigned shift = 1; shift < 8 * sizeof(T); shift *= 2) x ^= x >> shift;
    return x;
}

__global__ void gray_code(const unsigned* in, unsigned* gray, unsigned* back, unsigned long long* wide, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    gray[i] = to_gray(in[i]);
    back[i] = from_gray(in[i]);
    wide[i] = from_gray((unsigned long long)in[i] << 20 | in[i]);
}
