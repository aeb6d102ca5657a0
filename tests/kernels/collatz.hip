// Steps of the Collatz sequence: a loop whose length differs between work-items, with branches inside.
__global__ void collatz(const unsigned int* start, int* steps, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    unsigned long long value = start[i];
    int count = 0;
    while (value != 1) {
        switch (value % 4) {
            case 0: value /= 4; count += 2; continue;
            case 2: value >>= 1; break;
            default: value = 3 * value + 1;
        }
        ++count;
    }
    steps[i] = count;
}
