// All lanes of a group of W learn the maximum of the group by exchanging with partners.
template <int W>
__global__ void butterfly_maximum(const double* in, double* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double value = i < n ? in[i] : -HUGE_VAL;
    for (int mask = W / 2; mask > 0; mask /= 2) value = fmax(value, __shfl_xor_sync(0xffffffff, value, mask, W));
    if (i < n) out[i] = value;
}
template __global__ void butterfly_maximum<32>(const double*, double*, int);
template __global__ void butterfly_maximum<8>(const double*, double*, int);
