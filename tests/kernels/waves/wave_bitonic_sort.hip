// Sorts 32 numbers in registers: comparisons through shuffles only.
__global__ void wave_bitonic_sort(long long* values) {
    int lane = threadIdx.x;
    long long mine = values[blockIdx.x * 32 + lane];
    for (int size = 2; size <= 32; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            long long other = __shfl_xor_sync(0xffffffff, mine, step, 32);
            bool rises = (lane & size) == 0, is_lower = (lane & step) == 0;
            mine = rises == is_lower ? min(mine, other) : max(mine, other);
        }
    }
    values[blockIdx.x * 32 + lane] = mine;
}
