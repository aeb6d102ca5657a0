// Rows of a table by token, plus those of the positions; tokens outside of the table give zeros.
__global__ void embedding_gather(const int* tokens, const float* table, const float* positions, float* out, int width, int words) {
    int token = tokens[blockIdx.x];
    for (int i = threadIdx.x; i < width; i += blockDim.x) {
        float value = 0.0f;
        if (token >= 0 && token < words) value = table[(size_t)token * width + i];
        out[blockIdx.x * width + i] = value + positions[blockIdx.x * width + i];
    }
}
