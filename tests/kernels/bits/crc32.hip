// Checksums of records of equal length with a table that the block makes in shared memory.
__global__ void crc32(const unsigned char* records, unsigned* checksums, int length, int n) {
    __shared__ unsigned table[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        unsigned value = i;
        for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
        table[i] = value;
    }
    __syncthreads();
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= n) return;
    unsigned crc = 0xFFFFFFFFu;
    for (int i = 0; i < length; ++i) crc = table[(crc ^ records[r * length + i]) & 0xFF] ^ crc >> 8;
    checksums[r] = ~crc;
}
