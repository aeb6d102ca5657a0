// x[i] = a[i] x[i-1] + b[i] modulo 2^32, solved as a scan of affine maps.
struct Affine {
    unsigned a, b;
    __device__ Affine then(Affine next) const { return {next.a * a, next.a * b + next.b}; }
};

__global__ void linear_recurrence(const uint2* maps, unsigned* out, unsigned start, int n) {
    __shared__ Affine shared[64];
    int t = threadIdx.x;
    uint2 map = t < n ? maps[t] : make_uint2(1, 0);
    Affine mine = {map.x, map.y};
    shared[t] = mine;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        if (t >= d) mine = shared[t - d].then(mine);
        __syncthreads();
        shared[t] = mine;
        __syncthreads();
    }
    if (t < n) out[t] = mine.a * start + mine.b;
}
