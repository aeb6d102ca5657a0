__global__ void many(float* out, const int* in, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = value + 1;
    in[i] = 3;
    smooth(out);
    out[i] = sqrtg(1.0f);
    int q = out;
    if (i < n { out[i] = 0; }
    vec3 w = 1;
    out[i] = 5 / 0;
    for (int j = 0; j < 10; j++) { continue }
    return 1;
}
__global__ int wrong_kernel(float &x) { return 0; }
