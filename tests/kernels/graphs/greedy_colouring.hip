// A round of colouring after Jones and Plassmann: who has the highest number among uncoloured neighbours takes the smallest free colour.
__global__ void greedy_colouring(const int* starts, const int* targets, const unsigned* priorities, const signed char* before,
                                 signed char* colours, int vertices) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || before[v] >= 0) return;
    unsigned long long taken = 0;
    for (int i = starts[v]; i < starts[v + 1]; ++i) {
        int other = targets[i];
        if (before[other] >= 0) taken |= 1ull << before[other];
        else if (priorities[other] > priorities[v] || (priorities[other] == priorities[v] && other > v)) return;
    }
    colours[v] = (signed char)(__ffsll((long long)~taken) - 1);
}
