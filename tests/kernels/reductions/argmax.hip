struct Best {
    float value;
    int place;
    // The smaller place wins between equal values, so the result does not depend on the order.
    __device__ bool operator<(const Best& other) const {
        return value < other.value || (value == other.value && place > other.place);
    }
};

__global__ void argmax(const float* values, int* places, int columns) {
    __shared__ Best best[64];
    const float* row = values + blockIdx.x * columns;
    int t = threadIdx.x;
    Best mine = {-INFINITY, columns};
    for (int i = t; i < columns; i += 64) {
        Best candidate = {row[i], i};
        if (mine < candidate) mine = candidate;
    }
    best[t] = mine;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s && best[t] < best[t + s]) best[t] = best[t + s];
        __syncthreads();
    }
    if (t == 0) places[blockIdx.x] = best[0].place;
}
