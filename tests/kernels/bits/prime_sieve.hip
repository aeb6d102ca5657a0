// Eratosthenes on odd numbers as bits: a block sieves a segment with the small primes it finds itself.
__global__ void prime_sieve(unsigned* bits, unsigned limit) {
    __shared__ unsigned segment[32];
    unsigned t = threadIdx.x, first = blockIdx.x * 1024u;
    segment[t] = 0xFFFFFFFFu;
    __syncthreads();
    for (unsigned p = 3 + 2 * t; p * p <= limit; p += 64) {
        bool is_prime = true;
        for (unsigned d = 3; d * d <= p; d += 2) {
            if (p % d == 0) {
                is_prime = false;
                break;
            }
        }
        if (!is_prime) continue;
        // The number at place i is 2 i + 1.
        unsigned start = p * p / 2;
        if (start < first) start = first + (p - (first - start) % p) % p;
        for (unsigned i = start; i < first + 1024; i += p) atomicAnd(&segment[(i - first) / 32], ~(1u << i % 32));
    }
    __syncthreads();
    if (first + 32 * t == 0) segment[0] &= ~1u;
    bits[blockIdx.x * 32 + t] = segment[t];
}
