// In-place transform of 2^m points in shared memory after Cooley and Tukey, decimation in time.
__global__ void fft_radix2(const float2* in, float2* out, int bits, float direction) {
    extern __shared__ float2 x[];
    int n = 1 << bits, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) x[__brev(i) >> (32 - bits)] = in[blockIdx.x * n + i];
    __syncthreads();
    for (int half = 1; half < n; half *= 2) {
        for (int k = t; k < n / 2; k += blockDim.x) {
            int place = k % half, first = (k / half) * 2 * half + place;
            float s, c;
            sincosf(direction * 3.14159265f * place / half, &s, &c);
            float2 a = x[first], b = x[first + half];
            float2 turned = make_float2(c * b.x - s * b.y, s * b.x + c * b.y);
            x[first] = make_float2(a.x + turned.x, a.y + turned.y);
            x[first + half] = make_float2(a.x - turned.x, a.y - turned.y);
        }
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) out[blockIdx.x * n + i] = x[i];
}
