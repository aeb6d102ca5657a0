// "Over" of premultiplied colours: exact division by 255 with rounding.
__device__ inline unsigned char scaled(unsigned char value, unsigned char by) {
    unsigned product = value * by + 128u;
    return (unsigned char)((product + (product >> 8)) >> 8);
}

__global__ void alpha_blend(const uchar4* top, uchar4* bottom, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        uchar4 a = top[i], b = bottom[i];
        unsigned char rest = 255 - a.w;
        b.x = a.x + scaled(b.x, rest);
        b.y = a.y + scaled(b.y, rest);
        b.z = a.z + scaled(b.z, rest);
        b.w = a.w + scaled(b.w, rest);
        bottom[i] = b;
    }
}
