// Pairs of halves, accumulated in float.
__global__ void half2_dot(const half2* a, const half2* b, float* out, int pairs) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= 16) return;
    float sum = 0.0f;
    for (int i = 0; i < pairs; ++i) {
        float2 x = __half22float2(a[row * pairs + i]), y = __half22float2(b[row * pairs + i]);
        sum += x.x * y.x;
        sum += x.y * y.y;
    }
    out[row] = sum;
}
