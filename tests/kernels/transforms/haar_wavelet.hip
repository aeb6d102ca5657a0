// All levels of the integer Haar transform (S-transform): means in front, differences behind.
__global__ void haar_wavelet(int* values, int n) {
    __shared__ int row[256];
    int t = threadIdx.x;
    int* mine = values + blockIdx.x * n;
    for (int i = t; i < n; i += blockDim.x) row[i] = mine[i];
    __syncthreads();
    for (int length = n; length > 1; length /= 2) {
        int mean = 0, difference = 0;
        if (t < length / 2) {
            int a = row[2 * t], b = row[2 * t + 1];
            difference = a - b;
            mean = b + (difference >> 1);
        }
        __syncthreads();
        if (t < length / 2) {
            row[t] = mean;
            row[length / 2 + t] = difference;
        }
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) mine[i] = row[i];
}
