// Sorts each block's part in shared memory; the size is the number of threads, a power of two.
__global__ void bitonic_sort(unsigned int* values) {
    extern __shared__ unsigned int part[];
    unsigned int t = threadIdx.x;
    unsigned int* block = values + blockIdx.x * blockDim.x;
    part[t] = block[t];
    __syncthreads();
    for (unsigned int size = 2; size <= blockDim.x; size *= 2) {
        for (unsigned int step = size / 2; step > 0; step /= 2) {
            unsigned int other = t ^ step;
            if (other > t) {
                bool rises = (t & size) == 0;
                if ((part[t] > part[other]) == rises) {
                    unsigned int kept = part[t];
                    part[t] = part[other];
                    part[other] = kept;
                }
            }
            __syncthreads();
        }
    }
    block[t] = part[t];
}
