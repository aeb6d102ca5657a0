// Metropolis sweeps over the spins of many replicas (Kirkpatrick, Gelatt, Vecchi 1983); one work-item is one replica.
// Energy: sum of fields[i] s[i] + sum over pairs of coupling s[i] s[j], s = +1 or -1. The graph is in compressed rows, each pair twice.

extern "C" __global__ void initialize(signed char* spins, unsigned int spin_count, unsigned int replicas,
                                      unsigned int seed_low, unsigned int seed_high) {
    unsigned int replica = blockIdx.x * blockDim.x + threadIdx.x;
    if (replica >= replicas) return;
    for (unsigned int first = 0; first < spin_count; first += 128) {
        Words words = philox(first / 128, 0u, replica, INITIAL, seed_low, seed_high);
        for (unsigned int bit = 0; bit < 128 && first + bit < spin_count; ++bit) {
            unsigned int is_up = words.word[bit / 32] >> (bit % 32) & 1u;
            spins[(unsigned long long)(first + bit) * replicas + replica] = is_up ? 1 : -1;
        }
    }
}

extern "C" __global__ void sweep(signed char* spins, const unsigned int* row_starts, const unsigned int* columns,
                                 const float* couplings, const float* fields, const float* betas,
                                 unsigned int spin_count, unsigned int replicas, unsigned int first_sweep,
                                 unsigned int sweep_count, unsigned int seed_low, unsigned int seed_high) {
    unsigned int replica = blockIdx.x * blockDim.x + threadIdx.x;
    if (replica >= replicas) return;
    for (unsigned int turn = first_sweep; turn < first_sweep + sweep_count; ++turn) {
        float beta = betas[turn];
        for (unsigned int first = 0; first < spin_count; first += 4) {
            Words words = philox(first, turn, replica, SWEEP, seed_low, seed_high);
            for (unsigned int place = 0; place < 4 && first + place < spin_count; ++place) {
                unsigned int spin = first + place;
                float field = fields[spin];
                for (unsigned int entry = row_starts[spin]; entry < row_starts[spin + 1]; ++entry) {
                    field += couplings[entry] * (float)spins[(unsigned long long)columns[entry] * replicas + replica];
                }
                signed char* own = spins + (unsigned long long)spin * replicas + replica;
                // The turn raises the energy by -2 s field; where it falls the exponential is above every number drawn.
                float action = -2.0f * (float)*own * field * beta;
                if (uniform(words.word[place]) < expf(-action)) *own = -*own;
            }
        }
    }
}
