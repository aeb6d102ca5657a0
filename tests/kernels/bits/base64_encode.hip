// Three bytes to four letters, with padding at the end.
__device__ char letter(unsigned value) {
    static const char alphabet[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    return alphabet[value & 63];
}

__global__ void base64_encode(const unsigned char* in, char4* out, int n) {
    int group = blockIdx.x * blockDim.x + threadIdx.x;
    if (3 * group >= n) return;
    int left = n - 3 * group;
    unsigned bits = in[3 * group] << 16;
    if (left > 1) bits |= in[3 * group + 1] << 8;
    if (left > 2) bits |= in[3 * group + 2];
    char4 letters;
    letters.x = letter(bits >> 18);
    letters.y = letter(bits >> 12);
    letters.z = left > 1 ? letter(bits >> 6) : '=';
    letters.w = left > 2 ? letter(bits) : '=';
    out[group] = letters;
}
