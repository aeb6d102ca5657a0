// Any, all and the lanes themselves; lanes that have left are not asked.
__global__ void wave_votes(const int* values, int4* answers, int modulus, int n) {
    int lane = threadIdx.x & 31;
    int value = blockIdx.x * 32 + lane < n ? values[blockIdx.x * 32 + lane] : -1;
    bool any = __any_sync(0xffffffff, value % modulus == 0);
    bool all = __all_sync(0xffffffff, value >= -1);
    unsigned long long odd = __ballot_sync(0xffffffff, value & 1);
    int first = __ffsll((long long)odd) - 1;
    int leader = __shfl_sync(0xffffffff, value, first < 0 ? 0 : first, 32);
    if (lane == 0) answers[blockIdx.x] = make_int4(any, all, __popcll(odd), leader);
}
