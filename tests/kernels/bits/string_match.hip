// Places where a pattern occurs in a text; the pattern lies in shared memory.
__global__ void string_match(const char* text, const char* pattern, int* places, int* count, int length, int pattern_length) {
    extern __shared__ char wanted[];
    for (int i = threadIdx.x; i < pattern_length; i += blockDim.x) wanted[i] = pattern[i];
    __syncthreads();
    int start = blockIdx.x * blockDim.x + threadIdx.x;
    if (start > length - pattern_length) return;
    for (int i = 0; i < pattern_length; ++i) {
        if (text[start + i] != wanted[i]) return;
    }
    places[start] = 1;
    atomicAdd(count, 1);
}
