// Accelerations of n bodies with softening; every work-item walks over all of them.
__global__ void n_body(const float4* __restrict__ bodies, float4* __restrict__ accelerations, int n, float softening) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 me = bodies[i];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int j = 0; j < n; ++j) {
        float4 other = bodies[j];
        float dx = other.x - me.x;
        float dy = other.y - me.y;
        float dz = other.z - me.z;
        float distance = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
        float pull = other.w * distance * distance * distance;
        ax += pull * dx;
        ay += pull * dy;
        az += pull * dz;
    }
    accelerations[i] = make_float4(ax, ay, az, 0.0f);
}
