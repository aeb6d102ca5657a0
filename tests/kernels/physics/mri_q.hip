// Parboil's MRI-Q: a sum of phases over samples in frequency space for every voxel.
__global__ void mri_q(const float3* samples, const float* magnitudes, const float3* voxels, float2* q, int count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float3 v = voxels[i];
    float re = 0.0f, im = 0.0f;
    for (int k = 0; k < count; ++k) {
        float phase = 6.2831853f * (samples[k].x * v.x + samples[k].y * v.y + samples[k].z * v.z);
        re += magnitudes[k] * cosf(phase);
        im += magnitudes[k] * sinf(phase);
    }
    q[i] = make_float2(re, im);
}
