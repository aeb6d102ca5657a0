struct Pair { int a, b; };
__global__ void words(float* p, unsigned short long u) { p[0] = 1; }
__global__ void unknown(vec3* p, texture t) { p[0] = 1; }
__global__ void value(Pair pair, void nothing, int) {}
__global__ void twice(int* p) {}
__global__ void twice(int* p) {}
__global__ void twice(float* p) {}
__device__ int g(int x) { return x; }
__device__ float g(int x) { return x; }
__device__ void undefined(int x);
__global__ void same(int n, float n) { undefined(n); twice(nullptr); same(1, 2); }
__global__ float* pointer(int* p) { return 0; }
