// Ways to pay an amount, one kind of coin after the other; sums along strides of the coin are scanned by one work-item each.
__global__ void coin_change(const int* coins, unsigned long long* ways, int kinds, int amount) {
    for (int i = threadIdx.x; i <= amount; i += blockDim.x) ways[i] = i == 0;
    for (int k = 0; k < kinds; ++k) {
        __syncthreads();
        int coin = coins[k];
        for (int first = threadIdx.x; first < coin; first += blockDim.x) {
            for (int i = first + coin; i <= amount; i += coin) ways[i] += ways[i - coin];
        }
    }
}
