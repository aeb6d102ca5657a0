// Ranks of a linked list: distances to the end by doubling, one block.
__global__ void pointer_jumping(const int* next, int* ranks, int n) {
    __shared__ int to[2][128], far[2][128];
    int t = threadIdx.x;
    if (t < n) {
        to[0][t] = next[t];
        far[0][t] = next[t] == t ? 0 : 1;
    }
    __syncthreads();
    int from = 0;
    for (int reach = 1; reach < n; reach *= 2) {
        if (t < n) {
            int other = to[from][t];
            far[1 - from][t] = far[from][t] + far[from][other];
            to[1 - from][t] = to[from][other];
        }
        from = 1 - from;
        __syncthreads();
    }
    if (t < n) ranks[t] = far[from][t];
}
