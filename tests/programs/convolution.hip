// In the manner of HeCBench: options, constant memory filled by the host, a reference on the host, several variants of one kernel.
#include <hip/hip_runtime.h>
#include <getopt.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef KERNEL_RADIUS
#define KERNEL_RADIUS 3
#endif
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)
enum { ROWS_BLOCKDIM_X = 16, ROWS_BLOCKDIM_Y = 4, ROWS_RESULT_STEPS = 4, ROWS_HALO_STEPS = 1 };
constexpr int TILE = ROWS_BLOCKDIM_X * (ROWS_RESULT_STEPS + 2 * ROWS_HALO_STEPS);

static constexpr float kWeights[KERNEL_LENGTH] = {0.03125f, 0.109375f, 0.21875f, 0.28125f, 0.21875f, 0.109375f, 0.03125f};
using real = float;

typedef struct {
    int width, height;
    int pitch;
} image_t;

__device__ __host__ inline int clamp_index(int i, int n) { return i < 0 ? 0 : (i >= n ? n - 1 : i); }

#ifdef __HIP_DEVICE_COMPILE__
#define LOAD(p) __ldg(p)
#else
#define LOAD(p) (*(p))
#endif

__global__ void conv_rows(float* __restrict__ d_Dst, const float* __restrict__ d_Src, const image_t image) {
    __shared__ float s_Data[ROWS_BLOCKDIM_Y][TILE];
    const int baseX = (blockIdx.x * ROWS_RESULT_STEPS - ROWS_HALO_STEPS) * ROWS_BLOCKDIM_X + threadIdx.x;
    const int baseY = blockIdx.y * ROWS_BLOCKDIM_Y + threadIdx.y;
    d_Src += baseY * image.pitch + baseX;
    d_Dst += baseY * image.pitch + baseX;
#pragma unroll 4
    for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++)
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = LOAD(&d_Src[i * ROWS_BLOCKDIM_X]);
    for (int i = 0; i < ROWS_HALO_STEPS; i++)
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (baseX >= -i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0;
    for (int i = ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS + ROWS_HALO_STEPS; i++)
        s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X] = (image.width - baseX > i * ROWS_BLOCKDIM_X) ? d_Src[i * ROWS_BLOCKDIM_X] : 0;
    __syncthreads();
    for (int i = ROWS_HALO_STEPS; i < ROWS_HALO_STEPS + ROWS_RESULT_STEPS; i++) {
        real sum = 0;
#pragma unroll
        for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++)
            sum += kWeights[KERNEL_RADIUS - j] * s_Data[threadIdx.y][threadIdx.x + i * ROWS_BLOCKDIM_X + j];
        d_Dst[i * ROWS_BLOCKDIM_X] = sum;
    }
}

__global__ void conv_naive(float* dst, const float* src, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    float sum = 0.f;
    for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++) sum += kWeights[KERNEL_RADIUS - j] * src[y * width + clamp_index(x + j, width)];
    dst[y * width + x] = sum;
}

static void reference(float* dst, const float* src, int width, int height) {
#pragma omp parallel for collapse(2) schedule(static)
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            double sum = 0;
            for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++)
                if (x + j >= 0 && x + j < width) sum += kWeights[KERNEL_RADIUS - j] * src[y * width + x + j];
            dst[y * width + x] = (float)sum;
        }
}

static struct option options[] = {{"width", required_argument, 0, 'w'}, {0, 0, 0, 0}};

int main(int argc, char** argv) {
    int width = 1024, height = 64, option;
    while ((option = getopt_long(argc, argv, "w:h:", options, NULL)) != -1) switch (option) {
            case 'w': width = atoi(optarg); break;
            default: exit(1);
        }
    image_t image = {width, height, width};
    float *a = (float*)malloc(sizeof(float) * width * height), *b;
    hipMalloc((void**)&b, sizeof(float) * width * height);
    dim3 blocks(width / (ROWS_RESULT_STEPS * ROWS_BLOCKDIM_X), height / ROWS_BLOCKDIM_Y), threads(ROWS_BLOCKDIM_X, ROWS_BLOCKDIM_Y);
    hipLaunchKernelGGL(conv_rows, blocks, threads, 0, 0, b, b, image);
    reference(a, a, width, height);
    conv_naive<<<dim3(width / 64, height), 64>>>(b, b, width, height);
    printf("%s\n", omp_get_max_threads() > 1 ? "parallel" : "serial");
    hipFree(b);
    free(a);
}
