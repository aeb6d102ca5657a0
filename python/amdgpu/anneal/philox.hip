#include "amdgpu_philox.h"

// Four random words from a counter and a key, the same on every device.
struct Words {
    unsigned int word[4];
};

__device__ inline Words philox(unsigned int c0, unsigned int c1, unsigned int c2, unsigned int c3, unsigned int k0,
                               unsigned int k1) {
    uint4 block = agpu_philox4x32_10(make_uint4(c0, c1, c2, c3), make_uint2(k0, k1));
    Words words = {{block.x, block.y, block.z, block.w}};
    return words;
}

// Uniform in [0, 1), every value exact in float32.
__device__ inline float uniform(unsigned int word) {
    return (float)(word >> 8) * 5.9604644775390625e-8f;
}

// Last words of the counters: no two uses share a block.
#define INITIAL 0u
#define SWEEP 16u
