// The K nearest of all points for each query, kept sorted in registers.
#define K 5

__global__ void nearest_neighbours(const int2* points, const int2* queries, int* found, int count, int n) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= n) return;
    int2 here = queries[q];
    long long distances[K];
    int places[K];
    for (int k = 0; k < K; ++k) {
        distances[k] = LLONG_MAX;
        places[k] = -1;
    }
    for (int i = 0; i < count; ++i) {
        long long dx = points[i].x - here.x, dy = points[i].y - here.y;
        long long distance = dx * dx + dy * dy;
        if (distance >= distances[K - 1]) continue;
        int k = K - 1;
        for (; k > 0 && distances[k - 1] > distance; --k) {
            distances[k] = distances[k - 1];
            places[k] = places[k - 1];
        }
        distances[k] = distance;
        places[k] = i;
    }
    for (int k = 0; k < K; ++k) found[q * K + k] = places[k];
}
