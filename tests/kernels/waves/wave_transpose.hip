// 4 x 4 tiles among lanes: each lane has a row, exchanges leave it with a column.
__global__ void wave_transpose(const float4* in, float4* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, place = threadIdx.x & 3;
    float4 row = in[i];
    float mine[4] = {row.x, row.y, row.z, row.w}, column[4];
    for (int k = 0; k < 4; ++k) {
        int from = place ^ k;
        float received = 0.0f;
        for (int c = 0; c < 4; ++c) {
            float offered = __shfl_sync(0xffffffff, mine[c], from, 4);
            if (c == place) received = offered;
        }
        column[from] = received;
    }
    out[i] = make_float4(column[0], column[1], column[2], column[3]);
}
