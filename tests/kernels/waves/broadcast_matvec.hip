// A wave multiplies a 32 x 32 matrix by a vector that it holds one element a lane: each is broadcast in turn.
__global__ void broadcast_matvec(const int* matrices, const int* vectors, int* out) {
    int lane = threadIdx.x, which = blockIdx.x;
    int mine = vectors[which * 32 + lane], sum = 0;
    for (int k = 0; k < 32; ++k) sum += matrices[(which * 32 + k) * 32 + lane] * __shfl_sync(0xffffffff, mine, k, 32);
    out[which * 32 + lane] = sum;
}
