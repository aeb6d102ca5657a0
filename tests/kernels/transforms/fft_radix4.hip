// Stockham's transform of 256 points by four, one row per block, twiddle factors from a table of the host.
typedef float2 Complex;
__device__ Complex operator+(Complex a, Complex b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ Complex operator-(Complex a, Complex b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ Complex operator*(Complex a, Complex b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ Complex turned(Complex a) { return make_float2(a.y, -a.x); }

__global__ void fft_radix4(const Complex* in, Complex* out, const Complex* twiddles) {
    __shared__ Complex buffer[2][256];
    int t = threadIdx.x;
    for (int i = 0; i < 4; ++i) buffer[0][t + 64 * i] = in[blockIdx.x * 256 + t + 64 * i];
    __syncthreads();
    int from = 0;
    for (int span = 1; span < 256; span *= 4) {
        int place = t % span;
        Complex v[4];
        for (int i = 0; i < 4; ++i) v[i] = buffer[from][t + 64 * i] * twiddles[place * i * (64 / span)];
        Complex a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = turned(v[1] - v[3]);
        int first = (t - place) * 4 + place;
        Complex* to = buffer[1 - from];
        to[first] = a + c;
        to[first + span] = b + d;
        to[first + 2 * span] = a - c;
        to[first + 3 * span] = b - d;
        from = 1 - from;
        __syncthreads();
    }
    for (int i = 0; i < 4; ++i) out[blockIdx.x * 256 + t + 64 * i] = buffer[from][t + 64 * i];
}
