// In the manner of Rodinia: C with macros, a pyramid of time steps in shared memory, files read and written by the host.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <assert.h>
#include <math.h>
#include <sys/time.h>
#include <cuda.h>

#ifdef RD_WG_SIZE
#define BLOCK_SIZE RD_WG_SIZE
#else
#define BLOCK_SIZE 16
#endif
#define STR_SIZE 256
#define EXPAND_RATE 2 // cells added on each side per step
#define IN_RANGE(x, min, max) ((x) >= (min) && (x) <= (max))
#define MIN(a, b) ((a) <= (b) ? (a) : (b))
#define CLAMP_RANGE(x, min, max) x = (x < (min)) ? min : ((x > (max)) ? max : x)

float t_chip = 0.0005;
float chip_height = 0.016;
float ambient[2] = {80.0f, 60.0f};
static const char* labels[] = {"power", "temperature"};
extern int report_level;

void run(int argc, char** argv);

void fatal(char* s) { fprintf(stderr, "error: %s\n", s); }

void write_output(float* vect, int grid_rows, int grid_cols, char* file) {
    int i, j, index = 0;
    FILE* fp;
    char str[STR_SIZE];
    if ((fp = fopen(file, "w")) == 0) printf("The file was not opened\n");
    for (i = 0; i < grid_rows; i++)
        for (j = 0; j < grid_cols; j++) {
            sprintf(str, "%d\t%g\n", index, vect[i * grid_cols + j]);
            fputs(str, fp);
            index++;
        }
    fclose(fp);
}

__global__ void heat_step(int iteration, float* power, float* src, float* dst, int cols, int rows, float cap, float rx) {
    __shared__ float previous[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float next[BLOCK_SIZE][BLOCK_SIZE];
    int bx = blockIdx.x, by = blockIdx.y;
    int tx = threadIdx.x, ty = threadIdx.y;
    int small = BLOCK_SIZE - iteration * EXPAND_RATE;
    int y = small * by - iteration + ty, x = small * bx - iteration + tx;
    if (IN_RANGE(y, 0, rows - 1) && IN_RANGE(x, 0, cols - 1)) previous[ty][tx] = src[cols * y + x];
    __syncthreads();
    int top = (small * by - iteration < 0) ? iteration - small * by : 0;
    int left = (small * bx - iteration < 0) ? iteration - small * bx : 0;
    int bottom = MIN(BLOCK_SIZE - 1, rows - 1 - (small * by - iteration));
    int right = MIN(BLOCK_SIZE - 1, cols - 1 - (small * bx - iteration));
    int N = ty - 1, S = ty + 1, W = tx - 1, E = tx + 1;
    N = (N < top) ? top : N;
    S = (S > bottom) ? bottom : S;
    W = (W < left) ? left : W;
    E = (E > right) ? right : E;
    bool computed;
    for (int i = 0; i < iteration; i++) {
        computed = false;
        if (IN_RANGE(tx, i + 1, BLOCK_SIZE - i - 2) && IN_RANGE(ty, i + 1, BLOCK_SIZE - i - 2) &&
            IN_RANGE(tx, left, right) && IN_RANGE(ty, top, bottom)) {
            computed = true;
            next[ty][tx] = previous[ty][tx] + cap * (power[cols * y + x] + (previous[S][tx] + previous[N][tx] - 2.0f * previous[ty][tx]) * rx +
                                                     (previous[ty][E] + previous[ty][W] - 2.0f * previous[ty][tx]) * rx);
        }
        __syncthreads();
        if (i == iteration - 1) break;
        if (computed) previous[ty][tx] = next[ty][tx];
        __syncthreads();
    }
    if (computed) dst[cols * y + x] = next[ty][tx];
}

int compute(float* MatrixPower, float* MatrixTemp[2], int col, int row, int total, int pyramid) {
    dim3 dimBlock(BLOCK_SIZE, BLOCK_SIZE);
    dim3 dimGrid(col / BLOCK_SIZE, row / BLOCK_SIZE);
    int src = 1, dst = 0;
    for (float t = 0; t < total; t += pyramid) {
        int temp = src;
        src = dst;
        dst = temp;
        heat_step<<<dimGrid, dimBlock>>>(MIN(pyramid, total - t), MatrixPower, MatrixTemp[src], MatrixTemp[dst], col, row, 0.5f, 0.1f);
    }
    return dst;
}

int main(int argc, char** argv) {
    printf("WG size of kernel = %d X %d\n", BLOCK_SIZE, BLOCK_SIZE);
    run(argc, argv);
    return EXIT_SUCCESS;
}

void run(int argc, char** argv) {
    struct timeval before, after;
    gettimeofday(&before, NULL);
    float *FilesavingTemp = (float*)malloc(64), *MatrixTemp[2], *MatrixPower;
    if (!FilesavingTemp) fatal((char*)"unable to allocate memory");
    cudaMalloc((void**)&MatrixTemp[0], sizeof(float) * 64);
    cudaMalloc((void**)&MatrixPower, sizeof(float) * 64);
    assert(MatrixPower != NULL);
    int ret = compute(MatrixPower, MatrixTemp, 16, 16, 4, 1);
    cudaMemcpy(FilesavingTemp, MatrixTemp[ret], sizeof(float) * 64, cudaMemcpyDeviceToHost);
    write_output(FilesavingTemp, 8, 8, argv[1]);
    cudaFree(MatrixPower);
    free(FilesavingTemp);
}
