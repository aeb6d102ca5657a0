// RGBA bytes to luma and chroma after BT.601 in 16-bit fixed point.
__global__ void colour_conversion(const uchar4* in, unsigned char* luma, char2* chroma, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const uchar4 p = in[i];
    luma[i] = (19595 * p.x + 38470 * p.y + 7471 * p.z + 32768) >> 16;
    int blue = (-11059 * p.x - 21709 * p.y + 32768 * p.z) >> 16;
    int red = (32768 * p.x - 27439 * p.y - 5329 * p.z) >> 16;
    chroma[i] = make_char2((signed char)blue, (signed char)red);
}
