// Loss of each row and the gradient of the logits; a target of -1 is left out.
__global__ void cross_entropy(const float* logits, const int* targets, float* losses, float* gradients, int classes) {
    __shared__ float tree[64];
    int row = blockIdx.x, t = threadIdx.x, target = targets[row];
    const float* mine = logits + row * classes;
    if (target < 0) {
        for (int i = t; i < classes; i += 64) gradients[row * classes + i] = 0.0f;
        if (t == 0) losses[row] = 0.0f;
        return;
    }
    float largest = -INFINITY;
    for (int i = t; i < classes; i += 64) largest = fmaxf(largest, mine[i]);
    tree[t] = largest;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) tree[t] = fmaxf(tree[t], tree[t + s]);
        __syncthreads();
    }
    largest = tree[0];
    __syncthreads();
    float sum = 0.0f;
    for (int i = t; i < classes; i += 64) sum += expf(mine[i] - largest);
    tree[t] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) tree[t] += tree[t + s];
        __syncthreads();
    }
    sum = tree[0];
    for (int i = t; i < classes; i += 64) gradients[row * classes + i] = expf(mine[i] - largest) / sum - (i == target ? 1.0f : 0.0f);
    if (t == 0) losses[row] = logf(sum) + largest - mine[target];
}
