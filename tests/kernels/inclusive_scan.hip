// Hillis and Steele's scan of each block, in dynamic shared memory: two buffers that change places.
extern __shared__ int buffer[];

__global__ void inclusive_scan(const int* in, int* out, int n) {
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    int* from = buffer;
    int* to = buffer + blockDim.x;
    from[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < blockDim.x; d *= 2) {
        to[t] = t >= d ? from[t] + from[t - d] : from[t];
        __syncthreads();
        int* other = from;
        from = to;
        to = other;
    }
    if (i < n) out[i] = from[t];
}
