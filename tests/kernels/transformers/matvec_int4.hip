// Two weights in a byte, offset by eight, with scale and zero point for each group of 16 bytes.
struct Group {
    float scale, zero;
    unsigned char packed[16];
};

__global__ void matvec_int4(const Group* weights, const float* x, float* y, int groups, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int g = 0; g < groups; ++g) {
        const Group& group = weights[row * groups + g];
        float part = 0.0f;
        for (int i = 0; i < 16; ++i) {
            int low = (group.packed[i] & 15) - 8, high = (group.packed[i] >> 4) - 8;
            part += low * x[g * 32 + 2 * i] + high * x[g * 32 + 2 * i + 1];
        }
        float ones = 0.0f;
        for (int i = 0; i < 32; ++i) ones += x[g * 32 + i];
        sum += group.scale * part + group.zero * ones;
    }
    y[row] = sum;
}
