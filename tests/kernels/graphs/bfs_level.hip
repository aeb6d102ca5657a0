// One level of a breadth-first search: the frontier's neighbours that nobody has reached get the next level.
__global__ void bfs_level(const int* starts, const int* targets, int* levels, int* has_changed, int level, int vertices) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices || levels[v] != level) return;
    for (int i = starts[v]; i < starts[v + 1]; ++i) {
        if (atomicCAS(&levels[targets[i]], -1, level + 1) == -1) *has_changed = 1;
    }
}
