// One object: the best value for every capacity with or without it.
__global__ void knapsack_row(const int* best, int* next, unsigned* taken, int weight, int value, int capacity) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c > capacity) return;
    int without = best[c];
    int with = c >= weight ? best[c - weight] + value : INT_MIN;
    next[c] = with > without ? with : without;
    if (with > without) atomicOr(&taken[c / 32], 1u << (c % 32));
}
