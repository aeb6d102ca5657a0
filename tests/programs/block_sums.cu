// In the manner of the CUDA samples' reduction: shared memory behind a conversion operator, block sizes as template arguments.
#include <cuda_runtime.h>
#include <algorithm>
#include <iostream>
#include <iomanip>
#include <chrono>

template <class T>
struct SharedMemory {
    __device__ inline operator T*() {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }
    __device__ inline operator const T*() const {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }
};

template <>
struct SharedMemory<double> {
    __device__ inline operator double*() {
        extern __shared__ double __smem_d[];
        return (double*)__smem_d;
    }
};

bool isPow2(unsigned int x) { return ((x & (x - 1)) == 0); }

template <typename T, unsigned int blockSize, bool nIsPow2>
__global__ void reduce(const T* __restrict__ g_idata, T* __restrict__ g_odata, unsigned int n) {
    T* sdata = SharedMemory<T>();
    unsigned int tid = threadIdx.x;
    unsigned int gridSize = blockSize * gridDim.x;
    T mySum = 0;
    if (nIsPow2) {
        unsigned int i = blockIdx.x * blockSize * 2 + threadIdx.x;
        gridSize = gridSize << 1;
        while (i < n) {
            mySum += g_idata[i];
            if ((i + blockSize) < n) mySum += g_idata[i + blockSize];
            i += gridSize;
        }
    } else {
        unsigned int i = blockIdx.x * blockSize + threadIdx.x;
        while (i < n) {
            mySum += g_idata[i];
            i += gridSize;
        }
    }
    sdata[tid] = mySum;
    __syncthreads();
#pragma unroll
    for (unsigned int s = blockSize / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = mySum = mySum + sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = mySum;
}

template <class T>
void launch(int size, int threads, int blocks, T* d_idata, T* d_odata) {
    dim3 dimBlock(threads, 1, 1);
    dim3 dimGrid(blocks, 1, 1);
    int smemSize = (threads <= 32) ? 2 * threads * sizeof(T) : threads * sizeof(T);
    if (isPow2(size)) {
        switch (threads) {
            case 512: reduce<T, 512, true><<<dimGrid, dimBlock, smemSize>>>(d_idata, d_odata, size); break;
            case 256: reduce<T, 256, true><<<dimGrid, dimBlock, smemSize>>>(d_idata, d_odata, size); break;
        }
    } else {
        reduce<T, 256, false><<<dimGrid, dimBlock, smemSize>>>(d_idata, d_odata, size);
    }
}

template void launch<int>(int size, int threads, int blocks, int* d_idata, int* d_odata);

int main() {
    using clock = std::chrono::high_resolution_clock;
    auto begin = clock::now();
    int* data = nullptr;
    if (cudaMallocManaged(&data, 1024) != cudaSuccess) return EXIT_FAILURE;
    launch(256, 256, 1, data, data);
    cudaDeviceSynchronize();
    std::chrono::duration<double, std::milli> elapsed = clock::now() - begin;
    std::cout << std::setprecision(3) << "took " << elapsed.count() << " ms" << std::endl;
    auto largest = *std::max_element(data, data + 256, [](int a, int b) { return a < b; });
    std::cout << largest << '\n';
    cudaFree(data);
}
