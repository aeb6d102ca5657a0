// Row by row as bits: the whole row of the table is one 64-bit word (Hyyro, 2004).
__global__ void longest_common_subsequence(const unsigned char* a, const unsigned char* b, int* lengths, int length, int n) {
    int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (pair >= n) return;
    const unsigned char* first = a + pair * length;
    const unsigned char* second = b + pair * length;
    unsigned long long v = ~0ull;
    for (int j = 0; j < length; ++j) {
        unsigned long long matches = 0;
        for (int i = 0; i < length; ++i) matches |= (unsigned long long)(first[i] == second[j]) << i;
        unsigned long long u = v & matches;
        v = (v + u) | (v - u);
    }
    unsigned long long used = length == 64 ? ~0ull : (1ull << length) - 1;
    lengths[pair] = __popcll(~v & used);
}
