// Every atomic operation of every type and scope, its result used and unused.
__global__ void add(int* i, unsigned int* u, unsigned long long* w, float* f, double* d) {
    i[0] = atomicAdd(i + 1, (int)3); atomicAdd(i + 2, i[3]);
    u[0] = atomicAdd(u + 1, (unsigned int)3); atomicAdd(u + 2, u[3]);
    w[0] = atomicAdd(w + 1, (unsigned long long)3); atomicAdd(w + 2, w[3]);
    f[0] = atomicAdd(f + 1, (float)3); atomicAdd(f + 2, f[3]);
    d[0] = atomicAdd(d + 1, (double)3); atomicAdd(d + 2, d[3]);
}
__global__ void sub(int* i, unsigned int* u) {
    i[0] = atomicSub(i + 1, (int)3); atomicSub(i + 2, i[3]);
    u[0] = atomicSub(u + 1, (unsigned int)3); atomicSub(u + 2, u[3]);
}
__global__ void exch(int* i, unsigned int* u, unsigned long long* w, float* f) {
    i[0] = atomicExch(i + 1, (int)3); atomicExch(i + 2, i[3]);
    u[0] = atomicExch(u + 1, (unsigned int)3); atomicExch(u + 2, u[3]);
    w[0] = atomicExch(w + 1, (unsigned long long)3); atomicExch(w + 2, w[3]);
    f[0] = atomicExch(f + 1, (float)3); atomicExch(f + 2, f[3]);
}
__global__ void min(int* i, unsigned int* u, long long* l, unsigned long long* w) {
    i[0] = atomicMin(i + 1, (int)3); atomicMin(i + 2, i[3]);
    u[0] = atomicMin(u + 1, (unsigned int)3); atomicMin(u + 2, u[3]);
    l[0] = atomicMin(l + 1, (long long)3); atomicMin(l + 2, l[3]);
    w[0] = atomicMin(w + 1, (unsigned long long)3); atomicMin(w + 2, w[3]);
}
__global__ void max(int* i, unsigned int* u, long long* l, unsigned long long* w) {
    i[0] = atomicMax(i + 1, (int)3); atomicMax(i + 2, i[3]);
    u[0] = atomicMax(u + 1, (unsigned int)3); atomicMax(u + 2, u[3]);
    l[0] = atomicMax(l + 1, (long long)3); atomicMax(l + 2, l[3]);
    w[0] = atomicMax(w + 1, (unsigned long long)3); atomicMax(w + 2, w[3]);
}
__global__ void and(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicAnd(i + 1, (int)3); atomicAnd(i + 2, i[3]);
    u[0] = atomicAnd(u + 1, (unsigned int)3); atomicAnd(u + 2, u[3]);
    w[0] = atomicAnd(w + 1, (unsigned long long)3); atomicAnd(w + 2, w[3]);
}
__global__ void or(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicOr(i + 1, (int)3); atomicOr(i + 2, i[3]);
    u[0] = atomicOr(u + 1, (unsigned int)3); atomicOr(u + 2, u[3]);
    w[0] = atomicOr(w + 1, (unsigned long long)3); atomicOr(w + 2, w[3]);
}
__global__ void xor(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicXor(i + 1, (int)3); atomicXor(i + 2, i[3]);
    u[0] = atomicXor(u + 1, (unsigned int)3); atomicXor(u + 2, u[3]);
    w[0] = atomicXor(w + 1, (unsigned long long)3); atomicXor(w + 2, w[3]);
}
__global__ void exchange(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicCAS(i + 1, 2, 3); u[0] = atomicCAS(u + 1, 2u, 3u); w[0] = atomicCAS(w + 1, 2ULL, 3ULL);
    atomicCAS(i + 2, i[3], 3); u[4] = atomicInc(u + 5, 6u); u[7] = atomicDec(u + 8, 9u); atomicInc(u + 5, 6u); atomicDec(u + 8, 9u);
}
__global__ void add_system(int* i, unsigned int* u, unsigned long long* w, float* f, double* d) {
    i[0] = atomicAdd_system(i + 1, (int)3); atomicAdd_system(i + 2, i[3]);
    u[0] = atomicAdd_system(u + 1, (unsigned int)3); atomicAdd_system(u + 2, u[3]);
    w[0] = atomicAdd_system(w + 1, (unsigned long long)3); atomicAdd_system(w + 2, w[3]);
    f[0] = atomicAdd_system(f + 1, (float)3); atomicAdd_system(f + 2, f[3]);
    d[0] = atomicAdd_system(d + 1, (double)3); atomicAdd_system(d + 2, d[3]);
}
__global__ void sub_system(int* i, unsigned int* u) {
    i[0] = atomicSub_system(i + 1, (int)3); atomicSub_system(i + 2, i[3]);
    u[0] = atomicSub_system(u + 1, (unsigned int)3); atomicSub_system(u + 2, u[3]);
}
__global__ void exch_system(int* i, unsigned int* u, unsigned long long* w, float* f) {
    i[0] = atomicExch_system(i + 1, (int)3); atomicExch_system(i + 2, i[3]);
    u[0] = atomicExch_system(u + 1, (unsigned int)3); atomicExch_system(u + 2, u[3]);
    w[0] = atomicExch_system(w + 1, (unsigned long long)3); atomicExch_system(w + 2, w[3]);
    f[0] = atomicExch_system(f + 1, (float)3); atomicExch_system(f + 2, f[3]);
}
__global__ void min_system(int* i, unsigned int* u, long long* l, unsigned long long* w) {
    i[0] = atomicMin_system(i + 1, (int)3); atomicMin_system(i + 2, i[3]);
    u[0] = atomicMin_system(u + 1, (unsigned int)3); atomicMin_system(u + 2, u[3]);
    l[0] = atomicMin_system(l + 1, (long long)3); atomicMin_system(l + 2, l[3]);
    w[0] = atomicMin_system(w + 1, (unsigned long long)3); atomicMin_system(w + 2, w[3]);
}
__global__ void max_system(int* i, unsigned int* u, long long* l, unsigned long long* w) {
    i[0] = atomicMax_system(i + 1, (int)3); atomicMax_system(i + 2, i[3]);
    u[0] = atomicMax_system(u + 1, (unsigned int)3); atomicMax_system(u + 2, u[3]);
    l[0] = atomicMax_system(l + 1, (long long)3); atomicMax_system(l + 2, l[3]);
    w[0] = atomicMax_system(w + 1, (unsigned long long)3); atomicMax_system(w + 2, w[3]);
}
__global__ void and_system(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicAnd_system(i + 1, (int)3); atomicAnd_system(i + 2, i[3]);
    u[0] = atomicAnd_system(u + 1, (unsigned int)3); atomicAnd_system(u + 2, u[3]);
    w[0] = atomicAnd_system(w + 1, (unsigned long long)3); atomicAnd_system(w + 2, w[3]);
}
__global__ void or_system(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicOr_system(i + 1, (int)3); atomicOr_system(i + 2, i[3]);
    u[0] = atomicOr_system(u + 1, (unsigned int)3); atomicOr_system(u + 2, u[3]);
    w[0] = atomicOr_system(w + 1, (unsigned long long)3); atomicOr_system(w + 2, w[3]);
}
__global__ void xor_system(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicXor_system(i + 1, (int)3); atomicXor_system(i + 2, i[3]);
    u[0] = atomicXor_system(u + 1, (unsigned int)3); atomicXor_system(u + 2, u[3]);
    w[0] = atomicXor_system(w + 1, (unsigned long long)3); atomicXor_system(w + 2, w[3]);
}
__global__ void exchange_system(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicCAS_system(i + 1, 2, 3); u[0] = atomicCAS_system(u + 1, 2u, 3u); w[0] = atomicCAS_system(w + 1, 2ULL, 3ULL);
    atomicCAS_system(i + 2, i[3], 3); u[4] = atomicInc_system(u + 5, 6u); u[7] = atomicDec_system(u + 8, 9u); atomicInc_system(u + 5, 6u); atomicDec_system(u + 8, 9u);
}
__global__ void add_block(int* i, unsigned int* u, unsigned long long* w, float* f, double* d) {
    i[0] = atomicAdd_block(i + 1, (int)3); atomicAdd_block(i + 2, i[3]);
    u[0] = atomicAdd_block(u + 1, (unsigned int)3); atomicAdd_block(u + 2, u[3]);
    w[0] = atomicAdd_block(w + 1, (unsigned long long)3); atomicAdd_block(w + 2, w[3]);
    f[0] = atomicAdd_block(f + 1, (float)3); atomicAdd_block(f + 2, f[3]);
    d[0] = atomicAdd_block(d + 1, (double)3); atomicAdd_block(d + 2, d[3]);
}
__global__ void sub_block(int* i, unsigned int* u) {
    i[0] = atomicSub_block(i + 1, (int)3); atomicSub_block(i + 2, i[3]);
    u[0] = atomicSub_block(u + 1, (unsigned int)3); atomicSub_block(u + 2, u[3]);
}
__global__ void exch_block(int* i, unsigned int* u, unsigned long long* w, float* f) {
    i[0] = atomicExch_block(i + 1, (int)3); atomicExch_block(i + 2, i[3]);
    u[0] = atomicExch_block(u + 1, (unsigned int)3); atomicExch_block(u + 2, u[3]);
    w[0] = atomicExch_block(w + 1, (unsigned long long)3); atomicExch_block(w + 2, w[3]);
    f[0] = atomicExch_block(f + 1, (float)3); atomicExch_block(f + 2, f[3]);
}
__global__ void min_block(int* i, unsigned int* u, long long* l, unsigned long long* w) {
    i[0] = atomicMin_block(i + 1, (int)3); atomicMin_block(i + 2, i[3]);
    u[0] = atomicMin_block(u + 1, (unsigned int)3); atomicMin_block(u + 2, u[3]);
    l[0] = atomicMin_block(l + 1, (long long)3); atomicMin_block(l + 2, l[3]);
    w[0] = atomicMin_block(w + 1, (unsigned long long)3); atomicMin_block(w + 2, w[3]);
}
__global__ void max_block(int* i, unsigned int* u, long long* l, unsigned long long* w) {
    i[0] = atomicMax_block(i + 1, (int)3); atomicMax_block(i + 2, i[3]);
    u[0] = atomicMax_block(u + 1, (unsigned int)3); atomicMax_block(u + 2, u[3]);
    l[0] = atomicMax_block(l + 1, (long long)3); atomicMax_block(l + 2, l[3]);
    w[0] = atomicMax_block(w + 1, (unsigned long long)3); atomicMax_block(w + 2, w[3]);
}
__global__ void and_block(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicAnd_block(i + 1, (int)3); atomicAnd_block(i + 2, i[3]);
    u[0] = atomicAnd_block(u + 1, (unsigned int)3); atomicAnd_block(u + 2, u[3]);
    w[0] = atomicAnd_block(w + 1, (unsigned long long)3); atomicAnd_block(w + 2, w[3]);
}
__global__ void or_block(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicOr_block(i + 1, (int)3); atomicOr_block(i + 2, i[3]);
    u[0] = atomicOr_block(u + 1, (unsigned int)3); atomicOr_block(u + 2, u[3]);
    w[0] = atomicOr_block(w + 1, (unsigned long long)3); atomicOr_block(w + 2, w[3]);
}
__global__ void xor_block(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicXor_block(i + 1, (int)3); atomicXor_block(i + 2, i[3]);
    u[0] = atomicXor_block(u + 1, (unsigned int)3); atomicXor_block(u + 2, u[3]);
    w[0] = atomicXor_block(w + 1, (unsigned long long)3); atomicXor_block(w + 2, w[3]);
}
__global__ void exchange_block(int* i, unsigned int* u, unsigned long long* w) {
    i[0] = atomicCAS_block(i + 1, 2, 3); u[0] = atomicCAS_block(u + 1, 2u, 3u); w[0] = atomicCAS_block(w + 1, 2ULL, 3ULL);
    atomicCAS_block(i + 2, i[3], 3); u[4] = atomicInc_block(u + 5, 6u); u[7] = atomicDec_block(u + 8, 9u); atomicInc_block(u + 5, 6u); atomicDec_block(u + 8, 9u);
}
__global__ void shared(int* out, float* parts) {
    __shared__ int n[4]; __shared__ float s; __shared__ double d; __shared__ unsigned long long w;
    atomicAdd(&n[0], 1); atomicSub(&n[1], 2); atomicMin(&n[2], 3); atomicMax(&n[3], 4); atomicAnd(&n[0], 5); atomicOr(&n[1], 6); atomicXor(&n[2], 7);
    atomicExch(&n[3], 8); out[0] = atomicCAS(&n[0], 9, 10); atomicAdd(&s, parts[0]); atomicAdd(&d, 1.5); atomicAdd(&w, 11ULL); atomicMax(&w, 12ULL);
    __syncthreads(); out[1] = n[threadIdx.x & 3] + (int)s + (int)d + (int)w;
}
__global__ void fences(volatile int* flag, int* data) {
    data[0] = 1; __threadfence(); flag[0] = 1; data[1] = 2; __threadfence_block(); flag[1] = 2; data[2] = 3; __threadfence_system(); flag[2] = 3;
}
__global__ void clocks(long long* out) { out[0] = clock64(); out[1] = wall_clock64(); out[2] = clock(); }
