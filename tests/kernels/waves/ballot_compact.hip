// Keeps positive numbers in order: a ballot says who has one, the bits below a lane say where it goes, one atomic for each wave.
__global__ void ballot_compact(const int* in, int* out, unsigned* ballots, int* count, int n) {
    int lane = threadIdx.x & 31;
    int i = blockIdx.x * 32 + lane;
    int value = i < n ? in[i] : 0;
    unsigned kept = (unsigned)__ballot_sync(0xffffffff, value > 0);
    int before = __popc(kept & ((1u << lane) - 1u));
    if (value > 0) out[blockIdx.x * 32 + before] = value;
    if (lane == 0) {
        ballots[blockIdx.x] = kept;
        atomicAdd(count, __popc(kept));
    }
}
