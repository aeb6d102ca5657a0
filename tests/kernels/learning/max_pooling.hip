// Maximum over 2 x 2 windows and where it stood, for the way back; odd sides lose their last row or column.
__global__ void max_pooling(const float* in, float* out, unsigned char* places, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, channel = blockIdx.z;
    int new_width = width / 2, new_height = height / 2;
    if (x >= new_width || y >= new_height) return;
    const float* from = in + channel * width * height + 2 * y * width + 2 * x;
    float best = from[0];
    unsigned char place = 0;
    for (unsigned char k = 1; k < 4; ++k) {
        float value = from[(k >> 1) * width + (k & 1)];
        if (value > best) {
            best = value;
            place = k;
        }
    }
    out[(channel * new_height + y) * new_width + x] = best;
    places[(channel * new_height + y) * new_width + x] = place;
}
