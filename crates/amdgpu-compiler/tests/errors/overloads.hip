__device__ float mix(float a, float b) { return a + b; }
__device__ double mix(double a, double b) { return a - b; }
__device__ void swap(float& a, float& b) { float t = a; a = b; b = t; }

__global__ void overloads(float* p, int n) {
    p[0] = mix(1, 2);
    p[1] = mix(p, 1.0f);
    p[2] = mix(1.0f);
    swap(p[0], 1.0f);
    fmaxf(p[0]);
}
