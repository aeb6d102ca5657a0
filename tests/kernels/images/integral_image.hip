// Running sums along rows: a block for each row, carried from piece to piece.
__global__ void integral_image(const unsigned char* in, unsigned* out, int width) {
    __shared__ unsigned piece[64];
    __shared__ unsigned carried;
    int t = threadIdx.x, row = blockIdx.x;
    if (t == 0) carried = 0;
    for (int start = 0; start < width; start += 64) {
        int x = start + t;
        piece[t] = x < width ? in[row * width + x] : 0u;
        __syncthreads();
        for (int d = 1; d < 64; d *= 2) {
            unsigned other = t >= d ? piece[t - d] : 0u;
            __syncthreads();
            piece[t] += other;
            __syncthreads();
        }
        if (x < width) out[row * width + x] = carried + piece[t];
        __syncthreads();
        if (t == 63) carried += piece[63];
        __syncthreads();
    }
}
