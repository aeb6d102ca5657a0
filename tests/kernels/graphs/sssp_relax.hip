// Bellman and Ford: every edge offers its target a shorter way. Reads the distances of the round before.
__global__ void sssp_relax(const int2* edges, const unsigned* weights, const unsigned* before, unsigned* distances, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned start = before[edges[i].x];
    if (start == UINT_MAX) return;
    atomicMin(&distances[edges[i].y], start + weights[i]);
}
