// Variables of the module: written by the host, by kernels, one for all calls of a function.
struct Limits { float low; int count[2]; };
__constant__ float taps[4];
__constant__ Limits limits = {1.5f, {7, 8}};
__device__ unsigned int calls;
__device__ int start[5] = {1, 2};
__device__ int next_number() { static int number = 40; return atomicAdd(&number, 1); }
__global__ void use(float* out) {
    atomicAdd(&calls, 1u);
    start[1] = limits.count[1];
    out[0] = taps[1] + limits.low + (float)next_number();
}
