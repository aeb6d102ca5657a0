// Blocks of 2 x 2 in compressed rows.
__global__ void block_sparse(const int* starts, const int* columns, const float4* blocks, const float2* x, float2* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int i = starts[row], end = starts[row + 1]; i != end; i++) {
        const float4 m = blocks[i];
        const float2 v = x[columns[i]];
        sum.x += m.x * v.x + m.y * v.y;
        sum.y += m.z * v.x + m.w * v.y;
    }
    y[row] = sum;
}
