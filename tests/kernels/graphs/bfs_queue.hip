// The whole search by one block, with the frontier in queues in shared memory.
__global__ void bfs_queue(const int* starts, const int* targets, int* levels, int source, int vertices) {
    __shared__ int queue[2][256];
    __shared__ int count[2];
    if (threadIdx.x == 0) {
        queue[0][0] = source;
        levels[source] = 0;
        count[0] = 1;
        count[1] = 0;
    }
    __syncthreads();
    int from = 0;
    for (int level = 1; count[from] > 0; ++level) {
        for (int i = threadIdx.x; i < count[from]; i += blockDim.x) {
            int v = queue[from][i];
            for (int e = starts[v]; e < starts[v + 1]; ++e) {
                if (atomicCAS(&levels[targets[e]], -1, level) == -1) queue[1 - from][atomicAdd(&count[1 - from], 1)] = targets[e];
            }
        }
        __syncthreads();
        if (threadIdx.x == 0) count[from] = 0;
        from = 1 - from;
        __syncthreads();
    }
}
