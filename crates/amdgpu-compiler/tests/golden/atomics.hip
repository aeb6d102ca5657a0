// Every atomic operation and fence, on memory of the device and of a block.
__global__ void k(int* i, unsigned* u, unsigned long long* w, float* f, double* d, int* old) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], t); atomicSub(&i[1], t); atomicMin(&i[2], -t); atomicMax(&i[3], t);
    atomicAnd(&i[4], ~(1 << (t % 31))); atomicOr(&i[5], 1 << (t % 31)); atomicXor(&i[6], t);
    atomicMin(&u[0], 4000000000u - t); atomicMax(&u[1], 3000000000u + t); atomicInc(&u[2], 9u); atomicDec(&u[3], 9u);
    atomicAdd(&w[0], 1ull << 40); atomicMax(&w[1], (unsigned long long)t << 33); atomicExch(&w[2], 77ull);
    atomicAdd(f, 1.0f); atomicAdd(d, 0.5); atomicExch(&f[1], 2.5f);
    old[t] = atomicAdd(&i[7], 1);
    int seen = i[8], expected;
    do { expected = seen; seen = atomicCAS(&i[8], expected, expected + 3); } while (seen != expected);
    __shared__ int local;
    atomicMax(&local, t);
    __threadfence(); __threadfence_block(); __threadfence_system();
}
