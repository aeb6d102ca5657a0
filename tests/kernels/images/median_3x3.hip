// Median of nine by a network of exchanges (Paeth, Graphics Gems 1).
__device__ void exchange(unsigned char& a, unsigned char& b) {
    unsigned char low = min(a, b);
    b = max(a, b);
    a = low;
}
#define SORT3(a, b, c) \
    exchange(v[a], v[b]); \
    exchange(v[b], v[c]); \
    exchange(v[a], v[b])

__global__ void median_3x3(const unsigned char* in, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned char v[9];
    for (int i = 0; i < 9; ++i) {
        int column = min(max(x + i % 3 - 1, 0), width - 1), row = min(max(y + i / 3 - 1, 0), height - 1);
        v[i] = in[row * width + column];
    }
    SORT3(0, 1, 2);
    SORT3(3, 4, 5);
    SORT3(6, 7, 8);
    unsigned char low = max(v[0], max(v[3], v[6]));
    unsigned char high = min(v[2], min(v[5], v[8]));
    exchange(v[1], v[4]);
    exchange(v[4], v[7]);
    exchange(v[1], v[4]);
    unsigned char middle = v[4];
    out[y * width + x] = max(min(low, high), min(max(low, high), middle));
}
