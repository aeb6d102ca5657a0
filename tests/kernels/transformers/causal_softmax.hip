// Softmax over the columns up to the row's own; the others become zero.
__global__ void causal_softmax(float* scores, int size, float scale) {
    __shared__ float tree[32];
    int row = blockIdx.x, t = threadIdx.x;
    float* mine = scores + (blockIdx.y * size + row) * size;
    float largest = -INFINITY;
    for (int i = t; i <= row; i += 32) largest = fmaxf(largest, mine[i] * scale);
    tree[t] = largest;
    for (int s = 16; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) tree[t] = fmaxf(tree[t], tree[t + s]);
    }
    __syncthreads();
    largest = tree[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = t; i <= row; i += 32) sum += expf(mine[i] * scale - largest);
    tree[t] = sum;
    for (int s = 16; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) tree[t] += tree[t + s];
    }
    __syncthreads();
    sum = tree[0];
    for (int i = t; i < size; i += 32) mine[i] = i <= row ? expf(mine[i] * scale - largest) / sum : 0.0f;
}
