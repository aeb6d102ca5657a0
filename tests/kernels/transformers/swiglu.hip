// Gate and value lie side by side in each row; four at a time.
__global__ void swiglu(const float4* in, float4* out, int quarter, int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * quarter) return;
    int row = i / quarter, column = i % quarter;
    float4 gate = in[row * 2 * quarter + column], value = in[row * 2 * quarter + quarter + column];
    auto silu = [](float x) { return x / (1.0f + expf(-x)); };
    out[i] = make_float4(silu(gate.x) * value.x, silu(gate.y) * value.y, silu(gate.z) * value.z, silu(gate.w) * value.w);
}
