// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011): a number for each counter, no state.
struct Philox {
    uint4 counter;
    uint2 key;

    __device__ uint4 operator()() const {
        uint4 c = counter;
        uint2 k = key;
        for (int round = 0; round < 10; ++round) {
            unsigned high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
            unsigned high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
            c = make_uint4(high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0);
            k.x += 0x9E3779B9u;
            k.y += 0xBB67AE85u;
        }
        return c;
    }
};

// Points in the unit square that lie in the circle; coordinates are 32-bit integers, so the count is exact.
__device__ bool is_inside(unsigned x, unsigned y) {
    unsigned long long a = x >> 1, b = y >> 1;
    return a * a + b * b < 1ull << 62;
}

__global__ void pi_philox(unsigned* inside, uint4* samples, unsigned seed, int n) {
    __shared__ unsigned found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Philox generator = {make_uint4(i, 0, 7, 0), make_uint2(seed, 99)};
        uint4 numbers = generator();
        samples[i] = numbers;
        atomicAdd(&found, (unsigned)is_inside(numbers.x, numbers.y) + (unsigned)is_inside(numbers.z, numbers.w));
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(inside, found);
}
