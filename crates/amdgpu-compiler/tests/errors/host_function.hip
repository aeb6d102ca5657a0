#include <cmath>
#include "hip/hip_runtime.h"

float square(float x) { return x * x; }

__global__ void apply(float* p) {
    p[threadIdx.x] = square(p[threadIdx.x]);
}

int main() { return 0; }
