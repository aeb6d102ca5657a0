// Lanes with equal keys find each other, and one of them adds for all.
__global__ void match_histogram(const unsigned char* keys, unsigned* bins, int n) {
    int lane = threadIdx.x & 31, i = blockIdx.x * 32 + lane;
    unsigned key = i < n ? keys[i] : 256u;
    unsigned same = (unsigned)__match_any_sync(0xffffffff, key);
    bool is_leader = lane == __ffs((int)same) - 1;
    if (is_leader && key < 256u) atomicAdd(&bins[key], (unsigned)__popc(same));
}
