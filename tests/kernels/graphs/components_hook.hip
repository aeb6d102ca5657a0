// Connected components by one block: hook roots to smaller roots, then jump pointers, until nothing changes.
__device__ int root_of(const int* parents, int v) {
    while (parents[v] != v) v = parents[v];
    return v;
}

__global__ void components_hook(const int2* edges, int* labels, int vertices, int count) {
    extern __shared__ int parents[];
    for (int v = threadIdx.x; v < vertices; v += blockDim.x) parents[v] = v;
    __syncthreads();
    bool again = true;
    while (again) {
        bool has_hooked = false;
        for (int i = threadIdx.x; i < count; i += blockDim.x) {
            int a = root_of(parents, edges[i].x), b = root_of(parents, edges[i].y);
            if (a == b) continue;
            int high = a > b ? a : b, low = a > b ? b : a;
            atomicMin(&parents[high], low);
            has_hooked = true;
        }
        again = __syncthreads_or(has_hooked);
        for (int v = threadIdx.x; v < vertices; v += blockDim.x) atomicExch(&parents[v], root_of(parents, v));
        __syncthreads();
    }
    for (int v = threadIdx.x; v < vertices; v += blockDim.x) labels[v] = parents[v];
}
