// Bytes to text, with the digits in a string.
__global__ void hexadecimal(const unsigned char* in, char* out, int n) {
    const char digits[] = "0123456789abcdef";
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[2 * i] = digits[in[i] >> 4];
    out[2 * i + 1] = digits[in[i] & 15];
}
