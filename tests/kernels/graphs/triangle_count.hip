// Triangles through an edge: the intersection of two sorted lists of neighbours.
__global__ void triangle_count(const int* starts, const int* targets, const int2* edges, unsigned* total, int count) {
    __shared__ unsigned found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < count) {
        int i = starts[edges[e].x], end_i = starts[edges[e].x + 1];
        int j = starts[edges[e].y], end_j = starts[edges[e].y + 1];
        unsigned mine = 0;
        while (i < end_i && j < end_j) {
            int a = targets[i], b = targets[j];
            mine += a == b;
            i += a <= b;
            j += b <= a;
        }
        atomicAdd(&found, mine);
    }
    __syncthreads();
    if (threadIdx.x == 0 && found) atomicAdd(total, found);
}
