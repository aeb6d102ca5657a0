__device__ void write(float* p) { *p = 1; }
__constant__ float weights[3] = {1, 2, 3};
constexpr int COUNT = 3;

__global__ void constness(const float* in, float* out, const int n) {
    in[0] = 1;
    n = 2;
    COUNT = 4;
    weights[0] = 2;
    write(in);
    const float local = 1;
    local += 1;
    float* alias = in;
    ++in;
    threadIdx.x = 1;
    out[0] = *in;
}
