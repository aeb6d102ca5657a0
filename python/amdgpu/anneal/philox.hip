// Philox4x32-10 (Salmon et al., SC 2011): four random words from a counter and a key, the same on every device.
struct Words {
    unsigned int word[4];
};

__device__ inline Words philox(unsigned int c0, unsigned int c1, unsigned int c2, unsigned int c3, unsigned int k0,
                               unsigned int k1) {
    for (int turn = 0; turn < 10; ++turn) {
        unsigned int high0 = __umulhi(0xD2511F53u, c0);
        unsigned int low0 = 0xD2511F53u * c0;
        unsigned int high1 = __umulhi(0xCD9E8D57u, c2);
        unsigned int low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    Words words = {{c0, c1, c2, c3}};
    return words;
}

// Uniform in [0, 1), every value exact in float32.
__device__ inline float uniform(unsigned int word) {
    return (float)(word >> 8) * 5.9604644775390625e-8f;
}

// Last words of the counters: no two uses share a block.
#define INITIAL 0u
#define SWEEP 16u
