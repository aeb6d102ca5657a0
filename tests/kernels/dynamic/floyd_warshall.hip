// One round: ways through vertex k, whose row and column do not change in it.
__global__ void floyd_warshall(int* distances, int* through, int k, int n) {
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n || i == k || j == k) return;
    int first = distances[i * n + k], second = distances[k * n + j];
    if (first == INT_MAX || second == INT_MAX) return;
    if (first + second < distances[i * n + j]) {
        distances[i * n + j] = first + second;
        through[i * n + j] = k;
    }
}
