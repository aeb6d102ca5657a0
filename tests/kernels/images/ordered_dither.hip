// Bayer's matrix made by interleaving bits, then a threshold; eight pixels become a byte.
__host__ __device__ constexpr int bayer(int x, int y) {
    int value = 0;
    for (int bit = 0; bit < 3; ++bit) {
        value |= (((x ^ y) >> bit) & 1) << (2 * (2 - bit) + 1);
        value |= ((y >> bit) & 1) << (2 * (2 - bit));
    }
    return value;
}
static_assert(bayer(0, 0) == 0 && bayer(1, 0) == 32, "the first entries of the matrix");

__global__ void ordered_dither(const unsigned char* in, unsigned char* out, int width, int height) {
    int group = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    int groups = (width + 7) / 8;
    if (group >= groups || y >= height) return;
    unsigned char bits = 0;
    for (int k = 0; k < 8; ++k) {
        int x = group * 8 + k;
        if (x < width && in[y * width + x] > bayer(x & 7, y & 7) * 4 + 2) bits |= 0x80 >> k;
    }
    out[y * groups + group] = bits;
}
