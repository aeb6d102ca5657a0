// Path-integral Monte Carlo of the Ising model in a transverse field (Kadowaki, Nishimori 1998; Martonak, Santoro, Tosatti 2002): SLICES
// copies of the spins in a ring of imaginary time. One work-item is one replica; bit k of a spin's word is its value in slice k.
// Action: sum over slices of beta E(s_k), beta being 1 / (slices temperature), minus tunneling s_k[i] s_(k+1)[i] over slices and spins.

#define ALL_SLICES (SLICES == 32 ? 0xFFFFFFFFu : (1u << SLICES) - 1u)

extern "C" __global__ void initialize(unsigned int* spins, unsigned int spin_count, unsigned int replicas,
                                      unsigned int seed_low, unsigned int seed_high) {
    unsigned int replica = blockIdx.x * blockDim.x + threadIdx.x;
    if (replica >= replicas) return;
    for (unsigned int spin = 0; spin < spin_count; ++spin) {
        Words words = philox(spin, 0u, replica, INITIAL, seed_low, seed_high);
        spins[(unsigned long long)spin * replicas + replica] = words.word[0] & ALL_SLICES;
    }
}

// Value of bit `slice` as +1 or -1.
__device__ inline float value(unsigned int word, unsigned int slice) {
    return (word >> slice & 1u) ? 1.0f : -1.0f;
}

extern "C" __global__ void sweep(unsigned int* spins, const unsigned int* row_starts, const unsigned int* columns,
                                 const float* couplings, const float* fields, const float* betas,
                                 const float* tunnelings, unsigned int spin_count, unsigned int replicas,
                                 unsigned int first_sweep, unsigned int sweep_count, unsigned int seed_low,
                                 unsigned int seed_high) {
    unsigned int replica = blockIdx.x * blockDim.x + threadIdx.x;
    if (replica >= replicas) return;
    for (unsigned int turn = first_sweep; turn < first_sweep + sweep_count; ++turn) {
        float beta = betas[turn];
        float tunneling = tunnelings[turn];
        for (unsigned int spin = 0; spin < spin_count; ++spin) {
            float local[SLICES];
#pragma unroll
            for (unsigned int slice = 0; slice < SLICES; ++slice) local[slice] = fields[spin];
            for (unsigned int entry = row_starts[spin]; entry < row_starts[spin + 1]; ++entry) {
                float coupling = couplings[entry];
                unsigned int other = spins[(unsigned long long)columns[entry] * replicas + replica];
#pragma unroll
                for (unsigned int slice = 0; slice < SLICES; ++slice) local[slice] += coupling * value(other, slice);
            }
            unsigned int own = spins[(unsigned long long)spin * replicas + replica];
            Words words = philox(spin, turn, replica, SWEEP, seed_low, seed_high);
            float total = 0.0f;
#pragma unroll
            for (unsigned int slice = 0; slice < SLICES; ++slice) {
                if (slice != 0 && slice % 4 == 0) {
                    words = philox(spin, turn, replica, SWEEP + slice / 4, seed_low, seed_high);
                }
                float mine = value(own, slice);
                float ring = value(own, (slice + SLICES - 1) % SLICES) + value(own, (slice + 1) % SLICES);
                float action = 2.0f * mine * (tunneling * ring - beta * local[slice]);
                unsigned int turns = uniform(words.word[slice % 4]) < expf(-action) ? 1u : 0u;
                own ^= turns << slice;
                total += value(own, slice) * local[slice];
            }
            // All slices of the spin together: the coupling between slices does not change.
            words = philox(spin, turn, replica, SWEEP + 8u, seed_low, seed_high);
            if (uniform(words.word[0]) < expf(2.0f * beta * total)) own ^= ALL_SLICES;
            spins[(unsigned long long)spin * replicas + replica] = own;
        }
    }
}
