// PCG-XSH-RR 64/32 with a jump ahead to the element's own place in one stream.
#define MULTIPLIER 6364136223846793005ULL
#define INCREMENT 1442695040888963407ULL

__device__ uint64_t jumped(uint64_t state, uint64_t distance) {
    uint64_t total_multiplier = 1, total_increment = 0, multiplier = MULTIPLIER, increment = INCREMENT;
    while (distance) {
        if (distance & 1) {
            total_multiplier *= multiplier;
            total_increment = total_increment * multiplier + increment;
        }
        increment = (multiplier + 1) * increment;
        multiplier *= multiplier;
        distance /= 2;
    }
    return total_multiplier * state + total_increment;
}

__global__ void pcg_fill(uint32_t* out, uint64_t seed, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint64_t state = jumped(seed, i);
    uint32_t shifted = (uint32_t)(((state >> 18) ^ state) >> 27);
    uint32_t rotation = (uint32_t)(state >> 59);
    out[i] = (shifted >> rotation) | (shifted << (-rotation & 31));
}
