// Escape times in double with the count smoothed into a byte of brightness.
__global__ void julia_set(unsigned char* out, double2 c, double scale, int width, int height, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    double re = scale * (x - width / 2), im = scale * (y - height / 2);
    int count = 0;
    do {
        double re2 = re * re, im2 = im * im;
        if (re2 + im2 > 4.0) break;
        double product = re * im;
        im = 2.0 * product + c.y;
        re = re2 - im2 + c.x;
    } while (++count < limit);
    out[y * width + x] = (unsigned char)(count * 255 / limit);
}
