// Erosion or dilation by a cross, as the operation says.
struct Smaller {
    static __device__ int pick(int a, int b) { return a < b ? a : b; }
    static constexpr int outside = 255;
};
struct Larger {
    static __device__ int pick(int a, int b) { return a > b ? a : b; }
    static constexpr int outside = 0;
};

template <typename Operation>
__global__ void morphology(const unsigned char* in, unsigned char* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    auto at = [&](int column, int row) {
        bool is_inside = column >= 0 && row >= 0 && column < width && row < height;
        return is_inside ? (int)in[row * width + column] : Operation::outside;
    };
    int value = at(x, y);
    value = Operation::pick(value, at(x - 1, y));
    value = Operation::pick(value, at(x + 1, y));
    value = Operation::pick(value, at(x, y - 1));
    value = Operation::pick(value, at(x, y + 1));
    out[y * width + x] = (unsigned char)value;
}
template __global__ void morphology<Smaller>(const unsigned char*, unsigned char*, int, int);
template __global__ void morphology<Larger>(const unsigned char*, unsigned char*, int, int);
