// Everything here is HIP, and none of it is there yet.
__global__ void reduce(float* data, float* sum) {
    __shared__ float tile[256];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    atomicAdd(sum, tile[0]);
}
