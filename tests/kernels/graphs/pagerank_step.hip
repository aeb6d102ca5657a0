// One step, pulling along incoming edges.
__global__ void pagerank_step(const int* starts, const int* sources, const int* out_degrees, const double* ranks, double* next,
                              double damping, int vertices) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v >= vertices) return;
    double sum = 0.0;
    for (int i = starts[v]; i < starts[v + 1]; ++i) sum += ranks[sources[i]] / out_degrees[sources[i]];
    next[v] = (1.0 - damping) / vertices + damping * sum;
}
