// Volatile accesses stay as many as they are written, and where.
struct Mailbox {
    int data;
    volatile int ready;
};

__device__ volatile int counter;

__device__ void sum_of_wave(volatile float* sums, unsigned item) {
    sums[item] += sums[item + 16];
    sums[item] += sums[item + 8];
}

extern "C" __global__ void poll(volatile int* flags, int* data, Mailbox* box) {
    __shared__ volatile float sums[64];
    volatile int own = 3;
    sums[threadIdx.x] = 1.0f;
    sum_of_wave(sums, threadIdx.x);
    while (*flags == 0) {}
    *flags;
    flags[1] = 1;
    flags[1] = 1;
    own = own + own;
    while (box->ready == 0) {}
    volatile int& third = flags[2];
    third += 1;
    counter = 2;
    counter = 2;
    data[0] = box->data + own + (int)sums[0] + ((volatile int*)data)[1];
}
